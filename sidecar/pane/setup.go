package pane

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// setup is how an agent takes what is typed into it, as far as files tell: whether its settings
// give its composer vim keys, and which skills a text could load. Some of these files come from the
// project in which the agent works, whoever wrote that, and the file system may not answer. So they
// are read in a goroutine of their own, and only when the pane asks:
//
//	rests ──ask──► reads ──► known, dated when the look began ──news──► the pane looks again
//	                 │
//	                 └ longer than sightPatience: nothing is typed
//
// The fields below asked belong to the pane's goroutine.
type setup struct {
	prof  profile.Agent
	who   agent.Agent
	door  Door // nil: none is looked for
	clock clock
	asks  chan struct{} // capacity 1
	news  chan struct{} // capacity 1: known has changed
	known atomic.Pointer[habits]

	listing atomic.Bool // commands are looked for, since one waits that may be typed

	asked time.Time // when the pane asked for what it does not have yet; zero: it has all
}

// habits is what was read.
type habits struct {
	at     time.Time // when the look began
	says   bool      // some settings say whether there are vim keys
	vim    bool
	skills []string

	commands map[string]bool // `/name` of each that is there; nil: they were not looked for
	unread   []error         // files that are there and cannot be read

	offer   door.Offer // the agent's door
	none    error      // why it has none
	barred  string     // what its settings and the way it was started say against the door; "": nothing
	accepts bool       // they say that it takes messages whatever it may do without asking
}

// newSetup returns nil for an agent of which no file tells anything.
func newSetup(prof profile.Agent, who agent.Agent, door Door, clock clock) *setup {
	if len(prof.Vim.Files) == 0 && !prof.Active.Skills && !prof.Inbox.Offered() && !prof.Commands.Offered() {
		return nil
	}
	return &setup{prof: prof, who: who, door: door, clock: clock, asks: make(chan struct{}, 1), news: make(chan struct{}, 1)}
}

// Serve is the goroutine that reads, until ctx is done. A file system that does not answer may hold
// it up beyond that.
func (s *setup) Serve(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.asks:
		}
		s.look()
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
}

// look reads as it was asked to. If it panics, it asks the goroutine that serves next: the pane waits for the answer,
// and does not ask a second time.
func (s *setup) look() {
	answered := false
	defer func() {
		if !answered {
			s.asks <- struct{}{} // there is room: the pane waits
		}
	}()
	s.known.Store(s.read(s.clock.now()))
	answered = true
}

// fresh returns how old what is known may be when something is typed.
func (s *setup) fresh() time.Duration {
	if s.prof.Active.Skills {
		return skillsEvery
	}
	return settingsEvery
}

// now returns what is known, nil before the first look has ended. It asks for another look if one is
// due, and does not wait for it.
func (s *setup) now(at time.Time) *habits {
	if s == nil {
		return &habits{at: at}
	}
	h := s.known.Load()
	if h != nil && !h.at.Before(s.asked) {
		s.asked = time.Time{}
	}
	if s.asked.IsZero() && (h == nil || at.Sub(h.at) > s.fresh()/2 || !s.listed(h)) {
		s.asked = at
		s.asks <- struct{}{} // there is room: the last was answered
	}
	return h
}

// ready reports whether what is known is new enough to type by.
func (s *setup) ready(at time.Time) bool {
	if s == nil {
		return true
	}
	h := s.now(at)
	return h != nil && at.Sub(h.at) <= s.fresh() && s.listed(h)
}

// listed reports whether commands were looked for, if they have to be.
func (s *setup) listed(h *habits) bool { return h.commands != nil || !s.listing.Load() }

// lost reports whether the files have not been read for longer than they may take.
func (s *setup) lost(at time.Time) bool {
	return s != nil && !s.asked.IsZero() && at.Sub(s.asked) > sightPatience
}

// grounds returns what `explain` says of files that cannot be read.
func (s *setup) grounds(now time.Time) (all []message.Ground) {
	if s == nil {
		return nil
	}
	if s.lost(now) {
		all = append(all, message.Ground{Source: "settings", Says: "reading them takes long", Weight: "exact", AgeMS: now.Sub(s.asked).Milliseconds()})
	}
	if h := s.known.Load(); h != nil {
		for _, err := range h.unread {
			all = append(all, message.Ground{Source: "settings", Says: "not read: " + err.Error(), Weight: "exact", AgeMS: now.Sub(h.at).Milliseconds()})
		}
	}
	return all
}

// String names it in the log.
func (s *setup) String() string { return "settings of " + string(s.who.Kind) }

// changes returns the channel that tells when known has changed.
func (s *setup) changes() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.news
}

// read looks at the files once.
func (s *setup) read(now time.Time) *habits {
	h := &habits{at: now}
	var files [][]byte
	for _, path := range s.prof.Vim.Files {
		path, ok := s.place(path)
		if !ok {
			continue
		}
		text, err := foreign.Read(path, settingsMax)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			h.unread = append(h.unread, err)
		case s.prof.Vim.Tells(text):
			files = append(files, text)
		}
	}
	h.says, h.vim = len(files) > 0, s.prof.Vim.Set(files...)
	if s.prof.Active.Skills {
		var unread []error
		h.skills, unread = s.who.Skills()
		h.unread = append(h.unread, unread...)
	}
	if s.listing.Load() {
		s.lookForCommands(h)
	}
	s.lookForDoor(h)
	return h
}

// place returns where a file of settings lies, if that is known.
func (s *setup) place(path string) (string, bool) {
	switch rest, home := strings.CutPrefix(path, "@/"); {
	case home:
		return filepath.Join(s.who.Home, rest), true
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(filepath.Dir(s.who.Home), path[2:]), true
	case filepath.IsAbs(path):
		return path, true
	}
	return filepath.Join(s.who.Dir, path), s.who.Dir != ""
}
