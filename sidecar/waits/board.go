// Package waits keeps the list of what a person is waited for steady: what comes and goes by the look
// is not listed, not told, and what is listed is told once. It is pure: time is passed in.
//
//	          there            for its rise
//	(unknown) ─────► coming ─────────────────► listed ◄──────┐ there
//	    ▲              │ not there               │ not there │
//	    │ forgotten    ▼                         ▼           │
//	    └─────────── gone ◄──────────────────── going ───────┘
//	                   │      for its fall
//	                   └──► coming, once it is there again
//
// The rise of what came often of late is longer. What our own journal says, an approval that is
// asked for or a chat that is paused, is so at once.
//
// Counted puts the list together for those who tell it in a line.
package waits

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	// rise is how long a pane shows a wait before it is listed, and fall how long not before it is
	// listed no more. With a look at the pane both stay within a second.
	rise = 300 * time.Millisecond
	fall = 300 * time.Millisecond
	// tellAfter is how long a wait is listed, and there in every look, before it is told.
	tellAfter = time.Second
	// memory is how long what has gone is remembered: what comes often, and that it was told.
	memory = 10 * time.Second
)

// rises are the rise of what came that often within memory, the first time included.
var rises = []time.Duration{rise, rise, 5 * rise, 15 * rise}

// stage is where a wait stands.
type stage int

const (
	coming stage = iota // there, and not listed yet
	listed              // there
	going               // listed, and not there any more
	gone                // remembered
)

// row is one wait, by its id.
type row struct {
	stage  stage
	since  time.Time // of the stage
	wait   message.Wait
	comes  []time.Time   // within memory
	other  *message.Wait // with listed: it is for something else by now, as the last look has it
	turned time.Time     // since when
	told   string        // what was told of it, "" for nothing
}

// Board is the list. Its zero value is empty. It is used by one goroutine at a time.
type Board struct {
	rows map[string]*row
	seen bool // once: what was there before is told to nobody
}

// See takes in all that a person is waited for at a time, which never goes back.
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

// steady reports whether a wait is so because we say so, and not because a pane looks like it.
func steady(w message.Wait) bool {
	return w.Kind == message.WaitApprove || w.Kind == message.WaitPaused
}

// told is what a person who was told of it knows.
func told(w message.Wait) string {
	return strings.Join([]string{string(w.Kind), w.Words, w.Text}, "\x00")
}

// see takes in that it is there.
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

// turn takes in what it is for by now: something else only once that has lasted.
func (r *row) turn(now time.Time, w message.Wait) {
	if r.wait.Kind == message.WaitQuestion && w.Kind == message.WaitDialog && w.Text == r.wait.Text {
		// An agent writes down that its question was answered a moment before its screen shows that.
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

// miss takes in that it is not there.
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

// rise is how long it must be there before it is listed.
func (r *row) rise(now time.Time) time.Duration {
	if steady(r.wait) {
		return 0
	}
	r.comes = slices.DeleteFunc(r.comes, func(at time.Time) bool { return now.Sub(at) >= memory })
	return rises[min(max(len(r.comes), 1), len(rises))-1]
}

// List is what is listed, the longest wait first.
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

// Tell is what a person is to be told of by that time, and has not been: it counts as told now. What
// is told of a wait is told once, for as long as it lasts and shortly after.
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

// Due is when See or Tell have something to do though nothing has changed; false if never.
func (b *Board) Due() (at time.Time, ok bool) {
	for _, r := range b.rows {
		due := r.since.Add(tellAfter)
		switch {
		case r.stage == coming:
			due = r.since.Add(rises[min(max(len(r.comes), 1), len(rises))-1])
		case r.stage == going:
			due = r.since.Add(fall)
		case r.stage == listed && r.other != nil:
			due = r.turned.Add(rises[min(max(len(r.comes), 1), len(rises))-1])
		case r.stage == gone, r.told != "":
			continue
		}
		if !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}
