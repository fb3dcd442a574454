package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// What a person must do, by api.Need.For, as the status line says it.
const (
	needDialog = "dialog"
	needDraft  = "your draft"
	needClosed = "closed"
)

// mostNamed is how many needs the status line names; beyond that it counts.
const mostNamed = 3

// personal are the holds that only a person can end, and how the status line calls them. All
// others pass by themselves.
var personal = map[message.Reason]string{
	screen.DialogOpen:       needDialog,
	message.InComposer:      needDraft,
	message.OursInComposer:  "our text in its composer",
	message.CopyMode:        "copy mode",
	message.NotInFront:      "another program in front",
	message.PasswordPrompt:  "password prompt",
	message.UnknownScreen:   "unknown screen",
	message.AlternateScreen: "unknown screen",
	message.NotEmpty:        "unknown screen",
	message.PaneTooSmall:    "pane too small",
	message.WidthDisputed:   "characters of unsure width",
	message.InputOff:        "input is off",
	screen.VimNormal:        "vim normal mode",
}

// Needs is what only a person can do.
type Needs struct {
	Relay   present
	Journal interface {
		Held(ctx context.Context) (int, error)
		backlog
	}
	Starts interface { // that wait for a person; nil where the sidecar is headless
		Waiting() []api.Held
	}
}

// All lists what a person must do, and nobody else can: dialogs of agents, whether or not a
// message waits behind them; what keeps a message from a pane until a person has done something
// there; and, as one, all that awaits a decision.
func (s *Needs) All(ctx context.Context) ([]api.Need, error) {
	sessions := s.Relay.Snapshot().Peers()
	var all []api.Need
	add := func(session message.Peer, what string) {
		if !slices.ContainsFunc(all, func(n api.Need) bool { return n.Name == session.Name }) {
			all = append(all, api.Need{For: what, Name: session.Name, Pane: session.Pane})
		}
	}
	for _, session := range sessions {
		switch {
		case session.Closed == message.InComposer:
			add(session, needDraft)
		case session.Closed != "":
			add(session, needClosed)
		case session.State == message.Blocked && session.StateWhy == string(screen.DialogOpen):
			add(session, needDialog)
		}
	}
	approvals := 0
	if s.Starts != nil {
		approvals = len(s.Starts.Waiting())
	}
	var waiting []journal.Pending
	held, err := s.Journal.Held(ctx)
	if err == nil && held > 0 {
		waiting, err = s.Journal.Waiting(ctx, "")
	}
	if err != nil {
		return all, err
	}
	for _, p := range waiting {
		what, theirs := personal[p.Last.Reason]
		at := slices.IndexFunc(sessions, func(one message.Peer) bool { return one.ID == p.Delivery.Target })
		switch {
		case p.Last.Awaits():
			approvals++
		case p.Last.State == message.Held && theirs && at >= 0:
			add(sessions[at], what)
		}
	}
	if approvals > 0 {
		all = append(all, api.Need{For: api.NeedApproval, N: approvals})
	}
	return all, nil
}

// needWords says each in a few words: "claude: dialog", "1 to approve".
func needWords(needs []api.Need) (words []string) {
	more := 0
	for _, n := range needs {
		switch {
		case n.For == api.NeedApproval:
			words = append(words, fmt.Sprintf("%d to approve", n.N))
		case len(words) < mostNamed:
			words = append(words, n.Name+": "+n.For)
		default:
			more++
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return words
}
