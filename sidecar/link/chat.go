package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The kinds of parcels about chats.
const (
	parcelChat = "chat" // the chat's home tells who is in it
	parcelLeft = "left" // from the chat's home: it has ended; from others: the sender's sessions have left it
)

// note is a parcel about a chat, on its way to a computer.
type note struct {
	token string
	parcel
}

// notesMost is how many notes may wait. A computer that misses some is told when it comes, and asks every
// minute.
const notesMost = 1024

// chatChanged has a change of a chat here told to the other computers whose sessions are in it.
func (l *Link) chatChanged(lf *life, c message.Chat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := parcelChat
	switch {
	case c.State == message.ChatOver:
		kind = parcelLeft
	case c.Home != nil:
		return // only its home says who is in it
	}
	for _, token := range l.computersIn(c) {
		if len(l.notes) < notesMost {
			l.notes = append(l.notes, note{token, parcel{Kind: kind, ID: message.NewID(), Room: l.roomOf(lf, c), Why: c.Why}})
		}
	}
	wake(l.wake)
}

// computersIn returns the other computers whose sessions are or were in a chat. l.mu is held.
func (l *Link) computersIn(c message.Chat) (tokens []string) {
	l.locate(c)
	if c.Home != nil {
		tokens = append(tokens, c.Home.Computer)
	}
	for _, p := range c.Participants {
		if token := l.in[p.Peer]; token != "" && !slices.Contains(tokens, token) {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// locate notes the computers of those participants of a chat that are peers here already but not in l.in yet:
// see homeOf. l.mu is held.
func (l *Link) locate(c message.Chat) {
	for _, p := range l.Peers() {
		if p.Kind == message.PeerRemote && p.Ended == nil && l.in[p.ID] == "" &&
			slices.ContainsFunc(c.Participants, func(one message.Participant) bool { return one.Peer == p.ID }) {
			l.in[p.ID] = p.Computer
		}
	}
}

// roomOf returns a chat in the form in which other computers are told of it. l.mu is held.
func (l *Link) roomOf(lf *life, c message.Chat) *room {
	r := &room{Home: lf.token, ID: c.ID, Name: c.Name}
	if c.Home != nil {
		r.Home, r.ID = c.Home.Computer, c.Home.Chat
	}
	own := l.Sessions()
	l.locate(c)
	for _, p := range c.Participants {
		s := seat{Session: Session{ID: p.Peer, Name: p.Name}, Computer: lf.token, Number: p.Number, Role: p.Role, MaySpeak: p.MaySpeak, Left: p.Left}
		if token := l.in[p.Peer]; token != "" {
			s.Computer = token
			s.Name = trimComputer(p.Name, token)
		} else if i := slices.IndexFunc(own, func(one Session) bool { return one.ID == p.Peer }); i >= 0 {
			s.Session = own[i]
		}
		r.Seats = append(r.Seats, s)
	}
	return r
}

// trimComputer returns the name that a session has on its own computer.
func trimComputer(name, token string) string { return strings.TrimSuffix(name, "."+token) }

// sendNotes sends the notes about chats, to each computer in order, and reports whether some are left. A note
// is left if the line was cut, or if the server did not confirm that it keeps it; if it does keep it, the
// note's id shows that. A note that the server refuses is told again when its computer comes, or asks.
func (l *Link) sendNotes(ctx context.Context, lf *life) (left bool) {
	l.mu.Lock()
	notes := l.notes
	l.notes = nil
	l.mu.Unlock()
	var back []note
	blocked := map[string]bool{}
	for i, n := range notes {
		if blocked[n.token] {
			back = append(back, n)
			continue
		}
		data, err := json.Marshal(n.parcel)
		if err == nil {
			err = l.post(ctx, lf, n.token, n.ID, data)
		}
		if err != nil && lf.cut(err) {
			back = append(back, notes[i:]...)
			break
		}
		if errors.Is(err, context.DeadlineExceeded) {
			back, blocked[n.token] = append(back, n), true
		}
		if err != nil && ctx.Err() == nil {
			l.Log.Warn("tell another computer of a chat", "computer", n.token, "err", err)
		}
	}
	if len(back) == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(back, l.notes...)
	l.notes = l.notes[max(0, len(l.notes)-notesMost):]
	return true
}

// tellChats tells a computer of this computer's chats in which it has sessions.
func (l *Link) tellChats(lf *life, token string) {
	for _, c := range l.Chats() {
		if c.State == message.ChatOver || c.Home != nil {
			continue
		}
		l.mu.Lock()
		if slices.Contains(l.computersIn(c), token) && len(l.notes) < notesMost {
			l.notes = append(l.notes, note{token, parcel{Kind: parcelChat, ID: message.NewID(), Room: l.roomOf(lf, c)}})
			wake(l.wake)
		}
		l.mu.Unlock()
	}
}

// askChats asks a computer which of its chats that are mirrored here go on, and ends the other mirrors.
func (l *Link) askChats(ctx context.Context, token string) {
	var mirrored []message.ID
	homes := map[message.ID]message.ID{}
	for _, c := range l.Chats() {
		if c.State != message.ChatOver && c.Home != nil && c.Home.Computer == token {
			mirrored = append(mirrored, c.Home.Chat)
			homes[c.Home.Chat] = c.ID
		}
	}
	if mirrored = mirrored[:min(len(mirrored), mostOfAList)]; len(mirrored) == 0 { // it would neither read nor list more
		return
	}
	var open few[message.ID]
	if err := l.Ask(ctx, token, opChats, Session{}, mirrored, &open); err != nil {
		l.Log.Debug("ask which chats go on", "computer", token, "err", err)
		return
	}
	for _, id := range mirrored {
		if !slices.Contains(open, id) {
			_ = l.Relay.MirrorLeft(ctx, homes[id], token, nil, "it has ended there")
		}
	}
}

// openChats returns which of the chats that a computer asks about go on, and have sessions of that computer.
func (l *Link) openChats(_ context.Context, computer string, body []byte) (any, error) {
	var ids few[message.ID]
	if err := json.Unmarshal(body, &ids); err != nil {
		return nil, err
	}
	open := []message.ID{}
	for _, c := range l.Chats() {
		l.mu.Lock()
		shared := slices.Contains(l.computersIn(c), computer)
		l.mu.Unlock()
		if shared && c.State != message.ChatOver && c.Home == nil && slices.Contains(ids, c.ID) {
			open = append(open, c.ID)
		}
	}
	return open, nil
}

// takeChat handles news about who is in a chat of another computer.
func (l *Link) takeChat(ctx context.Context, lf *life, token string, p parcel) error {
	if p.Room == nil || p.Room.Home != token {
		return l.refuse(ctx, lf, token, p, message.NotAllowedThere, errors.New("only its home tells who is in a chat"))
	}
	_, err := l.mirror(ctx, lf, *p.Room)
	if errors.Is(err, errUnheard) && l.waitsFor(lf, token, p) {
		return errLater
	}
	return l.unless(err, func() error {
		l.refusal(token, "a chat", err)
		return l.leave(ctx, lf, token, p, err.Error())
	})
}

// takeLeft handles the news that sessions of another computer are no longer in a chat.
func (l *Link) takeLeft(ctx context.Context, lf *life, token string, p parcel) error {
	if p.Room == nil {
		return nil
	}
	var peers []message.ID
	for _, s := range p.Room.Seats {
		if s.Computer == token {
			peers = append(peers, s.ID)
		}
	}
	return l.Relay.MirrorLeft(ctx, p.Room.here(lf), token, peers, short(p.Why, maxTitle))
}

// here returns the id that a room has on this computer.
func (r room) here(lf *life) message.ID {
	if r.Home == lf.token {
		return r.ID
	}
	return message.Home{Computer: r.Home, Chat: r.ID}.MirrorID()
}

// mirror makes a chat of another computer a chat here.
func (l *Link) mirror(ctx context.Context, lf *life, r room) (message.ID, error) {
	c := message.Chat{Name: r.Name, Home: &message.Home{Computer: r.Home, Chat: r.ID}}
	if len(r.Seats) > mostSeats {
		return "", fmt.Errorf("a chat of %d", len(r.Seats))
	}
	for _, s := range r.Seats {
		if s.Computer != lf.token {
			// Its home speaks only for its own sessions.
			if s.Computer != r.Home && !l.hasTold(s.Computer, s.ID) {
				return "", fmt.Errorf("%w: %q of %q", errUnheard, s.Name, s.Computer)
			}
			if _, err := l.Enter(ctx, s.Computer, s.Session); err != nil {
				return "", err
			}
		}
		c.Participants = append(c.Participants, message.Participant{Peer: s.ID, Number: s.Number, Role: s.Role, MaySpeak: s.MaySpeak, Left: s.Left})
	}
	begun, err := l.Relay.Mirror(ctx, c, l.May(r.Home, "chat"))
	return begun.ID, err
}

// leave tells the home of a chat that the sessions of this computer are not in it.
func (l *Link) leave(ctx context.Context, lf *life, token string, p parcel, why string) error {
	id := message.DerivedID(time0, "left", string(p.ID))
	r := room{Home: p.Room.Home, ID: p.Room.ID}
	for _, s := range p.Room.Seats {
		if s.Computer == lf.token && len(r.Seats) < mostSeats {
			r.Seats = append(r.Seats, seat{Session: Session{ID: s.ID}, Computer: s.Computer})
		}
	}
	return l.sendBack(ctx, lf, token, p, parcel{Kind: parcelLeft, ID: id, Room: &r, Why: short(why, maxTitle)})
}

// enterChat returns the id that the chat in which a message was said has here.
func (l *Link) enterChat(ctx context.Context, lf *life, token string, r room) (message.ID, error) {
	if r.Home == token {
		return l.mirror(ctx, lf, r)
	}
	id := r.here(lf)
	if !slices.ContainsFunc(l.Chats(), func(c message.Chat) bool { return c.ID == id }) {
		return "", errNoChat // its home has not told us of it yet
	}
	return id, nil
}

// errNoChat says that a message was said in a chat that does not exist here.
var errNoChat = errors.New("no such chat here")

// errUnheard says that a chat is said to have a session of which the session's own computer has not told.
var errUnheard = errors.New("its computer has not told of that session")
