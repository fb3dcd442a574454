package ui

import (
	"cmp"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// prompt asks for a line. An error is shown below the line, which stays to be corrected, sent again, or copied.
type prompt struct {
	page    int
	title   string
	about   string // text above the line that says what it is about
	line    line
	empty   bool   // an empty line is an answer, too; else it closes the prompt
	does    string // what Enter does, if it does not send
	working bool
	trouble error
	take    func(text string) effect
}

func (p prompt) number(id int) page { p.page = id; return p }
func (p prompt) id() int            { return p.page }

func (p prompt) open(model) []effect { return nil }

func (p prompt) press(m model, k key) (model, []effect) {
	switch {
	case k.name == "esc":
		return m.pop(), nil
	case p.working:
		return m, nil
	case k.name != "enter":
		p.line = p.line.press(k)
		return m.set(p), nil
	}
	text := strings.TrimSpace(p.line.String())
	if text == "" && !p.empty {
		return m.pop(), nil
	}
	p.working, p.trouble = true, nil
	return m.set(p), []effect{toPrompt(p.page, p.take(text))}
}

// toPrompt makes the outcome of an effect close the prompt with that number, or makes its error appear below
// the line; 0 is no prompt.
func toPrompt(id int, ef effect) effect {
	if id == 0 {
		return ef
	}
	return func(e edge) any {
		switch ev := ef(e).(type) {
		case told:
			return taken{id, ev.text}
		case failed:
			return refused{id, ev.err}
		default:
			return ev
		}
	}
}

func (p prompt) paste(text string) page {
	if !p.working {
		p.line = p.line.insert(text)
	}
	return p
}

// refused lets the person correct the line.
func (p prompt) refused(err error) page {
	p.working, p.trouble = false, err
	return p
}

func (p prompt) head(width int) []string {
	rows := []string{rule(p.title, width), ""}
	if p.about != "" {
		rows = append(append(rows, indented(p.about, 1, width)...), "")
	}
	return rows
}

// view shows the line even if the text above it has to be cut for that.
func (p prompt) view(m model, width, height int) []string {
	head := p.head(width)
	rows, _ := p.line.rows(width)
	if over := len(head) + len(rows) + 1 - height; over > 0 {
		head = head[:max(0, len(head)-over)]
	}
	lines := append(head, rows...)
	switch {
	case p.working:
		lines = append(lines, "", styled(faint, plain.Cut(" sending …", width)))
	case p.trouble != nil:
		told := api.AsError(p.trouble)
		text := told.Text
		if told.Hint != "" {
			text += "\n→ " + told.Hint
		}
		lines = append(lines, "")
		for _, row := range indented(text, 1, width) {
			lines = append(lines, styled(wrong, row))
		}
	}
	return lines
}

func (p prompt) cursor(m model, width, height int) at {
	head := p.head(width)
	rows, c := p.line.rows(width)
	if over := len(head) + len(rows) + 1 - height; over > 0 {
		head = head[:max(0, len(head)-over)]
	}
	return at{min(c.x, max(0, width-1)), min(len(head)+c.y, max(0, height-1))}
}

func (p prompt) help(model) []string {
	if p.working {
		return []string{"Esc leave"}
	}
	return []string{"Enter " + cmp.Or(p.does, "send"), "Esc leave"}
}
