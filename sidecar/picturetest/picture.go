// Package picturetest draws the screen of a terminal, in the form that `tmux capture-pane -e` prints, as SVG: one
// screen, or several in sequence. Tests make the pictures of the documentation with it.
package picturetest

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"strings"
	"time"

	svg "github.com/ajstarks/svgo"
	uv "github.com/charmbracelet/ultraviolet"
)

// Frame is one screen of a terminal of Columns × Rows.
type Frame struct {
	Screen        string // lines with SGR sequences
	Columns, Rows int
	For           time.Duration // how long it is shown, if there are several
}

// The size of a cell, and the margin around the screen, in pixels.
const (
	cellWidth, cellHeight = 8, 17
	baseline              = 13 // below the top of a cell
	margin                = 12
)

var (
	background = color.RGBA{0x1b, 0x1e, 0x24, 0xff}
	foreground = color.RGBA{0xd5, 0xd9, 0xe0, 0xff}
)

// SVG draws frames of the same size. Several frames become an animation that uses only CSS and repeats.
func SVG(frames ...Frame) []byte {
	var b bytes.Buffer
	columns, rows := frames[0].Columns, frames[0].Rows
	width, height := columns*cellWidth+2*margin, rows*cellHeight+2*margin
	canvas := svg.New(&b)
	canvas.Startview(width, height, 0, 0, width, height)
	canvas.Style("text/css", "text{font:13.28px Menlo,'DejaVu Sans Mono',ui-monospace,Consolas,monospace;white-space:pre}"+timing(frames))
	canvas.Roundrect(0, 0, width, height, 8, 8, "fill:"+hex(background))
	for i, f := range frames {
		if len(frames) > 1 {
			canvas.Group(fmt.Sprintf(`class="f f%d"`, i))
		}
		draw(canvas, f)
		if len(frames) > 1 {
			canvas.Gend()
		}
	}
	canvas.End()
	return b.Bytes()
}

// timing returns the CSS that shows each frame at its time and hides it otherwise.
func timing(frames []Frame) string {
	if len(frames) == 1 {
		return ""
	}
	var all time.Duration
	for _, f := range frames {
		all += f.For
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".f{visibility:hidden;animation-duration:%.1fs;animation-iteration-count:infinite;animation-timing-function:step-end}", all.Seconds())
	var at time.Duration
	percent := func(d time.Duration) float64 { return 100 * d.Seconds() / all.Seconds() }
	for i, f := range frames {
		fmt.Fprintf(&b, ".f%d{animation-name:k%d}@keyframes k%d{", i, i, i)
		if at > 0 {
			b.WriteString("0%{visibility:hidden}")
		}
		fmt.Fprintf(&b, "%.2f%%{visibility:visible}", percent(at))
		at += f.For
		if i < len(frames)-1 {
			fmt.Fprintf(&b, "%.2f%%{visibility:hidden}", percent(at))
		}
		b.WriteString("}")
	}
	// Without animation, the last frame is shown.
	fmt.Fprintf(&b, ".f%d{visibility:visible}@media(prefers-reduced-motion){.f{animation:none}}", len(frames)-1)
	return b.String()
}

// draw draws the cells of a frame; adjacent cells of the same style become one run.
func draw(canvas *svg.SVG, f Frame) {
	screen := uv.NewScreenBuffer(f.Columns, f.Rows)
	uv.NewStyledString(strings.ReplaceAll(f.Screen, "\n", "\r\n")).Draw(screen, screen.Bounds())
	for y := range f.Rows {
		var run strings.Builder
		var look uv.Style
		from, to := 0, 0
		flush := func() {
			if run.Len() > 0 {
				text(canvas, from, to, y, run.String(), look)
			}
			run.Reset()
		}
		for x := 0; x < f.Columns; {
			cell := screen.CellAt(x, y)
			content, wide := " ", 1
			var s uv.Style
			if cell != nil && cell.Width > 0 {
				content, wide, s = cell.Content, cell.Width, cell.Style
			}
			// A wide character is a run by itself, since fonts disagree about which characters are wide.
			if run.Len() == 0 || !s.Equal(&look) || wide > 1 || to-from > 0 && wide != 1 {
				flush()
				from, look = x, s
			}
			run.WriteString(content)
			x += wide
			to = x
			if wide > 1 {
				flush()
			}
		}
		flush()
	}
}

// text draws a run of cells in row y, between the columns from and to.
func text(canvas *svg.SVG, from, to, y int, run string, s uv.Style) {
	fg, bg := s.Fg, s.Bg
	if s.Attrs&uv.AttrReverse != 0 {
		fg, bg = bg, fg
		if fg == nil {
			fg = background
		}
		if bg == nil {
			bg = foreground
		}
	}
	left, top := margin+from*cellWidth, margin+y*cellHeight
	if bg != nil {
		canvas.Rect(left, top, (to-from)*cellWidth, cellHeight, "fill:"+hex(bg))
	}
	trimmed := strings.TrimRight(run, " ")
	if trimmed == "" {
		return
	}
	if fg == nil {
		fg = foreground
	}
	style := "fill:" + hex(fg)
	if s.Attrs&uv.AttrBold != 0 {
		style += ";font-weight:bold"
	}
	if s.Attrs&uv.AttrFaint != 0 {
		style += ";opacity:.6"
	}
	if s.Attrs&uv.AttrItalic != 0 {
		style += ";font-style:italic"
	}
	if s.Underline != 0 {
		style += ";text-decoration:underline"
	}
	cells := to - from - (len(run) - len(trimmed))
	fmt.Fprintf(canvas.Writer, "<text x=\"%d\" y=\"%d\" textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" style=\"%s\">%s</text>\n",
		left, top+baseline, cells*cellWidth, style, html.EscapeString(trimmed))
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
