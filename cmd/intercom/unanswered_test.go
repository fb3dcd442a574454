package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A command that waits for an answer ends with exit code 1 and the reason once no answer can come any more.
func TestV15_exitCodeAndReason(t *testing.T) {
	t.Parallel()
	nobodyAnswers(t, func(string, time.Duration) {})
}

// If the tmux server ends between two requests of a waiting command, the command reports the same as if it had ended during one.
func TestWentWithServer(t *testing.T) {
	gone := fmt.Errorf("send: %w", noServer(api.Paths{Server: "/s", State: "/nowhere"}))
	for state, code := range map[message.ReceiptState]int{message.Submitted: 1, message.Held: 1, message.Typed: 4} {
		told := wentWithServer(gone, state, false)
		assert.EqualError(t, told, string(state)+": tmux server ended")
		assert.Equal(t, code, api.AsError(told).Code.Exit())
		assert.Contains(t, api.AsError(told).Hint, "start tmux first")
	}
	assert.Equal(t, 4, api.AsError(wentWithServer(gone, message.Queued, true)).Code.Exit())
	for _, other := range []error{api.Errorf(api.CodeNoSidecar, "another"), api.Errorf(api.CodeNoSidecar, noServerText+"x").WithHint(servedStill)} {
		assert.Equal(t, other, wentWithServer(other, message.Submitted, false))
	}
}

// BenchmarkV15_NobodyAnswers measures how soon the command ends: within two seconds.
func BenchmarkV15_NobodyAnswers(b *testing.B) {
	for b.Loop() {
		nobodyAnswers(b, func(what string, after time.Duration) {
			b.ReportMetric(ms(after), what+"-ms")
			assert.Less(b, after, 2*time.Second, what)
		})
	}
}

// nobodyAnswers ends agents, a pane and a server while a command waits for their answer, and reports how long the command went on
// waiting.
func nobodyAnswers(t testing.TB, told func(what string, after time.Duration)) {
	t.Helper()
	all := tmuxtest.Versions(t)
	st := newStage(t, all[len(all)-1])
	program := func(name string, flags ...string) (pane string) {
		pane = st.NewPane(personatest.Program(t), append([]string{"line", "--name", name, "--prompt", name + "> "}, flags...)...)
		st.Run("set-option", "-w", "-t", pane, "remain-on-exit", "on")
		st.WaitForText(pane, name+">")
		out, code := st.intercom("adopt", pane, "--as", "line", "--name", name)
		require.Zero(t, code, out)
		return pane
	}
	program("Eve", "--reply", "it is done") // the asker
	out, code := st.intercom("send", "Eve", "do it", "--wait", "answered")
	require.Zero(t, code, out)
	killed := func(pid string) {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(n, syscall.SIGKILL))
	}
	agent := func(pane string) { killed(st.Fact(pane, "#{pane_pid}")) }
	for i, c := range []struct {
		what, words string
		befalls     func(pane string)
		why         string
	}{
		{"send-agent-killed", "send NAME well? --wait answered", agent, "agent gone"},
		{"ask-agent-killed", "ask NAME --from Eve", agent, "agent gone"},
		{"send-pane-killed", "send NAME well? --wait answered", func(pane string) { st.Run("kill-pane", "-t", pane) }, "agent gone|pane is gone"},
		{"send-server-killed", "send NAME well? --wait answered", func(string) { killed(fmt.Sprint(st.PID)) }, "agent gone|pane is gone|tmux server ended"},
	} {
		name := fmt.Sprint("Thinker", i)
		pane := program(name, "--think", "1h")
		cmd := exec.Command(thisProgram(), append(strings.Fields(strings.Replace(c.words, "NAME", name, 1)), "--server="+st.Socket)...)
		var said bytes.Buffer
		cmd.Env, cmd.Stderr = st.environ(), &said
		require.NoError(t, cmd.Start())
		ended := make(chan time.Time, 1)
		go func() { _ = cmd.Wait(); ended <- time.Now() }()
		var session message.ID
		for _, s := range st.status().Sessions {
			if s.Pane == pane {
				session = s.ID
			}
		}
		tmuxtest.WaitFor(t, name+" has it", func() bool {
			return slices.ContainsFunc(st.told(api.LogQuery{Limit: 1000}), func(e message.Event) bool {
				return e.Receipt != nil && e.Receipt.Target == session && e.Receipt.State == message.Submitted
			})
		})
		began := time.Now()
		c.befalls(pane)
		select {
		case end := <-ended:
			told(c.what, end.Sub(began))
		case <-time.After(tmuxtest.Patience):
			_ = cmd.Process.Kill()
			require.Fail(t, "it waits on", c.what)
		}
		assert.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s: %s", c.what, said.String())
		assert.Regexp(t, "intercom: error: .*("+c.why+")", said.String(), c.what)
	}
}
