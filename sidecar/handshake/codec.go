package handshake

import (
	"encoding/json"
	"fmt"
)

// UnmarshalJSON reads a handshake that was written down, and refuses an invalid one. It ignores
// unknown fields, which a later version wrote.
func (h *Handshake) UnmarshalJSON(text []byte) error {
	type plain Handshake
	var read plain
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	next := Handshake(read)
	if err := next.check(); err != nil {
		return err
	}
	next.Asked, next.Due, next.Ended = stamp(next.Asked), stamp(next.Due), stamp(next.Ended)
	*h = next
	return nil
}

// Tracker is a handshake in the form that the lesson keeps, for a status query. A shutdown has
// target and status; a plan has from, plan and status.
type Tracker struct {
	Target  string  `json:"target,omitempty"`
	From    string  `json:"from,omitempty"`
	Plan    *string `json:"plan,omitempty"`
	Status  State   `json:"status"` // pending, approved or rejected
	Expired bool    `json:"expired,omitempty"`
}

// Tracker returns h in the form that the lesson keeps.
func (h Handshake) Tracker() Tracker {
	t := Tracker{Status: h.State}
	if h.State == Expired {
		t.Status, t.Expired = Pending, true
	}
	if h.Kind == Plan {
		t.From, t.Plan = h.Asker.called(), &h.Text
	} else {
		t.Target = h.Answerer.called()
	}
	return t
}
