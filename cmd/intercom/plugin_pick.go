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
	Busy   string // who it is in a chat with, in words; "" for nobody
	Why    string // why it cannot be picked; "": nothing stands against it
	Window string // where it is, in words
	near   int    // 0: in the same window, 1: in the same session
	order  int
}

// called is how the pane is called in a sentence.
func (x candidate) called() string {
	if x.Name == "" {
		return x.Pane
	}
	return x.Name + " (" + x.Pane + ")"
}

// panesFound are the pane of whoever pressed the key, and all others.
type panesFound struct {
	here   candidate
	others []candidate
}

// lookFor is how long the panes are looked at, all at once, before they are listed.
const lookFor = 1500 * time.Millisecond

// chatWithPicked lets the person pick a pane from a list, and starts a chat with it. Where the
// pane of the person is none that could be in a chat, two are picked.
func (a *app) chatWithPicked(ctx context.Context, o origin) (string, error) {
	k, err := a.openKeyboard()
	if err != nil {
		return "", err
	}
	defer k.close()
	var found panesFound
	if err := k.look(ctx, "looking at the panes …", func(ctx context.Context) (err error) {
		found, err = a.panesFor(ctx, o, false)
		return err
	}); err != nil {
		return "", unlessClosed(err)
	}
	first := found.here
	switch {
	case first.Busy != "":
		return "", a.aboutStart(ctx, api.Errorf(api.CodeRefused, "%s", first.Why).WithHint("intercom chat stop, in this pane").About(api.InChat, o.Pane))
	case first.Why != "":
		first, err = k.pick(ctx, "start a chat between two other panes; the first is", found.others)
		if err != nil || first.Pane == "" {
			return "", err
		}
		found.others = slices.DeleteFunc(found.others, func(x candidate) bool { return x.Pane == first.Pane })
	}
	second, err := k.pick(ctx, "chat "+first.called()+" with", found.others)
	if err != nil || second.Pane == "" {
		return "", err
	}
	return "", a.handOver(o, "with", first.Pane+" "+second.Pane)
}

// pick shows the panes and returns the one that was picked, the zero candidate for none. One that
// would be refused cannot be picked: why not is shown, and the list stays.
func (k *keyboard) pick(ctx context.Context, title string, all []candidate) (candidate, error) {
	if len(all) == 0 {
		return candidate{}, api.Errorf(api.CodeNotFound, "there is no other pane").WithHint("start an agent in another one: prefix + %% or prefix + \" creates a pane beside this one")
	}
	at, says := 0, ""
	for {
		width, height := k.size()
		k.draw(pickFrame(title, all, at, says, width, height))
		key, err := k.next(ctx)
		if err != nil {
			return candidate{}, nil //nolint:nilerr // closed: nothing was picked
		}
		chosen := -1
		switch key {
		case "": // another size
			continue
		case "q", "escape":
			return candidate{}, nil
		case "enter":
			chosen = at
		case "up", "k":
			at = max(at-1, 0)
		case "down", "j":
			at = min(at+1, len(all)-1)
		case "home":
			at = 0
		case "end":
			at = len(all) - 1
		default:
			if i := strings.Index(pickKeys, key); i >= 0 && i < len(all) {
				chosen = i
			}
		}
		says = ""
		if chosen < 0 {
			continue
		}
		if at = chosen; all[at].Why == "" {
			return all[at], nil
		}
		says = all[at].Pane + " cannot be picked: " + all[at].Why
	}
}

// pickKeys pick a row each. The letters that move or close are not among them.
const pickKeys = "123456789abcdefghilmnoprstuvwxyz"

// panesFor are the pane of whoever pressed the key, and all others, those that may be picked
// first. For a question it does not matter who is in a chat.
func (a *app) panesFor(ctx context.Context, o origin, question bool) (panesFound, error) {
	c, status, err := a.sidecarOf(ctx)
	if err != nil {
		return panesFound{}, err
	}
	panes, err := tmux.ListPanes(ctx, a.tmuxOptions())
	if err != nil {
		return panesFound{}, err
	}
	at := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == o.Pane })
	if at < 0 {
		return panesFound{}, api.Errorf(api.CodeNotFound, "pane %s is gone", o.Pane).WithHint("press the key in another pane")
	}
	sessions := map[string]message.Peer{}
	for _, s := range status.Sessions {
		sessions[s.Pane] = s
	}
	looking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var looks sync.WaitGroup
	running := make(chan struct{}, 8) // looks at once
	all := make([]candidate, len(panes))
	for i, p := range panes {
		x := &all[i]
		*x = candidate{
			Pane: p.ID, Window: fmt.Sprintf("%s:%d %s", p.Session, p.Window, p.WindowName), order: i, near: nearness(p, panes[at]),
		}
		if s, adopted := sessions[p.ID]; adopted {
			x.Name, x.Agent, x.State = s.Name, s.Profile, cmp.Or(string(s.State), string(message.Unknown))
			if chat, me, in := chatOf(status, p.ID); in && !question {
				x.Busy = metWith(chat, me)
				x.Why = cmp.Or(s.Name, p.ID) + " is in a chat with " + x.Busy
			}
			continue
		}
		looks.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			x.judge(looking, c, p.Command)
		})
	}
	looks.Wait()
	found := panesFound{here: all[at]}
	found.others = slices.Delete(all, at, at+1)
	slices.SortFunc(found.others, func(x, y candidate) int {
		return cmp.Or(byBool(x.Why != "", y.Why != ""), cmp.Compare(x.near, y.near), cmp.Compare(x.order, y.order))
	})
	return found, nil
}

// metWith names those in a chat beside one of them.
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

// judge asks what is in a pane that nobody has adopted yet.
func (x *candidate) judge(ctx context.Context, c *api.Client, command string) {
	e, err := api.Call(ctx, c, api.Explain, api.ExplainRequest{Pane: x.Pane})
	switch {
	case err != nil && ctx.Err() != nil:
		x.Agent, x.State = command, "looking took too long" // which is nothing against it
	case err != nil:
		x.State, x.Why = string(message.Unknown), api.AsError(err).Text
	case e.Agent == "":
		x.State, x.Why = string(e.State), command+" is in front, which is not a known agent"
		for _, ground := range e.Evidence {
			if ground.Source == "process" {
				x.Why = ground.Says
			}
		}
	default:
		x.Agent, x.State = e.Agent, string(e.State)
	}
}

// pickFrame is the list as a popup of that size shows it, the row at marked; what there is to say
// of that row takes the place of the keys.
func pickFrame(title string, all []candidate, at int, says string, width, height int) []string {
	rows := make([]string, 0, len(all)+2)
	names, agents, states, panes := len("NAME"), len("AGENT"), len("STATE"), len("PANE")
	for _, x := range all {
		if x.Why == "" {
			names, agents, states = max(names, cellsOf(plainLine(orDash(x.Name)))), max(agents, cellsOf(x.Agent)), max(states, cellsOf(plainLine(x.State)))
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
		text := line(key, x.Pane, orDash(x.Name), x.Agent, x.State, x.Window)
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
	foot := []string{"\x1b[2m" + cut(" a key of the first column, or arrows and Enter; q closes", width)}
	if says != "" {
		foot = foot[:0]
		for _, part := range broken(" "+plainLine(says), width) {
			foot = append(foot, "\x1b[1m"+part)
		}
		foot = foot[:min(len(foot), max(1, height-len(head)-1))]
	}
	room := max(1, height-len(head)-len(foot))
	from := min(max(0, marked-room+1), max(0, len(rows)-room))
	shown := rows[from:min(len(rows), from+room)]
	return append(append(head, shown...), foot...)
}
