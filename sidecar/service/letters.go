package service

import (
	"context"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// Letters hands agents that ask for them the messages that wait for their panes.
type Letters struct {
	Callers *Callers
	Relay   asked
	Bell    *Bell

	mu   sync.Mutex // guards last
	last map[message.ID]batch
}

// batch is what was handed to a session last: its reader may have gone before it had it.
type batch struct {
	api.Letters
	reader int // the process
}

// Offer has a server serve the operation.
func (s *Letters) Offer(server *api.Server) { api.Handle(server, api.CheckMessages, s.Check) }

// Check hands over what waits, or what comes in time.
func (s *Letters) Check(ctx context.Context, from api.Caller, req api.CheckRequest) (api.Letters, error) {
	session, ok := s.Callers.callerSession(ctx, from)
	if !ok {
		_, err := s.Callers.verified(ctx, from, "take messages")
		if err == nil {
			err = api.Errorf(api.CodeUsage, "a person gets no messages").WithHint("intercom inbox list shows what waits")
		}
		return api.Letters{}, err
	}
	if unread, ok := s.unread(session.ID, from.PID, req.After); ok {
		return unread, nil
	}
	var taken []message.Delivery
	take := relay.Take{
		By: relay.By{Kind: relay.Agent, Peer: session.ID}, Evidence: message.Evidence{Source: "mcp", Says: "handed to its MCP server, which asked for it", Weight: "exact", At: now()},
	}
	_, err := s.Bell.until(ctx, req.Wait, func() (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		take.Evidence.At = now()
		answer, err := s.Relay.Do(ctx, take)
		taken = answer.Taken
		return len(taken) > 0, wire(err)
	})
	if err != nil || len(taken) == 0 {
		return api.Letters{}, err
	}
	letters := api.Letters{Batch: message.NewID()}
	for _, d := range taken {
		letters.Messages = append(letters.Messages, letter(d))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[message.ID]batch{}
	}
	s.last[session.ID] = batch{letters, from.PID}
	return letters, nil
}

// unread is what a reader was handed last, if it does not say that it has read it.
func (s *Letters) unread(session message.ID, reader int, read message.ID) (api.Letters, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[session]
	if !ok || last.Batch == read || last.reader != reader {
		delete(s.last, session)
		return api.Letters{}, false
	}
	return last.Letters, true
}

// letter is a delivery as its reader gets it, with the same head and as harmless as it would have
// been typed.
func letter(d message.Delivery) api.Letter {
	m := d.Message
	text, _ := sanitise.Text(render.Words(d.Form, m), sanitise.Options{Head: d.Head})
	if d.Head != "" {
		head := d.Head
		if d.Formatted {
			head, _ = sanitise.Head(head, sanitise.Options{})
		}
		text = head + d.Separator + text
	}
	return api.Letter{
		ID: m.ID, From: m.From, Type: m.Type, Text: text, Chat: d.Chat, ReplyTo: m.InReplyTo, Answer: m.RequiresResponse, Created: m.Created, Delivery: d.ID,
	}
}
