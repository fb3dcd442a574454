package ui

import (
	"context"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// Sheet is a text that is rendered again when the person asks for it.
type Sheet struct {
	Title  string
	Keys   []string // passed to Render, each with what it does: "f fixes what is ours"
	Render func(ctx context.Context, width int, key string) (title, text string)
}

type rendered struct {
	page        int
	title, text string
}

// paper shows a sheet.
type paper struct {
	scroll
	page  int
	sheet Sheet
	title string
	text  string
	here  bool
	asked bool
}

func (p paper) number(id int) page { p.page = id; return p }
func (p paper) id() int            { return p.page }

func (p paper) open(model) []effect { return nil }

// sized renders the text once its width is known.
func (p paper) sized(m model) (model, []effect) {
	if p.asked {
		return m, nil
	}
	p.asked = true
	return m.set(p), []effect{p.render("", m.width)}
}

func (p paper) render(key string, width int) effect {
	return func(e edge) any {
		title, text := p.sheet.Render(e.ctx, max(1, width-2), key)
		return rendered{p.page, title, text}
	}
}

func (p paper) rows(width int) []string { return indented(p.text, 1, max(1, width-1)) }

func (p paper) height(m model) int { return max(1, m.height-len(m.foot())-titleRows) }

func (p paper) press(m model, k key) (model, []effect) {
	if s, moved := p.scroll.press(k.name, len(p.rows(m.width)), p.height(m)); moved {
		p.scroll = s
		return m.set(p), nil
	}
	switch {
	case k.name == "q" || k.name == "esc" || k.name == "enter":
		return m.pop(), nil
	case !p.here:
	case k.name == "r", slices.ContainsFunc(p.sheet.Keys, func(one string) bool { return strings.HasPrefix(one, k.name+" ") }):
		p.here = false
		pressed := k.name
		if pressed == "r" {
			pressed = ""
		}
		return m.set(p), []effect{p.render(pressed, m.width)}
	}
	return m, nil
}

func (p paper) view(_ model, width, height int) []string {
	lines := []string{rule(p.title, width), ""}
	if !p.here {
		return append(lines, styled(faint, plain.Cut(" …", width)))
	}
	return append(lines, p.window(p.rows(width), height-titleRows)...)
}

func (p paper) help(m model) (keys []string) {
	if p.here {
		keys = append(slices.Clone(p.sheet.Keys), "r refreshes")
	}
	if at := p.place(len(p.rows(max(1, m.width))), max(1, m.height-titleRows-2)); at != "" {
		keys = append(keys, at)
	}
	return append(keys, "q closes")
}
