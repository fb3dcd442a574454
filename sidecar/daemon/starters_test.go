package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// ways are the ways to start an agent, other than straight from a shell. words is the command of the pane: PROGRAM
// stands for the agent's program, DIR for a directory and KIND for the kind of agent.
var ways = []struct {
	name, needs string
	words       []string
	after       bool // a shell goes on when the agent has ended
}{
	{"sh -c", "sh", []string{"sh", "-c", "PROGRAM; printf 'over$ '; while IFS= read -r line; do echo \"$line\" >>DIR/ran; done"}, true},
	{"bash -c", "bash", []string{"sh", "-c", "bash -c 'PROGRAM; exec bash --norc --noprofile -i'; printf over"}, true},
	{"nice", "nice", []string{"nice", "PROGRAM"}, false},
	{"a wrapper", "sh", []string{"DIR/wrapper"}, true},
	{"node", "node", []string{"node", "-e", "process.title = 'npm exec @openai/codex'; require('child_process').spawn('sh', ['-c', 'PROGRAM; true'], {stdio: 'inherit'})"}, false},
	{"npx", "npx", []string{"env", "HOME=DIR", "npm_config_update_notifier=false", "npm_config_offline=true", "npx", "--no", "--prefix", "DIR", "KIND"}, false},
}

// startBy starts the stand-in of an agent in one of these ways.
func (r *rig) startBy(kind string, words []string) *agent {
	r.t.Helper()
	a := r.agentOf("Ada")
	script := a.coderScript(kind, silent...)
	tmuxtest.Program(r.t, filepath.Join(r.dir, "wrapper"), "#!/bin/sh\nsh -c '"+script+"; true'\nexec sh -i\n")
	bin := filepath.Join(r.dir, "node_modules", ".bin")
	require.NoError(r.t, os.MkdirAll(bin, 0o700))
	require.NoError(r.t, os.Symlink(script, filepath.Join(bin, kind)))
	fill := strings.NewReplacer("PROGRAM", script, "DIR", r.dir, "KIND", kind)
	var filled []string
	for _, word := range words {
		filled = append(filled, fill.Replace(word))
	}
	a.pane = r.NewPane(filled[0], filled[1:]...)
	r.waitFor("it reads keys", func() bool { return a.count(persona.EventReady) > 0 })
	return a
}

// An agent is recognised no matter which program started it, and gets its messages. A program that the agent itself
// opens gets nothing, and neither does a starter that goes on when the agent has ended.
func TestS30_AgentBehindItsStarters(t *testing.T) {
	t.Parallel()
	for i, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			need(t, way.needs)
			r := newRig(t)
			a := r.startBy(coders[i%len(coders)], way.words)
			a.adopt("")
			assert.NotEmpty(t, a.session.Foreground.Exec)
			r.told(r.post(a, "hello"), "submitted")
			assert.Equal(t, []string{hello}, a.received())

			over := r.dir + "/over"
			a.do(":exec while ! test -e %s; do sleep 0.05; done", over)
			before := len(a.bytes())
			id := r.post(a, "hello")
			r.told(id, "held: another program is in front")
			r.looked(func() bool { return len(a.bytes()) == before })
			require.NoError(t, os.WriteFile(over, nil, 0o600))
			r.told(id, "submitted")

			a.do(":draft words of a person")
			id = r.post(a, "please | touch "+r.dir+"/touched")
			r.told(id, "held: draft in the composer")
			a.kill()
			r.told(id, "failed: agent gone")
			_, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "hello"})
			require.Error(t, err)
			assert.NoFileExists(t, r.dir+"/ran")
			assert.NoFileExists(t, r.dir+"/touched")
			if way.after {
				assert.NotContains(t, r.Run("capture-pane", "-p", "-t", a.pane), "please")
			}
		})
	}
}

// If the agent ends right before the paste or right before Enter, the shell that started it goes on and gets
// nothing to run.
func TestS30_StarterGoesOnInTheGap(t *testing.T) {
	t.Parallel()
	for moment, want := range map[string]string{"paste unchecked": "failed: agent gone", "enter unchecked": "uncertain: agent gone"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			g := &gaps{}
			r := newRig(t, g.option())
			a := r.startBy("claude", ways[0].words)
			a.adopt("")
			g.plan(a.pane, moment, func() { a.kill(); r.WaitForText(a.pane, "over$") })
			id := r.post(a, "hello")
			r.told(id, want)
			r.ends(a)
			assert.NoFileExists(t, r.dir+"/ran")
		})
	}
}

// A pane in which no agent can be given messages is not adopted, and the error says why.
func TestS30_RefusedWithTheTrueReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, needs string
		words       []string
		as          []string
		why, hint   string
	}{
		{"another pid namespace", "unshare", []string{"unshare", "-r", "-p", "-f", "--mount-proc", "PROGRAM"}, []string{"", "claude"}, "pid namespace of its own", "start it without one"},
		{"an editor", "vim", []string{"vim", "-u", "NONE", "-N", "+!PROGRAM"}, []string{""}, "its claude was started by \"vim\"", "close the editor"},
		{"script", "script", []string{"sh", "-c", "script -q -c PROGRAM /dev/null; true"}, []string{"", "line", "tui"}, "script is a multiplexer or recorder", "start the agent without it"},
		{"nested tmux", "tmux", []string{"sh", "-c", "env TMUX= tmux -S DIR/in -f /dev/null new-session PROGRAM; true"}, []string{"", "line", "tui"}, "tmux is a multiplexer or recorder", "start the agent without it"},
	}
	world := newRig(t)
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			need(t, tt.needs)
			if tt.needs == "unshare" && exec.Command("unshare", "-r", "-p", "-f", "--mount-proc", "true").Run() != nil {
				t.Skip("no namespaces here: allow unprivileged user namespaces, or run as root")
			}
			one := *world
			r := &one
			r.t, r.Server, r.dir = t, world.On(t), filepath.Join(world.dir, fmt.Sprint(n))
			require.NoError(t, os.Mkdir(r.dir, 0o700))
			if tt.needs == "tmux" {
				t.Cleanup(func() { _ = exec.Command("tmux", "-S", filepath.Join(r.dir, "in"), "kill-server").Run() })
			}
			a := r.startBy("claude", tt.words)
			for _, as := range tt.as {
				_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.pane, As: as})
				told := &api.Error{}
				require.ErrorAs(t, err, &told, "adopted as %q", as)
				assert.Contains(t, told.Text, tt.why)
				assert.Contains(t, told.Hint, tt.hint)
				assert.NotContains(t, told.Hint, "--as line")
				assert.Empty(t, a.bytes())
			}
		})
	}
	t.Run("a shell, at once", func(t *testing.T) {
		pane := world.NewPane("sh", "-i")
		world.WaitForText(pane, "$")
		_, err := world.client.Adopt(t.Context(), api.AdoptRequest{Pane: pane})
		var told *api.Error
		require.True(t, errors.As(err, &told))
		assert.Contains(t, told.Text, "no agent is recognised in it")
		assert.Contains(t, told.Text, "a shell: it would run what is typed into it")
		assert.NotContains(t, told.Hint, "--as line")
	})
}
