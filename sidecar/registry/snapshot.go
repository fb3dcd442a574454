// Package registry knows who is here: the sessions and chats of one sidecar, as immutable values, and the names by
// which people and programs refer to them.
//
// It keeps no state and starts no goroutine. The relay's goroutine makes a new Snapshot after each change;
// everybody else reads the Snapshot that was handed to them.
package registry

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Snapshot holds the sessions and chats of one moment: those that are present, and those of the recent past. It
// never changes and may be read from any goroutine. Its zero value is empty.
type Snapshot struct {
	peers  shelf[message.Peer]
	chats  shelf[message.Chat]
	member table[message.ID, message.ID] // session → its chat, unless that has ended

	subscribers table[message.ID, []message.ID] // session → the sessions to notify when one of its turns ends, or it does
}

// New returns a Snapshot of copies of the given sessions and chats, in the given order.
func New(sessions []message.Peer, chats []message.Chat) Snapshot {
	return Snapshot{}.With(sessions, chats)
}

// With returns the Snapshot with copies of the given sessions and chats. Each replaces the one with its id, or
// comes after all others.
func (s Snapshot) With(sessions []message.Peer, chats []message.Chat) Snapshot {
	s.peers = s.peers.change(peerCalled, nil, sessions)
	if len(chats) == 0 {
		return s
	}
	own, member := make([]message.Chat, len(chats)), draft[message.ID, message.ID]{table: s.member}
	for i, c := range chats {
		own[i] = clone(c)
		s.leave(&member, c.ID)
		for _, p := range c.Participants {
			if c.State != message.ChatOver && !p.Left && !c.Aside {
				member.part(p.Peer)[p.Peer] = c.ID
			}
		}
	}
	s.chats, s.member = s.chats.change(chatCalled, nil, own), member.table
	return s
}

// Without returns the Snapshot without the sessions and chats of those ids.
func (s Snapshot) Without(sessions, chats []message.ID) Snapshot {
	member := draft[message.ID, message.ID]{table: s.member}
	for _, id := range chats {
		s.leave(&member, id)
	}
	s.peers, s.chats = s.peers.change(peerCalled, sessions, nil), s.chats.change(chatCalled, chats, nil)
	s.member = member.table
	return s
}

// WithSubscribers returns the Snapshot in which exactly those callers are notified when a turn of a session ends,
// or the session does.
func (s Snapshot) WithSubscribers(about message.ID, callers []message.ID) Snapshot {
	told := draft[message.ID, []message.ID]{table: s.subscribers}
	if len(callers) == 0 {
		delete(told.part(about), about)
	} else {
		told.part(about)[about] = slices.Clone(callers)
	}
	s.subscribers = told.table
	return s
}

// Subscribers returns the sessions that are notified when a turn of that session ends, or the session does, in the
// order of their subscription.
func (s Snapshot) Subscribers(about message.ID) []message.ID {
	callers, _ := s.subscribers.get(about)
	return slices.Clone(callers)
}

// leave removes all members of a chat from it.
func (s Snapshot) leave(member *draft[message.ID, message.ID], chat message.ID) {
	c := s.chats.get(chat)
	if c == nil {
		return
	}
	for _, p := range c.Participants {
		if in, _ := member.get(p.Peer); in == chat {
			delete(member.part(p.Peer), p.Peer)
		}
	}
}

func peerCalled(s *message.Peer) (message.ID, []string) {
	return s.ID, []string{strings.ToLower(string(s.ID)), strings.ToLower(s.ID.Short()), strings.ToLower(s.Name), strings.ToLower(s.Pane), strings.ToLower(s.Key)}
}

func chatCalled(c *message.Chat) (message.ID, []string) {
	return c.ID, []string{strings.ToLower(string(c.ID)), strings.ToLower(c.ID.Short()), strings.ToLower(c.Name)}
}

// Peers returns the sessions that are present, in the order of their adoption.
func (s Snapshot) Peers() []message.Peer { return slices.Collect(s.Present()) }

// Present yields the sessions that Peers returns, without a copy of the list.
func (s Snapshot) Present() iter.Seq[message.Peer] {
	return func(yield func(message.Peer) bool) {
		for one := range s.peers.all() {
			if one.Ended == nil && !yield(*one) {
				return
			}
		}
	}
}

// Row is a part of the peers, in their order. Equal Rows of two snapshots have the same content.
type Row struct{ of *[row]*message.Peer }

// Rows returns all rows.
func (s Snapshot) Rows() []Row {
	rows := make([]Row, len(s.peers.rows))
	for i, of := range s.peers.rows {
		rows[i] = Row{of}
	}
	return rows
}

// Peers yields the sessions of the row that are present.
func (r Row) Peers() iter.Seq[message.Peer] {
	return func(yield func(message.Peer) bool) {
		for _, one := range r.of {
			if one != nil && one.Ended == nil && !yield(*one) {
				return
			}
		}
	}
}

// Past returns the sessions that ended recently, oldest first.
func (s Snapshot) Past() []message.Peer {
	var out []message.Peer
	for one := range s.peers.all() {
		if one.Ended != nil {
			out = append(out, *one)
		}
	}
	return out
}

// Chats returns all known chats: those that are open, and those that ended recently.
func (s Snapshot) Chats() []message.Chat {
	out := make([]message.Chat, 0, s.chats.count)
	for one := range s.chats.all() {
		out = append(out, clone(*one))
	}
	return out
}

// Peer returns the session with that id, present or ended.
func (s Snapshot) Peer(id message.ID) (message.Peer, bool) {
	if one := s.peers.get(id); one != nil {
		return *one, true
	}
	return message.Peer{}, false
}

// Chat returns the chat with that id, open or ended.
func (s Snapshot) Chat(id message.ID) (message.Chat, bool) {
	if one := s.chats.get(id); one != nil {
		return clone(*one), true
	}
	return message.Chat{}, false
}

// ChatOf returns the open chat in which the session takes part. There is at most one; an Aside does not count.
func (s Snapshot) ChatOf(session message.ID) (message.Chat, bool) {
	in, _ := s.member.get(session)
	return s.Chat(in)
}

// InPane returns the present session in the tmux pane with that id.
func (s Snapshot) InPane(pane string) (message.Peer, bool) {
	for one := range s.peers.so(pane) {
		if one.Ended == nil && one.Pane == pane {
			return *one, true
		}
	}
	return message.Peer{}, false
}

// Find returns the present session that ref names. ref is its id, the last eight digits of the id if only one
// session has them, its pane id, its name in any case of letters, its key in its own protocol, or, in a chat,
// [NAME] (NUMBER) as in the attribution of its words. The error is a *LookupError: it wraps ErrUnknown with the
// nearest names, ErrAmbiguous with the candidates, or ErrEnded.
func (s Snapshot) Find(ref string) (message.Peer, error) {
	if session, err := one(ref, s.peers.so(ref), goesBy); !errors.Is(err, ErrUnknown) {
		return session, err
	}
	session, err := one(ref, s.peers.all(), beginsSo)
	if !errors.Is(err, ErrUnknown) {
		return session, err
	}
	if session, ok := s.attributed(ref); ok {
		return session, nil
	}
	if computer, there, named := strings.Cut(ref, "/"); named && strings.EqualFold(computer, message.LocalComputer) && !strings.Contains(there, "/") { // C34
		if session, err := s.Find(there); err != nil || session.Kind != message.PeerRemote {
			return session, err
		}
	}
	var names []string
	for one := range s.peers.all() {
		if one.Ended == nil {
			names = append(names, one.Name)
		}
	}
	return message.Peer{}, &LookupError{Kind: "session", Ref: ref, Err: ErrUnknown, Candidates: nearest(ref, names)}
}

// attributed returns the participant of an open chat to whom ref, which is [NAME] (NUMBER), attributes words.
func (s Snapshot) attributed(ref string) (message.Peer, bool) {
	name, number, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(ref, "["), ")"), "] (")
	if !ok || ref != "["+name+"] ("+number+")" {
		return message.Peer{}, false
	}
	session, err := s.Find(name)
	if err != nil {
		return message.Peer{}, false
	}
	chat, _ := s.ChatOf(session.ID)
	return session, slices.ContainsFunc(chat.Participants, func(p message.Participant) bool {
		return p.Peer == session.ID && !p.Left && strconv.Itoa(p.Number) == number
	})
}

// matcher reports whether ref means the session or chat with that id and name.
type matcher func(ref string, id message.ID, name string) bool

// one returns the present session that ref means. The error is ErrUnknown if there is none.
func one(ref string, among iter.Seq[*message.Peer], meant matcher) (message.Peer, error) {
	var present []message.Peer
	var past *message.Peer
	for one := range among {
		switch {
		case !meant(ref, one.ID, one.Name) && (ref == "" || one.Pane != ref && one.Key != ref):
		case one.Ended == nil:
			present = append(present, *one)
		default:
			past = one
		}
	}
	switch {
	case len(present) == 1:
		return present[0], nil
	case len(present) > 1:
		err := &LookupError{Kind: "session", Ref: ref, Err: ErrAmbiguous}
		for _, one := range present {
			err.Candidates = append(err.Candidates, one.Name+" ("+string(one.ID)+")")
		}
		return message.Peer{}, err
	case past != nil:
		return message.Peer{}, &LookupError{Kind: "session", Ref: ref, Err: ErrEnded, Why: past.EndReason}
	}
	return message.Peer{}, ErrUnknown
}

// FindChat returns the chat that ref names. ref is its id, the last eight digits of the id, or its name in any case
// of letters. An open chat comes before an ended one. The error is a *LookupError, as for Find, but an ended chat
// is found without an error.
func (s Snapshot) FindChat(ref string) (message.Chat, error) {
	if chat, err := oneChat(ref, s.chats.so(ref), goesBy); !errors.Is(err, ErrUnknown) {
		return chat, err
	}
	chat, err := oneChat(ref, s.chats.all(), beginsSo)
	if !errors.Is(err, ErrUnknown) {
		return chat, err
	}
	var names []string
	for one := range s.chats.all() {
		if one.State != message.ChatOver {
			names = append(names, one.Name, one.ID.Short())
		}
	}
	return message.Chat{}, &LookupError{Kind: "chat", Ref: ref, Err: ErrUnknown, Candidates: nearest(ref, names)}
}

// oneChat returns the chat that ref means. The error is ErrUnknown if there is none.
func oneChat(ref string, among iter.Seq[*message.Chat], meant matcher) (message.Chat, error) {
	var open []*message.Chat
	var past *message.Chat
	for one := range among {
		switch {
		case !meant(ref, one.ID, one.Name):
		case one.State != message.ChatOver:
			open = append(open, one)
		default:
			past = one
		}
	}
	switch {
	case len(open) == 1:
		return clone(*open[0]), nil
	case len(open) > 1:
		err := &LookupError{Kind: "chat", Ref: ref, Err: ErrAmbiguous}
		for _, one := range open {
			err.Candidates = append(err.Candidates, string(one.ID))
		}
		return message.Chat{}, err
	case past != nil:
		return clone(*past), nil
	}
	return message.Chat{}, ErrUnknown
}

// goesBy reports whether ref is the id, its short form, or the name.
func goesBy(ref string, id message.ID, name string) bool {
	if ref == "" {
		return false
	}
	return strings.EqualFold(ref, string(id)) || strings.EqualFold(ref, name) || strings.EqualFold(ref, id.Short())
}

// beginsSo reports whether ref is the beginning of the id or of its short form.
func beginsSo(ref string, id message.ID, _ string) bool { return id.Is(ref) }

func clone(c message.Chat) message.Chat {
	c.Participants, c.Floor = slices.Clone(c.Participants), slices.Clone(c.Floor)
	return c
}
