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
// steps. The State is ahead of the disk by that group, and stays hidden: nobody has seen anything
// of it. Everything else waits behind the group in its order, and is carried out once the group is
// on disk:
//
//	permission to type, to be held     refused: nothing is typed that cannot be written down
//	requests, adoptions           refused, before anything of them has happened
//	pause, stop                   kept, and carried out before anything else
//	turns, what became of typing  kept
//	time                          added up
//
// If a step of the group is what a caller asked for, the caller is told that it failed, so the step
// must never have happened. Then the State is made again from what is on disk, as after a restart,
// and the rest of the group waits with what came later.
type stuck struct {
	group
	undo     bool    // the group must not be carried out; its one step only tests whether the journal can be written
	awaiting awaited // who waits for the outcome of messages, if the group is undone
	rest     []Event // to be carried out after the group
	err      error   // why the group cannot be written
	first    []Event // to be carried out before the rest
	backlog  []posted
	bytes    int // of the words in backlog
	lost     int // how many turns had no room
	awake    time.Duration
	log      *slog.Logger
}

const (
	// tickStuck is the interval between attempts to write.
	tickStuck = 500 * time.Millisecond
	// How much is kept meanwhile. Since nothing is typed, agents have little to say.
	maxBacklog      = 16384
	maxBacklogBytes = 64 << 20
)

// getStuck stops at a group that could not be written, and tells the callers of its events. Callers
// that wait for the decision about a message that is on disk go on waiting.
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

// awaited holds what a run knows, and the journal does not, of messages that are on disk and
// undecided.
type awaited map[message.ID]struct {
	tokens   []Token // the callers that wait for the outcome
	outdated bool
}

// stillAsking returns the awaited of a State that is made again without a group, including the
// messages decided in that group.
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

// room reports whether there is room to keep a turn, and counts it.
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

// tryAgain tries to write the group that the loop is stuck at. If that works, it carries out what
// has waited behind the group. Any other error ends the run, as it does elsewhere: the step may be
// on disk, and would then be refused for ever.
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
	// What a person has stopped meanwhile must not be typed before the stop takes effect.
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

// seenBy returns what the journal has, completed with what the State knows of the programs in the
// panes: that is not written down, and a pane reports only changes.
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

// renew makes an empty State and carries over what is not in the journal.
func (l *loop) renew() {
	was := l.state
	l.state = NewState(seed(), was.limits)
	l.state.chatLimits, l.state.sends, l.state.person, l.state.health = was.chatLimits, was.sends, was.person, was.health
	l.state.commands = was.commands
	l.state.awake, l.state.attended, l.state.here = was.awake, was.attended, was.here
	l.state.changes = was.changes + 1
	l.asker.reset()
}

// Trouble returns the reason why nothing can be written for now, or nil: meanwhile everything is
// held, and what is said is kept.
func (r *Relay) Trouble() error {
	if err := r.trouble.Load(); err != nil {
		return *err
	}
	return nil
}
