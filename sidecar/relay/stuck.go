package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// While the journal cannot be written (message.UnwritableError), the loop is stuck at one group of
// steps, which nobody has seen anything of: the State is ahead of the disk by it, and stays hidden.
// Everything waits behind that group in its order, and is carried out once it is on disk:
//
//	permission to type, to be held     refused: nothing is typed that cannot be written down
//	requests, adoptions           refused, before anything of them has happened
//	pause, stop                   kept, and carried out before anything else
//	turns, what became of typing  kept
//	time                          added up
//
// Where a step of it is what somebody asked for, they are told that it failed, and so it must
// never have been: the State is made again then from what is on disk, as after an end, and the rest
// of the group waits with what came later.
type stuck struct {
	group
	undo     bool    // it must not be carried out; its step only tries whether anything can be written
	awaiting awaited // who wait for what becomes of messages, where it is undone
	rest     []Event // to be carried out behind it
	err      error   // why it cannot be written
	first    []Event // to be carried out before the rest
	backlog  []posted
	bytes    int // of the words in it
	lost     int // turns for which there was no room
	awake    time.Duration
	log      *slog.Logger
}

const (
	// tickStuck is how often it is tried again.
	tickStuck = 500 * time.Millisecond
	// How much is kept meanwhile. Since nothing is typed, agents have little to say.
	maxBacklog      = 16384
	maxBacklogBytes = 64 << 20
)

// getStuck stops at a group that could not be written. Whoever waits for one of its events is told.
// Who waits for a message to be decided that is on disk goes on waiting.
func (l *loop) getStuck(g group, rest []Event, err error) {
	s := &stuck{group: g, rest: rest, err: err, log: l.log}
	l.stuck = s
	l.log.Error("the journal cannot be written: everything is held", "err", err)
	for _, event := range g.events {
		if e, ok := event.(unwritten); ok {
			s.undo = e.unwritten(l, err) && l.Again != nil || s.undo
		}
	}
	if s.undo {
		s.awaiting = l.stillAsking(g)
		notice := message.Notice{Text: err.Error() + ": the journal could not be written for a while"}
		s.group, s.rest = group{steps: []message.Step{{Notices: []message.Notice{notice}}}}, nil
		for _, event := range g.events {
			s.put(posted{event: event})
		}
	}
	l.tellTrouble(err)
}

// awaited is what a run knows of messages that are on disk and not decided, and the journal does not.
type awaited map[message.ID]struct {
	tokens   []Token // who wait for what becomes of them
	outdated bool
}

// stillAsking is that of a State that is made again without a group: also for what was decided in it.
func (l *loop) stillAsking(g group) awaited {
	all := awaited{}
	for id, t := range l.state.undecided {
		one := all[id]
		one.tokens, one.outdated = t.tokens, t.outdated
		all[id] = one
	}
	for _, effect := range slices.Concat(g.effects...) {
		if r, ok := effect.(Reply); ok && r.Answer.Message != "" && l.waiting[r.Token] != nil {
			one := all[r.Answer.Message]
			one.tokens = append(one.tokens, r.Token)
			all[r.Answer.Message] = one
		}
	}
	return all
}

func (l *loop) tellTrouble(err error) {
	l.trouble.Store(&err)
	if l.Troubled != nil {
		l.Troubled(err)
	}
}

// put keeps an event for later, or refuses it.
func (s *stuck) put(p posted) {
	if e, ok := p.event.(waiting); !ok || e.wait(s, &p) {
		s.backlog = append(s.backlog, p)
	}
}

// room reports whether a turn can be kept, and counts it.
func (s *stuck) room(t message.Turn) bool {
	size := Spoke{Turn: t}.bytes()
	if len(s.backlog) >= maxBacklog || s.bytes+size > maxBacklogBytes {
		s.lost++
		s.log.Error("a turn was lost: too much is waiting for the journal", "session", t.Peer)
		return false
	}
	s.bytes += size
	return true
}

// tryAgain writes the group down that the loop is stuck at, if that can be done by now, and
// carries out what has waited behind it. Any other error ends the run, as it does elsewhere: the step
// may be on disk, and would be refused for ever then.
func (l *loop) tryAgain(ctx context.Context) error {
	s := l.stuck
	err := l.Journal.Commit(ctx, s.steps...)
	if _, waits := errors.AsType[*message.UnwritableError](err); waits {
		s.err = err
		return nil
	}
	if err != nil {
		return fmt.Errorf("commit a step of the relay: %w", err)
	}
	var events []Event
	if s.undo {
		restored, err := l.Again(ctx)
		if err != nil {
			return fmt.Errorf("begin again from the journal: %w", err)
		}
		was := l.state
		l.renew()
		r := was.seenBy(*restored)
		r.awaiting = s.awaiting
		events = append(events, r)
	}
	l.stuck = nil
	l.log.Info("the journal can be written again", "events", len(s.backlog), "turns lost", s.lost)
	l.tellTrouble(nil)
	if !s.undo {
		l.perform(s.effects)
	}
	// What a person has stopped meanwhile is not to be typed in the time between.
	if err := l.carryOut(ctx, &group{alone: true}, slices.Concat(events, s.first, s.rest)); err != nil {
		return err
	}
	backlog := append(s.backlog, posted{event: Tick{Awake: s.awake}})
	pop := func() (next posted, ok bool) {
		if len(backlog) == 0 {
			return posted{}, false
		}
		next, backlog = backlog[0], backlog[1:]
		return next, true
	}
	for next, ok := pop(); ok; next, ok = pop() {
		if err := l.take(ctx, together(next, pop)); err != nil {
			return err
		}
	}
	return nil
}

// seenBy is what the journal has, with what the panes' programs do as the State knows it: that is not written down,
// and its pane tells only what changes.
func (s *State) seenBy(r Restored) Restored {
	r.Peers = slices.Clone(r.Peers)
	for i := range r.Peers {
		if one := s.present(r.Peers[i].Peer.ID); one != nil {
			p := &r.Peers[i].Peer
			p.State, p.StateWhy, p.Asks = one.State, one.StateWhy, one.Asks
		}
	}
	return r
}

// renew makes an empty State with what is not in the journal.
func (l *loop) renew() {
	was := l.state
	l.state = NewState(seed(), was.limits)
	l.state.chatLimits, l.state.sends, l.state.person, l.state.health = was.chatLimits, was.sends, was.person, was.health
	l.state.commands = was.commands
	l.state.awake, l.state.attended, l.state.here = was.awake, was.attended, was.here
	l.state.changes = was.changes + 1
	l.asker.reset()
}

// Trouble is why nothing can be written down for now, nil if it can: everything is held
// meanwhile, and what is said is kept.
func (r *Relay) Trouble() error {
	if err := r.trouble.Load(); err != nil {
		return *err
	}
	return nil
}
