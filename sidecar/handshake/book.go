package handshake

import (
	"cmp"
	"slices"
	"time"
)

const (
	// MaxOpen is the maximum number of open requests of one asker.
	MaxOpen = 1024
	// past is how many settled handshakes a Book remembers, to say who answered first; the journal
	// has all.
	past = 4096
)

// Book holds the handshakes of one relay. A handshake that a method returns has changed and must be
// written down; if the method returns an error, nothing has changed.
type Book struct {
	byID    map[string]Handshake
	open    map[Party]int // open requests of each asker, by identity
	settled []string      // in the order in which they ended
}

// NewBook returns a Book of handshakes that were written down. If two of them have the same id, the
// error is a *TakenError.
func NewBook(all ...Handshake) (*Book, error) {
	b := &Book{byID: make(map[string]Handshake, len(all)), open: make(map[Party]int)}
	for _, h := range slices.SortedFunc(slices.Values(all), func(a, b Handshake) int {
		return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.ID, b.ID))
	}) {
		if err := b.Add(h); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// put stores h, as a new handshake or as the next state of a known one.
func (b *Book) put(h Handshake) {
	asker := h.Asker
	asker.Name = ""
	if b.byID[h.ID].Open() {
		b.open[asker]--
	}
	switch {
	case h.Open():
		b.open[asker]++
	default:
		b.settled = append(b.settled, h.ID)
	}
	if b.open[asker] == 0 {
		delete(b.open, asker)
	}
	b.byID[h.ID] = h
	if len(b.settled) > past {
		delete(b.byID, b.settled[0])
		b.settled = b.settled[1:]
	}
}

// Add takes in a handshake that was written down. If its id is in use, the error is a *TakenError.
func (b *Book) Add(h Handshake) error {
	if err := h.check(); err != nil {
		return err
	}
	if _, taken := b.byID[h.ID]; taken {
		return &TakenError{h.ID}
	}
	b.put(h)
	return nil
}

// Ask begins a handshake. If its id is in use, the error is a *TakenError.
func (b *Book) Ask(now time.Time, r Request) (Handshake, error) {
	h, err := begin(now, r)
	if err != nil {
		return Handshake{}, err
	}
	if _, taken := b.byID[h.ID]; taken {
		return Handshake{}, &TakenError{h.ID}
	}
	asker := h.Asker
	asker.Name = ""
	if b.open[asker] >= MaxOpen {
		return Handshake{}, &TooManyError{h.Asker}
	}
	b.put(h)
	return h, nil
}

// Answer settles a handshake. An answer after Due is in time if Expire has not found the handshake
// yet. The error is an *UnknownError, a *NotYoursError or a *SettledError.
func (b *Book) Answer(now time.Time, by Party, a Answer) (Handshake, error) {
	h, err := b.Of(a.Kind, a.ID)
	if err != nil {
		return Handshake{}, err
	}
	h, err = h.answered(now, by, a.Approve, a.Note)
	if err != nil {
		return Handshake{}, err
	}
	b.put(h)
	return h, nil
}

// Of returns the handshake with a kind and id. The error is an *UnknownError.
func (b *Book) Of(kind Kind, id string) (Handshake, error) {
	h, known := b.byID[id]
	if !known || h.Kind != kind {
		return Handshake{}, &UnknownError{kind, id}
	}
	return h, nil
}

// Lookup returns the handshake with an id, or the zero value.
func (b *Book) Lookup(id string) Handshake { return b.byID[id] }

// Expire ends all handshakes whose time is over, and returns them in the order of Due.
func (b *Book) Expire(now time.Time) []Handshake {
	return b.end(now, Party{}, func(h Handshake) bool { return h.overdue(now) })
}

// GiveUp ends an open handshake that its asker no longer waits for, and returns the handshake as it
// stands. The error is an *UnknownError.
func (b *Book) GiveUp(now time.Time, kind Kind, id string) (Handshake, error) {
	h, err := b.Of(kind, id)
	if err != nil || !h.Open() {
		return h, err
	}
	h = h.expired(now, Party{})
	b.put(h)
	return h, nil
}

// Gone ends all handshakes that a party that is gone has not answered, and the plans that it
// submitted, which nobody would carry out. It returns them in the order of Due. A shutdown that the
// party asked for stays open: the teammate that approves it still ends.
func (b *Book) Gone(now time.Time, who Party) []Handshake {
	return b.end(now, who, func(h Handshake) bool {
		return h.Open() && (h.Answerer.Is(who) || h.Kind == Plan && h.Asker.Is(who))
	})
}

func (b *Book) end(now time.Time, gone Party, which func(Handshake) bool) (ended []Handshake) {
	for _, h := range b.byID {
		if which(h) {
			ended = append(ended, h.expired(now, gone))
		}
	}
	slices.SortFunc(ended, func(a, b Handshake) int {
		return cmp.Or(a.Due.Compare(b.Due), a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	for _, h := range ended {
		b.put(h)
	}
	return ended
}

// Next returns the time at which Expire has something to do, or the zero time.
func (b *Book) Next() (at time.Time) {
	for _, h := range b.byID {
		if h.Open() && !h.Due.IsZero() && (at.IsZero() || h.Due.Before(at)) {
			at = h.Due
		}
	}
	return at
}

// All returns the known handshakes, in the order in which they were asked.
func (b *Book) All() []Handshake {
	all := make([]Handshake, 0, len(b.byID))
	for _, h := range b.byID {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Handshake) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	return all
}
