package policyset

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// inputOf returns what scripts see of a question now.
func (p *Live) inputOf(ctx context.Context, q relay.Question, workplaces map[message.ID]Workplace) policy.Input {
	return p.inputWith(q, workplaces, p.configOf(ctx, q.Message.Type, workplaces))
}

// inputWith is inputOf with a given ctx.config.
func (p *Live) inputWith(q relay.Question, workplaces map[message.ID]Workplace, config map[string]any) policy.Input {
	in := inputOf(q, p.Now(), workplaces, p.otherwise())
	in.Others, in.Config = p.others.of(q.Snapshot), config
	return in
}

// inputOf returns what scripts see of a question, except ctx.config and the peers outside its chat. If no script
// decides, otherwise applies; if that is empty, a person is asked.
func inputOf(q relay.Question, now time.Time, workplaces map[message.ID]Workplace, otherwise message.Verb) policy.Input {
	in := policy.Input{Message: q.Message, Now: now, Otherwise: otherwise, To: []message.Address{}}
	for _, target := range q.Targets {
		in.To = append(in.To, addressOf(target, q.Chat))
	}
	if q.Chat != nil {
		in.Chat = &policy.Chat{Name: q.Chat.Name, Tokens: q.Chat.Spent.Counted()}
		for _, p := range q.Chat.Participants {
			if !p.Left {
				in.Chat.Participants = append(in.Chat.Participants, p.Name)
			}
		}
		in.Agents = agentsOf(q.Snapshot, *q.Chat, workplaces)
	}
	for _, id := range append([]message.ID{q.Message.From.Peer}, targetsOf(q)...) {
		if place := workplaces[id].Project; place != "" && !slices.Contains(in.Projects, place) {
			in.Projects = append(in.Projects, place)
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

// addressOf returns the address of a session in a message.
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

// agentsOf returns the participants of a chat whose sessions still run, with the repositories in which they work.
func agentsOf(snap registry.Snapshot, chat message.Chat, workplaces map[message.ID]Workplace) (agents []policy.Agent) {
	for _, p := range chat.Participants {
		if one, known := snap.Peer(p.Peer); known && one.Ended == nil {
			a := agentOf(one, workplaces)
			a.Address.Number, a.Role, a.MaySpeak = p.Number, p.Role, p.MaySpeak && chat.HasFloor(p.Peer)
			agents = append(agents, a)
		}
	}
	return agents
}

// agentOf returns a peer as scripts see it outside of chats.
func agentOf(one message.Peer, workplaces map[message.ID]Workplace) policy.Agent {
	a := policy.Agent{
		Address: addressOf(one, nil), Agent: one.Profile, State: string(one.State), Repository: workplaces[one.ID].Repository,
		Project: workplaces[one.ID].Project, Bypasses: workplaces[one.ID].Bypasses, MaySpeak: true,
	}
	if one.Kind == message.PeerPort {
		a.Port, _ = strconv.Atoi(one.Key)
	}
	return a
}

// everybody has all known peers as scripts see them outside of chats. A page made from a row of a snapshot is reused as
// long as the row is the same.
type everybody struct {
	mu         sync.Mutex // guards the fields below
	workplaces map[message.ID]Workplace
	rows       []registry.Row
	pages      policy.Peers
}

// move notes where the sessions work now.
func (e *everybody) move(workplaces map[message.ID]Workplace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workplaces, e.rows = workplaces, nil
}

// of returns the peers of a snapshot.
func (e *everybody) of(snap registry.Snapshot) policy.Peers {
	e.mu.Lock()
	defer e.mu.Unlock()
	rows := snap.Rows()
	pages := make(policy.Peers, len(rows))
	for i, row := range rows {
		if i < len(e.rows) && row == e.rows[i] {
			pages[i] = e.pages[i]
			continue
		}
		pages[i] = make([]policy.Agent, 0, 128)
		for one := range row.Peers() {
			pages[i] = append(pages[i], agentOf(one, e.workplaces))
		}
		if i < len(e.pages) && slices.Equal(pages[i], e.pages[i]) { // scripts cannot see what is new in it
			pages[i] = e.pages[i]
		}
	}
	e.rows, e.pages = rows, pages
	return pages
}
