package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// Commands are the commands that a person lets through without a head, and the profiles of the
// programs that may get them. The zero value allows none.
type Commands struct {
	Names    []string // `/name`
	Profiles []string
}

// let reports whether the command of that name may go bare into a program of that profile.
func (c Commands) let(name, profile string) bool {
	return slices.Contains(c.Names, name) && slices.Contains(c.Profiles, profile)
}

// strip marks a delivery as bare if the relay allows that: it is a single message of a person, or
// of a session here, and consists of nothing but a command that the person has named. A message
// before it tells the reader who asks for the command; the sink types the command bare only once
// that message was taken. strip runs each time that the delivery goes to its sink, since a person
// may have edited it, or changed the settings, meanwhile.
func (tx *tx) strip(d *delivery) {
	if d.Typed {
		return
	}
	target := tx.present(d.Target)
	name, line, ok := message.CommandLine(render.Words(d.Form, d.Message))
	bare := ok && target != nil && target.Kind == message.PeerPane && d.Chat == "" && !d.Formatted && commands(d.Message) &&
		tx.commands.let(name, target.Profile)
	if bare && d.Note == "" {
		d.Note = tx.introduce(d, target, line)
	}
	if bare != d.Bare {
		if d.Bare = bare; bare {
			d.Way = message.DoorType // a door takes text alone
		}
		tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
	}
}

// unname takes back from their sinks the bare deliveries that the new settings do not let through,
// and hands them out again as they may go now. What was typed stays as it is.
func (tx *tx) unname() {
	for _, d := range tx.underway(func(d *delivery) bool { return d.Bare && !d.Typed && d.where == atSink }, place{inChat, ""}) {
		name, _, _ := message.CommandLine(render.Words(d.Form, d.Message))
		if target := tx.present(d.Target); target == nil || !tx.commands.let(name, target.Profile) {
			tx.cancel([]*delivery{d}, message.DecidedAnew)
			tx.hand(d)
		}
	}
}

// commands reports whether the author's commands may go bare: the author is a person, or a session
// on this computer proven by its process.
func commands(m message.Envelope) bool {
	switch m.Trust {
	case message.TrustPerson:
		return m.Origin == message.OriginHuman
	case message.TrustVerified:
		return m.Origin == message.OriginAgent
	}
	return false
}

// introduce tells the reader of a command who asks for it.
func (tx *tx) introduce(d *delivery, target *peer, line string) message.ID {
	note := message.Envelope{
		ID: tx.ids.next(tx.now), From: d.Message.From, To: []message.Address{address(target)}, Type: message.KindNotice,
		Body: fmt.Sprintf("%s asks for the command %q, which comes without a header.", d.Message.From.Name, line), InReplyTo: d.Message.ID,
		Origin: message.OriginSystem, Trust: message.TrustVerified, Depth: d.Message.Depth, Created: tx.now,
	}
	tx.step.Received = append(tx.step.Received, note)
	tx.told = append(tx.told, message.Event{At: tx.now, Kind: "message", Message: &note})
	tx.step.Verdicts = append(tx.step.Verdicts, message.Verdict{Message: note.ID, Decision: message.Decision{Verb: message.VerbDeliver, By: "built in"}, At: tx.now})
	planned := message.Delivery{Target: target.ID, Attempt: 1}
	planned.Form, planned.Message = render.For(note, nil)
	if one := tx.create(planned); tx.under[one.ID] == one {
		tx.hand(one)
	}
	return note.ID
}
