package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// downReply is what `down --json` prints.
type downReply struct {
	Stopped bool `json:"stopped"` // false: none ran
	PID     int  `json:"pid,omitempty"`
}

func (a *app) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the sidecar of this tmux server",
		Long: `End the sidecar of this tmux server, and the guard that would restart it. Once
this returns nothing is typed any more. Chats do not end: they go on with the
next sidecar, which the next command that needs one starts.
intercom chat stop --all ends them. It is not an error if none runs.`,
		Example: `  intercom down`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) (downReply, error) {
			ctx, cancel := within(cmd.Context())
			defer cancel()
			_, p, _, _ := a.running(ctx) //nolint:dogsled // where it is, also if it hangs
			done, err := unguard(ctx, p)
			if err != nil {
				return downReply{}, err
			}
			defer done()
			c, p, running, err := a.running(ctx)
			if err != nil {
				return downReply{}, err
			}
			if !running {
				// One that has stopped listening may still be ending.
				return downReply{}, ended(ctx, p)
			}
			quick, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			status, err := api.Call(quick, c, api.ShowStatus, api.None{})
			switch {
			case absent(err):
				return downReply{}, ended(ctx, p) // it was ending by itself
			case err != nil: // something in it hangs: all the more is it to end
				status.PID = api.Holder(p.Lock)
			}
			if _, err := api.Call(ctx, c, api.Down, api.None{}); err != nil && !absent(err) {
				return downReply{}, err
			}
			return downReply{true, status.PID}, ended(ctx, p)
		}, func(r downReply) {
			if !r.Stopped {
				a.say("no sidecar ran")
				return
			}
			a.say("sidecar ended: pid %d", r.PID)
		}),
	}
}

// ended waits until the sidecar at p has ended.
func ended(ctx context.Context, p api.Paths) error {
	if err := api.WaitReleased(ctx, p.Lock); err != nil {
		if held, ok := errors.AsType[*api.HeldError](err); ok && held.PID > 0 {
			return api.Errorf(api.CodeTimeout, "the sidecar of process %d does not end", held.PID).
				WithHint("kill -9 %d ends it; intercom doctor says more, and so may its log: %s", held.PID, p.Log)
		}
		return api.Errorf(api.CodeTimeout, "the sidecar does not end").WithHint("its log may say why: %s", p.Log)
	}
	return nil
}
