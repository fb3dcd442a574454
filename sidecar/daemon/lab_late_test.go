package daemon_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A real agent answers while no sidecar runs, and is then used by hand. The chat goes on by itself with that answer,
// once, and nobody hears the rest.
func TestLab_V13_AnsweredWhileNoSidecarRan(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		require.NoError(t, l.rig.end())
		c := l.rig.child()
		chat, ben := l.alone(a)
		id := l.tellAll(chat, "a question [[stall]] [[say the answer]]")
		l.waitTold(id, a, "submitted")
		name := a.session().Name
		ben.gets("[tester] (0):\n\na question [[stall]] [[say the answer]]")
		require.NoError(t, c.Process.Signal(syscall.SIGKILL))
		_ = c.Wait()
		l.lab.Model.Release(a.Name)
		l.until("its answer", func() bool { return slices.Contains(a.Answers(), "the answer") })
		a.drawn()
		a.says("by hand [[say a secret]]")
		a.drawn()
		l.rig.start()
		ben.gets("[" + name + "] (1):\n\nthe answer")
		l.waitTold(id, a, "answered")
		l.tellAll(chat, "and now [[say of after]]")
		ben.gets("[" + name + "] (1):\n\nof after")
		assert.Equal(t, 1, count(partsOf(ben), "["+name+"] (1):\n\nthe answer"), "%q", partsOf(ben))
		assert.Zero(t, count(partsOf(ben), "["+name+"] (1):\n\na secret"))
		assert.Equal(t, message.ChatOn, l.current(chat).State)
	})
}
