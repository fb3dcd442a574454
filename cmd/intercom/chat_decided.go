package main

import (
	"cmp"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// decided is what persons decided about the messages of a chat, by what has happened in it: the words that an agent said are
// not what the others heard where a person edited or rejected them.
type decided struct {
	edits   message.Edits
	refused map[message.ID][]string // by message: who does not get it, and why
	names   map[message.ID]string   // of the participants
}

// decidedIn knows of no decision yet.
func decidedIn(c message.Chat) *decided {
	d := &decided{refused: map[message.ID][]string{}, names: map[message.ID]string{}}
	d.know(c)
	return d
}

func (d *decided) know(c message.Chat) {
	for _, p := range c.Participants {
		d.names[p.Peer] = p.Name
	}
}

// take takes in an event. Where it tells of a decision for the first time, it returns that in a line, with the text that was
// typed in the place of what was said.
func (d *decided) take(e message.Event) (line, text string) {
	if e.Change != nil {
		d.know(*e.Change)
	}
	typed := d.edits.Take(e)
	if e.Receipt == nil {
		return "", ""
	}
	r := *e.Receipt
	switch {
	case typed:
		edit, _ := d.edits.Of(r.Message)
		return fmt.Sprintf("message %s goes as a person edited it", r.Message.Short()), render.Words(edit.Form, edit.Message)
	case r.State == message.Failed && (r.Reason == message.Rejected || r.Reason == message.RepliedInstead):
		why := cmp.Or(d.names[r.Target], r.Target.Short()) + ": " + string(r.Reason)
		d.refused[r.Message] = append(d.refused[r.Message], why)
		return fmt.Sprintf("message %s to %s", r.Message.Short(), why), ""
	}
	return "", ""
}

// words are those of a message as they were typed, and what is said of them behind their author.
func (d *decided) words(m message.Envelope) (body, how string) {
	switch edit, edited := d.edits.Of(m.ID); {
	case !edited:
		return m.Body, ""
	case edit.ID == "":
		return m.Body, ", before a person edited it"
	default:
		return render.Words(edit.Form, edit.Message), ", edited by a person"
	}
}
