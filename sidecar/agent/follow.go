package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

const (
	// rescan is the interval at which a Follower looks without being woken.
	rescan = time.Second
	// pastWindow is how many bytes of an existing transcript are read: enough to know whether a turn is open and
	// what was said last.
	pastWindow = 8 << 20
	// seekEvery is the interval at which a typed text is searched for. seekAgain is how long it must have stood in
	// exactly one transcript. seekFor is how long the search lasts at most.
	seekEvery = 250 * time.Millisecond
	seekAgain = 700 * time.Millisecond
	seekFor   = time.Minute
)

// Update is one report of a Follower. Exactly one field is set.
type Update struct {
	Event  *Event      // for the Machine, in order
	Bound  *Transcript // from here on, events come from this transcript; its past has been reported
	Status *Status     // the status has changed; only Claude Code has one
	Err    error       // ErrNoTranscript, ErrAmbiguous, *UnreadableError: use the next source of words until Bound
}

// Follower follows what one agent writes down. Set its exported fields before Serve.
type Follower struct {
	Agent Agent
	Bell  *Bell                  // nil: the Follower only looks once a second
	Own   func(text string) bool // reports whether a text was typed into no other agent, so that its transcript is this one's; may be nil
	Taken func(path string) bool // reports whether a transcript is another agent's, so that a text never binds it; may be nil

	now     func() time.Time
	began   time.Time
	looked  atomic.Pointer[Sight] // the last complete look, and what is known of later ones
	updates chan Update
	seeks   chan seek
	names   chan string
	shows   chan Shown
	ear     chan struct{}
	format  format

	// All fields below belong to Serve.
	bound     Transcript
	tail      source
	heard     map[string]bool  // directories that the Bell watches
	offsets   map[string]int64 // where reading stopped in the transcripts that the agent has left
	beside    *beside          // the other conversations in the agent's directory
	seeking   *seek
	shown     *shown              // what the screen shows, until its transcript is found
	stood     bool                // the transcript was found by what the screen showed at the first look
	fresh     time.Time           // with stood: events with a later date are news; zero: since the Follower began
	astray    error               // why the agent's transcript was abandoned; nil once there is another
	ends      map[string]exchange // the ends of transcripts, by path
	named     string              // the conversation that the agent's hook has named
	status    *Status             // read, but not reported yet
	told      Status              // the last status reported
	arriving  bool                // the past of bound is being reported, and whether a turn is open at its end is not settled
	staying   bool                // with arriving: bound is the first transcript, so a turn in it may be open
	searched  bool                // there was no transcript at first
	confirmed time.Time           // when the agent was last known to write to bound, or to nothing yet
	bindErr   string              // the last one reported
	sick      bool                // the error that bound cannot be read was reported
	unasked   error               // why a status file that could be read before cannot be read now
}

type seek struct {
	text    string
	at      time.Time
	found   string // the only transcript that contains it; foundAt is since when
	foundAt time.Time
}

// NewFollower returns a Follower of an agent from now on; now is its clock.
func NewFollower(a Agent, bell *Bell, now func() time.Time) *Follower {
	return &Follower{
		Agent: a, Bell: bell, now: now, began: now(),
		updates: make(chan Update, 64), seeks: make(chan seek, 1), names: make(chan string, 1), ear: make(chan struct{}, 1),
		shows: make(chan Shown, 1), ends: map[string]exchange{},
		heard: map[string]bool{}, offsets: map[string]int64{}, beside: newBeside(a), format: a.Kind.format(),
	}
}

// Sight says how up to date a Follower is.
type Sight struct {
	Began time.Time // when the Follower was made
	At    time.Time // when the last look began that found and read everything; zero before the first
	Why   error     // why no look since then has; nil if none has ended since
}

// Lost reports whether the Follower's reports can no longer be relied upon at a time: no look has seen everything
// for longer than patience, or the first look has failed.
func (s Sight) Lost(now time.Time, patience time.Duration) bool {
	if s.At.IsZero() {
		return s.Why != nil || now.Sub(s.Began) > patience
	}
	return now.Sub(s.At) > patience
}

// Sight returns how up to date the Follower is now. The reports received from Updates cover everything before At.
// Sight never blocks, whatever the Follower waits for.
func (f *Follower) Sight() Sight {
	if s := f.looked.Load(); s != nil {
		return *s
	}
	return Sight{Began: f.began}
}

// note records the end of a look that began at a time; missed is why it did not see everything.
func (f *Follower) note(began time.Time, missed error) {
	s := Sight{Began: f.began, At: began}
	if missed != nil {
		s.At, s.Why = f.Sight().At, missed
	}
	f.looked.Store(&s)
}

// missed returns why the look that has just ended did not see everything, or nil if it did.
func (f *Follower) missed() error {
	if f.unasked != nil {
		return f.unasked
	}
	if f.tail == nil {
		return nil
	}
	return f.tail.missed()
}

// Updates returns the channel of all reports. A slow receiver delays only this Follower, and nothing is lost, since
// everything stands in a file. The channel is never closed.
func (f *Follower) Updates() <-chan Update { return f.updates }

// Seek searches for the transcript that contains a text typed into the agent at that time. It is for agents that
// cannot be bound by their process, and does nothing for others. It does not block; a later text replaces an
// earlier one.
func (f *Follower) Seek(text string, at time.Time) {
	for {
		select {
		case f.seeks <- seek{text: text, at: at}:
			return
		case <-f.seeks:
		}
	}
}

// Name sets the conversation that the agent is in, as reported by the agent's own hook. It is for agents that
// cannot be bound by their process, and does nothing for others. It does not block.
func (f *Follower) Name(thread string) {
	for {
		select {
		case f.names <- thread:
			return
		case <-f.names:
		}
	}
}

// Serve is the Follower's goroutine. It returns when ctx is done, or with ErrGone when the process has ended and
// everything that it wrote has been reported.
func (f *Follower) Serve(ctx context.Context) error {
	defer f.Bell.forget(f.ear)
	defer f.beside.close()
	defer f.leave()
	timer := time.NewTimer(0)
	defer timer.Stop()
	full := true
	for {
		began := f.now()
		news, err := f.look(ctx, full)
		if err != nil {
			return err
		}
		f.note(began, f.missed())
		if !news && !full { // something else in that directory has changed: perhaps another conversation began
			if _, err = f.look(ctx, true); err != nil {
				return err
			}
		}
		pause := rescan
		if f.seeking != nil || f.shown != nil {
			pause = seekEvery
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.ear:
			full = false
		case s := <-f.seeks:
			f.seeking, full = &s, true
		case f.named = <-f.names:
			full = true
		case s := <-f.shows:
			f.shown, full = &shown{Shown: s}, true
		case <-timer.C:
			full = true
		}
	}
}

// look reads everything new. With full set, it first finds out where the agent writes to.
func (f *Follower) look(ctx context.Context, full bool) (news bool, err error) {
	alive := process.Lives(f.Agent.Process.PID, f.Agent.Process.Start)
	if alive && (full || f.format.status != nil) {
		if err := f.find(ctx); err != nil {
			return false, err
		}
	}
	news, err = f.read(ctx)
	if err != nil {
		return news, err
	}
	if s := f.status; s != nil { // only after the events that it may refer to
		f.status = nil
		if *s != f.told {
			f.told = *s
			if err := f.tell(ctx, Update{Status: s}); err != nil {
				return news, err
			}
		}
	}
	if !alive {
		return news, fmt.Errorf("%s process %d: %w", f.Agent.Kind, f.Agent.Process.PID, ErrGone)
	}
	return news, nil
}

// find asks where the agent writes to, and turns to that transcript.
func (f *Follower) find(ctx context.Context) error {
	now := f.now()
	f.listen(now)
	t, err := f.ask()
	if err == nil {
		f.shown = nil
	}
	if err != nil && f.named != "" {
		t, err = f.byName(err)
	}
	if err != nil && f.seeking != nil {
		t, err = f.sought(now, err)
	}
	if err != nil && f.shown != nil {
		t, err = f.seen(now, err)
	}
	switch {
	case err == nil && t.Path == f.bound.Path:
		f.confirmed, f.seeking = now, nil
	case err == nil:
		f.seeking = nil
		err = f.turnTo(ctx, t, now)
	case errors.Is(err, ErrLeft):
		return f.letGo(ctx, err, now)
	case f.bound.Path == "" || errors.Is(err, ErrAmbiguous):
		if f.bound.Path == "" {
			f.searched, f.confirmed = true, now // whatever is written from here on is news
		}
		return f.tellBindErr(ctx, cmp.Or(f.astray, err))
	default:
		return nil // it was bound, and nothing says that it has moved
	}
	f.bindErr = ""
	return err
}

// listen makes the Bell wake the Follower when something happens in the directory of its present or future
// transcript. Agents create a directory when they first need it, so a parent serves meanwhile.
func (f *Follower) listen(now time.Time) {
	for _, w := range f.format.watch(f.Agent, f.bound.Path, now) {
		for dir := w.dir; !f.hear(dir) && len(dir) > len(w.top); {
			dir = filepath.Dir(dir)
		}
	}
}

func (f *Follower) hear(dir string) bool {
	if !f.heard[dir] {
		f.heard[dir] = f.Bell.listen(dir, f.ear)
	}
	return f.heard[dir]
}

// ask finds the transcript by the process.
func (f *Follower) ask() (Transcript, error) { return f.format.ask(f) }

// besides finds the transcript where processes reveal at most its beginning. Once a transcript is bound, only an
// agent that is alone can be seen to move.
func (f *Follower) besides() (Transcript, error) {
	t, err := f.beside.find(f.now(), f.bound.Path)
	switch {
	case f.bound.Path == "":
	case errors.Is(err, ErrAmbiguous), err == nil && t.How == ByStartTime && t.Path != f.bound.Path:
		return Transcript{}, fmt.Errorf("others work beside it: %w", ErrNoTranscript)
	case err == nil && t.Path == f.bound.Path:
		return f.bound, nil
	}
	if err == nil && f.Taken != nil && f.Taken(t.Path) {
		return Transcript{}, fmt.Errorf("%q is another agent's: %w", t.Path, ErrNoTranscript)
	}
	return t, err
}

// byName finds the transcript by the name of its conversation. The name stays in use until something else is found.
func (f *Follower) byName(why error) (Transcript, error) {
	thread := f.named
	f.named = ""
	if f.bound.Path != "" {
		return Transcript{}, why
	}
	t, err := f.beside.findThread(thread)
	if err != nil || f.Taken != nil && f.Taken(t.Path) {
		f.named = thread // it may not be written yet
		return Transcript{}, why
	}
	return t, nil
}

// sought finds the transcript by the typed text. The text must stand in exactly one transcript, and still do so a
// moment later.
func (f *Follower) sought(now time.Time, why error) (Transcript, error) {
	s := f.seeking
	if now.Sub(s.at) > seekFor || f.Own != nil && !f.Own(s.text) {
		f.seeking = nil
		return Transcript{}, why
	}
	if f.bound.Path != "" {
		if t := f.bound; f.beside.archive.took(&t, s.text, s.at.Add(-clockSlack)) {
			f.seeking = nil
			return f.bound, nil // it has not moved, wherever else the text may stand
		}
	}
	t, err := f.beside.findText(s.text, s.at, f.Taken)
	switch {
	case err != nil:
		s.found = ""
		return Transcript{}, err
	case t.Path != s.found:
		s.found, s.foundAt = t.Path, now
		return Transcript{}, why
	case now.Sub(s.foundAt) < seekAgain:
		return Transcript{}, why
	}
	f.seeking, f.confirmed = nil, s.at
	return t, nil
}

// turnTo leaves the current transcript and takes up another one.
func (f *Follower) turnTo(ctx context.Context, t Transcript, now time.Time) error {
	first, stood := f.bound.Path == "" && !f.searched, f.bound.Path == "" && t.How == ByScreen && f.stood
	if f.bound.Path != "" {
		if _, err := f.read(ctx); err != nil {
			return err
		}
		// A turn that is still open there will never end.
		if err := f.tell(ctx, Update{Event: &Event{Kind: Left, At: now, Thread: f.bound.Thread}}); err != nil {
			return err
		}
	}
	f.leave()
	// An agent writes a record a little later than its date, and nobody can leave a conversation and come back to a
	// copy of it that fast. Whatever is dated before the Follower began is past nevertheless.
	since := later(f.began, f.confirmed.Add(-clockSlack))
	if stood {
		since = later(f.began, f.fresh)
	}
	f.bound, f.confirmed, f.sick, f.astray = t, now, false, nil
	at := place{since: since, now: f.now}
	switch known, ok := f.offsets[t.Path]; {
	case ok: // others may have continued it meanwhile
		at.pastTo, at.from = known, known
	case first:
		at.pastTo, at.since = toEnd, f.began
	}
	f.tail = f.beside.archive.source(t, at)
	f.listen(now)
	f.arriving, f.staying = true, first || stood
	if _, err := f.read(ctx); err != nil {
		return err
	}
	f.tail.settle()
	if err := f.arrived(ctx); err != nil {
		return err
	}
	if v := f.tail.version(); v != "" {
		f.bound.Version = v
	}
	bound := f.bound
	return f.tell(ctx, Update{Bound: &bound})
}

// arrived ends the past of a transcript. A turn that is open there is only really open if this process works at it.
// It does not if the agent has just come from another transcript, or if the process began later.
func (f *Follower) arrived(ctx context.Context) error {
	if !f.arriving {
		return nil
	}
	f.arriving = false
	began := process.Began(f.Agent.Process.Start, f.now())
	outlived := !began.IsZero() && !f.tail.before().IsZero() && f.tail.before().Before(began.Add(-clockSlack))
	if f.staying && !outlived {
		return nil
	}
	return f.tell(ctx, Update{Event: &Event{Kind: Fresh, Thread: f.bound.Thread, Past: true}})
}

func (f *Follower) leave() {
	if f.tail != nil {
		f.offsets[f.bound.Path] = f.tail.offset()
		f.tail.close()
	}
}

// read reports what is new in the transcript.
func (f *Follower) read(ctx context.Context) (news bool, err error) {
	if f.tail == nil {
		return false, nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return news, err
		}
		events, more := f.tail.next()
		for i := range events {
			news = true
			if !events[i].Past {
				if err := f.arrived(ctx); err != nil {
					return news, err
				}
			}
			if err := f.tell(ctx, Update{Event: &events[i]}); err != nil {
				return news, err
			}
		}
		if !more {
			break
		}
		news = true
	}
	if why := f.tail.unreadable(); why != "" && !f.sick {
		f.sick = true
		err := &UnreadableError{Kind: f.Agent.Kind, Version: cmp.Or(f.tail.version(), f.bound.Version), Path: f.bound.Path, Why: why}
		return news, f.tell(ctx, Update{Err: err})
	}
	return news, nil
}

func (f *Follower) tellBindErr(ctx context.Context, err error) error {
	if f.bindErr == err.Error() {
		return nil
	}
	f.bindErr = err.Error()
	return f.tell(ctx, Update{Err: err})
}

func (f *Follower) tell(ctx context.Context, u Update) error {
	select {
	case f.updates <- u:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
