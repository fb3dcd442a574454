package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// session is a session with what the brakes know of it.
type session struct {
	message.Peer
	cause     int                          // greatest depth of what was submitted to it since its last turn; -1: nothing was
	last      int                          // depth of its last turn
	said      message.Turn                 // the last that had words, in this run
	budget    *route.Budget                // of what goes to its pane
	sends     map[message.ID]*route.Window // its own single messages in a minute, by target
	hourly    route.Window                 // the same in an hour, to all, since a person's word
	warned    bool                         // a person was told that a message of its own is held
	waiting   int                          // deliveries to it that are not submitted yet
	bytes     int                          // in their bodies
	submitted []*delivery                  // those that no turn has answered yet, oldest first
	touched   bool                         // it is another than in the snapshot
	joined    time.Time                    // its chat, in this run: what it said before is none of it
}

// depth is the depth of what the session says now: one more than what it answers, or, as
// long as nothing new was typed, that of what it said before.
func (s *session) depth() int {
	if s.cause >= 0 {
		return s.cause + 1
	}
	return s.last
}

// byPerson makes what the session says next an answer to a person.
func (s *session) byPerson() {
	s.cause, s.last = -1, 1
	s.hourly.Reset()
	s.warned = false
}

// freed is byPerson, on disk too: a person's word counts after a restart.
func (w *work) freed(s *session) {
	s.byPerson()
	if c := w.chatOf(s.ID); c != nil {
		c.judge.Reset()
	}
	w.step.Freed = append(w.step.Freed, s.ID)
}

// present returns the session of that id, or nil if it is unknown or has ended.
func (s *State) present(id message.ID) *session {
	if one := s.byID[id]; one != nil && one.Ended == nil {
		return one
	}
	return nil
}

// came takes in a session, behind all others.
func (s *State) came(one *session) {
	s.sessions, s.byID[one.ID] = append(s.sessions, one), one
	if one.Ended == nil && one.Key != "" {
		s.keyed[key{one.Kind, one.Key}] = one
	}
	s.touch(one)
}

// find is registry.Snapshot.Find for the session itself.
func (s *State) find(ref string) (*session, error) {
	found, err := s.Snapshot().Find(ref)
	if err != nil {
		return nil, err
	}
	return s.present(found.ID), nil
}

// Adopted says that a person gave a pane to us. The session's name is chosen here: from
// its Name, else its Title, else its Profile, made unique. The same session, or the same
// pane, adopted once more is refused unless it bears the same id: then it is brought up to
// date and keeps its name. Answer: Session.
type Adopted struct {
	Token   Token
	Session message.Peer
}

func (e Adopted) step(w *work) {
	w.here = true
	session, err := w.adopt(e.Session)
	w.reply(e.Token, Answer{Session: session}, err)
}

func (e Adopted) prepare(l *lookup) (Event, error) {
	e.Token = l.token()
	return e, nil
}

func (e Adopted) unwritten(l *loop, err error) (undo bool) {
	l.answer(e.Token, outcome{err: err})
	return true
}

func (e Adopted) wait(s *stuck, p *posted) (later bool) {
	p.answer(s.err)
	return false
}

// adopt takes in a session, or brings one up to date.
func (w *work) adopt(in message.Peer) (message.Peer, error) {
	if in.Pane == "" || in.Kind != message.PeerPane {
		return message.Peer{}, fmt.Errorf("adopt: %w: no pane", ErrRequest)
	}
	if have, ok := w.Snapshot().InPane(in.Pane); ok && have.ID != in.ID {
		return have, fmt.Errorf("adopt pane %q: %w as %q", in.Pane, ErrAdopted, have.Name)
	}
	return w.takeIn(in), nil
}

// takeIn takes in a session whose name it chooses, or brings one up to date.
func (w *work) takeIn(in message.Peer) message.Peer {
	if in.ID == "" {
		in.ID = w.ids.next(w.now)
	}
	if in.Computer == "" {
		in.Computer = message.LocalComputer
	}
	if in.Adopted.IsZero() {
		in.Adopted = w.now
	}
	in.Ended, in.EndReason = nil, ""
	if have := w.present(in.ID); have != nil {
		in.Name, in.Adopted = have.Name, have.Adopted
		in.Closed, in.Lost, in.Draft = have.Closed, have.Lost, have.Draft // only Closed changes them
		have.Peer = in
		w.changed(have)
		return in
	}
	if w.Snapshot().CheckName(in.Name, in.ID) != nil {
		base := ""
		for _, from := range []string{in.Name, in.Title, in.Profile, in.Key} {
			if base = registry.NameFrom(from); base != "" {
				break
			}
		}
		in.Name = w.Snapshot().FreeName(base)
	}
	in.Closed, in.Lost, in.Draft = "", "", nil
	// An earlier stay under the same id is over and gives way to this one.
	if w.byID[in.ID] != nil {
		w.forgetSessions(func(s *session) bool { return s.ID == in.ID })
	}
	one := newSession(in)
	w.came(one)
	w.changed(one)
	return in
}

func newSession(s message.Peer) *session {
	return &session{
		Peer: s, cause: -1, last: 1, budget: route.NewBudget(),
		sends: make(map[message.ID]*route.Window), hourly: route.NewWindow(hour),
	}
}

// Released says that a person took a pane back.
type Released struct{ Session message.ID }

func (e Released) step(w *work) {
	w.here = true
	if one := w.present(e.Session); one != nil {
		w.leave(one, message.ReleasedPane)
	}
}

// Gone says that the pane or the program in it has ended.
type Gone struct {
	Session message.ID
	Reason  message.Reason
}

func (e Gone) step(w *work) {
	if one := w.present(e.Session); one != nil {
		w.leave(one, e.Reason)
	}
}

// leave ends a session: in its chat, and for everything that is under way to it. In a chat
// that ends since its agent has gone it has not left: whoever takes that up again finds it.
func (w *work) leave(s *session, reason message.Reason) {
	gone := w.depart(s, reason)
	if c := w.chatOf(s.ID); c != nil {
		whole, place := c.copy().Participants, c.member(s.ID)
		c.strike(s.ID)
		w.altered(c)
		if c.lonely() {
			if gone == message.AgentGone {
				c.Participants = whole
			}
			w.end(c, string(gone))
		} else {
			place.Gone = gone == message.AgentGone
			w.notice(c.ID, fmt.Sprintf("%s left chat %s: %s", s.Name, label(c.Chat), reason))
			w.settle(c)
		}
	}
	w.effect(Forget{s.ID, s.Kind})
	w.forgetPast()
}

// depart ends a session and all that is under way to it, and returns the reason that its
// senders are told: what matters to them, whichever way the agent went.
func (w *work) depart(s *session, reason message.Reason) (gone message.Reason) {
	at := w.now
	s.Ended, s.EndReason, s.Closed, s.Lost, s.Draft = &at, string(reason), "", "", nil
	w.changed(s)
	gone = message.AgentGone
	if reason == message.ReleasedPane {
		gone = message.ReleasedPane
	}
	for _, d := range slices.Clone(w.at[place{toSession, s.ID}]) {
		switch {
		case d.state == message.Submitted && d.Chat == "":
			w.receipt(d, message.Failed, gone) // it was taken, and nobody will answer it: its sender may wait for that
		case d.state == message.Submitted:
			w.drop(d) // the same, and what becomes of the chat tells
		case d.Typed:
			w.receipt(d, message.Uncertain, gone)
		case d.Chat != "" && gone == message.AgentGone:
			w.keep(d)
			w.drop(d)
		default:
			w.receipt(d, message.Failed, gone)
		}
	}
	w.waiting, s.waiting = w.waiting-s.waiting, 0
	return gone
}

// forgetPast drops the oldest sessions and chats that are over, beyond what is remembered.
func (w *work) forgetPast() {
	over := 0
	for _, s := range w.sessions {
		if s.Ended != nil {
			over++
		}
	}
	w.forgetSessions(func(s *session) bool {
		if s.Ended == nil || over <= pastSessions {
			return false
		}
		over--
		return true
	})
	over = 0
	for _, c := range w.chats {
		if c.State == message.ChatOver {
			over++
		}
	}
	w.chats = slices.DeleteFunc(w.chats, func(c *chat) bool {
		if c.State != message.ChatOver || over <= pastChats {
			return false
		}
		over--
		w.news.pastChats = append(w.news.pastChats, c.ID)
		delete(w.chatByID, c.ID)
		for _, p := range c.Participants {
			if w.in[p.Peer] == c {
				delete(w.in, p.Peer)
			}
		}
		return true
	})
}

// forgetSessions drops those sessions that are so.
func (w *work) forgetSessions(are func(*session) bool) {
	w.sessions = slices.DeleteFunc(w.sessions, func(s *session) bool {
		if !are(s) {
			return false
		}
		w.news.past = append(w.news.past, s.ID)
		delete(w.byID, s.ID)
		if at := (key{s.Kind, s.Key}); w.keyed[at] == s {
			delete(w.keyed, at)
		}
		return true
	})
}

// StateChanged says what the program in a pane does now.
type StateChanged struct {
	Session message.ID
	State   message.PaneState
	Why     string
}

func (e StateChanged) wait(s *stuck, _ *posted) (later bool) {
	s.backlog = slices.DeleteFunc(s.backlog, func(p posted) bool {
		was, ok := p.event.(StateChanged)
		return ok && was.Session == e.Session
	})
	return true
}

// step is told to watchers, and not written down: it is gone with the pane.
func (e StateChanged) step(w *work) {
	s := w.present(e.Session)
	if s == nil || s.State == e.State && s.StateWhy == e.Why {
		return
	}
	s.State, s.StateWhy = e.State, e.Why
	w.touch(s)
	one := s.Peer
	w.told = append(w.told, message.Event{At: w.now, Kind: "session", Peer: &one})
}

// Closed says that nothing more can be typed into a session's pane for a reason that only a
// person, or what the pane shows later, can end; or, with no reason, that it can again.
type Closed struct {
	Session message.ID
	Why     message.Reason
	Lost    message.ID     // the delivery whose text was typed and never seen, if it is that
	Draft   *message.Place // where a person's line stands, if it is that
}

// step notes why nothing more is typed into a session's pane, for people and the next run.
func (e Closed) step(w *work) {
	if e.Why == "" {
		e.Lost, e.Draft = "", nil
	}
	s := w.present(e.Session)
	if s == nil || s.Closed == e.Why && s.Lost == e.Lost {
		return
	}
	s.Closed, s.Lost, s.Draft = e.Why, e.Lost, e.Draft
	w.changed(s)
}

// Noted is something that a person must know of, about a session or about a chat, which may
// have ended.
type Noted struct {
	Session message.ID
	Chat    message.ID // "": that of Session
	Text    string
}

// step tells a person what a session's pane found, in its chat if it is in one, or what is
// to know of a chat.
func (e Noted) step(w *work) {
	if e.Chat != "" || e.Session == "" {
		w.notice(e.Chat, e.Text)
		return
	}
	s := w.present(e.Session)
	if s == nil {
		return
	}
	var in message.ID
	if c := w.chatOf(s.ID); c != nil {
		in = c.ID
	}
	w.notice(in, e.Text)
}

// Rename gives a session another name. Answer: Session.
type Rename struct {
	By      By
	Session string
	Name    string
}

func (r Rename) by() By { return r.By }

func (r Rename) do(w *work, _ *Asked) (Answer, error) {
	s, err := w.find(r.Session)
	if err != nil {
		return Answer{}, fmt.Errorf("rename: %w", err)
	}
	if !r.By.Person() && r.By.Session != s.ID {
		return Answer{}, fmt.Errorf("rename %q: %w", s.Name, ErrPersonOnly)
	}
	if err := w.Snapshot().CheckName(r.Name, s.ID); err != nil {
		return Answer{}, fmt.Errorf("rename %q: %w", s.Name, err)
	}
	s.Name = r.Name
	w.changed(s)
	if c := w.chatOf(s.ID); c != nil {
		for i := range c.Participants {
			if c.Participants[i].Peer == s.ID {
				c.Participants[i].Name = r.Name
			}
		}
		c.listApprove()
		w.altered(c)
	}
	return Answer{Session: s.Peer}, nil
}

// Release takes a session's pane back from us: its session ends. Answer: Session.
type Release struct {
	By      By
	Session string
}

func (r Release) by() By { return r.By }

func (r Release) do(w *work, _ *Asked) (Answer, error) {
	s, err := w.find(r.Session)
	if err != nil {
		return Answer{}, fmt.Errorf("release: %w", err)
	}
	if !r.By.Person() && r.By.Session != s.ID {
		return Answer{}, fmt.Errorf("release %q: %w", s.Name, ErrPersonOnly)
	}
	w.leave(s, message.ReleasedPane)
	return Answer{Session: s.Peer}, nil
}
