package handshake

import (
	"encoding/json"
	"fmt"
)

// UnmarshalJSON reads what was written down, and refuses what no handshake can be. Fields that it
// does not know, of a later version, are left out.
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

// Tracker is a handshake as the lesson keeps it, for whoever asks after its status: target and
// status of a shutdown; from, plan and status of a plan.
type Tracker struct {
	Target  string  `json:"target,omitempty"`
	From    string  `json:"from,omitempty"`
	Plan    *string `json:"plan,omitempty"`
	Status  State   `json:"status"` // pending, approved or rejected
	Expired bool    `json:"expired,omitempty"`
}

// Tracker is h as the lesson keeps it.
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
