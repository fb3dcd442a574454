package link

import (
	"sync"
	"time"
)

// turns decides whose mail is read next, by its subject: one message of each sender that has some, then the
// next of each. So a sender of much mail delays only itself. Anybody can invent names of unknown computers, so
// all of those together have one turn.
type turns struct {
	known func(subject string) bool
	rung  chan struct{} // there is more mail

	mu        sync.Mutex
	all       map[string]time.Time // when it is a subject's turn again
	strangers time.Time            // the same, for all that are not known
	more      bool                 // there was no room for all
}

// mostWaiting is the number of subjects from which on unknown ones are not remembered. Their mail stays in the
// mailbox.
const mostWaiting = 1000

func newTurns(known func(string) bool) *turns {
	return &turns{known: known, rung: make(chan struct{}, 1), all: map[string]time.Time{}}
}

// ring notes that there is mail.
func (t *turns) ring(subject string) {
	known := t.known(subject)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, has := t.all[subject]; has {
		return
	}
	if t.more = t.more || !known && len(t.all) >= mostWaiting; known || !t.more {
		t.all[subject] = time.Time{}
		wake(t.rung)
	}
}

// again notes that a subject may have more mail, which is not looked at before a time.
func (t *turns) again(subject string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[subject] = at
	if !t.known(subject) {
		t.strangers = at
	}
}

// due returns when it is the turn of a subject, and whether its sender is unknown.
func (t *turns) due(subject string) (at time.Time, stranger bool) {
	if t.known(subject) {
		return t.all[subject], false
	}
	return latest(t.all[subject], t.strangers), true
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// round takes out the subjects whose turn it is. One that rings meanwhile gets another turn.
func (t *turns) round(now time.Time) (subjects []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	strangers := 0
	for subject := range t.all { // in no order
		at, stranger := t.due(subject)
		if at.After(now) {
			continue
		}
		if stranger {
			if strangers++; strangers > 1 {
				continue
			}
		}
		subjects = append(subjects, subject)
		delete(t.all, subject)
	}
	return subjects
}

// drained reports, once, that no subject is left although there was no room for all.
func (t *turns) drained() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := t.more && len(t.all) == 0
	t.more = t.more && !is
	return is
}

// next returns when it is the next subject's turn, but no later than end.
func (t *turns) next(end time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	for subject := range t.all {
		if at, _ := t.due(subject); at.Before(end) {
			end = at
		}
	}
	return end
}
