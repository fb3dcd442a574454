package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// benchBytes is the length of the messages of a bench.
const benchBytes = 4096

// benchPause is the pause between two messages, as between those of agents. Without it each message would wait until
// what the one before has used is made again.
const benchPause = 3 * time.Millisecond

// benchReply is what `policy bench` prints with --json.
type benchReply struct {
	Files        int           `json:"files"`
	Messages     int           `json:"messages"`
	Bytes        int           `json:"bytes"` // of each body
	P50          time.Duration `json:"p50_ns"`
	P99          time.Duration `json:"p99_ns"`
	Most         time.Duration `json:"most_ns"`
	Instructions int           `json:"instructions"` // of a message, at most
}

func (a *app) policyBench() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:   "bench [FILE…]",
		Short: "Measure how long policies take",
		Long: `Measure how long your policies, or the FILEs you name, take for a message of
4 KiB: from question to verdict, through the process in which they run. p50 is
the median, p99 the 99th percentile.`,
		Example: `  intercom policy bench --count 100`,
		Args:    between(0, -1, "files"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (benchReply, error) {
			if count < 1 || count > 100_000 {
				return benchReply{}, api.Errorf(api.CodeUsage, "--count %d: not 1 to 100000", count).WithHint("%s --help", cmd.CommandPath())
			}
			return a.bench(cmd.Context(), args, count)
		}, func(r benchReply) {
			brief := func(d time.Duration) string { return d.Round(time.Microsecond).String() }
			a.say("%s, %s of %d bytes: p50 %s, p99 %s, at most %s; %s",
				several(r.Files, "file"), several(r.Messages, "message"), r.Bytes, brief(r.P50), brief(r.P99), brief(r.Most), several(r.Instructions, "instruction"))
		}),
	}
	cmd.Flags().IntVar(&count, "count", 1000, "`N` messages")
	return cmd
}

func (a *app) bench(ctx context.Context, named []string, count int) (benchReply, error) {
	engine, set, end, err := a.compiled(ctx, named)
	if err != nil {
		return benchReply{}, err
	}
	defer end()
	r := benchReply{Files: len(set.Scripts), Messages: count, Bytes: benchBytes}
	m := sampled{
		origin: string(message.OriginAgent), from: "Ada", to: "Ben",
		body: strings.Repeat("All work and no play makes Jack a dull boy.\n", benchBytes/44+1)[:benchBytes],
	}
	var took []time.Duration
	for i := range count + 1 {
		m.kind, m.priority = matrixTypes[i%len(matrixTypes)], matrixPriorities[i/len(matrixTypes)%len(matrixPriorities)]
		v, err := engine.Try(ctx, set, m.input())
		if err != nil {
			return r, err
		}
		if i > 0 { // the first message finds a worker that has just begun
			took = append(took, v.Took)
			r.Instructions = max(r.Instructions, v.Instructions)
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(benchPause):
		}
	}
	slices.Sort(took)
	r.P50, r.P99, r.Most = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return r, nil
}
