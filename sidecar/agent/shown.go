package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// A Codex that uses its background process is in no conversation as far as processes tell:
// one process has those of all panes open. What tells is its screen. The prompt that is shown
// last, and the words below it, stand at the end of the transcript of the conversation that
// the pane is in; where they stand at the end of one alone, it is bound to that. Where the
// screen shows a prompt that the followed one does not have, the agent has moved (/new,
// /resume, a person who typed there), and it is let go until it is found.

// ErrLeft says that the agent's screen shows another conversation than the one that was
// followed, which is not found yet: the next source of words serves until Bound.
var ErrLeft = errors.New("its screen shows another conversation")

const (
	// doubtAfter is how long a prompt may be shown that is not in the transcript.
	doubtAfter = 2 * time.Second
	// drawnWithin is how long an agent usually takes to show what it took.
	drawnWithin = 250 * time.Millisecond
	// showFor is how long what is shown is looked for where no transcript is followed.
	showFor = 10 * time.Second
	// shownWithin is how much later than it was shown a prompt may be dated.
	shownWithin = 30 * time.Second
	// lastWindow is how much of the end of a transcript is read for its last prompt, in bytes; where
	// none is found there, since a long turn stands behind it, that is pastWindow.
	lastWindow = 1 << 20
)

// Shown is what the screen of an agent shows of its conversation. Its functions are called by
// the Follower, at any time.
type Shown struct {
	Took func(prompt string) bool // whether that is the last prompt that is shown; nil: none is shown
	Said func(words string) bool  // whether those are the last words that are shown; nil: none are
	Own  func() bool              // no other agent shows the same
	// The prompt was not shown yet after the one time, and was at the other. The zero time is
	// for what stood there at the first look.
	After, At time.Time
}

// exchange is the end of a conversation: the last prompt, and what was said last behind it.
type exchange struct {
	prompt  Event
	words   string
	version string

	size     int64 // of the file when it was read
	modified time.Time
}

// shown is what is shown, while it is not known yet where that stands.
type shown struct {
	Shown
	found   string // the only transcript that ends with it, and since when
	foundAt time.Time
}

// Show tells what the agent's screen shows of its conversation, where that has changed. It is
// for agents that cannot be bound by their process, and does nothing for one that can. It does
// not block; a later one replaces an earlier one.
func (f *Follower) Show(s Shown) {
	for {
		select {
		case f.shows <- s:
			return
		case <-f.shows:
		}
	}
}

// seen finds the transcript by what the screen shows. Its error is why where that does not
// tell, ErrLeft where it tells that the one that is followed is not the agent's any more.
func (f *Follower) seen(now time.Time, why error) (Transcript, error) {
	s := f.shown
	mine, known := exchange{}, false
	if f.bound.Path != "" {
		mine, known = f.last(f.bound.Path)
		if known && s.taken(mine) {
			f.shown = nil
			return f.bound, nil
		}
	}
	found, err := f.showing(s)
	switch {
	case err != nil:
		s.found = ""
	case found.Path != s.found:
		s.found, s.foundAt = found.Path, now
	case now.Sub(s.foundAt) >= seekAgain:
		f.shown, f.stood = nil, s.After.IsZero()
		if !f.stood {
			f.confirmed = s.After
		}
		return found, nil
	}
	switch {
	case s.found != "": // not for long enough
	case f.bound.Path == "" && now.Sub(s.At) >= showFor:
		f.shown = nil
	case f.bound.Path == "" || now.Sub(s.At) < doubtAfter: // it may be written down yet
	case s.Took == nil, known && s.Took(mine.prompt.Text):
		f.shown = nil // it says the same again, or nothing that could speak against it
		return f.bound, nil
	default:
		return Transcript{}, fmt.Errorf("what it shows does not stand in %q: %w", f.bound.Path, ErrLeft)
	}
	return Transcript{}, why
}

// taken reports whether the agent took a prompt in that conversation since the one that is
// shown was not shown yet: then that is where it was typed.
func (s *shown) taken(x exchange) bool {
	if s.After.IsZero() || x.prompt.At.IsZero() {
		return false
	}
	return !x.prompt.At.Before(s.After) || s.Took != nil && s.Took(x.prompt.Text) && !x.prompt.At.Before(s.After.Add(-drawnWithin))
}

// fits reports whether a conversation ends with what is shown: with the prompt, if one is, that
// was taken just then, or with that and the words behind it. Words that are known of both
// must be the same.
func (s *shown) fits(x exchange) bool {
	switch {
	case s.Took != nil && !s.Took(x.prompt.Text):
		return false
	case s.Said != nil && x.words != "":
		return s.Said(x.words)
	case s.Took == nil || s.Said != nil && s.After.IsZero():
		return false
	case s.After.IsZero():
		return x.words == ""
	}
	return !x.prompt.At.Before(s.After.Add(-clockSlack)) && !x.prompt.At.After(s.At.Add(shownWithin))
}

// showing is the one conversation of the agent's directory that ends with what is shown.
func (f *Follower) showing(s *shown) (Transcript, error) {
	if s.Own != nil && !s.Own() {
		return Transcript{}, fmt.Errorf("another agent shows the same: %w", ErrAmbiguous)
	}
	all, err := f.beside.archive.recent(time.Time{})
	if err != nil {
		return Transcript{}, err
	}
	var found []Transcript
	for _, t := range all {
		path := t.Path
		head, ok := f.beside.heads.of(path)
		if !ok { // its first line is not written yet
			continue
		}
		if path == f.bound.Path || head.side || !f.Agent.worksIn(head.dir) || f.Taken != nil && f.Taken(path) {
			continue
		}
		if x, ok := f.last(path); ok && s.fits(x) {
			found = append(found, Transcript{Path: path, Thread: head.thread, Version: cmp.Or(x.version, head.version), How: ByScreen})
		}
	}
	switch len(found) {
	case 0:
		return Transcript{}, fmt.Errorf("what its screen shows stands in no transcript below %q: %w", f.Agent.Home, ErrNoTranscript)
	case 1:
		return found[0], nil
	}
	return Transcript{}, fmt.Errorf("what its screen shows stands in %q and %q: %w", found[0].Path, found[1].Path, ErrAmbiguous)
}

// last reads the end of a conversation, if it has changed since that was done.
func (f *Follower) last(path string) (exchange, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return exchange{}, false
	}
	if x, ok := f.ends[path]; ok && x.size == info.Size() && x.modified.Equal(info.ModTime()) {
		return x, !x.prompt.At.IsZero()
	}
	x, ok := endOf(f.Agent.Kind, path, info.Size())
	x.size, x.modified = info.Size(), info.ModTime()
	f.ends[path] = x
	return x, ok
}

// endOf reads the end of a conversation, whose file is of that size.
func endOf(kind Kind, path string, size int64) (x exchange, ok bool) {
	for window := int64(lastWindow); ; window = pastWindow {
		x, ok = endFrom(kind, path, max(0, size-window))
		if ok || window >= min(size, pastWindow) {
			return x, ok
		}
	}
}

func endFrom(kind Kind, path string, from int64) (x exchange, ok bool) {
	end := &tail{place: place{from: from, pastTo: toEnd}, kind: kind, path: path}
	defer end.close()
	for more := true; more; {
		var events []Event
		events, more = end.next()
		for _, e := range events {
			switch e.Kind {
			case Prompted, Queued:
				x.prompt, x.words = e, ""
			case Spoke:
				x.words = e.Text
			case TurnEnded:
				x.words = cmp.Or(x.words, e.Text)
			}
		}
	}
	x.version = end.version()
	return x, !x.prompt.At.IsZero()
}

// letGo leaves the transcript that was followed for none.
func (f *Follower) letGo(ctx context.Context, why error, now time.Time) error {
	if _, err := f.read(ctx); err != nil {
		return err
	}
	if err := f.tell(ctx, Update{Event: &Event{Kind: Left, At: now, Thread: f.bound.Thread}}); err != nil {
		return err
	}
	f.leave()
	f.bound, f.tail, f.named, f.sick = Transcript{}, nil, "", false
	f.searched, f.astray, f.fresh = true, why, f.shown.After
	return f.tellBindErr(ctx, why)
}
