package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/ui"
)

// lookFor is how long the panes are looked at, all at once, before they are listed.
const lookFor = 4 * time.Second

// chatWithPicked lets the person pick panes from a list, and starts a chat with them. If the person's own pane cannot
// be in a chat, they pick two.
func (a *app) chatWithPicked(ctx context.Context, o origin) (string, error) {
	err := a.screen(ctx, o, ui.Start{Pick: &ui.Picking{
		Find: func(ctx context.Context) (ui.Panes, error) {
			found, busy, err := a.panesFor(ctx, o, false)
			if err == nil && busy {
				err = api.Errorf(api.CodeRefused, "%s", found.Here.Why).WithHint("intercom chat list, then intercom chat stop CHAT").About(api.InChat, o.Pane)
			}
			if err != nil {
				err = a.aboutStart(ctx, err)
			}
			return found, err
		},
		Last: func(ctx context.Context) (string, error) { return a.lastAnswer(ctx, o) },
		Begin: func(ctx context.Context, picked ui.Picked) (string, error) {
			text, err := json.Marshal(picked)
			if err != nil {
				return "", fmt.Errorf("start a chat: %w", err)
			}
			return "", a.handOver(o, "with", string(text))
		},
	}})
	return "", err
}

// startPicked starts the chat that a popup has handed over.
func (a *app) startPicked(ctx context.Context, _ origin) (string, error) {
	var p ui.Picked
	if err := json.Unmarshal([]byte(a.handed()), &p); err != nil {
		return "", api.Errorf(api.CodeUsage, "this is run by the keys of the tmux plugin: %w", err)
	}
	return a.startChat(ctx, api.StartChatRequest{Panes: p.Panes, Say: p.Say, Turns: p.Turns, OneWay: p.OneWay, IncludeLast: p.IncludeLast})
}

// askOther lets the person pick a pane, and type a line of their own. What this pane said last goes there with it, and
// the answer comes back. Whatever prevents that in this pane is reported first.
func (a *app) askOther(ctx context.Context, o origin) (string, error) {
	err := a.screen(ctx, o, ui.Start{Pick: &ui.Picking{
		Question: true,
		Find: func(ctx context.Context) (ui.Panes, error) {
			last, err := a.lastAnswer(ctx, o)
			if err != nil {
				return ui.Panes{}, err
			}
			found, _, err := a.panesFor(ctx, o, true)
			found.Last = last
			return found, err
		},
		Begin: func(ctx context.Context, picked ui.Picked) (string, error) { return a.takeThere(ctx, o, picked) },
	}})
	return "", err
}

// lastAnswer returns what the agent in the presser's pane said last.
func (a *app) lastAnswer(ctx context.Context, o origin) (string, error) {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return "", err
	}
	asking, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	last, err := api.Call(asking, c, api.LastAnswer, api.LastAnswerQuery{From: o.Pane})
	return last.Text, err
}

// panesFor returns the pane of the presser, and all others, those that may be picked first. For a question it does not
// matter who is in a chat; otherwise busy reports whether the presser's pane is in one.
func (a *app) panesFor(ctx context.Context, o origin, question bool) (found ui.Panes, busy bool, err error) {
	c, status, err := a.sidecarOf(ctx)
	if err != nil {
		return found, false, err
	}
	panes, err := tmux.ListPanes(ctx, a.tmuxOptions())
	if err != nil {
		return found, false, err
	}
	at := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == o.Pane })
	if at < 0 {
		return found, false, api.Errorf(api.CodeNotFound, "pane %s is gone", o.Pane).WithHint("press the key in another pane")
	}
	sessions := map[string]message.Peer{}
	for _, s := range status.Sessions {
		sessions[s.Pane] = s
	}
	looking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var looks sync.WaitGroup
	running := make(chan struct{}, 8) // looks at once
	type candidate struct {
		ui.Pane
		near, order int
	}
	all := make([]candidate, len(panes))
	for i, p := range panes {
		x := &all[i]
		x.ID, x.Window = p.ID, fmt.Sprintf("%s:%d %s", p.Session, p.Window, p.WindowName)
		x.order, x.near = i, nearness(p, panes[at])
		if s, adopted := sessions[p.ID]; adopted {
			x.Name, x.Agent, x.State = s.Name, s.Profile, cmp.Or(string(s.State), string(message.Unknown))
			if chat, me, in := chatOf(status, p.ID); in && !question {
				x.Why = cmp.Or(s.Name, p.ID) + " is in a chat with " + metWith(chat, me)
				busy = busy || i == at
			}
			continue
		}
		looks.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			judge(looking, c, &x.Pane, p.Command)
		})
	}
	var elsewhere []ui.Pane
	looks.Go(func() { elsewhere = a.panesElsewhere(looking, c, status, question) })
	looks.Wait()
	found.Here = all[at].Pane
	all = slices.Delete(all, at, at+1)
	for i, x := range elsewhere {
		all = append(all, candidate{Pane: x, near: 3, order: i})
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(byBool(x.Why != "", y.Why != ""), cmp.Compare(x.near, y.near), cmp.Compare(x.order, y.order))
	})
	for _, x := range all {
		found.Others = append(found.Others, x.Pane)
	}
	return found, busy, nil
}

// panesElsewhere returns the sessions of other computers, by their addresses; none if the sidecar cannot tell.
func (a *app) panesElsewhere(ctx context.Context, c *api.Client, status api.Status, question bool) (all []ui.Pane) {
	sessions, err := api.Call(ctx, c, api.ListSessions, api.None{})
	if err != nil {
		return nil
	}
	for _, s := range sessions {
		if s.Computer == "" || s.Computer == message.LocalComputer || s.State != "" {
			continue
		}
		name := strings.TrimSuffix(s.Name, "."+s.Computer)
		x := ui.Pane{ID: s.Computer + "/" + name, Name: s.Name, Agent: s.Agent, Window: "on " + s.Computer}
		switch chat, me, in := chatWith(status, s.ID); {
		case s.Away:
			x.Why = s.Computer + " cannot be reached now"
		case in && !question:
			x.Why = s.Name + " is in a chat with " + metWith(chat, me)
		}
		all = append(all, x)
	}
	return all
}

// metWith names the participants of a chat other than me.
func metWith(c message.Chat, me message.Participant) string {
	var names []string
	for _, p := range c.Participants {
		if p.Peer != me.Peer && !p.Left {
			names = append(names, p.Name)
		}
	}
	return strings.Join(names, ", ")
}

// nearness is 0 for a pane of the same window, 1 for one of the same session, else 2.
func nearness(p, here tmux.Pane) int {
	switch {
	case p.WindowID == here.WindowID:
		return 0
	case p.SessionID == here.SessionID:
		return 1
	}
	return 2
}

func byBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

// judge finds out what is in a pane that nobody has adopted yet.
func judge(ctx context.Context, c *api.Client, x *ui.Pane, command string) {
	e, err := api.Call(ctx, c, api.Explain, api.ExplainRequest{Pane: x.ID})
	switch {
	case err != nil && ctx.Err() != nil:
		x.Agent, x.State = command, "looking took too long" // that does not count against the pane
	case err != nil:
		x.State, x.Why = string(message.Unknown), api.AsError(err).Text
	case e.Agent == "":
		x.Lines = e.Lines
		x.State, x.Why = string(e.State), command+" is in front, which is not a known agent"
		for _, ground := range e.Evidence {
			if ground.Source == "process" {
				x.Why = ground.Says
			}
		}
		if x.Lines {
			x.Why += "; if it reads lines: intercom adopt " + x.ID + " --as line"
		}
	default:
		x.Agent, x.State = e.Agent, string(e.State)
	}
}
