package service

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// Questions asks one session about what another one said, and follows the answers.
type Questions struct {
	Callers *Callers
	Names   *Names
	Chats   *Chats
	Relay   present
	Journal interface {
		events
		backlog
	}
	Bell *Bell
	Log  *slog.Logger
}

// Offer registers the operations with a server.
func (s *Questions) Offer(server *api.Server) {
	api.Handle(server, api.Ask, s.Ask)
	api.Handle(server, api.LastAnswer, s.Last)
	api.Handle(server, api.AwaitAnswers, s.Await)
}

// Ask starts a chat that consists of one question: it goes one way, begins with what the first pane said last,
// and ends with the answers. Other chats that the two are in do not see it.
func (s *Questions) Ask(ctx context.Context, from api.Caller, req api.AskRequest) (message.Chat, error) {
	var err error
	if req.From, err = s.asker(ctx, from, req.From); err != nil {
		return message.Chat{}, err
	}
	return s.Chats.start(ctx, from, api.StartChatRequest{
		Panes: []string{req.From, req.To}, Say: req.Say, Set: req.Set, Turns: max(req.Turns, 1), IncludeLast: true, OneWay: true,
	}, true)
}

// asker returns the session that asks: an agent asks for itself, a person for whomever they name.
func (s *Questions) asker(ctx context.Context, from api.Caller, ref string) (string, error) {
	if _, err := s.Callers.verified(ctx, from, "ask"); err != nil {
		return "", err
	}
	caller, agent := s.Callers.callerSession(ctx, from)
	switch {
	case ref == "" && !agent:
		return "", api.Errorf(api.CodeUsage, "whose last answer? This is not an adopted pane").
			WithHint("name its pane: --from PANE")
	case ref == "":
		return string(caller.ID), nil
	case agent:
		if own, err := s.Relay.Snapshot().Find(ref); err != nil || own.ID != caller.ID {
			s.Log.Warn("refused to an agent", "what", "ask for another", "session", caller.Name, "pid", from.PID)
			return "", api.Errorf(api.CodeRefused, "ask for %s: only a person may, and this runs inside %q", ref, caller.Name).
				WithHint("an agent asks only for itself: leave out --from")
		}
	}
	return ref, nil
}

// Last returns what the asking pane said last, or why there is nothing to ask with: it is no agent, or nothing
// that it said is known. It leaves the pane as it was.
func (s *Questions) Last(ctx context.Context, from api.Caller, q api.LastAnswerQuery) (words api.Words, err error) {
	if q.From, err = s.asker(ctx, from, q.From); err != nil {
		return words, err
	}
	adopted, err := s.Chats.Sessions.recognised(ctx, from, []string{q.From}, nil)
	defer func() { s.Chats.Sessions.giveBack(ctx, from, adopted) }()
	if err != nil {
		return words, err
	}
	turn, err := s.Chats.lastOf(ctx, s.Callers.by(ctx, from), s.Relay.Snapshot(), q.From)
	return api.Words{Text: turn.Words}, err
}

// Await follows a question until q's wait is over.
func (s *Questions) Await(ctx context.Context, from api.Caller, q api.AskedQuery) (_ api.Asked, err error) {
	chat, err := s.Names.anyChat(ctx, string(q.Chat))
	if err != nil {
		return api.Asked{}, err
	}
	caller, agent := s.Callers.callerSession(ctx, from)
	f := follower{asked: api.Asked{Chat: chat, Own: agent && caller.ID == first(chat)}}
	defer func() {
		err = sayWhy(ctx, f.asked.Receipt.State, remote(s.Relay.Snapshot(), f.asked.Receipt.Target), err)
	}()
	enough, err := s.Bell.until(ctx, q.Timeout, func() (bool, error) {
		err := f.read(ctx, s.Journal)
		return f.reached(q.Wait), err
	})
	if err == nil && !enough && f.asked.Receipt.State == message.Queued {
		f.asked.Behind, err = behind(ctx, s.Journal, f.asked.Receipt)
	}
	if !s.Callers.by(ctx, from).Person() { // not even the session that asked: the answer itself reaches it through their filters
		f.asked.Receipt.Words = secret.Mask(f.asked.Receipt.Words)
		for i := range f.asked.Answers {
			f.asked.Answers[i] = redactedMessage(f.asked.Answers[i])
		}
	}
	return f.asked, err
}

// first returns the session that asks in a chat.
func first(c message.Chat) message.ID {
	if len(c.Participants) == 0 {
		return ""
	}
	return c.Participants[0].Peer
}

// follower reads from the journal how far a question has come.
type follower struct {
	asked  api.Asked
	since  int64
	parts  []message.Receipt // the last receipt of each delivery of the question, in their order
	answer message.ID        // the newest answer
}

// read takes in the events since the last call.
func (f *follower) read(ctx context.Context, j events) error {
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
	case e.Message != nil && e.Message.Type == message.KindTurn && e.Message.From.Peer != asker:
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
		counts := slices.DeleteFunc(slices.Clone(f.parts), message.Receipt.Superseded)
		if len(counts) == 0 {
			counts = f.parts
		}
		f.asked.Receipt = slices.MinFunc(counts, func(a, b message.Receipt) int { return far(a.State) - far(b.State) })
	}
}

// far ranks how far a part of a question has come. A part that failed, and that no other part replaces, decides
// the outcome of the whole question.
func far(state message.ReceiptState) int {
	return slices.Index([]message.ReceiptState{
		message.Failed, message.Expired, message.Uncertain, message.Held, message.Queued, message.Typed, message.Submitted, message.Answered,
	}, state)
}

// reached reports whether waiting is over, or no longer of use.
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

// lastOf returns what a session said last: by its own account, else as far as this life of the sidecar has
// heard it, else by the journal. If nothing is known, it says so before the session's pane is touched.
func (s *Chats) lastOf(ctx context.Context, by relay.By, snap registry.Snapshot, ref string) (message.Turn, error) {
	session, err := s.Names.find(ctx, snap, ref)
	if err != nil {
		return message.Turn{}, err
	}
	if session.Pane != "" {
		turn, err := s.Panes.Last(ctx, session.ID)
		if err != nil || turn.Words != "" {
			return turn, wire(err)
		}
	}
	heard, err := s.Relay.Do(ctx, relay.Recall{By: by, Peer: string(session.ID)})
	if err != nil || heard.Turn.Words != "" {
		return heard.Turn, wire(err)
	}
	turn, err := s.written(ctx, session.ID)
	if err == nil && turn.Words == "" {
		err = wire(fmt.Errorf("%w: %q", relay.ErrNothingSaid, session.Name))
	}
	return turn, err
}

// mostWritten is how many of the latest events are searched for a session's words.
const mostWritten = 1000

// written returns what a session said last according to the journal: in a chat, or in answer to a message.
func (s *Chats) written(ctx context.Context, session message.ID) (turn message.Turn, err error) {
	events, err := s.Journal.Events(ctx, journal.Query{Newest: true, Limit: mostWritten})
	if err != nil {
		return turn, err
	}
	for _, e := range slices.Backward(events) {
		switch {
		case e.Message != nil && e.Message.From.Peer == session && e.Message.Type == message.KindTurn:
			return message.Turn{Words: e.Message.Body, Truncated: e.Message.Truncated, Ended: e.Message.Created}, nil
		case e.Receipt != nil && e.Receipt.Target == session && strings.TrimSpace(e.Receipt.Words) != "":
			return message.Turn{Words: e.Receipt.Words, Ended: e.Receipt.At}, nil
		}
	}
	return turn, nil
}
