// Package waits keeps the list of what waits for a person steady: a wait that comes and goes from
// look to look is neither listed nor told, and a listed one is told once. The package is pure: time
// is passed in.
//
//	          there            for its rise
//	(unknown) ─────► coming ─────────────────► listed ◄──────┐ there
//	    ▲              │ not there               │ not there │
//	    │ forgotten    ▼                         ▼           │
//	    └─────────── gone ◄──────────────────── going ───────┘
//	                   │      for its fall
//	                   └──► coming, once it is there again
//
// A wait that came often of late has a longer rise. A wait that the journal states, such as a
// requested approval or a paused chat, is listed at once.
//
// Counted condenses the list for those who show it in one line.
package waits

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	// rise is how long a pane shows a wait before it is listed; fall is how long a pane does not
	// show it before it is no longer listed. Including the look at the pane, both stay within a
	// second.
	rise = 300 * time.Millisecond
	fall = 300 * time.Millisecond
	// tellAfter is how long a wait is listed, and there in every look, before it is told.
	tellAfter = time.Second
	// memory is how long a wait is remembered after it has gone: that it comes often, and that it
	// was told.
	memory = 10 * time.Second
)

// rises lists the rise of a wait by how often it came within memory, including now.
var rises = []time.Duration{rise, rise, 5 * rise, 15 * rise}

// stage is the stage of a wait.
type stage int

const (
	coming stage = iota // there, not listed yet
	listed              // there
	going               // listed, no longer there
	gone                // remembered
)

// row is one wait, by its id.
type row struct {
	stage  stage
	since  time.Time // of the stage
	wait   message.Wait
	comes  []time.Time   // when it came, within memory
	other  *message.Wait // with listed: what it has turned into, by the last look
	turned time.Time     // when other began
	told   string        // what a person was told of it; "": nothing
}

// Board is the list. Its zero value is empty. Use it from one goroutine at a time.
type Board struct {
	rows map[string]*row
	seen bool // See was called: journal waits that were there before are not told
}

// See takes in everything that waits for a person at a time. Times never go back.
func (b *Board) See(now time.Time, all []message.Wait) {
	if b.rows == nil {
		b.rows = make(map[string]*row)
	}
	there := make(map[string]bool, len(all))
	for _, w := range all {
		if there[w.ID] {
			continue
		}
		there[w.ID] = true
		r := b.rows[w.ID]
		if r == nil {
			r = &row{stage: gone}
			b.rows[w.ID] = r
		}
		r.see(now, w)
		if !b.seen && steady(w) {
			r.told = told(w)
		}
	}
	for id, r := range b.rows {
		if !there[id] {
			r.miss(now)
		}
		if r.stage == gone && now.Sub(r.since) >= memory {
			delete(b.rows, id)
		}
	}
	b.seen = true
}

// steady reports whether a wait is certain because the sidecar states it, rather than read from a
// pane.
func steady(w message.Wait) bool {
	return w.Kind == message.WaitApprove || w.Kind == message.WaitPaused
}

// told returns what a person knows after being told of a wait.
func told(w message.Wait) string {
	return strings.Join([]string{string(w.Kind), w.Words, w.Text}, "\x00")
}

// see takes in that the wait is there.
func (r *row) see(now time.Time, w message.Wait) {
	if w.Since.IsZero() || w.Since.After(now) {
		w.Since = now
	}
	switch r.stage {
	case gone:
		r.comes = append(r.comes, now)
		if r.wait = w; r.told != told(w) {
			r.told = ""
		}
		r.to(coming, now)
	case coming:
		since := r.wait.Since
		if r.wait = w; since.Before(w.Since) {
			r.wait.Since = since
		}
	case going:
		r.comes = append(r.comes, now)
		r.to(listed, now)
		r.turn(now, w)
	case listed:
		r.turn(now, w)
	}
	if r.stage == coming && now.Sub(r.since) >= r.rise(now) {
		r.to(listed, now)
	}
}

// turn takes in what the wait is now. If it has become something else, that counts only once it has
// lasted.
func (r *row) turn(now time.Time, w message.Wait) {
	if r.wait.Kind == message.WaitQuestion && w.Kind == message.WaitDialog && w.Text == r.wait.Text {
		// An agent records the answer to its question a moment before its screen shows it.
		w.Kind, w.Words, w.Next = r.wait.Kind, r.wait.Words, r.wait.Next
	}
	if w.Words == r.wait.Words && w.Kind == r.wait.Kind {
		w.Since, r.other = r.wait.Since, nil
		r.wait = w
		return
	}
	if r.other == nil || r.other.Words != w.Words || r.other.Kind != w.Kind {
		r.turned = now
	}
	r.other = &w
	if now.Sub(r.turned) >= r.rise(now) {
		w.Since, r.wait, r.other, r.told = r.turned, w, nil, ""
		r.comes = append(r.comes, now)
		r.to(listed, now)
	}
}

// miss takes in that the wait is not there.
func (r *row) miss(now time.Time) {
	switch r.stage {
	case coming:
		r.to(gone, now)
	case listed:
		r.other = nil
		r.to(going, now)
	}
	if r.stage == going && (steady(r.wait) || now.Sub(r.since) >= fall) {
		r.to(gone, now)
	}
}

func (r *row) to(s stage, now time.Time) { r.stage, r.since = s, now }

// rise returns how long the wait must be there before it is listed.
func (r *row) rise(now time.Time) time.Duration {
	if steady(r.wait) {
		return 0
	}
	r.comes = slices.DeleteFunc(r.comes, func(at time.Time) bool { return now.Sub(at) >= memory })
	return riseOf(len(r.comes))
}

// riseOf returns the rise of a wait that came so often.
func riseOf(comes int) time.Duration { return rises[min(max(comes, 1), len(rises))-1] }

// risen returns when a wait that is there since then will have been there for its rise. The rise gets
// shorter each time that the oldest coming is forgotten.
func (r *row) risen(since time.Time) time.Time {
	at := since.Add(riseOf(len(r.comes)))
	for i, came := range r.comes {
		forgotten, then := came.Add(memory), since.Add(riseOf(len(r.comes)-i-1))
		if then.Before(forgotten) {
			then = forgotten
		}
		if then.Before(at) {
			at = then
		}
	}
	return at
}

// List returns the listed waits, the longest first.
func (b *Board) List() []message.Wait {
	var all []message.Wait
	for _, r := range b.rows {
		if r.stage == listed || r.stage == going {
			all = append(all, r.wait)
		}
	}
	slices.SortFunc(all, func(a, b message.Wait) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID)) })
	return all
}

// Tell returns the waits that a person is to be told of by now and has not been, and counts them as
// told. Each wait is told once, as long as it lasts and for a short time after.
func (b *Board) Tell(now time.Time) []message.Wait {
	var all []message.Wait
	for _, w := range b.List() {
		if r := b.rows[w.ID]; r.tellable(now) {
			r.told = told(w)
			all = append(all, w)
		}
	}
	return all
}

func (r *row) tellable(now time.Time) bool {
	return r.stage == listed && r.other == nil && r.told == "" && now.Sub(r.since) >= tellAfter
}

// Due returns the time at which See or Tell has something to do although nothing has changed. It
// reports false if there is none.
func (b *Board) Due() (at time.Time, ok bool) {
	for _, r := range b.rows {
		due := r.since.Add(tellAfter)
		switch {
		case r.stage == coming:
			due = r.risen(r.since)
		case r.stage == going:
			due = r.since.Add(fall)
		case r.stage == listed && r.other != nil:
			due = r.risen(r.turned)
		case r.stage == gone, r.told != "":
			continue
		}
		if !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}
