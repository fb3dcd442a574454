package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaMonitored is what `aea monitor` prints.
type aeaMonitored struct {
	Repository string `json:"repository"`
	Enabled    bool   `json:"enabled"`
	Monitor    string `json:"monitor"` // on, auto (while a sidecar runs) or off
	Running    bool   `json:"running"` // a sidecar processes its messages
	PID        int    `json:"pid,omitempty"`
	Awaiting   int    `json:"awaiting_approval,omitempty"` // as in aea check, like the next two
	Held       int    `json:"held,omitempty"`
	Hint       string `json:"hint,omitempty"`
}

// monitorPause is the pause between two checks of whether a monitor runs.
const monitorPause = 20 * time.Millisecond

func (a *app) aeaMonitor(dir *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "monitor",
		Short: "Process a repository's messages in the background",
		Long: `Have a sidecar process the messages of a repository as they come: answer them by
the agent that works there, acknowledge them, or ask you.

Without any of these, messages of an enabled repository are processed while a
sidecar runs; start keeps one running, and stop keeps all from it.`,
		Example: `  intercom aea monitor start`,
		Args:    a.onlyCommands, RunE: showHelp,
	}
	for _, sub := range []struct {
		use, short string
		to         repository.Monitor
	}{
		{"start", "Process messages from now on", repository.MonitorOn}, {"stop", "Process no messages", repository.MonitorOff}, {"status", "Show whether messages are processed", ""},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: sub.use, Short: sub.short, Example: "  intercom aea monitor " + sub.use, Args: between(0, 0, "no arguments"),
			RunE: tells(a, func(cmd *cobra.Command, _ []string) (aeaMonitored, error) {
				d, err := a.repo(cmd.Context(), *dir)
				if err != nil {
					return aeaMonitored{}, err
				}
				list, err := a.enabled()
				if err != nil {
					return aeaMonitored{}, err
				}
				if sub.to != "" {
					if err := a.monitor(cmd.Context(), list, d, sub.to); err != nil {
						return aeaMonitored{}, err
					}
				}
				return monitored(list, d), nil
			}, a.showMonitored),
		})
	}
	return cmd
}

// monitored returns the state of a repository's monitor.
func monitored(list repository.Enabled, d repository.Dir) aeaMonitored {
	w, ok := list.Find(d.Path)
	r := aeaMonitored{Repository: d.Path, Enabled: ok, Monitor: string(w.Monitor)}
	if r.Monitor == "" && ok {
		r.Monitor = "auto"
	}
	if list.Served(d.Path) {
		r.Running, r.PID = true, d.PID()
	}
	waiting := haltedIn(list, d)
	r.Awaiting, r.Held, r.Hint = waiting.awaiting, waiting.held, waiting.hint()
	return r
}

// monitor starts or stops the processing of a repository's messages, and returns once that has taken effect.
func (a *app) monitor(ctx context.Context, list repository.Enabled, d repository.Dir, to repository.Monitor) error {
	w, ok := list.Find(d.Path)
	if !ok {
		return api.Errorf(api.CodeRefused, "repository %q is not enabled on this computer", d.Path).WithHint("intercom aea install%s", inRepository(d.Path))
	}
	w.Monitor = to
	if err := list.Set(w); err != nil {
		return err
	}
	on := to == repository.MonitorOn
	if on {
		if _, err := a.client(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := within(ctx)
	defer cancel()
	for {
		served := list.Served(d.Path)
		if !on && !served {
			return list.Unsay(d)
		}
		if on && served && d.PID() > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			what := "does not begin"
			if !on {
				what = "does not end"
			}
			return api.Errorf(api.CodeTimeout, "the monitor of %q %s", d.Path, what).WithHint("intercom aea doctor%s looks for problems", inRepository(d.Path))
		case <-time.After(monitorPause):
		}
	}
}
