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

// step tells watchers of a new state. It is not written down: it is gone with the pane.
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

// PaneLocked says that nothing more can be typed into a peer's pane, for a reason that ends only by
// a person or by what the pane shows later. With no reason, text can be typed again.
type PaneLocked struct {
	Peer  message.ID
	Why   message.Reason
	Lost  message.ID     // the delivery whose text was typed and never seen, if that is the reason
	Draft *message.Place // where a person's draft is, if that is the reason
}

// step notes why nothing more is typed into a peer's pane, for people and for the next run.
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

// NoticeRaised is something to tell a person about a peer or a chat. The chat may have ended.
type NoticeRaised struct {
	Token Token // of the caller that waits until it is written
	Peer  message.ID
	Chat  message.ID // "": that of Peer
	Text  string
}

// step tells a person what a peer's pane found, in the peer's chat if it is in one, or something
// about a chat. About a peer that has ended, it tells only what a caller waits for.
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
