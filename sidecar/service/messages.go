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

	mu   sync.Mutex // guards open and told
	open map[batch][]message.ID
	told map[batch]api.Reading // of batches that are not handed over yet: word of a call that was given up overtakes it
}

// maxTold are how many of those are remembered: most were never anything.
const maxTold = 4096

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
		became, given := s.hand(b, deliveries)
		if given {
			if err := s.became(context.WithoutCancel(ctx), b, deliveries, became); err == nil {
				return api.Messages{}, api.Errorf(api.CodeUsage, "batch %s: its call was given up", req.Batch)
			}
		}
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
	return api.None{}, s.became(ctx, b, slices.Concat(s.takeWord(b, req), req.Deliveries), req.Became)
}

// became writes down what became of a batch, of which nothing more is to be told then.
func (s *Messages) became(ctx context.Context, b batch, deliveries []message.ID, became api.Reading) error {
	state, says := message.Uncertain, "its MCP client has gone, and may have read it"
	switch became {
	case api.WereRead:
		state, says = message.Submitted, "read by its MCP client"
	case api.WereNotRead:
		state, says = message.Held, "not read by its MCP client"
	case api.MayBeRead:
	}
	if err := s.tell(ctx, b.session, deliveries, state, says); err != nil {
		return err
	}
	s.forget(b)
	return nil
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

// hand notes what is handed over in a batch; where word of that came before, that too is known, and is not to come again.
func (s *Messages) hand(b batch, deliveries []message.ID) (became api.Reading, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[batch][]message.ID{}
	}
	s.open[b] = deliveries
	became, given = s.told[b]
	delete(s.told, b)
	return became, given
}

// takeWord is what was handed over in a batch of which somebody tells what became of it. Of one that is not known, and
// of which nothing arrived, that is remembered.
func (s *Messages) takeWord(b batch, req api.ReadRequest) []message.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open[b]) == 0 && len(req.Deliveries) == 0 && req.Batch != "" {
		if s.told == nil || len(s.told) >= maxTold {
			s.told = map[batch]api.Reading{}
		}
		s.told[b] = req.Became
	}
	return s.open[b]
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
