// Package handshake is the state machine behind the two protocols of the team lesson: the lead asks
// a teammate to shut down, and a teammate submits a plan to the lead. A request has a request_id;
// its addressee, and nobody else, approves or rejects it, once.
//
//	pending ──► approved
//	        ├─► rejected
//	        └─► expired, which the lesson does not have: its trackers go on saying pending
//
// All states but pending are final. Free text never changes a state: an answer is a message of the
// protocol's own type, with the request_id and with approve set (Said).
//
// The package is pure: times and ids are passed in. A Handshake is a value, and the journal stores
// its JSON. A Book has one user, its owner.
package handshake

import (
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Kind says what a handshake asks for.
type Kind string

// The kinds.
const (
	Shutdown Kind = "shutdown" // the lead asks a teammate to end
	Plan     Kind = "plan"     // a teammate asks the lead to approve its plan
)

// State is the state of a handshake.
type State string

// The states. All but Pending are final.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Rejected State = "rejected"
	Expired  State = "expired" // its time is over, its asker no longer waits, or a party without which it makes no sense has gone
)

// Party is the asker or the answerer. The zero value is nobody.
type Party struct {
	Peer   message.ID `json:"peer,omitempty"`
	Person bool       `json:"person,omitempty"` // the person at this computer, who is no peer
	Name   string     `json:"name,omitempty"`   // what the trackers call it; it does not distinguish parties
}

// Is reports whether both are the same party, whatever their names.
func (p Party) Is(other Party) bool { return p.Peer == other.Peer && p.Person == other.Person }

// proven reports whether the party is exactly one person or one peer.
func (p Party) proven() bool {
	return p.Person == (p.Peer == "") && p.Peer != message.Unverified
}

// Handshake is one request and its outcome.
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
	Gone     bool      `json:"gone,omitempty"` // it expired because its answerer was gone
	// AskerGone says that this is a plan that expired because its asker was gone.
	AskerGone bool `json:"asker_gone,omitempty"`
}

// Request describes a handshake that begins.
type Request struct {
	ID              string // NewID
	Kind            Kind
	Asker, Answerer Party
	Text            string
	Patience        time.Duration // time until it expires; 0: never
}

// Limits.
const (
	idLength = 8
	maxName  = 256             // bytes
	maxText  = message.MaxBody // bytes
)

// NewID returns a request_id made as in the lesson: the first eight digits of a random UUID. It may
// be in use already; then Ask says so, and the caller makes another one.
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

// begin returns the handshake that a request begins.
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

// stamp returns a time as it is written down.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }

// answered returns h with its answer.
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

// expired returns h after its time is over, or after a party has gone.
func (h Handshake) expired(now time.Time, gone Party) Handshake {
	h.State, h.Ended, h.Gone, h.AskerGone = Expired, stamp(now), h.Answerer.Is(gone), h.Asker.Is(gone)
	return h
}

// Open reports whether h may still be answered.
func (h Handshake) Open() bool { return h.State == Pending }

// overdue reports whether h is still open although its time is over.
func (h Handshake) overdue(now time.Time) bool {
	return h.Open() && !h.Due.IsZero() && !now.Before(h.Due)
}

// check refuses an invalid handshake.
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
		return invalid(h.ID, "its fields do not fit state %s", h.State)
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
		return invalid(h.ID, "its asked time is missing")
	}
	return nil
}
