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

// Messages gives agents the messages that wait for their panes, when they ask for them.
type Messages struct {
	Callers *Callers
	Relay   asked
	Bell    *Bell

	mu   sync.Mutex // guards open and told
	open map[batch][]message.ID
	told map[batch]api.Reading // of batches that were not handed over when it came: the report of an abandoned call may overtake the call
}

// maxTold is how many such reports are remembered: most of them belong to no batch.
const maxTold = 4096

// batch names deliveries that were handed over together, until their outcome is known.
type batch struct{ session, id message.ID }

// Offer registers the operations with a server.
func (s *Messages) Offer(server *api.Server) {
	api.Handle(server, api.CheckMessages, s.Check)
	api.Handle(server, api.MessagesRead, s.Read)
}

// Check hands over the messages that wait, or those that come in time.
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
		answer, err := s.Relay.Do(context.WithoutCancel(ctx), take) // even then, to learn what it took
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
	case ctx.Err() != nil: // the caller is gone
		return api.Messages{}, errors.Join(ctx.Err(), s.tell(context.WithoutCancel(ctx), session, deliveries, message.Held, "it asked no longer"))
	case req.Batch == "":
		err = s.tell(ctx, session, deliveries, message.Submitted, "its MCP server is of a version that does not say what was read")
	default:
		became, given := s.hand(b, deliveries)
		if given && s.became(context.WithoutCancel(ctx), b, deliveries, became) == nil {
			return api.Messages{}, api.Errorf(api.CodeUsage, "batch %s: its call was given up", req.Batch)
		}
		s.watch(b, from.PID)
	}
	return messages, err
}

// Read takes the report of what became of messages that were handed over, even those that an earlier life
// handed over.
func (s *Messages) Read(ctx context.Context, from api.Caller, req api.ReadRequest) (api.None, error) {
	session, err := s.reader(ctx, from)
	if err != nil {
		return api.None{}, err
	}
	b := batch{session, req.Batch}
	return api.None{}, s.became(ctx, b, slices.Concat(s.takeWord(b, req), req.Deliveries), req.Became)
}

// became records the outcome of a batch, after which no report on it is expected.
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

// reader returns the session of the agent that asks.
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

// tell records the state of deliveries.
func (s *Messages) tell(ctx context.Context, session message.ID, deliveries []message.ID, state message.ReceiptState, says string) error {
	_, err := s.Relay.Do(ctx, relay.Told{
		By: relay.By{Kind: relay.Agent, Peer: session}, Deliveries: deliveries, State: state,
		Evidence: message.Evidence{Source: "mcp", Says: says, Weight: "exact", At: now()},
	})
	return wire(err)
}

// readerLooks is how often the sidecar checks a process that took messages and has not reported what became of
// them.
const readerLooks = 2 * time.Second

// watch records the outcome of a batch whose report came early and could not be written. It ends any other batch
// once the process that took it has ended: nobody can tell then whether its client had read the messages.
func (s *Messages) watch(b batch, reader int) {
	began, err := process.Start(reader)
	if errors.Is(err, process.ErrUnsupported) {
		return
	}
	var look func()
	look = func() {
		deliveries := s.handed(b)
		became, given := s.early(b)
		switch {
		case len(deliveries) == 0:
			return
		case given:
			if s.became(context.Background(), b, deliveries, became) == nil {
				return
			}
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

// hand records what is handed over in a batch. If the report on the batch came earlier, hand returns it.
func (s *Messages) hand(b batch, deliveries []message.ID) (became api.Reading, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[batch][]message.ID{}
	}
	s.open[b] = deliveries
	became, given = s.told[b]
	return became, given
}

// takeWord returns what was handed over in a batch that a report is about. If the batch is unknown and the
// report names no deliveries, it remembers the report for hand.
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

// early returns the report on a batch that came before its hand-over.
func (s *Messages) early(b batch) (became api.Reading, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	became, given = s.told[b]
	return became, given
}

// handed returns the deliveries of a batch whose outcome is not recorded yet.
func (s *Messages) handed(b batch) []message.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[b]
}

func (s *Messages) forget(b batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open[b]) > 0 { // else the report waits for its batch
		delete(s.told, b)
	}
	delete(s.open, b)
}

// readable returns a delivery in the form that its reader gets, with the same head, and sanitised as if it were
// typed.
func readable(d message.Delivery) api.Message {
	m := d.Message
	text, _ := sanitise.Text(render.Words(d.Form, m), sanitise.Options{Head: d.Head, Own: d.Own})
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
