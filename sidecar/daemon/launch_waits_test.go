package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// asksToStart is a rig with an agent that may start nothing by itself, and the start for which it asks.
func asksToStart(t *testing.T) (r *rig, ada *agent, req api.StartSessionRequest) {
	r = newRig(t, launches(t))
	command, _ := r.worker("Qa")
	qa := filepath.Join(r.dir, "qa")
	tmuxtest.Program(t, qa, "#!/bin/sh\nexec "+quoted(command)+"\n")
	dir := filepath.Join(r.dir, "project")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return r, r.adopted("Ada", silent...), api.StartSessionRequest{Dir: dir, Agent: qa, Title: "Qa"}
}

// Eight starts may wait; the ninth is refused, with a hint what to do. Each is decided once. If somebody has swapped
// the directory for a link between the question and the yes, the start fails and says so.
func TestM7_StartsThatWait(t *testing.T) {
	t.Parallel()
	r, ada, req := asksToStart(t)
	var last api.StartedSession
	for range 8 {
		held, err := asks[api.StartedSession](ada, "start", req)
		require.NoError(t, err)
		last = held
	}
	_, err := asks[api.StartedSession](ada, "start", req)
	assert.ErrorContains(t, err, "8 of Ada wait for a person already")
	assert.Contains(t, api.AsError(err).Hint, "wait until a person has decided about one of those")

	all := r.held()
	require.Len(t, all, 8)
	assert.True(t, all[7].Start())
	require.NoError(t, r.yes("approve", string(last.Request)))
	for _, choice := range []string{"approve", "reject"} {
		assert.ErrorContains(t, r.yes(choice, string(last.Request)), "start "+last.Request.Short()+" was decided about already: approved by tester")
	}
	assert.Len(t, r.held(), 7)
	assert.Len(t, r.listed(), 2)

	elsewhere := filepath.Join(r.dir, "elsewhere")
	require.NoError(t, os.Rename(req.Dir, elsewhere))
	require.NoError(t, os.Symlink(elsewhere, req.Dir))
	why := `directory "` + req.Dir + `" has become a link to "` + elsewhere + `" since the start was requested`
	assert.ErrorContains(t, r.yes("approve", string(all[0].Message)), why)
	r.waitFor("the agent is told", func() bool { return strings.Contains(strings.Join(ada.received(), "\n"), why) })
	assert.Len(t, r.listed(), 2)
}

// A program that was started as an agent, but reads lines, can be adopted as a line program: its session stays the
// same, and gets the message that waited for it.
func TestAdopt_whatWasStartedReadsLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	command, log := r.worker("Lines")
	claude := filepath.Join(r.dir, "claude")
	tmuxtest.Program(t, claude, "#!/bin/sh\nexec "+quoted(command)+"\n")
	s := r.started(api.StartSessionRequest{Dir: r.dir, Agent: claude, Message: "begin"})
	require.Equal(t, "claude", s.Session.Profile)
	r.told(s.Message, "held: agent starting")
	_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: s.Session.Pane})
	require.ErrorContains(t, err, "already adopted")
	assert.Contains(t, api.AsError(err).Hint, "intercom adopt "+s.Session.Pane+" --as line")

	var adopted message.Peer
	r.waitFor("it is at its prompt", func() bool {
		adopted, err = r.client.Adopt(t.Context(), api.AdoptRequest{Pane: s.Session.Pane, As: "line", Name: "lines"})
		return err == nil
	})
	assert.Equal(t, []string{string(s.Session.ID), "lines", "line"}, []string{string(adopted.ID), adopted.Name, adopted.Profile})
	assert.False(t, adopted.Starting)
	r.waitFor("what has waited for it", hasText(log, "[tester] (0): begin"))
	r.told(s.Message, "submitted (answered)")
	_, err = r.client.Adopt(t.Context(), api.AdoptRequest{Pane: s.Session.Pane, As: "line"})
	assert.ErrorContains(t, err, "already adopted")
}

// The same holds for a program with an agent's name, by which a process is recognised: it counts as that agent only
// once it takes its terminal as an agent does. If it has done that, adopt refuses, and the hint says what to do.
func TestAdopt_whatBearsAnAgentsNameReadsLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	log, lines := filepath.Join(r.dir, "read"), filepath.Join(r.dir, "claude")
	tmuxtest.Program(t, lines, `#!/bin/sh
while printf 'lines> ' && IFS= read -r line; do
	printf '%s\n' "$line" >>'`+log+`'
	printf 'heard it\n'
done
`)
	s := r.started(api.StartSessionRequest{Dir: r.dir, Agent: lines, Message: "begin"})
	require.Equal(t, "claude", s.Session.Profile)
	r.waitFor("it is known that it reads lines", func() bool {
		now, err := r.client.Status(t.Context())
		require.NoError(t, err)
		i := slices.IndexFunc(now.Sessions, func(p message.Peer) bool { return p.ID == s.Session.ID })
		return i >= 0 && now.Sessions[i].Starting && strings.Contains(now.Sessions[i].StateWhy, "its terminal collects lines itself")
	})
	var adopted message.Peer
	r.waitFor("it is at its prompt", func() bool {
		var err error
		adopted, err = r.client.Adopt(t.Context(), api.AdoptRequest{Pane: s.Session.Pane, As: "line"})
		return err == nil
	})
	assert.Equal(t, []string{string(s.Session.ID), "line"}, []string{string(adopted.ID), adopted.Profile})
	r.waitFor("what has waited for it", func() bool {
		text, _ := os.ReadFile(log)
		return string(text) == "[tester] (0): begin\n"
	})

	tmuxtest.Program(t, lines, "#!/bin/sh\nprintf 'lines> '\nstty raw -echo\ncat >>'"+log+"'\n")
	s = r.started(api.StartSessionRequest{Dir: r.dir, Agent: lines, Message: "begin"})
	r.waitFor("it is taken for the agent", func() bool {
		now, err := r.client.Status(t.Context())
		require.NoError(t, err)
		i := slices.IndexFunc(now.Sessions, func(p message.Peer) bool { return p.ID == s.Session.ID })
		return i >= 0 && !now.Sessions[i].Starting
	})
	_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: s.Session.Pane, As: "line"})
	require.ErrorContains(t, err, "already adopted")
	assert.Contains(t, api.AsError(err).Hint, "intercom release "+s.Session.Pane+", then intercom adopt "+s.Session.Pane+" --as line")
}
