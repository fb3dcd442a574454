package daemon_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The id of a pane can come back with another process: a new program in the same pane, or a pane of a new server. A
// message to that id, or to the name or session of the old process, is refused until a person adopts the new
// process.
func TestH29_PaneIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sends := func(to string) error {
		_, err := r.client.Send(t.Context(), api.SendRequest{To: to, Text: "for another one"})
		return err
	}
	a := r.adopted("Ada", silent...)
	r.told(r.post(a, "hello"), "submitted")
	b := r.again(a, "Ben")
	r.waitFor("its session has ended", func() bool {
		all, err := r.client.Sessions(t.Context())
		require.NoError(t, err)
		return len(all) == 0 || all[0].Ended != nil
	})
	for _, to := range []string{a.pane, "Ada", string(a.session.ID)} {
		assert.Error(t, sends(to), to)
	}
	r.stays(func() bool { return len(b.bytes()) == 0 })
	b.adopt("line")
	require.NoError(t, sends(b.pane))
	r.waitFor("once it is adopted", func() bool { return len(b.received()) == 1 })

	require.NoError(t, syscall.Kill(r.PID, syscall.SIGKILL))
	require.NoError(t, r.wait())
	r.Restart()
	r.start()
	require.NoError(t, os.Remove(b.log))
	c := r.line("Ben", silent...)
	require.Equal(t, b.pane, c.pane, "the numbers of panes begin again")
	for _, to := range []string{c.pane, "Ben", string(b.session.ID)} {
		assert.Error(t, sends(to), to)
	}
	r.stays(func() bool { return len(c.bytes()) == 0 })
	c.adopt("line")
	require.NoError(t, sends("Ben"))
	r.waitFor("once it is adopted", func() bool { return len(c.received()) == 1 })
	assert.True(t, strings.HasSuffix(c.received()[0], "for another one"))
	assert.NotEqual(t, b.session.ID, c.session.ID)
	assert.NotEqual(t, message.ID(""), c.session.ID)
}
