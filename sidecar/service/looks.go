package service

import (
	"context"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// looks counts, for each chat, the looks that were taken at its panes while it was open. Each pane counts all
// looks since its adoption, whichever chat it is in.
type looks struct {
	mu    sync.Mutex
	began map[message.ID]map[message.ID]int // by chat and session: the pane's count when it came in
	over  map[message.ID]int                // by chat: the final counts of the latest chats that ended in this life
	ended []message.ID                      // the chats in over, oldest first
}

// endedMost is how many ended chats are remembered: mostly, a caller asks about one that has just ended.
const endedMost = 1024

// note records that a chat has changed. captures returns the count of a session's pane.
func (l *looks) note(chat message.Chat, captures func(session message.ID) int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, over := l.over[chat.ID]; over {
		return // this change arrived late
	}
	if l.began == nil {
		l.began, l.over = map[message.ID]map[message.ID]int{}, map[message.ID]int{}
	}
	if chat.State == message.ChatOver {
		l.over[chat.ID] = l.since(chat, captures)
		delete(l.began, chat.ID)
		if l.ended = append(l.ended, chat.ID); len(l.ended) > endedMost {
			delete(l.over, l.ended[0])
			l.ended = l.ended[1:]
		}
		return
	}
	if l.began[chat.ID] == nil {
		l.began[chat.ID] = map[message.ID]int{}
	}
	for _, p := range chat.Participants {
		if _, in := l.began[chat.ID][p.Peer]; !in {
			l.began[chat.ID][p.Peer] = captures(p.Peer)
		}
	}
}

// of returns how many looks were taken for a chat in this life.
func (l *looks) of(chat message.Chat, captures func(session message.ID) int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if chat.State == message.ChatOver {
		if n, in := l.over[chat.ID]; in || l.began[chat.ID] == nil {
			return n // 0 for one that ended before this life
		}
	}
	return l.since(chat, captures)
}

func (l *looks) since(chat message.Chat, captures func(session message.ID) int) (n int) {
	counted := map[message.ID]bool{} // each once, however often it left and came back
	for _, p := range chat.Participants {
		if !counted[p.Peer] {
			counted[p.Peer] = true
			n += max(0, captures(p.Peer)-l.began[chat.ID][p.Peer])
		}
	}
	return n
}

// captures returns a function that tells how many looks were taken at the pane of a session.
func (s *Chats) captures(ctx context.Context) func(message.ID) int {
	return func(session message.ID) int {
		if s.Panes == nil {
			return 0
		}
		return s.Panes.Captures(ctx, session)
	}
}

// Hear notes which chats have changed. It never blocks.
func (s *Chats) Hear(ctx context.Context, events []message.Event) {
	for _, e := range events {
		if e.Change != nil {
			go s.looks.note(*e.Change, s.captures(ctx)) // the panes may wait for the caller of Hear
		}
	}
}
