package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Panes can be named by tmux targets as seen from the pane in which the command runs. A session's name comes before a target, and
// no part of a word is run as a command or expanded.
func TestU25_TmuxTargets(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.two()
		st.NewPane("cat") // makes another window the current one for a command without a pane
		st.Run("select-layout", "-t", claude.Pane, "even-horizontal", ";", "select-window", "-t", st.Base)
		inside := func(args ...string) (string, bool) {
			cmd := exec.Command(thisProgram(), args...)
			cmd.Env = append(st.environ(), "TMUX="+st.Socket+",1,0", "TMUX_PANE="+claude.Pane)
			out, err := cmd.CombinedOutput()
			return string(out), err == nil
		}
		window := st.Run("display-message", "-p", "-t", claude.Pane, "#{window_id}")
		index := st.Run("display-message", "-p", "-t", claude.Pane, "#{window_index}")
		for word, pane := range map[string]string{
			"0": claude.Pane, "1": codex.Pane, ".1": codex.Pane, "{right}": codex.Pane, "base:" + index + ".1": codex.Pane, ":" + index + ".1": codex.Pane,
			window: claude.Pane, window + ".1": codex.Pane, "base:0": st.Base, codex.Pane: codex.Pane,
		} {
			out, ok := inside("explain", word)
			require.True(t, ok, "%s: %s", word, out)
			assert.Contains(t, out, "pane      "+pane+",", word)
		}
		for _, word := range []string{
			"9", "base:9", "nosuch:0.0", "{nosuch}", "@99", "base:" + index + ".1;", "1;kill-server", ";", "{right};", "=", "#{pane_id}", "#(touch " + st.home + "/x)", "1\nkill-server",
		} {
			out, ok := inside("explain", word)
			assert.False(t, ok, "%s: %s", word, out)
			assert.Contains(t, out, "intercom: error: no pane ", word)
			assert.Contains(t, out, "intercom: hint: tmux list-panes -a", word)
		}
		assert.NoFileExists(t, st.home+"/x")
		for _, word := range []string{"base", "cat", "clau"} { // tmux would accept these
			out, ok := inside("explain", word)
			assert.False(t, ok, "%s: %s", word, out)
		}

		out, ok := inside("chat", "start", "0", "1", "--role", "1=critic")
		require.True(t, ok, out)
		assert.Equal(t, "claude (1), codex (2) critic", participants(st.status().Chats[0]))
		out, ok = inside("name", "0", "1")
		require.True(t, ok, out)
		out, ok = inside("explain", "1")
		require.True(t, ok, out)
		assert.Contains(t, out, "pane      "+claude.Pane+",", "its name is 1")

		// Outside of a pane a relative target has no meaning.
		out, code := st.intercom("explain", "0")
		assert.Equal(t, 2, code, out)
		assert.True(t, strings.Contains(out, "this is not run in a pane"), out)
		out, code = st.intercom("release", "base:"+index+".1")
		assert.Zero(t, code, out)
	})
}
