package main

import (
	"cmp"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// decided collects from the events of a chat what persons decided about its messages. If a person edited or rejected a
// message, the others did not hear the words of its author.
type decided struct {
	edits   message.Edits
	refused map[message.ID][]string // by message: who does not get it, and why
	names   map[message.ID]string   // names of the participants
}

// decidedIn returns a decided for a chat that knows of no decision yet.
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

// take takes in an event. If the event is the first to tell of a decision, take returns a line about it, and the text
// that was typed in place of the author's.
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

// words returns the body of a message as it was typed, and what to say about it after its author's name.
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
