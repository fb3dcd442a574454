package ui

import (
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// question asks for a person's yes: y, pressed after the whole text and the question were shown. What was typed
// before that is no answer, and neither is pasted text.
type question struct {
	scroll
	page int
	text string // what the yes is to; made safe where it is shown
	ask  string // "Approve it?"
	yes  effect
	no   effect // for any other answer; nil: nothing
	from int    // the prompt whose line the question is about, 0 for none

	seen  bool // the end of the text was on the screen
	drawn bool // the question was shown long enough for a person to have read it
}

// notices is how long a question is shown before keys count: keys typed before it was shown may arrive for that
// long.
const notices = 150 * time.Millisecond

func (q question) number(id int) page { q.page = id; return q }
func (q question) id() int            { return q.page }

// open starts the time for which the question has to be shown.
func (q question) open(model) []effect {
	id := q.page
	return []effect{func(e edge) any {
		select {
		case <-e.ctx.Done():
			return nil
		case <-time.After(notices):
			return armed{id}
		}
	}}
}

// arm lets keys count from now on.
func (q question) arm(m model) question {
	q.drawn = true
	return q.read(m)
}

// read notes whether the end of the text and the question below it are on the screen.
func (q question) read(m model) question {
	room := q.room(m)
	end := q.top+room >= len(q.rows(m.width))
	q.seen = q.seen || q.drawn && end && m.height >= room+around+q.feet(m)
	return q
}

func (q question) rows(width int) []string { return wrapped(q.text, max(1, width-2)) }

// around is the number of rows besides the text: a title, the question, and a blank row for each.
const around = titleRows + 2

// room returns how many rows of the text are shown at once, whatever the bottom lines say.
func (q question) room(m model) int { return max(1, m.height-around-q.feet(m)) }

// feet returns the most rows that the bottom lines take.
func (q question) feet(m model) int {
	return len(m.saidRows()) + len(keyRows(append(q.choices(false), "9999 to 9999 of 9999 lines"), max(1, m.width)))
}

func (q question) press(m model, k key) (model, []effect) {
	if !q.drawn {
		return m, nil
	}
	if s, moved := q.scroll.press(k.name, len(q.rows(m.width)), q.room(m)); moved {
		q.scroll = s
		return m.set(q.read(m)), nil
	}
	switch k.name {
	case "y", "Y":
		if !q.seen {
			return m, nil
		}
		return m.pop(), []effect{toPrompt(q.from, q.yes)}
	case "n", "N", "q", "esc":
		return q.refuse(m)
	}
	return m, nil
}

// refuse handles any answer but a yes.
func (q question) refuse(m model) (model, []effect) {
	if q.no != nil {
		return m.pop(), []effect{toPrompt(q.from, q.no)}
	}
	return m.pop().tell("nothing was done"), nil
}

func (q question) view(m model, width, height int) []string {
	lines := []string{rule("your answer", width), ""}
	for _, row := range q.window(q.rows(width), q.room(m)) {
		lines = append(lines, " "+row)
	}
	return append(lines, "", styled(bold, plain.Cut(" "+plain.Line(q.ask), width)))
}

// choices returns the keys that answer.
func (q question) choices(seen bool) []string {
	if !seen {
		return []string{"read to its end: space b scroll", "n no"}
	}
	return []string{"y yes", "n no"}
}

func (q question) help(m model) []string {
	if !q.drawn {
		return []string{"…"}
	}
	keys := q.choices(q.seen)
	rows, room := len(q.rows(m.width)), q.room(m)
	if rows <= room {
		return keys
	}
	return append(keys, fmt.Sprintf("%d to %d of %d lines", q.top+1, min(rows, q.top+room), rows))
}
