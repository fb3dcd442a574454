package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Processes do not reveal the conversation of a Codex that uses its background process: one process has the
// conversations of all panes open. Its screen does. The last prompt shown, and the words below it, stand at the end
// of the transcript of the pane's conversation. If exactly one transcript ends with them, the agent is bound to it.
// If the screen shows a prompt that is not in the current transcript, the agent has moved (/new, /resume, a person
// who typed there), and the transcript is abandoned until the right one is found.

// ErrLeft says that the agent's screen shows another conversation than the one followed, and that its transcript is
// not found yet. Use the next source of words until Bound.
var ErrLeft = errors.New("its screen shows another conversation")

const (
	// doubtAfter is how long a prompt may be shown without being in the transcript.
	doubtAfter = 2 * time.Second
	// drawnWithin is how long an agent usually takes to show a prompt that it took.
	drawnWithin = 250 * time.Millisecond
	// showFor is how long the shown text is searched for while no transcript is followed.
	showFor = 10 * time.Second
	// shownWithin is how much later than its appearance on the screen a prompt may be dated.
	shownWithin = 30 * time.Second
	// lastWindow is how many bytes at the end of a transcript are searched for its last prompt. If a long turn
	// follows the prompt, so that none is found there, pastWindow bytes are searched.
	lastWindow = 1 << 20
)

// Shown is what the screen of an agent shows of its conversation. The Follower may call the functions at any time.
type Shown struct {
	Took func(prompt string) bool // reports whether prompt is the last one shown; nil: none is shown
	Said func(words string) bool  // reports whether words are the last ones shown; nil: none are shown
	Own  func() bool              // reports whether no other agent shows the same
	// The prompt was not shown yet at After, and was shown at At. A zero After means that it was shown at the first
	// look.
	After, At time.Time
}

// exchange is the end of a conversation: the last prompt and the last words after it.
type exchange struct {
	prompt  Event
	words   string
	version string

	size     int64 // of the file when it was read
	modified time.Time
}

// shown is a Shown whose transcript is not known yet.
type shown struct {
	Shown
	found   string // the only transcript that ends with it; foundAt is since when
	foundAt time.Time
}

// Show takes what the agent's screen shows of its conversation, whenever that changes. It is for agents that cannot
// be bound by their process, and does nothing for others. It does not block; a later value replaces an earlier one.
func (f *Follower) Show(s Shown) {
	for {
		select {
		case f.shows <- s:
			return
		case <-f.shows:
		}
	}
}

// seen finds the transcript by what the screen shows. If the screen does not reveal it, seen returns why; if the
// screen shows that the agent has left the current transcript, it returns ErrLeft.
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
	case f.bound.Path == "" || now.Sub(s.At) < doubtAfter: // it may still be written down
	case s.Took == nil, known && s.Took(mine.prompt.Text):
		f.shown = nil // it shows the same again, or nothing that contradicts the transcript
		return f.bound, nil
	default:
		return Transcript{}, fmt.Errorf("what it shows does not stand in %q: %w", f.bound.Path, ErrLeft)
	}
	return Transcript{}, why
}

// taken reports whether the agent took a prompt in that conversation after the last time at which the shown prompt
// was not yet on the screen. If so, the shown prompt was typed there.
func (s *shown) taken(x exchange) bool {
	if s.After.IsZero() || x.prompt.At.IsZero() {
		return false
	}
	return !x.prompt.At.Before(s.After) || s.Took != nil && s.Took(x.prompt.Text) && !x.prompt.At.Before(s.After.Add(-drawnWithin))
}

// fits reports whether a conversation ends with what is shown: either with a shown prompt that was taken just then,
// or with that prompt, if one is shown, and the words after it. If words are known on both sides, they must be the
// same.
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

// showing returns the one conversation of the agent's directory that ends with what is shown.
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
		return Transcript{}, fmt.Errorf("no transcript below %q contains what its screen shows: %w", f.Agent.Home, ErrNoTranscript)
	case 1:
		return found[0], nil
	}
	return Transcript{}, fmt.Errorf("both %q and %q contain what its screen shows: %w", found[0].Path, found[1].Path, ErrAmbiguous)
}

// last returns the end of a conversation. It reads the file only if that has changed since the last time.
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

// endOf reads the end of a conversation whose file has that size.
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

// letGo abandons the current transcript without another one.
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
