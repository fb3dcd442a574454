package main

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// jump shows the pane at which a person has been waited for longest; from one of those panes, the
// next.
func (a *app) jump(ctx context.Context, o origin) (string, error) {
	waits, err := request(ctx, a.tmuxClient, api.ListWaits, api.None{})
	if err != nil {
		return "", err
	}
	next, ok := nextWait(waits, o.Pane)
	switch {
	case ok && next.Pane == o.Pane:
		return next.Name + " waits for you here: " + next.Words + ": " + next.Next, nil
	case ok:
		return next.Name + " waits for you: " + next.Words + ": " + next.Next, tmux.GoTo(ctx, a.tmuxOptions(), o.Client, next.Pane)
	case len(waits) == 0:
		return "nobody waits for you", nil
	}
	return "no pane waits for you, but: " + waits[0].Words + "\n" + a.byKeys(ctx, waits[0].Next), nil
}

// nextWait is the first of the waits at a pane, or where from is one of these panes the one behind it,
// and behind the last the first.
func nextWait(waits []message.Wait, from string) (message.Wait, bool) {
	at := slices.DeleteFunc(slices.Clone(waits), func(w message.Wait) bool { return w.Pane == "" })
	if len(at) == 0 {
		return message.Wait{}, false
	}
	here := slices.IndexFunc(at, func(w message.Wait) bool { return w.Pane == from })
	return at[(here+1)%len(at)], true
}
