package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// loadLimit is what the plugin may add to the start of tmux.
const loadLimit = 30 * time.Millisecond

// BenchmarkU2_Load measures what the plugin adds to the start of tmux: at most 30 ms.
func BenchmarkU2_Load(b *testing.B) {
	for _, v := range tmuxtest.Versions(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			st := newStage(b, v)
			empty := filepath.Join(st.home, "empty.tmux")
			tmuxtest.Program(b, empty, "#!/bin/sh\n")
			rounds := 0
			start := func(plugin string) time.Duration {
				rounds++
				socket := filepath.Join(st.home, fmt.Sprint("s", rounds)) // an old server may still be ending
				conf := filepath.Join(st.home, "conf")
				require.NoError(b, os.WriteFile(conf, []byte("set -g @intercom-bin "+thisProgram()+"\nrun-shell '"+plugin+"'\n"), 0o600))
				cmd := exec.Command(v.Bin, "-S", socket, "-f", conf, "new-session", "-d", "exec cat")
				cmd.Env = st.environ()
				begun := time.Now()
				out, err := cmd.CombinedOutput()
				took := time.Since(begun)
				require.NoError(b, err, "%s", out)
				out, err = exec.Command(v.Bin, "-S", socket, "kill-server").CombinedOutput()
				require.NoError(b, err, "%s", out)
				tmuxtest.WaitFor(b, "the end of what it had started", func() bool { return len(st.processes()) == 0 })
				return took
			}
			for b.Loop() {
				var without, with []time.Duration
				for range 20 {
					without, with = append(without, start(empty)), append(with, start(st.root+"/intercom.tmux"))
				}
				more := slices.Min(with) - slices.Min(without) // whatever else runs here only ever adds
				b.ReportMetric(float64(more)/1e6, "more-ms")
				b.Logf("tmux %s starts in %v with an empty plugin, in %v with this one", v.Name, slices.Min(without), slices.Min(with))
				assert.Less(b, more, loadLimit)
			}
		})
	}
}

// BenchmarkU7_Status measures how soon the status line says what has changed: within 200 ms.
func BenchmarkU7_Status(b *testing.B) {
	for _, v := range tmuxtest.Versions(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			st := newStage(b, v)
			claude, codex := st.two()
			st.load()
			out, code := st.intercom("chat", "start", claude.Pane, codex.Pane, "--name", "plans")
			require.Zero(b, code, out)
			st.statusSays("1 chat")
			var all []time.Duration
			for b.Loop() {
				for _, act := range [][2]string{{"pause", "1 paused"}, {"resume", "1 chat"}} {
					out, code := st.intercom("chat", act[0], "plans")
					require.Zero(b, code, out)
					begun := time.Now()
					st.statusSays(act[1])
					all = append(all, time.Since(begun))
				}
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2])/1e6, "p50-ms")
			assert.Less(b, all[len(all)/2], 200*time.Millisecond)
		})
	}
}
