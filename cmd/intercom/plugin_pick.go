package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// candidate is a pane that may be picked.
type candidate struct {
	Pane   string
	Name   string // of its session; "": not adopted yet
	Agent  string // profile of its program; "" where none is known
	State  string
	Chat   string // that it is in already
	Why    string // what stands against it; "": somebody vouches for it
	Window string // where it is, in words
	near   int    // 0: in the same window, 1: in the same session
	order  int
}

// lookFor is how long the panes are looked at, all at once, before they are listed.
const lookFor = 1500 * time.Millisecond

// chatWithPicked lets the person pick a pane from a list, and starts a chat with it.
func (a *app) chatWithPicked(ctx context.Context, o origin) (string, error) {
	picked, err := a.pick(ctx, o, "chat %s with")
	if err != nil || picked == "" {
		return "", err
	}
	return "", a.handOver(o, "with", picked)
}

// pick shows the panes and returns the one that was picked, "" for none. What they are picked
// for says how %s, the presser's pane, is called.
func (a *app) pick(ctx context.Context, o origin, what string) (string, error) {
	k, err := a.openKeyboard()
	if err != nil {
		return "", err
	}
	defer k.close()
	k.draw([]string{"looking at the panes …"})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var title string
	var all []candidate
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		title, all, err = a.candidates(ctx, o)
	}()
	typed, open := k.meanwhile(ctx, looked)
	if !open {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", api.Errorf(api.CodeNotFound, "there is no other pane").WithHint("start an agent in another one: prefix + %% or prefix + \" makes one beside this")
	}
	at := 0
	for {
		width, height := k.size()
		k.draw(pickFrame(fmt.Sprintf(what, title), all, at, width, height))
		key := ""
		if len(typed) > 0 {
			key, typed = typed[0], typed[1:]
		} else if key, err = k.next(ctx); err != nil {
			return "", nil //nolint:nilerr // closed: nothing was picked
		}
		switch key {
		case "q", "escape":
			return "", nil
		case "enter":
			return all[at].Pane, nil
		case "up", "k":
			at = max(at-1, 0)
		case "down", "j":
			at = min(at+1, len(all)-1)
		case "home":
			at = 0
		case "end":
			at = len(all) - 1
		default:
			if i := strings.Index(pickKeys, key); i >= 0 && key != "" && i < len(all) {
				return all[i].Pane, nil
			}
		}
	}
}

// pickKeys pick a row each. The letters that move or close are not among them.
const pickKeys = "123456789abcdefghilmnoprstuvwxyz"

// candidates are all panes but that of the presser, those with agents first, and how that
// one is called itself.
func (a *app) candidates(ctx context.Context, o origin) (title string, all []candidate, err error) {
	c, status, err := a.sidecarOf(ctx)
	if err != nil {
		return "", nil, err
	}
	panes, err := tmux.ListPanes(ctx, a.tmuxOptions())
	if err != nil {
		return "", nil, err
	}
	title = o.Pane
	var here tmux.Pane
	for _, p := range panes {
		if p.ID == o.Pane {
			here = p
		}
	}
	sessions := map[string]message.Session{}
	for _, s := range status.Sessions {
		sessions[s.Pane] = s
	}
	if s, ok := sessions[o.Pane]; ok {
		title = s.Name + " (" + o.Pane + ")"
	}
	looking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var looks sync.WaitGroup
	for i, p := range panes {
		if p.ID == o.Pane {
			continue
		}
		all = append(all, candidate{
			Pane: p.ID, Window: fmt.Sprintf("%s:%d %s", p.Session, p.Window, p.WindowName), order: i, near: nearness(p, here),
		})
	}
	running := make(chan struct{}, 8) // looks at once
	for i := range all {
		x := &all[i]
		at := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == x.Pane })
		if s, adopted := sessions[x.Pane]; adopted {
			x.Name, x.Agent, x.State = s.Name, s.Profile, cmp.Or(string(s.State), string(message.Unknown))
			if chat, _, in := chatOf(status, x.Pane); in {
				x.Chat = cmp.Or(chat.Name, chat.ID.Short())
			}
			continue
		}
		looks.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			x.judge(looking, c, panes[at].Command)
		})
	}
	looks.Wait()
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(byBool(x.Why != "", y.Why != ""), cmp.Compare(x.near, y.near), cmp.Compare(x.order, y.order))
	})
	return title, all, nil
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

// judge asks what is in a pane that nobody has adopted yet.
func (x *candidate) judge(ctx context.Context, c *api.Client, command string) {
	e, err := c.Explain(ctx, api.ExplainRequest{Pane: x.Pane})
	switch {
	case err != nil && ctx.Err() != nil:
		x.State, x.Why = string(message.Unknown), command+" is in front; looking at it takes too long"
	case err != nil:
		x.State, x.Why = string(message.Unknown), api.AsError(err).Text
	case e.Agent == "":
		x.State, x.Why = string(e.State), command+" is in front, which is no agent that is known"
		for _, ground := range e.Evidence {
			if ground.Source == "process" {
				x.Why = ground.Says
			}
		}
	default:
		x.Agent, x.State = e.Agent, string(e.State)
	}
}

// pickFrame is the list as a popup of that size shows it, the row at marked.
func pickFrame(title string, all []candidate, at, width, height int) []string {
	rows := make([]string, 0, len(all)+2)
	names, agents, states, panes := len("NAME"), len("AGENT"), len("STATE"), len("PANE")
	for _, x := range all {
		if x.Why == "" {
			names, agents, states = max(names, cellsOf(plainLine(orDash(x.Name)))), max(agents, cellsOf(x.Agent)), max(states, cellsOf(plainLine(x.stateWord())))
		}
		panes = max(panes, len(x.Pane))
	}
	line := func(key, pane, name, agent, state, window string) string {
		return cut(fmt.Sprintf(" %s  %s  %s  %s  %s  %s", key, padded(pane, panes), padded(plainLine(name), min(names, 24)),
			padded(agent, agents), padded(plainLine(state), min(states, 32)), plainLine(window)), width)
	}
	marked := 0
	parted := false
	for i, x := range all {
		if x.Why != "" && !parted {
			parted = true
			if i > 0 {
				rows = append(rows, "")
			}
			rows = append(rows, "\x1b[2m"+cut(" These would be refused:", width))
		}
		key := " "
		if i < len(pickKeys) {
			key = pickKeys[i : i+1]
		}
		text := line(key, x.Pane, orDash(x.Name), x.Agent, x.stateWord(), x.Window)
		if x.Why != "" {
			text = cut(fmt.Sprintf(" %s  %s  %s: %s", key, padded(x.Pane, panes), plainLine(x.Window), plainLine(x.Why)), width)
		}
		if i == at {
			text = "\x1b[7m" + padded(text, width)
			marked = len(rows)
		} else if x.Why != "" {
			text = "\x1b[2m" + text
		}
		rows = append(rows, text)
	}
	head := []string{
		"\x1b[1m" + cut(" "+plainLine(title), width),
		"\x1b[2m" + line(" ", "PANE", "NAME", "AGENT", "STATE", "WINDOW"),
	}
	room := max(1, height-len(head)-1)
	from := min(max(0, marked-room+1), max(0, len(rows)-room))
	shown := rows[from:min(len(rows), from+room)]
	return append(append(head, shown...), "\x1b[2m"+cut(" a key of the first column, or arrows and Enter; q closes", width))
}

// stateWord is what the pane does, and which chat it is in.
func (x candidate) stateWord() string {
	if x.Chat != "" {
		return x.State + ", in chat " + x.Chat
	}
	return x.State
}
