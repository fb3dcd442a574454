package relay

import (
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// StateChanged says what the program in a pane does now.
type StateChanged struct {
	Peer  message.ID
	State message.PaneState
	Why   string
	Asks  *message.Asking // what it asks its person; nil: nothing
}

func (e StateChanged) wait(s *stuck, _ *posted) (later bool) {
	s.backlog = slices.DeleteFunc(s.backlog, func(p posted) bool {
		was, ok := p.event.(StateChanged)
		return ok && was.Peer == e.Peer
	})
	return true
}

// step is told to watchers, and not written down: it is gone with the pane.
func (e StateChanged) step(tx *tx) {
	s := tx.present(e.Peer)
	if s == nil || s.State == e.State && s.StateWhy == e.Why && s.Asks.Same(e.Asks) {
		return
	}
	if e.State == message.Idle && s.State != e.State {
		tx.took(s.ID, time.Time{})
	}
	if s.State != e.State {
		s.since = tx.now
	}
	s.State, s.StateWhy, s.Asks = e.State, e.Why, e.Asks
	tx.touch(s)
	one := s.Peer
	tx.told = append(tx.told, message.Event{At: tx.now, Kind: "session", Peer: &one})
	if e.State != message.Idle {
		return
	}
	if stops := tx.stops(s, missed); len(stops) > 0 {
		tx.tellStops(s, stops, turnEnded, s.depth())
		tx.withdrawChecks("", s.ID)
	}
}

// PaneLocked says that nothing more can be typed into a peer's pane for a reason that only a
// person, or what the pane shows later, can end; or, with no reason, that it can again.
type PaneLocked struct {
	Peer  message.ID
	Why   message.Reason
	Lost  message.ID     // the delivery whose text was typed and never seen, if it is that
	Draft *message.Place // where a person's line stands, if it is that
}

// step notes why nothing more is typed into a peer's pane, for people and the next run.
func (e PaneLocked) step(tx *tx) {
	if e.Why == "" {
		e.Lost, e.Draft = "", nil
	}
	s := tx.present(e.Peer)
	if s == nil || s.Closed == e.Why && s.Lost == e.Lost && s.Draft.Same(e.Draft) {
		return
	}
	s.Closed, s.Lost, s.Draft = e.Why, e.Lost, e.Draft
	tx.changed(s)
}

// NoticeRaised is something that a person must know of, about a peer or about a chat, which may
// have ended.
type NoticeRaised struct {
	Token Token // of whoever waits until it is written down
	Peer  message.ID
	Chat  message.ID // "": that of Peer
	Text  string
}

// step tells a person what a peer's pane found, in its chat if it is in one, or what is
// to know of a chat. Of a peer that has ended it tells what somebody waits for.
func (e NoticeRaised) step(tx *tx) {
	in, s := e.Chat, tx.present(e.Peer)
	switch {
	case e.Chat != "" || e.Peer == "":
	case s == nil && e.Token == 0:
		return
	case s != nil:
		if c := tx.chatOf(s.ID); c != nil {
			in = c.ID
		}
	}
	tx.notice(in, e.Text)
	tx.reply(e.Token, Answer{}, nil)
}

func (e NoticeRaised) prepare(l *lookup) (Event, error) {
	e.Token = l.token()
	return e, nil
}

func (e NoticeRaised) unwritten(l *loop, err error) (undo bool) {
	l.answer(e.Token, outcome{err: err})
	return e.Token != 0
}

func (e NoticeRaised) wait(s *stuck, p *posted) (later bool) {
	later = p.back == nil && e.Token == 0 // nobody was refused
	p.answer(s.err)
	return later
}
