package message

import (
	"slices"
	"strings"
)

// Edited is how the evidence of a receipt begins by which a person let a text go that they had changed. Their name follows.
const Edited = "edited and approved by "

// Edits knows of which messages a person changed the text before it went, by the events that it has taken in. The zero value
// knows of none.
type Edits struct {
	deliveries map[ID]bool
	messages   map[ID]Delivery
}

// Take takes in an event, in their order. It reports whether that is the first to tell what was typed in the place of the words
// that were said.
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

// Of reports whether a person changed the text of a message, and a delivery that was typed with that text; while none was,
// that is empty.
func (x *Edits) Of(m ID) (d Delivery, edited bool) {
	d, edited = x.messages[m]
	return d, edited
}
