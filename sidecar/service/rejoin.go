package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// again completes a request with the ended chat that it takes up. The panes in the request are those of the
// participants, in order. Without panes, each participant is the session that it was, the agent of its kind
// that came back into its pane, or the session that now has its name. names are those of the agents that came
// back, by pane.
func (s *Chats) again(ctx context.Context, start relay.StartChat, old message.Chat) (_ relay.StartChat, names map[string]string, err error) {
	start.Again = old.ID
	if start.Name == "" {
		start.Name = old.Name
	}
	if start.Turns == 0 {
		start.Turns = old.Turns
		if old.Closes != "" {
			start.Turns = old.Chosen
		}
	}
	start.OneWay = start.OneWay || old.OneWay
	snap := s.Relay.Snapshot()
	if old.Participants, err = s.whoTakeUp(ctx, snap, old, len(start.Peers)); err != nil {
		return start, nil, err
	}
	if n := len(start.Peers); n > 0 && n != len(old.Participants) {
		return start, nil, api.Errorf(api.CodeUsage, "chat %s ended with %d participants, but %d panes are named", old.ID.Short(), len(old.Participants), n)
	}
	if start.Limits.Approve == old.Limits.Approve && old.Limits.Approve != message.ApproveAll {
		start.Limits.Approve = "" // the participants that it names may have other names now: their places identify them
		for _, p := range old.Participants {
			start.Approve = append(start.Approve, p.Approve)
		}
	}
	named := len(start.Peers) > 0
	roles := start.Roles
	start.Roles, names = nil, map[string]string{}
	successors := map[message.ID]string{}
	var missing []string
	for i, p := range old.Participants {
		role := p.Role
		if i < len(roles) && roles[i] != "" {
			role = roles[i]
		}
		if !named {
			ref, err := s.successor(ctx, snap, p)
			if err != nil {
				return start, nil, err
			}
			if ref == "" {
				missing = append(missing, p.Name)
			}
			names[ref] = p.Name
			start.Peers = append(start.Peers, ref)
		}
		successors[p.Peer] = start.Peers[i]
		start.Roles, start.Muted = append(start.Roles, role), append(start.Muted, !p.MaySpeak)
	}
	if len(missing) > 0 {
		return start, nil, api.Errorf(api.CodeNotFound, "participants of that chat who are not here: %s", strings.Join(missing, ", ")).
			WithHint("adopt each with --name, or name all panes in their order: intercom chat start --again %s PANE…", old.ID.Short())
	}
	start.Backlog, err = s.backlogOf(ctx, old.ID, successors)
	return start, names, err
}

// whoTakeUp returns the participants with which an ended chat is taken up: those who were in it at its end, and
// agents that were gone before and are back by now. If as many panes are named as there are of both, the agents
// count whether they are back or not.
func (s *Chats) whoTakeUp(ctx context.Context, snap registry.Snapshot, old message.Chat, named int) ([]message.Participant, error) {
	before := s.Returns.GoneBefore(snap, old, func(message.Peer) bool { return true }) // including line programs: a person has adopted them anew
	if named > 0 {
		there := len(slices.DeleteFunc(slices.Clone(old.Participants), func(p message.Participant) bool { return p.Left }))
		if named != there+len(before) {
			before = nil
		}
	} else {
		var ended []message.Peer
		for _, one := range before {
			ended = append(ended, one.Was)
		}
		back, err := s.Returns.BackIn(ctx, snap, ended)
		if err != nil {
			return nil, err
		}
		before = slices.DeleteFunc(before, func(one comeback.Lost) bool {
			_, is := back[one.Was.Pane]
			return !is
		})
	}
	return slices.DeleteFunc(slices.Clone(old.Participants), func(p message.Participant) bool {
		return p.Left && !slices.ContainsFunc(before, func(one comeback.Lost) bool { return one.As.Peer == p.Peer })
	}), nil
}

// successor returns the successor of a participant of an ended chat: a session's id, a pane that nobody has
// adopted and that has an agent of its kind, or "".
func (s *Chats) successor(ctx context.Context, snap registry.Snapshot, p message.Participant) (string, error) {
	if session, err := snap.Find(string(p.Peer)); err == nil {
		return string(session.ID), nil
	}
	was, err := s.Names.anySession(ctx, snap, p.Peer)
	if err != nil {
		return "", err
	}
	if s.Returns.MayReturn(was) {
		back, err := s.Returns.BackIn(ctx, snap, []message.Peer{was})
		if err != nil {
			return "", err
		}
		if len(back) > 0 {
			return was.Pane, nil
		}
	}
	if session, err := snap.Find(p.Name); err == nil {
		return string(session.ID), nil
	}
	return "", nil
}

// rejoin takes agents that are back in their panes into their chat again, which stayed open without them.
func (s *Chats) rejoin(ctx context.Context, from api.Caller, req api.StartChatRequest, chat message.Chat) (message.Chat, error) {
	if err := s.Callers.personOnly(ctx, from, "take an agent into a chat again"); err != nil {
		return message.Chat{}, err
	}
	if len(req.Panes)+len(req.Set)+len(req.Roles)+req.Turns > 0 || req.Name+req.Say != "" || req.IncludeLast || req.OneWay {
		return message.Chat{}, api.Errorf(api.CodeUsage, "chat %s is still running, and cannot be changed like this", called(chat)).WithHint("intercom chat add %s PANE", called(chat))
	}
	all, err := s.Returns.Now(ctx, chat.ID)
	if err != nil {
		return message.Chat{}, err
	}
	if len(all) == 0 {
		return message.Chat{}, api.Errorf(api.CodeRefused, "chat %s is already running", called(chat)).WithHint("intercom chat show %s", called(chat))
	}
	for _, one := range all {
		for _, lost := range one.Gone {
			pane := lost.Was.Pane
			add := relay.AddMember{Chat: string(chat.ID), Peer: pane, Role: lost.As.Role, Muted: !lost.As.MaySpeak, Approve: lost.As.Approve}
			if add.Backlog, err = s.backlogOf(ctx, chat.ID, map[message.ID]string{lost.Was.ID: pane}); err != nil {
				return message.Chat{}, err
			}
			if chat, err = s.addMember(ctx, from, add, map[string]string{pane: lost.As.Name}); err != nil {
				return message.Chat{}, err
			}
		}
	}
	return chat, nil
}

// backlogOf returns the deliveries of a chat that are held for agents that are gone, with the successors that
// get them. Deliveries to a pane of another tmux server, and those that wait for a person's yes, stay where
// they are.
func (s *Chats) backlogOf(ctx context.Context, chat message.ID, successors map[message.ID]string) (backlog []relay.Backlog, err error) {
	waiting, err := s.Journal.Waiting(ctx, chat)
	if err != nil {
		return nil, err
	}
	snap := s.Relay.Snapshot()
	for _, p := range waiting {
		d := p.Delivery
		successor, ok := successors[d.Target]
		if !ok || d.Typed || !p.Last.AgentGone() {
			continue
		}
		switch was, err := s.Names.anySession(ctx, snap, d.Target); {
		case err != nil:
			return nil, err
		case was.Ended == nil || was.Server != s.Returns.Server:
			continue
		}
		verdicts, err := s.Journal.Verdicts(ctx, d.Message.ID)
		if err != nil {
			return nil, fmt.Errorf("what was kept: %w", err)
		}
		if n := len(verdicts); n > 0 && letGo(&d, verdicts[n-1]) {
			backlog = append(backlog, relay.Backlog{Delivery: d, To: successor})
		}
	}
	return backlog, nil
}

// letGo reports whether the last verdict on its message releases a kept delivery. A person's yes counts for all
// recipients, and a text that a person edited needs no filter.
func letGo(d *message.Delivery, last message.Verdict) bool {
	if last.For(d.Target).Verb != message.VerbDeliver {
		return false
	}
	if last.Person.Name != "" {
		d.Asked, d.Unfiltered = false, d.Unfiltered && last.Body == nil
	}
	return !d.Asked && !d.Unfiltered
}
