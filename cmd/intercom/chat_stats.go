package main

import (
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatStats() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats CHAT",
		Short: "Show the statistics of a chat",
		Long: `Show what has passed through a chat since it started. Latency is the time from
the end of a turn until another program has taken it. A turn counts once it has
been typed into some pane. Tokens are what the agents themselves write down of
their turns: fresh input and output, and apart from these what came from a
cache; unknown where an agent writes none. Captures are how often this run of
the sidecar looked at the panes of the chat while it was running.`,
		Example: `  intercom chat stats plans`,
		Args:    between(1, 1, "a chat"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Stats, error) {
			stats, err := request(cmd.Context(), a.tmuxClient, api.Stats, api.ChatQuery{Chat: args[0]})
			return stats, aboutChat(err, args[0])
		}, a.showStats),
	}
	a.completes(cmd, chatWords)
	return cmd
}

func (a *app) showStats(s message.Stats) {
	rows := [][]string{
		{"chat", s.Chat.Short()},
		{"turns", strconv.Itoa(s.Turns)},
		{"depth", strconv.Itoa(s.Depth)},
		{"tokens", s.Spent.Words(s.Turns)},
		{"captures", strconv.Itoa(s.Captures)},
	}
	for _, state := range slices.Sorted(maps.Keys(s.Deliveries)) {
		rows = append(rows, []string{"deliveries " + string(state), strconv.Itoa(s.Deliveries[state])})
	}
	if s.LatencyP99 > 0 { // else nothing has been submitted yet
		rows = append(rows, []string{"latency p50", milliseconds(s.LatencyP50)}, []string{"latency p99", milliseconds(s.LatencyP99)})
	}
	a.table(rows)
}
