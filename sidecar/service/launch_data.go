package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// dataEvents is how many events of the journal are searched for what was said in a session.
const dataEvents = 5000

// List lists the sessions in panes, and those that other computers report.
func (s *Launches) List(ctx context.Context, from api.Caller, _ api.None) ([]api.Session, error) {
	by := s.Callers.by(ctx, from)
	held := firstHeld(ctx, s.Journal, s.Log)
	var all []api.Session
	for _, p := range inPanes(s.Relay.Snapshot()) {
		one := s.row(ctx, by, p)
		if by.Person() || by.Peer == p.ID {
			one.Held = held[p.ID]
		}
		all = append(all, one)
	}
	for _, c := range s.Elsewhere.remotes() {
		for _, there := range c.Sessions {
			all = append(all, api.Session{ID: there.ID, Name: there.Name + "." + c.Token, Title: there.Title, Computer: c.Token, Agent: there.Agent, Away: !c.Present})
		}
	}
	return all, nil
}

// row returns the list entry of a session.
func (s *Launches) row(ctx context.Context, by relay.By, p message.Peer) api.Session {
	one := api.Session{ID: p.ID, Name: p.Name, Title: p.Title, Computer: p.Computer, Agent: p.Profile, State: p.State, Why: p.StateWhy, Subscribers: s.Relay.Snapshot().Subscribers(p.ID)}
	if p.Caller != nil {
		one.Caller = p.Caller.Name
		if p.Caller.Peer != "" {
			one.Caller = string(p.Caller.Peer)
		}
	}
	if one.Why == "" && p.State != message.Dead && s.Relay.Stopped() {
		one.Why = string(message.Stopped)
	}
	if heard, err := s.Relay.Do(ctx, relay.Recall{By: by, Peer: string(p.ID)}); err == nil && !heard.Turn.Ended.IsZero() {
		one.LastOutput = &heard.Turn.Ended
	}
	return one
}

// Data returns what was said in a session recently: for an agent, from its own transcript, else from the
// journal. Credentials are masked. The author of an entry stands only beside its text; a line that looks as if
// the sidecar had written it is quoted.
func (s *Launches) Data(ctx context.Context, from api.Caller, q api.SessionDataQuery) (api.SessionWords, error) {
	by, err := s.Callers.verified(ctx, from, "read a session")
	if err != nil {
		return api.SessionWords{}, err
	}
	token, ref, err := s.Elsewhere.where(q.Computer, q.Session)
	if err != nil {
		return api.SessionWords{}, err
	}
	if q.Computer, q.Session = "", ref; token != "" {
		return s.dataElsewhere(ctx, from, token, q)
	}
	snap := s.Relay.Snapshot()
	session, err := s.Names.find(ctx, snap, q.Session)
	switch {
	case err != nil:
		return api.SessionWords{}, err
	case session.Pane == "":
		return api.SessionWords{}, api.Errorf(api.CodeRefused, "read %s: it lives in no pane", session.Name)
	}
	since, may := readsSince(by, session, snap)
	var entries []api.SessionEntry
	if may {
		entries, err = s.said(ctx, session)
	} else {
		entries, err = s.answersTo(ctx, by.Peer, session)
	}
	if err != nil {
		return api.SessionWords{}, err
	}
	if !may && len(entries) == 0 {
		s.Log.Warn("refused to an agent", "what", "read a session that it neither started nor chats with", "agent", by.Peer, "session", session.Name)
		return api.SessionWords{}, api.Errorf(api.CodeRefused, "read %s: an agent may read only what it started, a session it shares a chat with (unless that session's messages need approval), or the answers to its own messages", session.Name).WithHint("ask it: send_message, or intercom send %s", session.Name)
	}
	for i := range entries {
		entries[i].Text = secret.Mask(sanitise.Quote(entries[i].Text))
	}
	entries = slices.DeleteFunc(entries, func(e api.SessionEntry) bool {
		return e.At.Before(since) || !q.Since.IsZero() && e.At.Before(q.Since) || !q.Until.IsZero() && e.At.After(q.Until)
	})
	if q.Tail == 0 {
		q.Tail = api.DefaultTail
	}
	return tailOf(api.SessionWords{Session: s.row(ctx, by, session)}, entries, q.Tail), nil
}

// readsSince reports whether the caller may read what was said in a session, and from which time on. An agent
// that did not start the session may read what it hears in a chat with it: nothing from before the chat began,
// and nothing that waits for a person's yes there.
func readsSince(by relay.By, session message.Peer, snap registry.Snapshot) (since time.Time, may bool) {
	if by.Person() || by.Peer == session.ID || session.Caller != nil && session.Caller.Peer == by.Peer {
		return time.Time{}, true
	}
	chat, ok := snap.ChatOf(session.ID)
	mine, in := snap.ChatOf(by.Peer)
	return chat.Started, ok && in && chat.ID == mine.ID && !chat.NeedsApproval(session.ID)
}

// answersTo returns the session's answers to what an agent has sent it. The agent may read these, and nothing
// else of the session.
func (s *Launches) answersTo(ctx context.Context, asker message.ID, session message.Peer) (all []api.SessionEntry, _ error) {
	if asker == "" {
		return nil, nil
	}
	events, err := s.Journal.Events(ctx, journal.Query{Newest: true, Limit: dataEvents})
	for _, e := range events {
		r, d := e.Receipt, e.Delivery
		if r != nil && d != nil && r.Target == session.ID && r.State == message.Answered && r.Words != "" && d.Message.From.Peer == asker {
			all = append(all, api.SessionEntry{At: r.At, From: session.Name, Text: r.Words})
		}
	}
	return all, err
}

// said returns what was said in a session, oldest first, without the sidecar's own messages to it: notices
// about other sessions, and requests to quit.
func (s *Launches) said(ctx context.Context, session message.Peer) ([]api.SessionEntry, error) {
	events, err := s.Journal.Events(ctx, journal.Query{Newest: true, Limit: dataEvents})
	if err != nil {
		return nil, err
	}
	bodies := map[message.ID]message.Envelope{}
	var told []string
	var taken []message.Delivery
	for _, e := range events {
		if e.Receipt != nil && e.Delivery != nil && e.Receipt.Target == session.ID && e.Receipt.State == message.Submitted {
			taken = append(taken, *e.Delivery)
		}
		if e.Message == nil {
			continue
		}
		bodies[e.Message.ID] = *e.Message
		if ofSidecar(*e.Message) {
			told = append(told, strings.TrimSpace(e.Message.Body))
		}
	}
	if s.Panes != nil && !session.Starting {
		said, err := s.Panes.Recent(ctx, session.ID)
		if err == nil {
			return fromTranscript(session, said, told, taken), nil
		}
		if !errors.Is(err, pane.ErrNoAccount) {
			s.Log.Warn("read a session", "session", session.Name, "err", err)
		}
	}
	var all []api.SessionEntry
	for _, e := range events {
		switch {
		case e.Message != nil:
			if e.Message.From.Peer == session.ID && e.Message.Type != message.KindTurn && !ofSidecar(*e.Message) {
				all = append(all, api.SessionEntry{At: e.At, From: session.Name, Text: e.Message.Body})
			}
		case e.Receipt == nil || e.Receipt.Target != session.ID:
		case e.Receipt.State == message.Submitted && !ofSidecar(bodies[e.Receipt.Message]):
			m := bodies[e.Receipt.Message]
			all = append(all, api.SessionEntry{At: e.Receipt.At, From: m.From.Name, Text: m.Body})
		case e.Receipt.State == message.Answered:
			all = append(all, api.SessionEntry{At: e.Receipt.At, From: session.Name, Text: e.Receipt.Words})
		}
	}
	return all, nil
}

// ofSidecar reports whether a message comes from the sidecar itself.
func ofSidecar(m message.Envelope) bool {
	return m.Type == message.KindNotice || m.Type == message.KindQuit
}

// fromTranscript returns the entries of an agent's own transcript, without the sidecar's messages: there they
// have a header and look like any other prompt. The author of a prompt is known only if it matches a delivery
// that the agent took; other prompts have no author, whatever they begin with.
func fromTranscript(session message.Peer, said []pane.Said, told []string, taken []message.Delivery) (all []api.SessionEntry) {
	for _, one := range said {
		text := strings.TrimSpace(one.Text)
		if !one.Own && slices.ContainsFunc(told, func(body string) bool { return body != "" && strings.HasSuffix(text, body) }) {
			continue
		}
		e := api.SessionEntry{At: one.At, Text: one.Text}
		if one.Own {
			e.From = session.Name
		} else if i := slices.IndexFunc(taken, func(d message.Delivery) bool { return d.Head != "" && strings.HasPrefix(text, d.Head) }); i >= 0 {
			e.From = taken[i].Message.From.Name
			e.Text = strings.TrimSpace(strings.TrimPrefix(text, taken[i].Head))
			taken = slices.Delete(taken, i, i+1)
		}
		all = append(all, e)
	}
	return all
}

// tailOf fills in the end of the entries, with at most tail characters.
func tailOf(d api.SessionWords, entries []api.SessionEntry, tail int) api.SessionWords {
	first := len(entries)
	for left := tail; first > 0 && left > 0; first-- {
		left -= utf8.RuneCountInString(entries[first-1].Text) + 2
	}
	d.Entries = entries[first:]
	var texts []string
	for _, e := range d.Entries {
		texts = append(texts, e.Text)
	}
	words := []rune(strings.Join(texts, "\n\n"))
	d.Truncated = first > 0 || len(words) > tail
	d.Words = string(words[max(0, len(words)-tail):])
	return d
}
