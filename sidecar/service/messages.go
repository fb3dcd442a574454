package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// Messages hands agents that ask for them the messages that wait for their panes.
type Messages struct {
	Callers *Callers
	Relay   asked
	Bell    *Bell

	mu   sync.Mutex // guards open
	open map[batch][]message.ID
}

// batch names deliveries that were handed over together, until it is known what became of them.
type batch struct{ session, id message.ID }

// Offer has a server serve the operations.
func (s *Messages) Offer(server *api.Server) {
	api.Handle(server, api.CheckMessages, s.Check)
	api.Handle(server, api.MessagesRead, s.Read)
}

// Check hands over what waits, or what comes in time.
func (s *Messages) Check(ctx context.Context, from api.Caller, req api.CheckRequest) (api.Messages, error) {
	session, err := s.reader(ctx, from)
	if err != nil {
		return api.Messages{}, err
	}
	b := batch{session, req.Batch}
	if len(s.handed(b)) > 0 {
		return api.Messages{}, api.Errorf(api.CodeUsage, "batch %s: it was used before", req.Batch)
	}
	var taken []message.Delivery
	take := relay.Take{
		By: relay.By{Kind: relay.Agent, Peer: session}, Evidence: message.Evidence{Source: "mcp", Says: "handed to its MCP server, which asked for it", Weight: "exact"},
	}
	_, err = s.Bell.until(ctx, req.Wait, func() (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		take.Evidence.At = now()
		answer, err := s.Relay.Do(context.WithoutCancel(ctx), take) // to know what it took, even so
		taken = answer.Taken
		return len(taken) > 0, wire(err)
	})
	if err != nil || len(taken) == 0 {
		return api.Messages{}, err
	}
	var messages api.Messages
	var deliveries []message.ID
	for _, d := range taken {
		messages.Messages = append(messages.Messages, readable(d))
		deliveries = append(deliveries, d.ID)
	}
	switch {
	case ctx.Err() != nil: // nobody waits for the reply any more
		return api.Messages{}, errors.Join(ctx.Err(), s.tell(context.WithoutCancel(ctx), session, deliveries, message.Held, "it asked no longer"))
	case req.Batch == "":
		err = s.tell(ctx, session, deliveries, message.Submitted, "its MCP server is of a version that does not say what was read")
	default:
		s.hand(b, deliveries)
		s.watch(b, from.PID)
	}
	return messages, err
}

// Read takes in what became of messages that were handed over. That of an earlier life of ours had them counts too.
func (s *Messages) Read(ctx context.Context, from api.Caller, req api.ReadRequest) (api.None, error) {
	session, err := s.reader(ctx, from)
	if err != nil {
		return api.None{}, err
	}
	b := batch{session, req.Batch}
	deliveries := slices.Concat(s.handed(b), req.Deliveries)
	state, says := message.Uncertain, "its MCP client has gone, and may have read it"
	switch req.Became {
	case api.WereRead:
		state, says = message.Submitted, "read by its MCP client"
	case api.WereNotRead:
		state, says = message.Held, "not read by its MCP client"
	case api.MayBeRead:
	}
	if err := s.tell(ctx, session, deliveries, state, says); err != nil {
		return api.None{}, err
	}
	s.forget(b)
	return api.None{}, nil
}

// reader is the session of an agent that asks.
func (s *Messages) reader(ctx context.Context, from api.Caller) (message.ID, error) {
	if session, ok := s.Callers.callerSession(ctx, from); ok {
		return session.ID, nil
	}
	_, err := s.Callers.verified(ctx, from, "take messages")
	if err == nil {
		err = api.Errorf(api.CodeUsage, "a person gets no messages").WithHint("intercom inbox list shows what waits")
	}
	return "", err
}

// tell writes down what became of deliveries.
func (s *Messages) tell(ctx context.Context, session message.ID, deliveries []message.ID, state message.ReceiptState, says string) error {
	_, err := s.Relay.Do(ctx, relay.Told{
		By: relay.By{Kind: relay.Agent, Peer: session}, Deliveries: deliveries, State: state,
		Evidence: message.Evidence{Source: "mcp", Says: says, Weight: "exact", At: now()},
	})
	return wire(err)
}

// readerLooks is how often a process that took messages, and has not told what became of them, is looked at.
const readerLooks = 2 * time.Second

// watch ends a batch once the process that took it has ended: whether its client had read it, nobody can tell then.
func (s *Messages) watch(b batch, reader int) {
	began, err := process.Start(reader)
	if errors.Is(err, process.ErrUnsupported) {
		return
	}
	var look func()
	look = func() {
		deliveries := s.handed(b)
		switch {
		case len(deliveries) == 0:
			return
		case !process.Lives(reader, began):
			err := s.tell(context.Background(), b.session, deliveries, message.Uncertain, "its MCP server ended before it said what was read")
			if _, full := errors.AsType[*message.UnwritableError](err); !full {
				s.forget(b)
				return
			}
		}
		time.AfterFunc(readerLooks, look)
	}
	time.AfterFunc(readerLooks, look)
}

func (s *Messages) hand(b batch, deliveries []message.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[batch][]message.ID{}
	}
	s.open[b] = deliveries
}

// handed is what was handed over in a batch of which nothing was told yet.
func (s *Messages) handed(b batch) []message.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[b]
}

func (s *Messages) forget(b batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, b)
}

// readable is a delivery as its reader gets it, with the same head and as harmless as it would have
// been typed.
func readable(d message.Delivery) api.Message {
	m := d.Message
	text, _ := sanitise.Text(render.Words(d.Form, m), sanitise.Options{Head: d.Head})
	if d.Head != "" {
		head := d.Head
		if d.Formatted {
			head, _ = sanitise.Head(head, sanitise.Options{})
		}
		text = head + d.Separator + text
	}
	return api.Message{
		ID: m.ID, From: m.From, Type: m.Type, Text: text, Chat: d.Chat, ReplyTo: m.InReplyTo, Answer: m.RequiresResponse, Created: m.Created, Delivery: d.ID,
	}
}
