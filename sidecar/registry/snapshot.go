// Package registry knows who is here: the sessions and chats of one sidecar, as values
// that never change, and the names by which people and programs refer to them.
//
// It owns no state and starts no goroutine. The relay's goroutine makes a new Snapshot
// after each change; everybody else reads whichever Snapshot was handed to them.
package registry

import (
	"errors"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Snapshot is who is here at one moment: sessions and chats, those that are present and
// those of the recent past. It never changes and may be read from any goroutine; its
// zero value is empty.
type Snapshot struct {
	sessions []message.Session
	chats    []message.Chat
	session  map[message.ID]int
	chat     map[message.ID]int
	member   map[message.ID]int // session → the chat in which it is, unless that has ended
}

// New makes a Snapshot of copies of the given sessions and chats, in their given order.
func New(sessions []message.Session, chats []message.Chat) Snapshot {
	s := Snapshot{
		sessions: slices.Clone(sessions),
		chats:    make([]message.Chat, len(chats)),
		session:  make(map[message.ID]int, len(sessions)),
		chat:     make(map[message.ID]int, len(chats)),
		member:   make(map[message.ID]int),
	}
	for i := range s.sessions {
		s.session[s.sessions[i].ID] = i
	}
	for i := range chats {
		s.chats[i] = clone(chats[i])
		s.chat[chats[i].ID] = i
		if chats[i].State == message.ChatOver {
			continue
		}
		for _, p := range chats[i].Participants {
			if !p.Left {
				s.member[p.Session] = i
			}
		}
	}
	return s
}

// Sessions returns the sessions that are present, in the order of their adoption.
func (s Snapshot) Sessions() []message.Session {
	var out []message.Session
	for _, one := range s.sessions {
		if one.Ended == nil {
			out = append(out, one)
		}
	}
	return out
}

// Past returns the sessions that ended not long ago, oldest first.
func (s Snapshot) Past() []message.Session {
	var out []message.Session
	for _, one := range s.sessions {
		if one.Ended != nil {
			out = append(out, one)
		}
	}
	return out
}

// Chats returns all chats that are known: those that are open, and those that ended not
// long ago.
func (s Snapshot) Chats() []message.Chat {
	out := make([]message.Chat, len(s.chats))
	for i := range s.chats {
		out[i] = clone(s.chats[i])
	}
	return out
}

// Session returns the session of that id, whether it is present or has ended.
func (s Snapshot) Session(id message.ID) (message.Session, bool) {
	i, ok := s.session[id]
	if !ok {
		return message.Session{}, false
	}
	return s.sessions[i], true
}

// Chat returns the chat of that id, whether it is open or has ended.
func (s Snapshot) Chat(id message.ID) (message.Chat, bool) {
	i, ok := s.chat[id]
	if !ok {
		return message.Chat{}, false
	}
	return clone(s.chats[i]), true
}

// ChatOf returns the open chat in which the session takes part. It is in at most one.
func (s Snapshot) ChatOf(session message.ID) (message.Chat, bool) {
	i, ok := s.member[session]
	if !ok {
		return message.Chat{}, false
	}
	return clone(s.chats[i]), true
}

// InPane returns the session that is present in the tmux pane of that id.
func (s Snapshot) InPane(pane string) (message.Session, bool) {
	for _, one := range s.sessions {
		if one.Ended == nil && one.Pane == pane {
			return one, true
		}
	}
	return message.Session{}, false
}

// Find returns the session that is present and goes by ref: its id, the last eight
// digits of it where only one session has them, its pane id, or its name in any case of
// letters. The error is a *LookupError: it wraps ErrUnknown with the nearest names,
// ErrAmbiguous with the candidates, or ErrEnded.
func (s Snapshot) Find(ref string) (message.Session, error) {
	if session, err := s.findBy(goesBy, ref); !errors.Is(err, ErrUnknown) {
		return session, err
	}
	return s.findBy(beginsSo, ref)
}

// matcher reports whether what has that id and name is meant by ref.
type matcher func(ref string, id message.ID, name string) bool

func (s Snapshot) findBy(meant matcher, ref string) (message.Session, error) {
	var present, past []message.Session
	for _, one := range s.sessions {
		if !meant(ref, one.ID, one.Name) && (ref == "" || one.Pane != ref) {
			continue
		}
		if one.Ended == nil {
			present = append(present, one)
		} else {
			past = append(past, one)
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
		return message.Session{}, err
	case len(past) > 0:
		last := past[len(past)-1]
		return message.Session{}, &LookupError{Kind: "session", Ref: ref, Err: ErrEnded, Why: last.EndReason}
	}
	var names []string
	for _, one := range s.sessions {
		if one.Ended == nil {
			names = append(names, one.Name)
		}
	}
	return message.Session{}, &LookupError{Kind: "session", Ref: ref, Err: ErrUnknown, Candidates: nearest(ref, names)}
}

// FindChat returns the chat that goes by ref: its id, the last eight digits of it, or its
// name in any case of letters. An open chat comes before one that has ended. The error is
// a *LookupError, as that of Find; a chat that has ended is found, and is no error.
func (s Snapshot) FindChat(ref string) (message.Chat, error) {
	if chat, err := s.findChatBy(goesBy, ref); !errors.Is(err, ErrUnknown) {
		return chat, err
	}
	return s.findChatBy(beginsSo, ref)
}

func (s Snapshot) findChatBy(meant matcher, ref string) (message.Chat, error) {
	var open, past []message.Chat
	for _, one := range s.chats {
		if !meant(ref, one.ID, one.Name) {
			continue
		}
		if one.State != message.ChatOver {
			open = append(open, one)
		} else {
			past = append(past, one)
		}
	}
	if len(open) == 0 && len(past) > 0 {
		open = past[len(past)-1:]
	}
	switch len(open) {
	case 1:
		return clone(open[0]), nil
	case 0:
		var names []string
		for _, one := range s.chats {
			if one.State != message.ChatOver {
				names = append(names, one.Name, one.ID.Short())
			}
		}
		return message.Chat{}, &LookupError{Kind: "chat", Ref: ref, Err: ErrUnknown, Candidates: nearest(ref, names)}
	}
	err := &LookupError{Kind: "chat", Ref: ref, Err: ErrAmbiguous}
	for _, one := range open {
		err.Candidates = append(err.Candidates, string(one.ID))
	}
	return message.Chat{}, err
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
