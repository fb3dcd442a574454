package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// Commands are what a person lets be typed without a head: those commands, into programs of those
// profiles. The zero value is none.
type Commands struct {
	Names    []string // `/name`
	Profiles []string
}

// strip lets a delivery go bare, as far as the relay can say: a single message of a person's, or of a
// session here, that is nothing but a command which the person has named. Its reader is told who asks
// for it, in a message before it; its sink types it bare only once that was taken. It is asked each time
// that it goes to its sink, since a person may have edited it, or the settings, meanwhile.
func (tx *tx) strip(d *delivery) {
	if d.Typed {
		return
	}
	target := tx.present(d.Target)
	name, line, ok := message.CommandLine(render.Words(d.Form, d.Message))
	bare := ok && target != nil && target.Kind == message.PeerPane && d.Chat == "" && !d.Formatted && commands(d.Message) &&
		slices.Contains(tx.commands.Names, name) && slices.Contains(tx.commands.Profiles, target.Profile)
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

// unname takes back from their sinks what may go bare no more, since its person has changed the settings: it is handed out
// again as it may go now. What was typed stays as it is.
func (tx *tx) unname() {
	for _, d := range tx.underway(func(d *delivery) bool { return d.Bare && !d.Typed && d.where == atSink }, place{inChat, ""}) {
		if name, _, _ := message.CommandLine(render.Words(d.Form, d.Message)); !slices.Contains(tx.commands.Names, name) {
			tx.cancel([]*delivery{d}, message.DecidedAnew)
			tx.hand(d)
		}
	}
}

// commands reports whether the author of a message is one whose command may go bare: a person, or a session
// that is proven by its process, on this computer.
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
