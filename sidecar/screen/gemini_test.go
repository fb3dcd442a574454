package screen_test

import (
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// geminiGlyph returns the row in which the composer of a recording of Gemini CLI begins, or -1.
func (r recording) geminiGlyph() int {
	for y := len(r.Rows) - 1; y >= 0; y-- {
		row := screen.Plain(r.Rows[y]) + "   "
		if slices.Contains([]string{" > ", " ! ", " * ", " (r"}, row[:3]) {
			return y
		}
	}
	return -1
}

// geminiLeast is how many of the last rows of a recording of Gemini CLI show that it is not idle: text at the top
// of the screen may have nothing below it.
func (r recording) geminiLeast() int {
	glyph := r.geminiGlyph()
	switch {
	case r.Label == "working": // the row that shows work stands above the composer
		for y, row := range r.Rows {
			if strings.Contains(screen.Plain(row), "esc to cancel") || strings.Contains(screen.Plain(row), "Thinking") {
				return r.Height - y
			}
		}
	case r.Label == "draft", strings.Contains(r.What, "menu"), strings.Contains(r.What, "own-list"), strings.Contains(r.What, "history-search"):
		return r.Height - max(0, glyph)
	case r.What == "shortcuts", r.What == "console", strings.Contains(r.What, "its-copy-mode"), strings.Contains(r.What, "with-composer"):
		return r.Height - max(0, glyph-14)
	}
	blank := 0
	for blank < r.Height-1 && screen.Plain(r.Rows[r.Height-1-blank]) == "" {
		blank++
	}
	return blank + 1
}

// geminiHalf lists recordings of our text of which Gemini CLI shows only a part: rows have scrolled out of the
// composer, or an emoji has too many parts for a cell of tmux.
var geminiHalf = map[string]bool{"own-no-blanks-60": true, "own-empty-lines": true}
