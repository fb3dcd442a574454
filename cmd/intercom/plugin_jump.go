package main

import (
	"context"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/waits"
)

// jump shows the pane that has waited longest for a person; from one of those panes, the next. It also tells what waits
// for them at no pane.
func (a *app) jump(ctx context.Context, o origin) (string, error) {
	c, status, err := a.sidecarOf(ctx)
	if err != nil {
		return "", err
	}
	all, err := quickly(ctx, c, api.ListWaits, api.None{})
	if err != nil {
		return "", err
	}
	next, ok := nextWait(all, o.Pane)
	rest := atNoPane(all, status, func(command string) string { return a.byKeys(ctx, command) })
	switch {
	case !ok && rest == "":
		return "nobody waits for you", nil
	case !ok:
		return rest + "; no pane waits for you", nil
	}
	text := next.Name + " waits for you: "
	if next.Pane == o.Pane {
		text = next.Name + " waits for you here: "
	}
	if text += next.Words + ": " + next.Next; rest != "" {
		text += "; also " + rest
	}
	if next.Pane == o.Pane {
		return text, nil
	}
	return text, tmux.GoTo(ctx, a.tmuxOptions(), o.Client, next.Pane)
}

// atNoPane returns what the status line counts beside the waiting panes, in its words, each with what to do about it,
// as next words that. If several have the same step, it says the step once. "" means nothing.
func atNoPane(all []message.Wait, status api.Status, next func(command string) string) string {
	var words, steps []string
	add := func(what, command string) {
		words, steps = append(words, what), append(steps, next(command))
	}
	for _, w := range waits.Counted(all) {
		if w.Pane == "" {
			add(w.Words, w.Next)
		}
	}
	for i, kind := range status.Kinds {
		switch kind {
		case api.ProblemPolicy:
			add("policy error", "intercom policy edit")
		case api.ProblemDisk:
			add(status.Degraded[i], "intercom doctor")
		}
	}
	var parts []string
	for i := 0; i < len(words); {
		last := i
		for last+1 < len(words) && steps[last+1] == steps[i] {
			last++
		}
		parts = append(parts, strings.Join(words[i:last+1], ", ")+" → "+steps[i])
		i = last + 1
	}
	return strings.Join(parts, "; ")
}

// nextWait returns the first wait at a pane; if from is one of these panes, the wait after its own, and after the last
// the first.
func nextWait(all []message.Wait, from string) (message.Wait, bool) {
	at := slices.DeleteFunc(slices.Clone(all), func(w message.Wait) bool { return w.Pane == "" })
	if len(at) == 0 {
		return message.Wait{}, false
	}
	here := slices.IndexFunc(at, func(w message.Wait) bool { return w.Pane == from })
	return at[(here+1)%len(at)], true
}
