package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// StartChat begins a chat. What the panes show by then is old.
func (s *sidecar) StartChat(ctx context.Context, from api.Caller, req api.StartChatRequest) (chat message.Chat, err error) {
	if _, err := s.verified(ctx, from, "start a chat"); err != nil {
		return message.Chat{}, err
	}
	if on, ok := s.goesOn(req.Again); ok {
		return s.rejoin(ctx, from, req, on)
	}
	start, names, err := s.plan(ctx, from, req)
	if err != nil {
		return message.Chat{}, err
	}
	adopted, err := s.recognised(ctx, from, start.Sessions, names)
	defer func() {
		if err != nil {
			s.giveBack(ctx, from, adopted)
		}
	}()
	if err != nil {
		return message.Chat{}, err
	}
	chat, err = s.begin(ctx, start)
	return chat, err
}

// begin begins a chat of sessions that are present.
func (s *sidecar) begin(ctx context.Context, start relay.StartChat) (chat message.Chat, err error) {
	snap := s.relay.Snapshot()
	var members []message.Session
	for _, ref := range start.Sessions {
		session, err := s.find(ctx, snap, ref)
		if err != nil {
			return message.Chat{}, err
		}
		if _, busy := snap.ChatOf(session.ID); busy {
			continue // refused below; its baseline is its chat's
		}
		members = append(members, session)
	}
	if start.IncludeLast { // before what it shows is old
		if start.Last, err = s.lastOf(ctx, start.By, snap, start.Sessions[0]); err != nil {
			return message.Chat{}, err
		}
	}
	// The baselines stand before the relay hears of the chat, so that nothing which is said
	// after `chat start` has returned is taken for old.
	start.Since = time.Now()
	for _, session := range members {
		if err := s.panes.Rebase(ctx, session.ID); err != nil {
			return message.Chat{}, wire(err)
		}
	}
	answer, err := s.do(ctx, start)
	if err != nil {
		return message.Chat{}, wire(err)
	}
	return answer.Chats[0], nil
}

// recognised adopts those of the panes in which an agent is recognised and that nobody has
// adopted yet: a person named them. names are those that they get, by pane, where they need
// not be called after their program. It returns the new sessions, with an error those so far.
func (s *sidecar) recognised(ctx context.Context, from api.Caller, refs []string, names map[string]string) (adopted []message.Session, err error) {
	for _, ref := range refs {
		_, err := s.relay.Snapshot().Find(ref)
		if err == nil || !strings.HasPrefix(ref, "%") || s.noPane(ctx, ref) {
			continue // what is wrong with it is said where it is used
		}
		if err := s.personOnly(ctx, from, "adopt a pane"); err != nil {
			return adopted, err
		}
		session, err := s.Adopt(ctx, from, api.AdoptRequest{Pane: ref, Name: names[ref]})
		if err != nil {
			return adopted, err
		}
		adopted = append(adopted, session)
	}
	return adopted, nil
}

// giveBack releases sessions again that were adopted for what came to nothing.
func (s *sidecar) giveBack(ctx context.Context, from api.Caller, adopted []message.Session) {
	for _, session := range adopted {
		if _, err := s.Release(context.WithoutCancel(ctx), from, api.ReleaseRequest{Pane: string(session.ID)}); err != nil {
			s.log.Warn("give a pane back", "pane", session.Pane, "err", err)
		}
	}
}

// plan is what a request for a chat asks of the relay. One that takes up an ended chat has
// its participants, their roles, its name and its settings, where it says nothing else; names
// are those of agents that came back, by pane.
func (s *sidecar) plan(ctx context.Context, from api.Caller, req api.StartChatRequest) (_ relay.StartChat, names map[string]string, err error) {
	limits, err := api.ParseSettings(req.Set)
	if err != nil {
		return relay.StartChat{}, nil, err
	}
	start := relay.StartChat{By: s.by(ctx, from), Sessions: req.Panes, Name: req.Name, Say: req.Say, Limits: limits, Turns: req.Turns}
	start.IncludeLast, start.OneWay = req.IncludeLast, req.OneWay
	if len(req.Roles) > 0 {
		for _, ref := range req.Panes {
			start.Roles = append(start.Roles, req.Roles[ref])
		}
	}
	for ref := range req.Roles {
		if !slices.Contains(req.Panes, ref) {
			return start, nil, api.Errorf(api.CodeUsage, "a role for %q, which is not among the panes of the chat", ref)
		}
	}
	if req.Again == "" {
		return start, nil, nil
	}
	old, err := s.journal.Chat(ctx, req.Again)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return start, nil, api.Errorf(api.CodeNotFound, "no chat %q", req.Again).WithHint("intercom chat list --ended").About(api.NoChat, req.Again)
	case err != nil:
		return start, nil, api.Errorf(api.CodeUsage, "%w", err)
	}
	if start.Limits, err = api.ApplySettings(old.Limits, req.Set); err != nil {
		return start, nil, err
	}
	return s.again(ctx, start, old)
}

// find finds a session that is present.
func (s *sidecar) find(ctx context.Context, snap registry.Snapshot, ref string) (message.Session, error) {
	session, err := snap.Find(ref)
	if err != nil && strings.HasPrefix(ref, "%") && !s.noPane(ctx, ref) {
		return session, api.Errorf(api.CodeRefused, "pane %s is not adopted", ref).WithHint("intercom adopt %s, if an agent runs there; with --as line, if it is a program that reads lines", ref)
	}
	return session, s.notFound(ctx, err, ref)
}

// notFound is wire for an error about a session that was called ref: a pane that tmux does
// not have is something else than one that is not adopted.
func (s *sidecar) notFound(ctx context.Context, err error, ref string) error {
	if (errors.Is(err, registry.ErrUnknown) || errors.Is(err, registry.ErrEnded)) && s.noPane(ctx, ref) {
		return api.Errorf(api.CodeNotFound, "no pane %s", ref).WithHint("tmux list-panes -a").About(api.NoPane, ref)
	}
	return wire(err)
}

// noPane reports whether ref is the id of a pane that tmux certainly does not have.
func (s *sidecar) noPane(ctx context.Context, ref string) bool {
	digits, ok := strings.CutPrefix(ref, "%")
	if _, err := strconv.ParseUint(digits, 10, 64); !ok || err != nil || s.client == nil {
		return false
	}
	panes, err := s.client.Panes(ctx)
	return err == nil && !slices.ContainsFunc(panes, func(p tmux.Pane) bool { return p.ID == ref })
}

// called is how a chat is called in a command.
func called(c message.Chat) string { return cmp.Or(c.Name, c.ID.Short()) }

// Chats lists chats.
func (s *sidecar) Chats(ctx context.Context, _ api.Caller, q api.ChatsQuery) ([]message.Chat, error) {
	if q.Ended {
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
	by, err := s.verified(ctx, from, "stop a chat")
	if err != nil {
		return nil, err
	}
	return s.halt(ctx, relay.StopChat{By: by, Chat: chatOf(which)})
}

// PauseChat holds chats.
func (s *sidecar) PauseChat(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return s.halt(ctx, relay.PauseChat{By: s.by(ctx, from), Chat: chatOf(which)})
}

// ResumeChat lets chats go on. What stands at a limit goes on at the word of a person alone.
func (s *sidecar) ResumeChat(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	if which.Sure {
		if err := s.atTerminal(ctx, from, "resume what is held at a limit", "chat resume "+cmp.Or(which.Chat, "--all")); err != nil {
			return nil, err
		}
	}
	by, err := s.verified(ctx, from, "resume a chat")
	if err != nil {
		return nil, err
	}
	chats, err := s.change(ctx, relay.ResumeChat{By: by, Chat: chatOf(which), Sure: which.Sure})
	if err == nil && which.Sure {
		s.log.Info("resumed by a person", "chats", len(chats), "by", s.person(ctx, from).String())
	}
	return chats, err
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
	if s.panes == nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, stillWithin)
	defer cancel()
	if err := s.panes.Still(within); err != nil {
		s.log.Warn("wait until nothing is being typed", "err", err)
		return api.Errorf(api.CodeUncertain, "%s, but a keystroke that was under way may still arrive: %w", what, err)
	}
	return nil
}

func (s *sidecar) change(ctx context.Context, r relay.Request) ([]message.Chat, error) {
	answer, err := s.do(ctx, r)
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
	if err := s.personOnly(ctx, from, "say something as a person"); err != nil {
		return api.Said{}, err
	}
	answer, err := s.do(ctx, relay.Say{By: s.by(ctx, from), Chat: req.Chat, Body: req.Text})
	said := api.Said{Message: answer.Message}
	for _, r := range answer.Receipts {
		said.Deliveries = append(said.Deliveries, r.Delivery)
		if r.State == message.Held {
			said.Held = r.Reason
		}
	}
	if chat, err := s.relay.Snapshot().FindChat(req.Chat); err == nil && said.Held != "" {
		said.Braked = chat.Braked
	}
	return said, wire(err)
}

// Stats counts what passed through a chat, on or ended.
func (s *sidecar) Stats(ctx context.Context, _ api.Caller, q api.ChatQuery) (message.Stats, error) {
	chat, err := s.anyChat(ctx, q.Chat)
	if err != nil {
		return message.Stats{}, err
	}
	return s.stats(ctx, chat)
}

// stats counts what passed through a chat. The looks are those that this life of the sidecar
// took at its panes while it went on.
func (s *sidecar) stats(ctx context.Context, chat message.Chat) (message.Stats, error) {
	stats, err := s.journal.Stats(ctx, chat.ID)
	if err != nil {
		return message.Stats{}, err
	}
	stats.Captures = s.looks.of(chat, s.captures(ctx))
	return stats, nil
}

// ShowChat describes a chat, on or ended.
func (s *sidecar) ShowChat(ctx context.Context, _ api.Caller, q api.ChatQuery) (api.ChatDetail, error) {
	chat, err := s.anyChat(ctx, q.Chat)
	if err != nil {
		return api.ChatDetail{}, err
	}
	detail := api.ChatDetail{Chat: chat, Sessions: []message.Session{}, Waiting: []api.Waiting{}}
	if detail.Stats, err = s.stats(ctx, chat); err != nil {
		return detail, err
	}
	names := map[message.ID]string{}
	for _, session := range s.relay.Snapshot().Sessions() {
		for _, p := range chat.Participants {
			if p.Session == session.ID {
				detail.Sessions = append(detail.Sessions, session)
			}
		}
	}
	for _, p := range chat.Participants {
		names[p.Session] = p.Name
	}
	waiting, err := s.journal.Waiting(ctx, chat.ID)
	if err != nil {
		return detail, err
	}
	for _, p := range waiting {
		detail.Waiting = append(detail.Waiting, waitingFor(p, names[p.Delivery.Target]))
	}
	return detail, nil
}

// waitingFor is what is told of a delivery that is on its way to somebody.
func waitingFor(p journal.Pending, to string) api.Waiting {
	return api.Waiting{
		Delivery: p.Delivery.ID, Message: p.Delivery.Message.ID, From: p.Delivery.Message.From.Name, To: to,
		State: p.Last.State, Reason: p.Last.Reason, Since: p.Last.At,
	}
}

// anyChat finds a chat that goes on, else one that has ended: the latest of that name.
func (s *sidecar) anyChat(ctx context.Context, ref string) (message.Chat, error) {
	chat, err := s.relay.Snapshot().FindChat(ref)
	if err == nil && chat.State != message.ChatOver {
		return chat, nil
	}
	if errors.Is(err, registry.ErrAmbiguous) {
		return chat, wire(err)
	}
	chat, err = s.journal.Chat(ctx, ref)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return chat, api.Errorf(api.CodeNotFound, "no chat %q", ref).WithHint("intercom chat list, or intercom chat list --ended").About(api.NoChat, ref)
	case errors.Is(err, journal.ErrAmbiguous):
		return chat, api.Errorf(api.CodeUsage, "%w", err).WithHint("give the whole id")
	}
	return chat, err
}

func (s *sidecar) now() time.Time { return time.Now().Truncate(time.Millisecond) }
