package daemon

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// StartChat begins a chat. What the panes show by then is old.
func (s *sidecar) StartChat(ctx context.Context, from api.Caller, req api.StartChatRequest) (message.Chat, error) {
	limits, err := api.ParseSettings(req.Set)
	if err != nil {
		return message.Chat{}, err
	}
	snap := s.relay.Snapshot()
	var members []message.Session
	for _, ref := range req.Panes {
		session, err := snap.Find(ref)
		if err != nil {
			if strings.HasPrefix(ref, "%") {
				return message.Chat{}, api.Errorf(api.CodeRefused, "pane %s is not adopted", ref).WithHint("intercom adopt %s --as line", ref)
			}
			return message.Chat{}, wire(err)
		}
		if _, busy := snap.ChatOf(session.ID); busy {
			continue // refused below; its baseline is its chat's
		}
		members = append(members, session)
	}
	// The baselines stand before the relay hears of the chat, so that nothing which is said
	// after `chat start` has returned is taken for old.
	for _, session := range members {
		if err := s.panes.Rebase(ctx, session.ID); err != nil {
			return message.Chat{}, wire(err)
		}
	}
	answer, err := s.relay.Do(ctx, relay.StartChat{
		By: s.by(from), Sessions: req.Panes, Name: req.Name, Say: req.Say, Limits: limits, Turns: req.Turns,
	})
	if err != nil {
		return message.Chat{}, wire(err)
	}
	return answer.Chats[0], nil
}

// Chats lists chats.
func (s *sidecar) Chats(ctx context.Context, _ api.Caller, ended bool) ([]message.Chat, error) {
	if ended {
		return s.journal.Chats(ctx, true)
	}
	return open(s.relay.Snapshot()), nil
}

// open are the chats that go on, paused ones included.
func open(snap registry.Snapshot) []message.Chat {
	return slices.DeleteFunc(snap.Chats(), func(c message.Chat) bool { return c.State == message.ChatOver })
}

// StopChat ends chats.
func (s *sidecar) StopChat(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return s.halt(ctx, relay.StopChat{By: s.by(from), Chat: chatOf(which)})
}

// PauseChat holds chats.
func (s *sidecar) PauseChat(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return s.halt(ctx, relay.PauseChat{By: s.by(from), Chat: chatOf(which)})
}

// ResumeChat lets chats go on.
func (s *sidecar) ResumeChat(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return s.change(ctx, relay.ResumeChat{By: s.by(from), Chat: chatOf(which)})
}

// stillWithin is how long the answer to a stop or a pause waits for a typing that was given
// leave just before; a tmux server that answers at all takes a few milliseconds.
const stillWithin = 2 * time.Second

// halt is change for what takes leave away: no byte is typed after its answer.
func (s *sidecar) halt(ctx context.Context, r relay.Request) ([]message.Chat, error) {
	chats, err := s.change(ctx, r)
	if err != nil {
		return nil, err
	}
	return chats, s.still(ctx, "done")
}

// still waits until nothing is being typed that was given leave before; what says which
// request was carried out all the same if tmux does not let it be known in time.
func (s *sidecar) still(ctx context.Context, what string) error {
	within, cancel := context.WithTimeout(ctx, stillWithin)
	defer cancel()
	if err := s.panes.Still(within); err != nil {
		s.log.Warn("wait until nothing is being typed", "err", err)
		return api.Errorf(api.CodeUncertain, "%s, but a keystroke that was under way may still arrive: %w", what, err)
	}
	return nil
}

func (s *sidecar) change(ctx context.Context, r relay.Request) ([]message.Chat, error) {
	answer, err := s.relay.Do(ctx, r)
	return answer.Chats, wire(err)
}

func chatOf(which api.ChatRef) string {
	if which.All {
		return relay.All
	}
	return which.Chat
}

// Say puts a person's words into a chat.
func (s *sidecar) Say(ctx context.Context, from api.Caller, req api.SayRequest) (api.Said, error) {
	if err := s.personOnly(from, "say something as a person"); err != nil {
		return api.Said{}, err
	}
	answer, err := s.relay.Do(ctx, relay.Say{By: s.by(from), Chat: req.Chat, Body: req.Text})
	said := api.Said{Message: answer.Message}
	for _, r := range answer.Receipts {
		said.Deliveries = append(said.Deliveries, r.Delivery)
	}
	return said, wire(err)
}

// Stats counts what passed through a chat.
func (s *sidecar) Stats(ctx context.Context, _ api.Caller, ref string) (message.Stats, error) {
	answer, err := s.relay.Do(ctx, relay.Stats{Chat: ref})
	if err != nil {
		return message.Stats{}, wire(err)
	}
	if chat, err := s.relay.Snapshot().FindChat(ref); err == nil {
		for _, p := range chat.Participants {
			answer.Stats.Captures += s.panes.Captures(ctx, p.Session)
		}
	}
	return answer.Stats, nil
}

// Send hands one message to one session and waits for the state that is asked for.
func (s *sidecar) Send(ctx context.Context, from api.Caller, req api.SendRequest) (api.Sent, error) {
	if strings.TrimSpace(req.Text) == "" {
		return api.Sent{}, api.Errorf(api.CodeUsage, "nothing to send")
	}
	if req.ID != "" {
		id, err := message.ParseID(string(req.ID))
		if err != nil {
			return api.Sent{}, api.Errorf(api.CodeUsage, "%w", err)
		}
		req.ID = id
	}
	answer, err := s.relay.Do(ctx, relay.Send{By: s.by(from), To: req.To, Message: message.Envelope{ID: req.ID, Type: message.KindMessage, Body: req.Text}})
	if err != nil {
		return api.Sent{}, wire(err)
	}
	sent := api.Sent{Message: answer.Message}
	if len(answer.Receipts) == 0 {
		return sent, nil // decided otherwise: nothing is delivered
	}
	sent.Receipt = answer.Receipts[0]
	sent.Delivery = sent.Receipt.Delivery
	if sent.Receipt.State.Final() {
		return sent, nil
	}
	return s.await(ctx, sent, req)
}

// await follows the receipts of a delivery until req's wait is over.
func (s *sidecar) await(ctx context.Context, sent api.Sent, req api.SendRequest) (api.Sent, error) {
	timeout := time.NewTimer(req.Timeout)
	defer timeout.Stop()
	for {
		rung := s.bell.wait()
		receipts, err := s.journal.Receipts(ctx, sent.Message)
		if err != nil {
			return sent, err
		}
		for _, r := range receipts {
			if r.Delivery == sent.Delivery {
				sent.Receipt = r
			}
		}
		if reached(sent.Receipt.State, req.Wait) || req.Timeout <= 0 {
			return sent, nil
		}
		select {
		case <-rung:
		case <-timeout.C:
			return sent, nil
		case <-ctx.Done():
			return sent, ctx.Err()
		}
	}
}

// reached reports whether no more waiting is wanted, or of use.
func reached(state message.ReceiptState, wait api.Wait) bool {
	switch {
	case state.Final():
		return true
	case wait == api.WaitAnswered:
		return false
	case wait == api.WaitSubmitted:
		return state == message.Submitted
	}
	return state == message.Submitted || state == message.Held
}

// Log lists what happened.
func (s *sidecar) Log(ctx context.Context, _ api.Caller, q api.LogQuery) ([]message.Event, error) {
	query := journal.Query{Since: q.Since, Limit: q.Limit, Search: q.Search, Newest: true}
	if q.Chat != "" {
		id, err := s.chatID(ctx, q.Chat)
		if err != nil {
			return nil, err
		}
		query.Chat = id
	}
	if q.ID != "" {
		switch m, err := s.journal.Message(ctx, q.ID); {
		case err == nil:
			query.Message = m.ID
		case errors.Is(err, journal.ErrNotFound):
			id, err := s.chatID(ctx, q.ID)
			if err != nil {
				return nil, api.Errorf(api.CodeNotFound, "no message or chat %q", q.ID)
			}
			query.Chat = id
		default:
			return nil, api.Errorf(api.CodeUsage, "%w", err)
		}
	}
	return s.journal.Events(ctx, query)
}

// chatID finds a chat, also one that has ended.
func (s *sidecar) chatID(ctx context.Context, ref string) (message.ID, error) {
	chat, err := s.relay.Snapshot().FindChat(ref)
	if err == nil {
		return chat.ID, nil
	}
	ended, listErr := s.journal.Chats(ctx, true)
	if listErr != nil {
		return "", listErr
	}
	for i := len(ended) - 1; i >= 0; i-- { // the latest of that name
		if c := ended[i]; string(c.ID) == ref || c.ID.Short() == ref || c.Name != "" && strings.EqualFold(c.Name, ref) {
			return c.ID, nil
		}
	}
	return "", wire(err)
}

// Events yields what happens, from the journal itself, in its order.
func (s *sidecar) Events(ctx context.Context, _ api.Caller, since int64) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		if since < 0 {
			last, err := s.journal.Events(ctx, journal.Query{Limit: 1, Newest: true})
			if err != nil {
				yield(message.Event{}, err)
				return
			}
			since = 0
			if len(last) > 0 {
				since = last[0].Seq
			}
		}
		for ctx.Err() == nil {
			rung := s.bell.wait()
			events, err := s.journal.Events(ctx, journal.Query{Since: since})
			if err != nil {
				if ctx.Err() == nil {
					yield(message.Event{}, err)
				}
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				since = e.Seq
			}
			if len(events) > 0 {
				continue // there may be more than one reading gives
			}
			select {
			case <-rung:
			case <-ctx.Done():
			}
		}
	}
}

func (s *sidecar) now() time.Time { return time.Now().Truncate(time.Millisecond) }
