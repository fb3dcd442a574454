package pane

import (
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// program is what runs in a pane of the models: a program with a composer that reads its terminal when it
// likes, with that terminal as tmux has it.
type program struct {
	tells bool // it is an agent that tells what it takes

	unread   []key  // in the terminal
	composer string // as it is drawn
	drawn    int    // how often the composer has changed, or a key was pressed: what tmux compares
	mark     string
	keyed    time.Time
	mode     bool // a copy mode
	dialog   bool
	deaf     bool // it does not read
	works    bool
	untold   []agent.Prompt

	mail []message.Delivery // in its inbox, which it reads when it likes
	lies bool               // its inbox swallows what it likes

	// What the present life of the sidecar knows of it.
	told     bool     // its account was looked for
	expected []string // texts that a line program has not echoed
}

// key is what somebody has sent to the terminal.
type key struct {
	text   string // "\r": Enter; "\x15": the line is thrown away
	person bool
}

// draw notes that the screen has changed.
func (p *program) draw() { p.drawn++ }

// read makes the program read one key, and returns that. taken is what the program took with it.
func (p *program) read(now time.Time) (k key, taken string) {
	if len(p.unread) == 0 || p.deaf {
		return key{}, ""
	}
	k = p.unread[0]
	p.unread = p.unread[1:]
	p.draw()
	switch k.text {
	case "\r":
		taken, p.composer = p.composer, ""
	case "\x15":
		p.composer = ""
	default:
		p.composer += k.text
	}
	if taken != "" {
		p.take(now, taken)
	}
	return k, taken
}

// take makes the program take what stood in its composer.
func (p *program) take(now time.Time, text string) {
	p.expected = slices.DeleteFunc(p.expected, func(s string) bool { return strings.Contains(text, s) })
	p.works = true
	p.untold = append(p.untold, agent.Prompt{Text: text, By: agent.ByKeys, At: now})
}

// open makes the program take what it has in its inbox.
func (p *program) open(now time.Time, d message.Delivery) {
	p.works = true
	p.untold = append(p.untold, agent.Prompt{Text: "as it says", By: agent.BySystem, ID: string(d.ID), At: now})
}

// press is a key of the person, which the program draws before long.
func (p *program) press(now time.Time, text string) {
	if p.deaf {
		return // nobody types into such a program
	}
	p.unread = append(p.unread, key{text, true})
	p.keyed = now.Truncate(time.Second)
	p.drawn++
}

// unseen reports whether the program has not drawn a person's key yet.
func (p *program) unseen() bool {
	return slices.ContainsFunc(p.unread, func(k key) bool { return k.person })
}

// found returns what a look finds; took says whether a delivery under way was taken.
func (p *program) found(now time.Time, b *batch, took func(message.ID) bool) found {
	f := line()
	f.wrote = now.Add(-time.Minute)
	f.look.Facts.HistorySize, f.look.Facts.Mark, f.look.Keys.Last = p.drawn, p.mark, p.keyed
	switch {
	case p.mode:
		f.bar, f.may = message.CopyMode, message.CopyMode
	case p.dialog:
		dialog(&f)
	case p.composer != "":
		draft(&f)
		f.reading.Composer.Text = p.composer
	case p.works:
		working(&f)
	}
	if p.tells {
		f.tells, f.told, f.bound, f.read = true, p.told, p.told, p.told
		f.front.Unread = len(p.unread)
		f.door.why = "it does not say that it rests"
		if p.told && !p.works && !p.dialog && len(p.untold) == 0 {
			f.door = doorway{offer: inbox}
		}
		if p.told && p.works && len(p.untold) == 0 {
			f.busy = message.AgentWorking
			if f.may == "" {
				f.may = message.AgentWorking
			}
		}
	}
	p.inspect(&f, b, took)
	return f
}

// inspect adds what a look finds of the text under way.
func (p *program) inspect(f *found, b *batch, took func(message.ID) bool) {
	if b != nil && b.byDoor {
		f.consumed = p.told && took(b.parts[0].d.ID) && len(p.untold) == 0
		return
	}
	if b == nil || p.dialog {
		return
	}
	switch {
	case p.composer == b.text:
		f.own = screen.Whole
	case strings.Contains(p.composer, b.text):
		f.own = screen.Among
	}
	if !p.tells && !slices.Contains(p.expected, b.text) {
		f.echo = screen.Whole
	}
	f.emptied = !p.tells && p.composer == ""
}

// same reports whether the pane is as it was found, which tmux compares.
func (p *program) same(f found) bool {
	return f.look.Facts.HistorySize == p.drawn && f.look.Facts.Mark == p.mark && !p.mode
}
