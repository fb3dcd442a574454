package daemon_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A background job that has lost its parents does not count as a person. If it keeps the agent's terminal, it counts
// as that agent; if not, it is unverified, because its environment still shows that an agent started it.
func TestCaller_backgroundJobsAreTheAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	self, err := os.Executable()
	require.NoError(t, err)
	for way, from := range map[string]string{
		"sh -c '(sleep 0.2; %s) &'": string(a.session.ID),
		"sh -c 'setsid sh -c \"sleep 0.2; %s\" </dev/null >/dev/null 2>&1 &'": string(message.Unverified),
	} {
		before := len(b.received())
		script := a.dir + "/job"
		tmuxtest.Program(t, script, "#!/bin/sh\nINTERCOM_TEST_SEND=1 exec "+self+" "+a.cfg.Paths.Socket+" "+b.pane+" psst\n")
		ended := a.count(persona.EventChildEnd)
		a.do(":exec "+way, script)
		r.waitFor("the parent ended", func() bool { return a.count(persona.EventChildEnd) > ended })
		r.waitFor("Ben got it", func() bool { return len(b.received()) > before })
		assert.Equal(t, "AI[local:"+from+"] | psst", b.received()[before], way)
	}
	for _, m := range r.messages() {
		assert.Equal(t, message.OriginAgent, m.Origin)
	}
}
