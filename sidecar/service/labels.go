package service

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Options that each adopted pane gets, for other readers of tmux options.
const (
	StateOption = "@intercom-state" // the state, as in `intercom peers`: idle, working, …
	WaitsOption = "@intercom-waits" // what waits for a person there: dialog, your draft, …
)

type paneOptions interface {
	SetPaneOptions(ctx context.Context, pane string, options map[string]string) error
	PanesWith(ctx context.Context, name string) ([]string, error)
}

// labels keeps the options of the adopted panes up to date. It belongs to one goroutine. The values are names,
// which consist of letters, digits, dots, dashes and underscores, and words of the sidecar itself: tmux gives
// no meaning to any of them.
type labels struct {
	Tmux interface {
		paneOptions
		panes
	}
	Log   *slog.Logger
	shown map[string]map[string]string // by pane
}

// begin finds the options that an earlier life left behind: the first write updates or removes them.
func (l *labels) begin(ctx context.Context) {
	l.shown = map[string]map[string]string{}
	left, err := l.Tmux.PanesWith(ctx, StateOption)
	if err != nil {
		l.Log.Warn("look for options of an earlier life", "err", err)
	}
	for _, pane := range left {
		l.shown[pane] = map[string]string{StateOption: "?"} // any value: it differs from what write wants
	}
}

// write brings the options up to date.
func (l *labels) write(ctx context.Context, adopted []message.Peer, waits []message.Wait) {
	want := map[string]map[string]string{}
	for _, one := range adopted {
		state := one.State
		if state == "" {
			state = message.Unknown
		}
		want[one.Pane] = map[string]string{nameOption: one.Name, StateOption: string(state), WaitsOption: ""}
	}
	for _, w := range waits {
		if pane := want[w.Pane]; pane != nil {
			pane[WaitsOption] = w.Words
		}
	}
	for pane, options := range want {
		if maps.Equal(options, l.shown[pane]) {
			continue
		}
		if err := l.Tmux.SetPaneOptions(ctx, pane, options); err == nil {
			l.shown[pane] = options
		} else if ctx.Err() == nil {
			l.Log.Debug("write the options of a pane", "pane", pane, "err", err) // it may have gone
		}
	}
	for pane := range l.shown {
		if want[pane] == nil {
			l.clear(ctx, pane)
		}
	}
}

// takeBack removes all options, even after the end of ctx.
func (l *labels) takeBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for pane := range l.shown {
		l.clear(ctx, pane)
	}
}

func (l *labels) clear(ctx context.Context, pane string) {
	if err := l.Tmux.SetPaneOptions(ctx, pane, map[string]string{nameOption: "", StateOption: "", WaitsOption: ""}); err != nil {
		l.Log.Debug("take the options of a pane back", "pane", pane, "err", err) // it may have gone
	}
	delete(l.shown, pane)
}
