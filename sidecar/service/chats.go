package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Chats starts, changes and describes chats.
type Chats struct {
	Callers  *Callers
	Names    *Names
	Sessions *Sessions
	Returns  *comeback.Returns
	Relay    interface {
		asked
		Stopped() bool
	}
	// Panes is nil where the sidecar is headless.
	Panes interface {
		Rebase(ctx context.Context, session message.ID) error
		Last(ctx context.Context, session message.ID) (message.Turn, error)
		Captures(ctx context.Context, session message.ID) int
	}
	Journal interface {
		archive
		backlog
		verdicts
		events
		Chats(ctx context.Context, ended bool) ([]message.Chat, error)
		EndedChats(ctx context.Context, most int) ([]message.Chat, error)
		Stats(ctx context.Context, chat message.ID) (message.Stats, error)
	}
	Elsewhere *Computers // nil: there are no other computers
	Log       *slog.Logger

	looks looks
}

// Offer registers the operations with a server.
func (s *Chats) Offer(server *api.Server) {
	api.Handle(server, api.StartChat, s.Start)
	api.Handle(server, api.Chats, s.List)
	api.Handle(server, api.StopChat, s.Stop)
	api.Handle(server, api.PauseChat, s.Pause)
	api.Handle(server, api.ResumeChat, s.Resume)
	api.Handle(server, api.ShowChat, s.Show)
	api.Handle(server, api.Stats, s.Stats)
	api.Handle(server, api.Say, s.Say)
	api.Handle(server, api.AddMember, s.Add)
	api.Handle(server, api.RemoveMember, s.Remove)
	api.Handle(server, api.MuteMember, s.Mute)
}

// entered returns req with each session of another computer replaced by the peer that stands for it here.
func (s *Chats) entered(ctx context.Context, req api.StartChatRequest) (api.StartChatRequest, error) {
	panes, roles := slices.Clone(req.Panes), maps.Clone(req.Roles)
	for i, ref := range panes {
		there, err := s.Elsewhere.enter(ctx, "", ref)
		if err != nil {
			return req, err
		}
		if role, ok := roles[ref]; ok && there != ref {
			delete(roles, ref)
			roles[there] = role
		}
		panes[i] = there
	}
	req.Panes, req.Roles = panes, roles
	return req, nil
}

// Start begins a chat. What the panes show at that time counts as old.
func (s *Chats) Start(ctx context.Context, from api.Caller, req api.StartChatRequest) (message.Chat, error) {
	return s.start(ctx, from, req, false)
}

// start is Start; if question is set, the sessions may be in other chats.
func (s *Chats) start(ctx context.Context, from api.Caller, req api.StartChatRequest, question bool) (chat message.Chat, err error) {
	if _, err := s.Callers.verified(ctx, from, "start a chat"); err != nil {
		return message.Chat{}, err
	}
	if on, ok := s.Names.goesOn(req.Again); ok {
		return s.rejoin(ctx, from, req, on)
	}
	if req, err = s.entered(ctx, req); err != nil {
		return message.Chat{}, err
	}
	start, names, err := s.plan(ctx, from, req)
	if err != nil {
		return message.Chat{}, err
	}
	start.Question = question
	adopted, err := s.Sessions.recognised(ctx, from, start.Peers, names)
	defer func() {
		if err != nil {
			s.Sessions.giveBack(ctx, from, adopted)
		}
	}()
	if err != nil {
		return message.Chat{}, err
	}
	chat, err = s.begin(ctx, start)
	return chat, err
}

// begin begins a chat of sessions that are present.
func (s *Chats) begin(ctx context.Context, start relay.StartChat) (chat message.Chat, err error) {
	snap := s.Relay.Snapshot()
	members, err := s.free(ctx, snap, start.Peers...)
	if err != nil {
		return message.Chat{}, err
	}
	if start.IncludeLast { // before the pane's content is taken for old
		if start.Last, err = s.lastOf(ctx, start.By, snap, start.Peers[0]); err != nil {
			return message.Chat{}, err
		}
	}
	if start.Since, err = s.baseline(ctx, members); err != nil {
		return message.Chat{}, err
	}
	answer, err := s.Relay.Do(ctx, start)
	if err != nil {
		return message.Chat{}, wire(err)
	}
	return answer.Chats[0], nil
}

// free returns those of the future members that are in no chat. The relay refuses the others; their baseline is
// that of their chat.
func (s *Chats) free(ctx context.Context, snap registry.Snapshot, peers ...string) (members []message.Peer, err error) {
	for _, ref := range peers {
		session, err := s.Names.find(ctx, snap, ref)
		if err != nil {
			return nil, err
		}
		if _, busy := snap.ChatOf(session.ID); !busy {
			members = append(members, session)
		}
	}
	return members, nil
}

// baseline takes what the panes show for old, and returns the time from which on words are new. It runs before
// the relay hears of the chat, so that nothing said after `chat start` has returned is taken for old.
func (s *Chats) baseline(ctx context.Context, members []message.Peer) (since time.Time, err error) {
	since = time.Now()
	for _, session := range members {
		if err := s.rebase(ctx, session); err != nil {
			return since, err
		}
	}
	return since, nil
}

// rebase takes what a pane shows for old. A session without a pane shows nothing.
func (s *Chats) rebase(ctx context.Context, session message.Peer) error {
	if session.Pane == "" {
		return nil
	}
	return wire(s.Panes.Rebase(ctx, session.ID))
}

// plan returns the relay's request for a chat. A request that takes up an earlier chat inherits its
// participants, roles, name and settings wherever it sets none itself; names are those of agents that came
// back, by pane.
func (s *Chats) plan(ctx context.Context, from api.Caller, req api.StartChatRequest) (_ relay.StartChat, names map[string]string, err error) {
	limits, err := api.ParseSettings(req.Set)
	if err != nil {
		return relay.StartChat{}, nil, err
	}
	start := relay.StartChat{By: s.Callers.by(ctx, from), Peers: req.Panes, Name: req.Name, Say: req.Say, Limits: limits, Turns: req.Turns}
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
	old, err := s.Journal.Chat(ctx, req.Again)
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

// called returns the name by which a command refers to a chat.
func called(c message.Chat) string { return cmp.Or(c.Name, c.ID.Short()) }

// List lists chats.
func (s *Chats) List(ctx context.Context, _ api.Caller, q api.ChatsQuery) ([]message.Chat, error) {
	switch {
	case q.Ended && q.Most > 0:
		latest, err := s.Journal.EndedChats(ctx, q.Most)
		slices.Reverse(latest) // oldest first, like every list of chats
		return latest, err
	case q.Ended:
		return s.Journal.Chats(ctx, true)
	}
	return open(s.Relay.Snapshot()), nil
}

// open returns the open chats, including the paused ones.
func open(snap registry.Snapshot) []message.Chat {
	return slices.DeleteFunc(snap.Chats(), func(c message.Chat) bool { return c.State == message.ChatOver })
}

// Stop ends chats.
func (s *Chats) Stop(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	by, err := s.Callers.verified(ctx, from, "stop a chat")
	if err != nil {
		return nil, err
	}
	return s.halt(ctx, relay.StopChat{By: by, Chat: chatOf(which), After: which.After})
}

// Pause pauses chats.
func (s *Chats) Pause(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return s.halt(ctx, relay.PauseChat{By: s.Callers.by(ctx, from), Chat: chatOf(which)})
}

// Resume resumes chats. One that is at a limit resumes only at a person's word.
func (s *Chats) Resume(ctx context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	if which.Sure {
		if err := s.Callers.atTerminal(ctx, from, "resume what is held at a limit", "chat resume "+cmp.Or(which.Chat, "--all")); err != nil {
			return nil, err
		}
	}
	by, err := s.Callers.verified(ctx, from, "resume a chat")
	if err != nil {
		return nil, err
	}
	chats, err := s.change(ctx, relay.ResumeChat{By: by, Chat: chatOf(which), Sure: which.Sure})
	if err == nil && which.Sure {
		s.Log.Info("resumed by a person", "chats", len(chats), "by", s.Callers.person(ctx, from).String())
	}
	return chats, err
}

// halt is change for requests that take permission away: nothing is typed after it returns.
func (s *Chats) halt(ctx context.Context, r relay.Request) ([]message.Chat, error) {
	chats, err := s.change(ctx, r)
	if err != nil {
		return nil, err
	}
	return chats, s.Sessions.still(ctx, "done")
}

func (s *Chats) change(ctx context.Context, r relay.Request) ([]message.Chat, error) {
	answer, err := s.Relay.Do(ctx, r)
	return answer.Chats, s.notAChat(ctx, err)
}

// notAChat is wire for the name of a chat. If the name is that of a session, the error says which chat the
// session is in. If the chat ended before this sidecar started, the error says that it has ended.
func (s *Chats) notAChat(ctx context.Context, err error) error {
	lookup, ok := errors.AsType[*registry.LookupError](err)
	if !ok || lookup.Kind != "chat" {
		return wire(err)
	}
	snap := s.Relay.Snapshot()
	session, none := snap.Find(lookup.Ref)
	if none != nil {
		if was, old := s.Journal.Chat(ctx, lookup.Ref); old == nil && errors.Is(err, registry.ErrUnknown) {
			return api.Errorf(api.CodeNotFound, "%w", &relay.EndedError{Chat: was}).About(api.ChatEnded, lookup.Ref)
		}
		return wire(err)
	}
	if chat, in := snap.ChatOf(session.ID); in {
		return api.Errorf(api.CodeNotFound, "no chat %q: that is a session, in chat %s", lookup.Ref, called(chat)).WithHint("name the chat: %s", called(chat))
	}
	return api.Errorf(api.CodeNotFound, "no chat %q: that is a session, in no chat", lookup.Ref).WithHint("intercom chat list")
}

func chatOf(which api.ChatRef) string {
	if which.All {
		return relay.All
	}
	return which.Chat
}

// Say puts a person's words into a chat.
func (s *Chats) Say(ctx context.Context, from api.Caller, req api.SayRequest) (api.Said, error) {
	if err := s.Callers.personOnly(ctx, from, "say something as a person"); err != nil {
		return api.Said{}, err
	}
	answer, err := s.Relay.Do(ctx, relay.Say{By: s.Callers.by(ctx, from), Chat: req.Chat, Body: req.Text})
	said := saidOf(answer)
	if said.Held != "" {
		stopped := s.Relay.Stopped() // one chat alone cannot be resumed then
		if stopped && !said.Awaits {
			said.Held = message.Stopped
		}
		if chat, err := s.Relay.Snapshot().FindChat(req.Chat); err == nil {
			said.Braked = chat.Braked && !stopped
		}
	}
	return said, wire(err)
}

// saidOf returns what became of a person's words, by their first receipts.
func saidOf(answer relay.Answer) api.Said {
	said := api.Said{Message: answer.Message}
	lost := len(answer.Receipts) > 0
	for _, r := range answer.Receipts {
		said.Deliveries = append(said.Deliveries, r.Delivery)
		switch r.State {
		case message.Held:
			said.Held, said.Awaits = r.Reason, said.Awaits || r.Awaits()
		case message.Failed, message.Expired:
			said.Failed = r.Reason
			continue
		}
		lost = false
	}
	if !lost {
		said.Failed = ""
	}
	return said
}

// Stats counts what passed through a chat, open or ended.
func (s *Chats) Stats(ctx context.Context, _ api.Caller, q api.ChatQuery) (message.Stats, error) {
	chat, err := s.Names.anyChat(ctx, q.Chat)
	if err != nil {
		return message.Stats{}, err
	}
	return s.stats(ctx, chat)
}

// stats counts what passed through a chat. Its captures are those that this life of the sidecar took of the
// chat's panes while the chat was open.
func (s *Chats) stats(ctx context.Context, chat message.Chat) (message.Stats, error) {
	stats, err := s.Journal.Stats(ctx, chat.ID)
	if err != nil {
		return message.Stats{}, err
	}
	stats.Spent = chat.Spent
	stats.Captures = s.looks.of(chat, s.captures(ctx))
	return stats, nil
}

// Show describes a chat, open or ended.
func (s *Chats) Show(ctx context.Context, _ api.Caller, q api.ChatQuery) (api.ChatDetail, error) {
	chat, err := s.Names.anyChat(ctx, q.Chat)
	if err != nil {
		return api.ChatDetail{}, err
	}
	detail := api.ChatDetail{Chat: chat, Sessions: []message.Peer{}, Waiting: []api.Waiting{}}
	if detail.Stats, err = s.stats(ctx, chat); err != nil {
		return detail, err
	}
	names := map[message.ID]string{}
	for session := range s.Relay.Snapshot().Present() {
		for _, p := range chat.Participants {
			if p.Peer == session.ID {
				detail.Sessions = append(detail.Sessions, session)
			}
		}
	}
	for _, p := range chat.Participants {
		names[p.Peer] = p.Name
	}
	waiting, err := s.Journal.Waiting(ctx, chat.ID)
	if err != nil {
		return detail, err
	}
	for _, p := range waiting {
		detail.Waiting = append(detail.Waiting, waitingFor(p, names[p.Delivery.Target]))
	}
	return detail, nil
}

// waitingFor describes an open delivery to the session of that name.
func waitingFor(p journal.Pending, to string) api.Waiting {
	return api.Waiting{
		Delivery: p.Delivery.ID, Message: p.Delivery.Message.ID, From: p.Delivery.Message.From.Name, To: to,
		State: p.Last.State, Reason: p.Last.Reason, Hold: p.Last.Hold, Since: p.Last.At, Door: p.Last.Door,
	}
}

// now returns the time in the journal's precision of a millisecond.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }
