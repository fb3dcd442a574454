package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func (a *app) computers() *cobra.Command {
	var forget string
	cmd := &cobra.Command{
		Use:   "computers",
		Short: "List the other computers, and how long each takes to answer",
		Long: `List this computer and the others that it knows, which are those that came or
sent something once. One that is away stays, with the sessions that it told of
last, and since when. One that has access and never came is not known yet:
nothing can be addressed there. WAITING counts the messages that a computer has
not confirmed yet: they arrive when it is back.
MAY says what it may do here; computers in init.lua changes that.

A computer is known by the key that it signs with. If it comes with another
key, nothing is taken from it: after a new installation there, --forget it.
Messages for it that were not sent then fail, and those that the server has are
uncertain: it keeps them for the next computer of that name.

Address its sessions as COMPUTER/NAME. intercom link connects two computers.`,
		Example: `  intercom computers
  intercom send raspi/codex "how far are you?"
  intercom computers --forget raspi`,
		Args: between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) ([]api.Computer, error) {
			if cmd.Flags().Changed("forget") {
				were, err := request(cmd.Context(), a.client, api.ForgetComputer, api.ForgetComputerRequest{Name: forget})
				if err != nil {
					return nil, err
				}
				if were.Failed+were.Uncertain > 0 {
					a.note("messages that waited for %s: %d failed, not sent; %d uncertain, at the server", forget, were.Failed, were.Uncertain)
				}
			}
			return request(cmd.Context(), a.client, api.Computers, api.None{})
		}, a.showComputers),
	}
	cmd.Flags().StringVar(&forget, "forget", "", "forget a computer `NAME` and its key")
	return cmd
}

func (a *app) showComputers(all []api.Computer) {
	rows := [][]string{{"NAME", "HERE", "ROUND TRIP", "SINCE", "SESSIONS", "WAITING", "MAY"}}
	for _, c := range all {
		row := []string{c.Name, "away", "", "", fmt.Sprint(c.Sessions), "", strings.Join(c.May, ", ")}
		switch {
		case c.Local:
			row[1], row[6] = "this one", ""
		case c.Present:
			row[1] = "yes"
		}
		if c.RoundTrip > 0 {
			row[2] = fmt.Sprintf("%.1f ms", c.RoundTrip)
		}
		if c.Since != nil {
			row[3] = c.Since.Local().Format(time.DateTime)
		}
		if c.Waiting > 0 {
			row[5] = fmt.Sprint(c.Waiting)
		}
		rows = append(rows, row)
	}
	a.table(rows)
	switch own := all[0]; {
	case own.Server == "":
		a.say("not linked with others: intercom link; if init.lua names a server, intercom policy check")
	case own.Why != "":
		a.say("not linked now: %s", plainLine(own.Why))
	}
}
