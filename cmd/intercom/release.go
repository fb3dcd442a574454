package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) release() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "release PANE",
		Short: "Stop reading from and typing into a pane",
		Long: `Stop reading from and typing into a pane. Its program is left alone; a chat it
was in goes on without it, or ends if fewer than two panes are left. PANE is the
id of the pane or the name of its session.

Messages that wait for it are not delivered, also once it is adopted again: they
are named, and you are asked; elsewhere than at your terminal that takes
--force. intercom log shows each afterwards.`,
		Example: `  intercom release %1`,
		Args:    between(1, 1, "a pane"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Peer, error) {
			c, err := a.paneClient(cmd.Context(), &args[0])
			if err != nil {
				return message.Peer{}, err
			}
			waited := waiting(cmd.Context(), c)
			pane := args[0]
			if !force {
				if pane, err = a.askBeforeRelease(cmd.Context(), c, args[0], waited); err != nil {
					return message.Peer{}, err
				}
			}
			s, err := quickly(cmd.Context(), c, api.Release, api.ReleaseRequest{Pane: pane})
			if err == nil {
				a.noteUndelivered(cmd.Context(), c, waited)
			}
			if told, ok := errors.AsType[*api.Error](aboutPane(err, args[0])); ok && told.Code == api.CodeNotFound {
				return s, told.WithHint("intercom status lists the adopted panes")
			}
			return s, err
		}, func(s message.Peer) {
			a.say("released %s (%s)", plainLine(s.Pane), plainLine(s.Name))
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "do not ask, whatever waits for it")
	a.completes(cmd, sessionWords)
	return cmd
}

// askBeforeRelease asks a person at a terminal before what waits for a pane is lost to it, and returns which is released then:
// the session that they were asked about, whatever has its name or its pane by the time they answer.
func (a *app) askBeforeRelease(ctx context.Context, c *api.Client, pane string, waited []api.Held) (string, error) {
	status, err := quickStatus(ctx, c)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(status.Sessions, func(s message.Peer) bool { return s.Pane == pane || strings.EqualFold(s.Name, pane) || s.ID.Is(pane) })
	if at < 0 { // by an attribution, say
		peers, err := quickly(ctx, c, api.Peers, api.None{})
		if err != nil {
			return "", err
		}
		called := func(alias string) bool { return strings.EqualFold(alias, pane) }
		for _, p := range peers {
			if slices.ContainsFunc(p.Aliases, called) {
				at = slices.IndexFunc(status.Sessions, func(s message.Peer) bool { return s.ID == p.Session })
			}
		}
	}
	if at < 0 {
		return pane, nil // that it is nobody is the sidecar's to say
	}
	session := status.Sessions[at]
	var ids []string
	for _, h := range waited {
		if h.Pane == session.Pane && !slices.Contains(ids, h.Message.Short()) {
			ids = append(ids, h.Message.Short())
		}
	}
	if len(ids) == 0 {
		return pane, nil
	}
	named := ids[:min(len(ids), mostNamed)]
	waits, them := "waits", "it"
	if len(ids) > 1 {
		waits, them = "wait", "them"
	}
	lost := several(len(ids), "message") + " that " + waits + " for " + session.Name + " would not be delivered: " + strings.Join(named, ", ")
	err = a.confirm(ctx, plainLine(lost)+". Release "+plainLine(session.Pane)+"?")
	if err != nil && !errors.Is(err, errUndone) && ctx.Err() == nil { // there is nobody to ask
		return "", api.Errorf(api.CodeRefused, "release %s: %s", session.Pane, lost).
			WithHint("intercom inbox show %s shows it; intercom release --force %s drops %s", ids[0], session.Pane, them)
	}
	return string(session.ID), err
}
