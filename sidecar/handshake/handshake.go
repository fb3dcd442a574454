// Package handshake is the one state machine behind the two protocols of the team lesson: the
// lead asks a teammate to shut down, and a teammate submits a plan to the lead. A request has a
// request_id; the one peer to whom it is addressed approves or rejects it, once.
//
//	pending ──► approved
//	        ├─► rejected
//	        └─► expired, which the lesson does not have: its trackers go on saying pending
//
// All but pending are final. Nothing that is merely said changes a state: an answer is a message of
// the protocol's own type, with the request_id and with approve set (Said).
//
// It is pure: time is passed in, and so are ids. A Handshake is a value, whose JSON is what the
// journal keeps of it. It owns nothing; whoever has a Book is its only user.
package handshake

import (
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Kind says what is asked.
type Kind string

// The kinds.
const (
	Shutdown Kind = "shutdown" // the lead asks a teammate to end
	Plan     Kind = "plan"     // a teammate asks the lead to approve its plan
)

// State is where a handshake stands.
type State string

// The states. All but Pending are final.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Rejected State = "rejected"
	Expired  State = "expired" // its time was over, its asker waits no more, or somebody has gone without whom it is nothing
)

// Party is who asks or is asked. The zero value is nobody.
type Party struct {
	Peer   message.ID `json:"peer,omitempty"`
	Person bool       `json:"person,omitempty"` // the person at this computer, who is no peer
	Name   string     `json:"name,omitempty"`   // by which the trackers call it; two parties do not differ by it
}

// Is reports whether both are the same.
func (p Party) Is(other Party) bool { return p.Peer == other.Peer && p.Person == other.Person }

// proven reports whether it is one person or one peer.
func (p Party) proven() bool {
	return p.Person == (p.Peer == "") && p.Peer != message.Unverified
}

// Handshake is one request and what became of it.
type Handshake struct {
	ID       string    `json:"request_id"` // eight hex digits
	Kind     Kind      `json:"kind"`
	Asker    Party     `json:"asker"`
	Answerer Party     `json:"answerer"`       // nobody else may answer
	Text     string    `json:"text,omitempty"` // the plan
	Asked    time.Time `json:"asked"`
	Due      time.Time `json:"due,omitzero"` // when it expires; zero: never
	State    State     `json:"state"`
	Note     string    `json:"note,omitempty"` // the answer's reason or feedback
	Ended    time.Time `json:"ended,omitzero"` // when it was answered, or found to have expired
	Gone     bool      `json:"gone,omitempty"` // it expired because its answerer has gone
	// AskerGone: it is a plan, and expired because whoever submitted it has gone.
	AskerGone bool `json:"asker_gone,omitempty"`
}

// Request is what a handshake begins with.
type Request struct {
	ID              string // NewID
	Kind            Kind
	Asker, Answerer Party
	Text            string
	Patience        time.Duration // until it expires; 0: it does not
}

// Limits.
const (
	idLength = 8
	maxName  = 256             // bytes
	maxText  = message.MaxBody // bytes
)

// NewID makes a request_id as the lesson does: the first eight digits of a random UUID. It may be
// one that is in use: then Ask says so, and another one is made.
func NewID() string { return uuid.NewString()[:idLength] }

// ValidID reports whether a text has the form of a request_id.
func ValidID(id string) bool {
	if len(id) != idLength {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// begin is the handshake that a request begins.
func begin(now time.Time, r Request) (Handshake, error) {
	h := Handshake{ID: r.ID, Kind: r.Kind, Asker: r.Asker, Answerer: r.Answerer, Text: r.Text, Asked: stamp(now), State: Pending}
	if r.Patience < 0 {
		return Handshake{}, invalid(r.ID, "patience of %v is negative", r.Patience)
	}
	if r.Patience > 0 {
		h.Due = stamp(now.Add(r.Patience))
	}
	return h, h.check()
}

// stamp is a time as it is written down.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }

// answered is h with its answer.
func (h Handshake) answered(now time.Time, by Party, approve bool, note string) (Handshake, error) {
	switch {
	case !by.Is(h.Answerer):
		return h, &NotYoursError{h}
	case h.State != Pending:
		return h, &SettledError{h}
	}
	next := h
	next.State, next.Note, next.Ended = Rejected, note, stamp(now)
	if approve {
		next.State = Approved
	}
	if err := next.check(); err != nil {
		return h, err
	}
	return next, nil
}

// expired is h after its time, or since somebody has gone.
func (h Handshake) expired(now time.Time, gone Party) Handshake {
	h.State, h.Ended, h.Gone, h.AskerGone = Expired, stamp(now), h.Answerer.Is(gone), h.Asker.Is(gone)
	return h
}

// Open reports whether it still may be answered.
func (h Handshake) Open() bool { return h.State == Pending }

// overdue reports whether its time is over and nobody has said so yet.
func (h Handshake) overdue(now time.Time) bool {
	return h.Open() && !h.Due.IsZero() && !now.Before(h.Due)
}

// check refuses what no handshake can be.
func (h Handshake) check() error {
	switch {
	case !ValidID(h.ID):
		return invalid(h.ID, "it is not eight hex digits")
	case h.Kind != Shutdown && h.Kind != Plan:
		return invalid(h.ID, "kind %.40q is neither shutdown nor plan", h.Kind)
	case !h.Asker.proven(), !h.Answerer.proven():
		return invalid(h.ID, "asker and answerer have to be one proven peer or person each")
	case h.Asker.Is(h.Answerer):
		return invalid(h.ID, "nobody can ask itself")
	case h.State != Pending && h.State != Approved && h.State != Rejected && h.State != Expired:
		return invalid(h.ID, "state %.40q is unknown", h.State)
	case h.Open() != h.Ended.IsZero(), (h.Gone || h.AskerGone) && h.State != Expired, h.Note != "" && h.State != Approved && h.State != Rejected:
		return invalid(h.ID, "it is %s, and its fields say otherwise", h.State)
	}
	for _, text := range []struct {
		what, text string
		most       int
	}{{"text", h.Text, maxText}, {"note", h.Note, maxText}, {"name", h.Asker.Name, maxName}, {"name", h.Answerer.Name, maxName}, {"peer", string(h.Asker.Peer), maxName}, {"peer", string(h.Answerer.Peer), maxName}} {
		switch {
		case len(text.text) > text.most:
			return invalid(h.ID, "%s of %d bytes: the limit is %d", text.what, len(text.text), text.most)
		case !utf8.ValidString(text.text):
			return invalid(h.ID, "%s is not valid UTF-8", text.what)
		}
	}
	for _, at := range []time.Time{h.Asked, h.Due, h.Ended} {
		if year := at.UTC().Year(); year < 1 || year > 9999 {
			return invalid(h.ID, "year %d cannot be written down", year)
		}
	}
	if h.Asked.IsZero() {
		return invalid(h.ID, "nobody knows when it was asked")
	}
	return nil
}
