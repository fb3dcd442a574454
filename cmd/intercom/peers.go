package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) peers() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "List who can be addressed, under which names, and their state",
		Long: `List everyone that can be addressed: the adopted panes, and panes with a
recognised agent that has not been adopted yet, which chat start, ask and send
adopt when they name one. Use the name, the pane or the id.

STATE is what the program is doing; FROM is how that is known: its own
transcript, hooks or status file, its process, its screen, or tmux. WHY is what
keeps a message from being typed now; if empty, it would be typed. From panes
that are not adopted nothing is read. intercom explain PANE says more.`,
		Example: `  intercom peers
  intercom peers --json`,
		Args: between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) ([]api.Peer, error) {
			return request(cmd.Context(), a.tmuxClient, api.Peers, api.None{})
		}, a.showPeers),
	}
	a.completes(cmd)
	return cmd
}

func (a *app) showPeers(peers []api.Peer) {
	if len(peers) == 0 {
		a.say("no peers: no pane is adopted, and no agent is recognised")
		return
	}
	rows := [][]string{{"NAME", "PANE", "ID", "AGENT", "STATE", "FROM", "CHAT", "COMPUTER", "WINDOW", "WHY"}}
	for _, p := range peers {
		row := []string{p.Name, p.Pane, "", p.Agent, string(p.State), "", "", p.Computer, p.Window, p.Why}
		if p.TLS {
			row[3] = "tls"
		}
		if p.Session != "" {
			row[2] = p.Session.Short()
		}
		if !p.Adopted && p.Computer == message.LocalComputer {
			row[4] = "not adopted"
		}
		if len(p.Evidence) > 0 {
			row[5] = p.Evidence[0].Source
		}
		if p.Chat != "" {
			row[6] = fmt.Sprintf("%s (%d)", cmp.Or(p.ChatName, p.Chat.Short()), p.Number)
		}
		rows = append(rows, row)
	}
	a.table(rows)
}
