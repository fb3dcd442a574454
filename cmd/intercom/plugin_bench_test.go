package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// loadLimit is the time that the plugin may add to the start of tmux.
const loadLimit = 30 * time.Millisecond

// BenchmarkU2_Load measures what the plugin adds to the start of tmux: less than 30 ms.
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
				more := slices.Min(with) - slices.Min(without) // other processes only add time
				b.ReportMetric(float64(more)/1e6, "more-ms")
				b.Logf("tmux %s starts in %v with an empty plugin, in %v with this one", v.Name, slices.Min(without), slices.Min(with))
				assert.Less(b, more, loadLimit)
			}
		})
	}
}

// BenchmarkU7_Status measures how soon the status line shows a change: within 200 ms.
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
					begun := time.Now() // the change happens before the command ends
					out, code := st.intercom("chat", act[0], "plans")
					require.Zero(b, code, out)
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

// BenchmarkU21_PaneOptions measures how soon the options of a pane show a change: within 200 ms of the key that changes the
// agent's screen.
func BenchmarkU21_PaneOptions(b *testing.B) {
	for _, v := range tmuxtest.Versions(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			st := newStage(b, v)
			claude := st.coderIn("claude", st.home)
			st.load()
			says := func(want string) time.Duration {
				begun := time.Now()
				for st.Run("show-options", "-pqv", "-t", claude.pane, "@intercom-state") != want {
					require.Less(b, time.Since(begun), tmuxtest.Patience, want)
				}
				return time.Since(begun)
			}
			out, code := st.intercom("adopt", claude.pane)
			require.Zero(b, code, out)
			says("idle")
			var all []time.Duration
			for b.Loop() {
				for _, key := range [][2]string{{"x", "draft"}, {"C-u", "idle"}} {
					st.Run("send-keys", "-t", claude.pane, key[0])
					all = append(all, says(key[1]))
				}
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(all[len(all)-1])/1e6, "max-ms")
			assert.Less(b, all[len(all)/2], 200*time.Millisecond)
		})
	}
}

// BenchmarkU20_ListedAndGone measures how soon a dialog is listed once it appears, and removed once it is answered: within a
// second each.
func BenchmarkU20_ListedAndGone(b *testing.B) {
	for _, v := range tmuxtest.Versions(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			st := newStage(b, v)
			claude := st.coderIn("claude", st.home)
			st.load()
			out, code := st.intercom("adopt", claude.pane)
			require.Zero(b, code, out)
			until := func(listed bool) time.Duration {
				begun := time.Now()
				for (st.Run("show-options", "-pqv", "-t", claude.pane, "@intercom-waits") != "") != listed {
					require.Less(b, time.Since(begun), tmuxtest.Patience, "listed: %v", listed)
				}
				return time.Since(begun)
			}
			until(false)
			var listed, gone []time.Duration
			for b.Loop() {
				claude.do(":turn dialog true | say thanks")
				st.Run("send-keys", "-t", claude.pane, "-l", "task")
				st.WaitForText(claude.pane, "task")
				st.Run("send-keys", "-t", claude.pane, "Enter")
				st.WaitForText(claude.pane, "Do you want")
				listed = append(listed, until(true))
				st.Run("send-keys", "-t", claude.pane, "Enter")
				gone = append(gone, until(false))
			}
			for what, all := range map[string][]time.Duration{"listed": listed, "gone": gone} {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2])/1e6, what+"-p50-ms")
				assert.LessOrEqual(b, all[len(all)/2], time.Second, what)
			}
		})
	}
}

// BenchmarkU22_ComesBack measures how soon a killed sidecar is replaced by one that serves: within two seconds.
func BenchmarkU22_ComesBack(b *testing.B) {
	for _, v := range tmuxtest.Versions(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			var all []time.Duration
			for b.Loop() {
				st := newStage(b, v) // a new server each time: only its first deaths are answered at once
				st.load()
				st.guarded()
				old := st.sidecar()
				begun := time.Now()
				require.NoError(b, syscall.Kill(old, syscall.SIGKILL))
				tmuxtest.WaitFor(b, "another one serves", func() bool {
					s, err := api.Call(b.Context(), &api.Client{Socket: st.paths().Socket}, api.ShowStatus, api.None{})
					return err == nil && s.PID != old
				})
				all = append(all, time.Since(begun))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2])/1e6, "p50-ms")
			assert.LessOrEqual(b, all[len(all)/2], 2*time.Second)
		})
	}
}

// BenchmarkU8_FirstFrame measures the time from the start of `intercom ui` to its first whole frame: within 100 ms.
func BenchmarkU8_FirstFrame(b *testing.B) {
	program := build(b)
	for _, v := range tmuxtest.Versions(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			st := newStage(b, v)
			claude, codex := st.two()
			st.load()
			out, code := st.intercom("chat", "start", claude.Pane, codex.Pane, "--name", "plans")
			require.Zero(b, code, out)
			var all []time.Duration
			for b.Loop() {
				ctx, cancel := context.WithTimeout(b.Context(), tmuxtest.Patience)
				cmd := exec.CommandContext(ctx, program, "ui", "chats", "--server="+st.Socket)
				cmd.Env = append(st.environ(), "TERM=xterm-256color")
				begun := time.Now()
				terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
				require.NoError(b, err)
				var shown bytes.Buffer
				for more := make([]byte, 4<<10); !strings.Contains(shown.String(), "plans") || !strings.Contains(shown.String(), "closes"); {
					n, err := terminal.Read(more)
					require.NoError(b, err, shown.String())
					shown.Write(more[:n])
				}
				all = append(all, time.Since(begun))
				cancel()
				_ = cmd.Wait()
				_ = terminal.Close()
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(all[len(all)-1])/1e6, "max-ms")
			assert.Less(b, all[len(all)/2], 100*time.Millisecond)
		})
	}
}
