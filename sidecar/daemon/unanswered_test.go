package daemon_test

import (
	"errors"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A sender that waits for an answer is told that none will come, and why, if the agent or its pane is killed, if
// the agent is released or interrupted, or if its service fails. The sender does not wait until its timeout of an
// hour.
func TestV15_WhoeverWaitsHearsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		for name, c := range map[string]struct {
			befalls func(a *agent)
			want    message.Reason
		}{
			"the agent is killed": {func(a *agent) { killed(t, a.session.Foreground.PID) }, message.AgentGone},
			"its pane is killed":  {func(a *agent) { a.Run("kill-pane", "-t", a.pane) }, message.AgentGone},
			"it is released": {func(a *agent) {
				_, err := a.client.Release(t.Context(), api.ReleaseRequest{Pane: a.pane})
				require.NoError(t, err)
			}, message.ReleasedPane},
			"it is interrupted": {func(a *agent) { a.types("", "Escape") }, message.Interrupted},
			"its service fails": {func(a *agent) { a.do(":go") }, message.ServiceFailed},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				a := r.coder(kind, "Ada", silent...)
				a.adopt("")
				a.do(":turn say half of it | hold | fail")
				answer := r.awaits(a, "well?")
				c.befalls(a)
				sent := answer()
				assert.Equal(t, message.Failed, sent.State)
				assert.Equal(t, c.want, sent.Reason)
				assert.Equal(t, []string{"queued", "typed", "typed", "submitted", "failed: " + string(c.want)}, r.trail(sent.Message))
			})
		}
	}
}

// A question to an agent that is killed ends too, and says why.
func TestV15_WhoeverAsksHearsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.coder("claude", "Ada", silent...)
	a.adopt("")
	ben := r.adopted("Ben", bracketed...)
	ben.do(":say what I found")
	r.waitFor("Ben has said it", func() bool { return len(ben.unasked()) == 1 })
	a.do(":turn hold")
	chat := r.askUntil(ben, a, "")
	r.waitFor("it works", func() bool { return r.state(a) == message.Working })
	killed(t, a.session.Foreground.PID)
	asked := r.asked(chat, api.WaitEnded)
	assert.Equal(t, message.ChatOver, asked.Chat.State)
	assert.Equal(t, string(message.AgentGone), asked.Chat.Why)
}

// If the tmux server is killed in the middle of an answer, all panes and the sidecar are gone, and the sender is
// told.
func TestV15_TheServerIsKilledInMidAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.coder("claude", "Ada", silent...)
	a.adopt("")
	a.do(":turn hold")
	answer := make(chan error, 1)
	go func() {
		sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "well?", Wait: api.WaitAnswered, Timeout: time.Hour})
		if err == nil && sent.Receipt.State == message.Failed {
			err = errors.New(string(sent.Receipt.Reason)) // the sidecar saw first that the agent had gone
		}
		answer <- err
	}()
	r.waitFor("it works", func() bool { return r.state(a) == message.Working })
	pid, err := strconv.Atoi(r.Fact(a.pane, "#{pid}"))
	require.NoError(t, err)
	killed(t, pid)
	select {
	case err := <-answer:
		require.Error(t, err)
		assert.Regexp(t, "^(agent gone|pane is gone|.*tmux server ended.*)$", err.Error())
	case <-time.After(patience):
		t.Fatal("nobody is told")
	}
}

// Helpers.

// awaits sends an agent a message that waits an hour for its answer, and waits until the agent works on it. It
// returns a function that waits for the last receipt.
func (r *rig) awaits(a *agent, text string) func() message.Receipt {
	r.t.Helper()
	answer := make(chan message.Receipt, 1)
	go func() {
		sent, err := r.client.Send(r.t.Context(), api.SendRequest{To: a.pane, Text: text, Wait: api.WaitAnswered, Timeout: time.Hour})
		assert.NoError(r.t, err)
		answer <- sent.Receipt
	}()
	r.told(r.waitsFor(text), "submitted")
	r.waitFor("it works", func() bool { return r.state(a) == message.Working })
	return func() (last message.Receipt) {
		r.t.Helper()
		select {
		case last = <-answer:
		case <-time.After(patience):
			r.t.Fatal("nobody is told")
		}
		return last
	}
}

func killed(t testing.TB, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}
