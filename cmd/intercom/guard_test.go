package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// When a sidecar is killed in mid-chat, another one starts without a command from anybody, says so in the status line, and relays
// the next message once.
func TestU22_aKilledSidecarComesBack(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		st.load()
		claude, codex := st.coder("claude"), st.coder("codex")
		out, code := st.intercom("chat", "start", claude.pane, codex.pane)
		require.Zero(t, code, out)
		out, code = st.intercom("chat", "mute", "--all", codex.pane)
		if code != 0 {
			out, code = st.intercom("chat", "mute", st.status().Chats[0].ID.Short(), codex.pane)
		}
		require.Zero(t, code, out)
		claude.do(":say before")
		tmuxtest.WaitFor(t, "the chat goes on", func() bool { return len(codex.received()) == 1 })
		st.guarded()
		line := func() string { return st.Run("show-options", "-sqv", "@intercom-status") }
		tmuxtest.WaitFor(t, "the status", func() bool { return line() == "1 chat" })

		// The status stands there only for the hundredths of a second that a start takes, so tmux itself records all its values.
		st.Run("set-hook", "-g", "after-set-option", "set-option -gaF @stood '#{@intercom-status},'")
		old := st.sidecar()
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		begun := time.Now()
		tmuxtest.WaitFor(t, "the status says that it starts", func() bool {
			return strings.Contains(st.Run("show-options", "-gqv", "@stood"), "sidecar restarting,")
		})
		tmuxtest.WaitFor(t, "another one", func() bool { pid := st.sidecar(); return pid != 0 && pid != old && line() == "1 chat" })
		t.Logf("tmux %s: it serves again after %v", v.Name, time.Since(begun).Round(time.Millisecond))
		said := time.Now()
		claude.do(":say after")
		tmuxtest.WaitFor(t, "the next turn is heard", func() bool { return len(codex.received()) == 2 })
		t.Logf("tmux %s: the next turn is heard after %v", v.Name, time.Since(said).Round(time.Millisecond))
		assert.True(t, strings.HasSuffix(codex.received()[1], "after"))
		out, code = st.intercom("chat", "stop", "--all")
		require.Zero(t, code, out)
		assert.Len(t, codex.received(), 2, "each once")
		assert.Equal(t, 1, strings.Count(strings.Join(codex.received(), ""), "before"))
	})
}

// If a sidecar dies while the server's socket is away, the same guard starts another once the socket is back.
func TestU22_theSocketIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		st.load()
		st.guarded()
		old, guard := st.sidecar(), st.guard().PID
		complaints := filepath.Join(st.paths().State, complaintsFile)
		away := st.Socket + ".away"
		require.NoError(t, os.Rename(st.Socket, away))
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		waitLong(t, "the guard tries to start another", func() bool {
			told, _ := os.ReadFile(complaints)
			return strings.Contains(string(told), "the sidecar has died; starting another")
		})
		require.NoError(t, os.Rename(away, st.Socket))
		waitLong(t, "another one", func() bool { pid := st.sidecar(); return pid != 0 && pid != old })
		assert.Equal(t, guard, st.guard().PID, "by the same guard")
	})
}

// When the guard and the sidecar are killed in any order, both come back as long as one was left, never more than one of each.
// When the server is killed, both end.
func TestU22_inWhateverOrder(t *testing.T) {
	t.Parallel()
	orders := []string{"guard", "sidecar", "guard sidecar", "sidecar guard", "guard server", "sidecar server", "server", "server sidecar guard", "sidecar guard server"}
	if os.Getenv("INTERCOM_LONG") != "" {
		orders = append(orders, "guard sidecar server") // the server last, once more
	}
	for _, order := range orders {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			all := tmuxtest.Versions(t)
			st := newStage(t, all[len(all)-1])
			out, code := st.intercom("up")
			require.Zero(t, code, out)
			st.guarded()
			was := map[string]int{"guard": st.guard().PID, "sidecar": st.sidecar(), "server": st.PID}
			paths := st.paths()
			for _, one := range strings.Fields(order) {
				require.NoError(t, syscall.Kill(was[one], syscall.SIGKILL), one)
			}
			if strings.Contains(order, "server") {
				tmuxtest.WaitFor(t, "the end of all of it", func() bool { return len(st.processes()) == 0 })
				return
			}
			if len(strings.Fields(order)) == 2 { // nobody is left to start anything
				out, code = st.intercom("up")
				require.Zero(t, code, out)
			}
			st.guarded()
			tmuxtest.WaitFor(t, "others in their places", func() bool {
				guard, sidecar := st.guard().PID, st.sidecar()
				return guard != 0 && sidecar != 0 && (!strings.Contains(order, "guard") || guard != was["guard"]) &&
					(!strings.Contains(order, "sidecar") || sidecar != was["sidecar"])
			})
			tmuxtest.WaitFor(t, "one of each", func() bool { return len(st.running("guard")) == 1 && len(st.running("sidecar")) == 1 })

			// After `intercom down` nothing runs any more.
			out, code = st.intercom("down")
			require.Zero(t, code, out)
			assert.Empty(t, st.processes(), "what runs once down has returned")
			_, held := api.GuardOf(paths)
			assert.False(t, held)
			assert.NotContains(t, st.Run("show-options", "-s"), "@intercom-")
		})
	}
}

// The guard restarts a sidecar that dies again and again at growing intervals, and status and the status line tell when the next
// start is. `intercom down` ends that as well.
func TestU22_itDiesAgainAndAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.load()
	st.guarded()
	guard := st.guard().PID
	told := regexp.MustCompile(`^sidecar down, next start \d\d:\d\d:\d\d$`)
	died, seen := 0, false
	for !seen {
		pid := 0
		tmuxtest.WaitFor(t, fmt.Sprint("start ", died), func() bool { pid = st.sidecar(); return pid != 0 && !zombie(pid) && st.guard().Says == "" })
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		died++
		tmuxtest.WaitFor(t, "its end", func() bool { return st.sidecar() != pid })
		if died <= fewDeaths {
			continue
		}
		tmuxtest.WaitFor(t, "the pause is told", func() bool {
			return strings.Contains(st.guard().Says, fmt.Sprint("died ", died, " times in a row"))
		})
		// The first pause lasts two seconds, each further one twice as long. A busy machine may miss the first.
		require.Less(t, died, fewDeaths+5, "status and the status line tell of no pause")
		out, code := st.intercom("status")
		tmuxtest.WaitFor(t, "the status line tells it, or the pause is over", func() bool {
			seen = told.MatchString(st.Run("show-options", "-sqv", "@intercom-status"))
			return seen || st.sidecar() != 0
		})
		seen = seen && code == 3
		if code == 3 {
			assert.Contains(t, out, "it is restarted at ")
		}
	}
	assert.Equal(t, guard, st.guard().PID, "it is the same guard all the time")
	out, code := st.intercom("down")
	require.Zero(t, code, out)
	assert.Empty(t, st.processes())
}

func TestU22_pauses(t *testing.T) {
	var n deaths
	var pauses []time.Duration
	for range 12 {
		pauses = append(pauses, n.died(time.Second)/time.Second)
	}
	assert.Equal(t, []time.Duration{0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60}, pauses)
	assert.Zero(t, n.died(steady), "it had lived for long")
	assert.Zero(t, n.died(0))
	assert.Equal(t, time.Second, n.died(0))
}

// A sidecar that is killed right after its start comes back; one that is ended right after its start does not.
func TestU22_killedAtOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	for range 3 {
		out, code := st.intercom("up")
		require.Zero(t, code, out)
		pid := st.sidecar()
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		tmuxtest.WaitFor(t, "another one", func() bool { now := st.sidecar(); return now != 0 && now != pid && len(st.running("sidecar")) == 1 })
		out, code = st.intercom("down")
		require.Zero(t, code, out)
		assert.Empty(t, st.processes())

		out, code = st.intercom("up")
		require.Zero(t, code, out)
		out, code = st.intercom("down")
		require.Zero(t, code, out)
		assert.Empty(t, st.processes())
		assert.Zero(t, st.sidecar())
	}
}

// A sidecar that refuses to end keeps its guard.
func TestU22_refusedDown(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.Run("run-shell", thisProgram()+" up --server="+st.Socket)
	st.guarded()
	before := st.guard()
	claude := st.coderIn("claude", st.project("mine"))
	out, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code, out)
	told := filepath.Join(st.home, "told")
	for _, words := range []string{"down", "down --all", "uninstall"} {
		script := filepath.Join(st.home, "script")
		tmuxtest.Program(t, script, fmt.Sprintf("#!/bin/sh\n%s %s --server=%s >%s.part 2>&1 </dev/null; mv %[4]s.part %[4]s\n", thisProgram(), words, st.Socket, told))
		claude.do(":run " + script)
		tmuxtest.WaitFor(t, "what "+words+" says", func() bool { _, err := os.Stat(told); return err == nil })
		assert.Contains(t, read(t, told), "only a person may", words)
		require.NoError(t, os.Remove(told))
		there, held := api.GuardOf(st.paths())
		assert.True(t, held, words)
		assert.Equal(t, before, there, words)
	}
}

// `intercom down` at a terminal ends a sidecar that hangs; otherwise it stays, with its guard. A new sidecar of another program
// replaces a guard that hung, and uninstall ends both.
func TestU22_replacedAndTakenOut(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	other := filepath.Join(st.home, "intercom") // a guard of another program would start that one again
	data, err := os.ReadFile(thisProgram())
	require.NoError(t, err)
	tmuxtest.Program(t, other, string(data))
	up := func() { t.Helper(); st.Run("run-shell", other+" up --server="+st.Socket) }
	up()
	st.guarded()
	first := st.guard()
	assert.Equal(t, other, first.Program)
	require.NoError(t, syscall.Kill(st.sidecar(), syscall.SIGSTOP)) // so that the next sidecar is of this program
	hung := st.sidecar()
	cmd := &exec.Cmd{Path: thisProgram(), Args: []string{"intercom", "down", "--server=" + st.Socket}, Env: st.environ()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal nobody can be asked
	text, _ := cmd.CombinedOutput()
	assert.Equal(t, 4, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(text), fmt.Sprintf("the sidecar of process %d does not answer, and was not ended\nintercom: hint: intercom down at a terminal ends it, ", hung))
	assert.NotContains(t, string(text), "waiting for", "nobody looks")
	assert.Equal(t, first, st.guard(), "what is not ended keeps its guard")
	assert.Equal(t, hung, st.sidecar())
	shell := st.shell()
	st.Run("send-keys", "-t", shell, "-l", thisProgram()+" down --server="+st.Socket+"; echo exit $?")
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "[y/N]")
	st.Run("send-keys", "-t", shell, "y")
	st.WaitForText(shell, "exit 0")
	shown := st.Run("capture-pane", "-p", "-J", "-t", shell)
	assert.Contains(t, shown, fmt.Sprintf("intercom: note: waiting for the sidecar of process %d to say whether it ends", hung))
	assert.Contains(t, shown, fmt.Sprintf("sidecar ended: pid %d, which did not answer", hung))
	tmuxtest.WaitFor(t, "its end for good", func() bool { return len(st.processes()) == 0 })

	up()
	st.guarded()
	hangs := st.guard().PID
	require.NoError(t, syscall.Kill(hangs, syscall.SIGSTOP))
	tmuxtest.WaitFor(t, "a guard that hangs", func() bool { return stopped(hangs) })
	require.NoError(t, syscall.Kill(st.sidecar(), syscall.SIGKILL))
	tmuxtest.WaitFor(t, "it is dead", func() bool { return st.sidecar() == 0 })
	out, code := st.intercom("up")
	require.Zero(t, code, out)
	tmuxtest.WaitFor(t, "a guard of the new program", func() bool {
		_ = syscall.Kill(hangs, syscall.SIGCONT)
		return st.guard().Program == thisProgram()
	})
	tmuxtest.WaitFor(t, "the end of the one that hung", func() bool { return len(st.running("guard")) == 1 })
	out, code = st.intercom("uninstall")
	require.Zero(t, code, out)
	assert.Empty(t, st.processes())
}

// Helpers.

func (st *stage) paths() api.Paths {
	st.t.Helper()
	p, err := api.Places(func(name string) string { return st.env[name] }, st.Socket)
	require.NoError(st.t, err)
	return p
}

// guard is the guard of the stage's sidecar.
func (st *stage) guard() api.Guarding { st.t.Helper(); g, _ := api.GuardOf(st.paths()); return g }

// sidecar is the process id of the stage's sidecar; 0 if there is none.
func (st *stage) sidecar() int { st.t.Helper(); return api.Holder(st.paths().Lock) }

// guarded waits until the guard of the sidecar waits for the sidecar's lock.
func (st *stage) guarded() {
	st.t.Helper()
	tmuxtest.WaitFor(st.t, "a guard that sleeps on the sidecar's lock", func() bool {
		pid := st.guard().PID
		wchan, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		return pid != 0 && slices.ContainsFunc(wchan, func(file string) bool {
			text, _ := os.ReadFile(file)
			return strings.HasPrefix(string(text), fmt.Sprintf("%d ", syscall.SYS_FLOCK))
		})
	})
}

// running are the stage's processes that run that command.
func (st *stage) running(word string) []string {
	return slices.DeleteFunc(st.processes(), func(p string) bool { return !strings.Contains(p, " "+word+" ") })
}

func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}
