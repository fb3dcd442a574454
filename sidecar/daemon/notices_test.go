package daemon_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

func stoppedNotice(of *agent, why string) string {
	return fmt.Sprintf("AI[local:%s] | [notice] %q stopped: %s", of.session.ID, of.session.Name, why)
}

// A worker's turn ends without an answer to its master, and then the worker itself ends. The master has asked for
// no notice and is still told of both, once each. The header of a message is all that its receiver needs to answer
// it.
func TestT9_T13_T14_T15_StopsAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	master := r.adopted("Master", bracketed...)
	for name, c := range map[string]struct {
		end func(worker *agent)
		why []message.Reason
	}{
		"Killed": {func(w *agent) { require.NoError(t, syscall.Kill(w.session.Foreground.PID, syscall.SIGKILL)) }, []message.Reason{message.AgentGone}},
		"Exited": {func(w *agent) { w.do(":exit 1") }, []message.Reason{message.AgentGone}},
		// The shell ends with its pane, and a look that is under way sees a dead pane first.
		"Pane": {func(w *agent) { r.Run("kill-pane", "-t", w.pane) }, []message.Reason{message.PaneMissing, message.PaneDead}},
	} {
		worker := r.shelled(name, "bash", "--reply", "done", "--think", "1ms", "--bracketed")
		worker.adopt("line-paste")
		before := len(master.received())
		master.sends(worker, "/next-work")
		worker.hears("AI[local:" + string(master.session.ID) + "] | /next-work")
		master.hears(stoppedNotice(worker, "turn ended"))
		c.end(worker)
		r.waitFor("the end is told", func() bool { return len(master.received()) == before+2 })
		var told []string
		for _, why := range c.why {
			told = append(told, stoppedNotice(worker, "session ended: "+string(why)))
		}
		assert.Contains(t, told, master.received()[before+1], name)
	}
	// The header says whom to answer, and no more is needed for an answer.
	asker, answerer := r.adopted("Asker", bracketed...), r.adopted("Answerer", silent...)
	asker.sendsText(answerer, "are you there")
	answerer.hears(asker.header() + "are you there")
	from, _, ok := render.ParseHeader(answerer.received()[0])
	require.True(t, ok)
	_, err := asks[api.Sent](answerer, "send", api.SendRequest{Computer: from.Computer, To: string(from.Peer), Text: "I am"})
	require.NoError(t, err)
	asker.hears(answerer.header() + "I am")

	received := len(master.received())
	r.stays(func() bool { return len(master.received()) == received })
}

// A link delivers its first message once, in the form of any message. From then on each side hears the other's
// words with an attribution, and no notice says that a turn has ended. The side that did not open the link can
// close it.
func TestR1_R2_R13_R20_ALinkOfTwo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", bracketed...), r.adopted("Ben", bracketed...)
	ada.sends(ben, "hello", "direct")
	ben.hears("AI[local:" + string(ada.session.ID) + "] | hello")
	chats, err := r.client.Chats(t.Context(), false)
	require.NoError(t, err)
	require.Len(t, chats, 1)
	assert.Len(t, chats[0].Participants, 2)
	ben.do(":say an answer")
	ada.hears("[Ben] (2):\n\nan answer")
	ada.do(":say and mine")
	ben.hears("[Ada] (1):\n\nand mine")
	assert.Len(t, ada.received(), 1, "no notice of a turn")
	assert.Len(t, ben.received(), 2)
	ben.sends(ada, "good bye", "close")
	ada.hears("AI[local:" + string(ben.session.ID) + "] | good bye")
	assert.Equal(t, message.ChatOver, r.current(chats[0]).State)
}
