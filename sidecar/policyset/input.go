package policyset

import (
	"context"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// inputOf is what scripts see of a question now.
func (p *InUse) inputOf(ctx context.Context, q relay.Question, rooms map[message.ID]Room) policy.Input {
	in := inputOf(q, p.Now(), rooms, p.otherwise())
	in.Config = p.configOf(ctx, q.Message.Type, rooms)
	return in
}

// inputOf is what scripts see of a question, but for ctx.config. Where none of them decides, a
// person is asked, unless otherwise says what holds then.
func inputOf(q relay.Question, now time.Time, rooms map[message.ID]Room, otherwise message.Verb) policy.Input {
	in := policy.Input{Message: q.Message, Now: now, Otherwise: otherwise, To: []message.Address{}}
	for _, target := range q.Targets {
		in.To = append(in.To, addressOf(target, q.Chat))
	}
	if q.Chat != nil {
		in.Chat = &policy.Chat{Name: q.Chat.Name}
		for _, p := range q.Chat.Participants {
			if !p.Left {
				in.Chat.Participants = append(in.Chat.Participants, p.Name)
			}
		}
	}
	in.Agents = agentsOf(q.Snapshot, q.Chat, rooms)
	for _, id := range append([]message.ID{q.Message.From.Peer}, targetsOf(q)...) {
		if room := rooms[id].Project; room != "" && !slices.Contains(in.Projects, room) {
			in.Projects = append(in.Projects, room)
		}
	}
	return in
}

func targetsOf(q relay.Question) (ids []message.ID) {
	for _, target := range q.Targets {
		ids = append(ids, target.ID)
	}
	return ids
}

// addressOf is how a session goes by in a message.
func addressOf(s message.Peer, chat *message.Chat) message.Address {
	a := message.Address{Computer: s.Computer, Peer: s.ID, Name: s.Name}
	if chat != nil {
		for _, p := range chat.Participants {
			if p.Peer == s.ID {
				a.Number = p.Number
			}
		}
	}
	return a
}

// agentsOf are all who are here, with the repositories in which they work.
func agentsOf(snap registry.Snapshot, chat *message.Chat, rooms map[message.ID]Room) (agents []policy.Agent) {
	for _, s := range snap.Peers() {
		a := policy.Agent{Address: addressOf(s, chat), Agent: s.Profile, State: string(s.State), MaySpeak: true}
		a.Repository = rooms[s.ID].Repository
		if chat != nil {
			for _, p := range chat.Participants {
				if p.Peer == s.ID {
					a.Role, a.MaySpeak = p.Role, p.MaySpeak && chat.HasFloor(s.ID)
				}
			}
		}
		agents = append(agents, a)
	}
	return agents
}
