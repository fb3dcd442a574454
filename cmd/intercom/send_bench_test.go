package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// BenchmarkQ9_Send measures `intercom send` as a new process each time: until the message is on disk and the program has ended,
// and until the program in the pane has taken it. For comparison it measures a tmux process that does nothing, and the naive way:
// send-keys, a pause of a second, Enter.
func BenchmarkQ9_Send(b *testing.B) {
	program := build(b)
	all := tmuxtest.Versions(b)
	for _, v := range slices.Compact([]tmuxtest.Version{all[0], all[len(all)-1]}) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			st := newStage(b, v)
			pane := st.NewPane(personatest.Program(b), "line", "--prompt", "ada> ", "--reply", "none")
			st.WaitForText(pane, "ada>")
			run := func(code int, path string, words ...string) time.Duration {
				var said bytes.Buffer
				cmd := &exec.Cmd{Path: path, Args: append([]string{path}, words...), Env: st.environ(), Stdout: &said, Stderr: &said}
				begun := time.Now()
				err := cmd.Run()
				took := time.Since(begun)
				require.NotNil(b, cmd.ProcessState, "%v", err)
				require.Equal(b, code, cmd.ProcessState.ExitCode(), "%s %v: %s", path, words, said.String())
				return took
			}
			ours := func(code int, words ...string) time.Duration {
				return run(code, program, append([]string{"--server=" + st.Socket}, words...)...)
			}
			tmux := func(words ...string) time.Duration {
				return run(0, v.Bin, append([]string{"-S", st.Socket}, words...)...)
			}
			ours(0, "adopt", pane, "--as", "line", "--name", "ada")

			var nothing, version, accepted, taken, naive took
			for b.Loop() {
				for range 60 {
					nothing = append(nothing, tmux("display-message", "-p", ""))
					version = append(version, ours(0, "version"))
					accepted = append(accepted, ours(4, "send", "ada", "hello", "--timeout", "0")) // exit code 4: the message is on its way
					taken = append(taken, ours(0, "send", "ada", "hello again"))
				}
				for range 4 {
					text := tmux("send-keys", "-t", pane, "-l", "hello")
					time.Sleep(time.Second) // the pause of the reference in the other benchmarks
					naive = append(naive, text+time.Second+tmux("send-keys", "-t", pane, "Enter"))
				}
			}
			rows := map[string]took{"tmux display-message": nothing, "intercom version": version, "send, on disk": accepted, "send, taken": taken, "naive": naive}
			var out strings.Builder
			w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ms\tp50\tp99\tprocesses")
			for _, name := range []string{"tmux display-message", "intercom version", "send, on disk", "send, taken", "naive"} {
				t := rows[name]
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", name, t.ms(0.5), t.ms(0.99), len(t))
			}
			require.NoError(b, w.Flush())
			load, _ := os.ReadFile("/proc/loadavg")
			b.Logf("tmux %s, load %s\n%s", v.Name, strings.TrimSpace(string(load)), out.String())
			b.ReportMetric(float64(accepted.at(0.5))/1e6, "p50-ms")
			b.ReportMetric(float64(accepted.at(0.99))/1e6, "p99-ms")
			b.ReportMetric(float64(accepted.at(0.5))/float64(nothing.at(0.5)), "p50/tmux")
			b.ReportMetric(float64(naive.at(0.5))/float64(taken.at(0.5)), "naive/taken")
		})
	}
}

// Helpers.

// took are the durations of several processes.
type took []time.Duration

func (t took) at(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func (t took) ms(q float64) string { return fmt.Sprintf("%.1f", float64(t.at(q))/1e6) }
