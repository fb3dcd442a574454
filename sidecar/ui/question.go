package ui

import (
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// question asks for a person's yes: y, pressed when all of the text was shown, and the question with
// it. What was typed before is no answer, and neither is what is pasted.
type question struct {
	scroll
	page int
	text string // that the yes is to; made safe where it is shown
	ask  string // "Approve it?"
	yes  effect
	no   effect // of any other answer; nil: nothing
	from int    // the prompt whose line it is about, 0 for none

	seen  bool // its end was on the screen
	drawn bool // that was long enough ago for a person to have read what is asked
}

// notices is how long a question is shown before a key counts: keys that were typed before it came
// are on their way for that long.
const notices = 150 * time.Millisecond

func (q question) number(id int) page { q.page = id; return q }
func (q question) id() int            { return q.page }

// open begins the time that it has to be shown.
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

// arm has keys count from now on.
func (q question) arm(m model) question {
	q.drawn = true
	return q.read(m)
}

// read notes that the end of the text is on the screen, and what is asked below it.
func (q question) read(m model) question {
	room := q.room(m)
	end := q.top+room >= len(q.rows(m.width))
	q.seen = q.seen || q.drawn && end && m.height >= room+around+q.feet(m)
	return q
}

func (q question) rows(width int) []string { return wrapped(q.text, max(1, width-2)) }

// around are the rows of a question beside its text: a title, what is asked, and a blank one for each.
const around = titleRows + 2

// room is how much of the text is shown at once, whatever the bottom lines have to say.
func (q question) room(m model) int { return max(1, m.height-around-q.feet(m)) }

// feet is how many rows the bottom lines take at most.
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

// refuse is any other answer than a yes.
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

// choices are the keys that answer.
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
