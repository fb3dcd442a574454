package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Ask starts a chat that is one question: it goes one way, begins with what the first pane
// said last, and ends with the answers.
func (s *sidecar) Ask(ctx context.Context, from api.Caller, req api.AskRequest) (message.Chat, error) {
	if _, err := s.verified(ctx, from, "ask"); err != nil {
		return message.Chat{}, err
	}
	caller, agent := s.callerSession(ctx, from)
	switch {
	case req.From == "" && !agent:
		return message.Chat{}, api.Errorf(api.CodeUsage, "whose last answer is it about? This does not run in a pane that is adopted").
			WithHint("name that pane: --from PANE")
	case req.From == "":
		req.From = string(caller.ID)
	case agent:
		if own, err := s.relay.Snapshot().Find(req.From); err != nil || own.ID != caller.ID {
			s.log.Warn("refused to an agent", "what", "ask for another", "session", caller.Name, "pid", from.PID)
			return message.Chat{}, api.Errorf(api.CodeRefused, "ask for %s: only a person may, and this runs inside %q", req.From, caller.Name).
				WithHint("an agent asks for itself: leave --from away")
		}
	}
	if req.Check {
		return message.Chat{}, s.mayAsk(ctx, from, req.From)
	}
	return s.StartChat(ctx, from, api.StartChatRequest{
		Panes: []string{req.From, req.To}, Say: req.Say, Set: req.Set, Turns: max(req.Turns, 1), IncludeLast: true, OneWay: true,
	})
}

// mayAsk tells what stands against a pane that is to ask: it is no agent, it is in a chat, or
// nothing is known of what it said last. It leaves the pane as it was.
func (s *sidecar) mayAsk(ctx context.Context, from api.Caller, ref string) error {
	adopted, err := s.recognised(ctx, from, []string{ref}, nil)
	defer func() { s.giveBack(ctx, from, adopted) }()
	if err != nil {
		return err
	}
	snap := s.relay.Snapshot()
	session, err := s.find(ctx, snap, ref)
	if err != nil {
		return err
	}
	if chat, busy := snap.ChatOf(session.ID); busy {
		return wire(&relay.InChatError{Session: session.Name, Chat: chat})
	}
	_, err = s.lastOf(ctx, s.by(ctx, from), snap, ref)
	return err
}

// lastOf is what a session said last: by its own account, else as far as it was heard in this
// life, else by the journal. That nothing is known is told before its pane is touched.
func (s *sidecar) lastOf(ctx context.Context, by relay.By, snap registry.Snapshot, ref string) (message.Turn, error) {
	session, err := s.find(ctx, snap, ref)
	if err != nil {
		return message.Turn{}, err
	}
	turn, err := s.panes.Last(ctx, session.ID)
	if err != nil || turn.Words != "" {
		return turn, wire(err)
	}
	heard, err := s.do(ctx, relay.Recall{By: by, Session: string(session.ID)})
	if err != nil || heard.Turn.Words != "" {
		return heard.Turn, wire(err)
	}
	turn, err = s.written(ctx, session.ID)
	if err == nil && turn.Words == "" {
		err = wire(fmt.Errorf("%w: %q", relay.ErrNothingSaid, session.Name))
	}
	return turn, err
}

// mostWritten is how many events, the latest of all, are looked through for a session's words.
const mostWritten = 1000

// written is what a session said last as far as that was written down: in a chat, or in
// answer to a message.
func (s *sidecar) written(ctx context.Context, session message.ID) (turn message.Turn, err error) {
	events, err := s.journal.Events(ctx, journal.Query{Newest: true, Limit: mostWritten})
	if err != nil {
		return turn, err
	}
	for _, e := range slices.Backward(events) {
		switch {
		case e.Message != nil && e.Message.From.Session == session && e.Message.Type == message.KindTurn:
			return message.Turn{Words: e.Message.Body, Truncated: e.Message.Truncated, Ended: e.Message.Created}, nil
		case e.Receipt != nil && e.Receipt.Target == session && strings.TrimSpace(e.Receipt.Words) != "":
			return message.Turn{Words: e.Receipt.Words, Ended: e.Receipt.At}, nil
		}
	}
	return turn, nil
}

// AwaitAnswers follows a question until q's wait is over.
func (s *sidecar) AwaitAnswers(ctx context.Context, from api.Caller, q api.AskedQuery) (_ api.Asked, err error) {
	chat, err := s.anyChat(ctx, string(q.Chat))
	if err != nil {
		return api.Asked{}, err
	}
	caller, agent := s.callerSession(ctx, from)
	f := follower{asked: api.Asked{Chat: chat, Own: agent && caller.ID == first(chat)}}
	defer func() { err = sayWhy(ctx, f.asked.Receipt.State, err) }()
	timeout := time.NewTimer(q.Timeout)
	defer timeout.Stop()
	for {
		rung := s.bell.wait()
		if err := f.read(ctx, s.journal); err != nil {
			return f.asked, err
		}
		if f.reached(q.Wait) || q.Timeout <= 0 {
			return f.asked, nil
		}
		select {
		case <-rung:
		case <-timeout.C:
			if f.asked.Receipt.State == message.Queued {
				f.asked.Behind, err = s.behind(ctx, f.asked.Receipt)
			}
			return f.asked, err
		case <-ctx.Done():
			return f.asked, ctx.Err()
		}
	}
}

// first is the one who asks in a chat.
func first(c message.Chat) message.ID {
	if len(c.Participants) == 0 {
		return ""
	}
	return c.Participants[0].Session
}

// follower reads what the journal tells of a question.
type follower struct {
	asked  api.Asked
	since  int64
	parts  []message.Receipt // the last of each delivery of the question, in their order
	answer message.ID        // the newest
}

// read takes in what has been written down since.
func (f *follower) read(ctx context.Context, j *journal.Journal) error {
	for {
		events, err := j.Events(ctx, journal.Query{Chat: f.asked.Chat.ID, Since: f.since})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			f.take(e)
			f.since = e.Seq
		}
	}
}

func (f *follower) take(e message.Event) {
	asker := first(f.asked.Chat)
	switch {
	case e.Change != nil:
		f.asked.Chat = *e.Change
	case e.Message != nil && e.Message.Type == message.KindTurn && e.Message.From.Session != asker:
		f.asked.Answers = append(f.asked.Answers, *e.Message)
		f.asked.Back, f.answer = nil, e.Message.ID
	case e.Receipt == nil:
	case e.Receipt.Target == asker:
		if e.Receipt.Message == f.answer {
			f.asked.Back = e.Receipt
		}
	default:
		i := slices.IndexFunc(f.parts, func(r message.Receipt) bool { return r.Delivery == e.Receipt.Delivery })
		if i < 0 {
			f.parts = append(f.parts, *e.Receipt)
		} else {
			f.parts[i] = *e.Receipt
		}
		f.asked.Receipt = slices.MinFunc(f.parts, func(a, b message.Receipt) int { return far(a.State) - far(b.State) })
	}
}

// far is how far a part of a question has come: one that came to nothing decides what
// becomes of it all.
func far(state message.ReceiptState) int {
	return slices.Index([]message.ReceiptState{
		message.Failed, message.Expired, message.Uncertain, message.Held, message.Queued, message.Typed, message.Submitted, message.Answered,
	}, state)
}

// reached reports whether no more waiting is wanted, or of use.
func (f *follower) reached(wait api.Wait) bool {
	state := f.asked.Receipt.State
	over := f.asked.Chat.State == message.ChatOver
	all := len(f.asked.Answers) > 0 && len(f.asked.Answers) >= f.asked.Chat.Turns
	lost := len(f.parts) > 0 && !slices.ContainsFunc(f.parts, func(r message.Receipt) bool {
		return !r.State.Final() || r.State == message.Answered
	})
	switch wait {
	case api.WaitEnded:
		return over || all && f.asked.Back != nil && f.asked.Back.State.Final()
	case api.WaitAnswered:
		return over || all || lost
	}
	return over || len(f.asked.Answers) > 0 || lost || state == message.Submitted || state == message.Answered
}
