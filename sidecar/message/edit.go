package message

import (
	"slices"
	"strings"
)

// Edited begins the evidence of a receipt with which a person let a text go that they had changed.
// The person's name follows.
const Edited = "edited and approved by "

// Edits records which messages a person edited before they went, from the events that it has taken
// in. The zero value is empty.
type Edits struct {
	deliveries map[ID]bool
	messages   map[ID]Delivery
}

// Take takes in an event; events come in their order. It reports whether the event is the first to
// show the text that was typed instead of the original.
func (x *Edits) Take(e Event) bool {
	if e.Receipt == nil {
		return false
	}
	r := *e.Receipt
	if slices.ContainsFunc(r.Evidence, func(v Evidence) bool { return strings.HasPrefix(v.Says, Edited) }) {
		if x.deliveries == nil {
			x.deliveries, x.messages = map[ID]bool{}, map[ID]Delivery{}
		}
		x.deliveries[r.Delivery] = true
		if _, known := x.messages[r.Message]; !known {
			x.messages[r.Message] = Delivery{}
		}
	}
	if !x.deliveries[r.Delivery] || e.Delivery == nil || e.Delivery.Message.Body == "" || x.messages[r.Message].ID != "" {
		return false
	}
	x.messages[r.Message] = *e.Delivery
	return true
}

// Of reports whether a person edited a message, and returns a delivery that was typed with the new
// text; it is empty as long as none was.
func (x *Edits) Of(m ID) (d Delivery, edited bool) {
	d, edited = x.messages[m]
	return d, edited
}
