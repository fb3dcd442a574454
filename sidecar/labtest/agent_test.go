package labtest

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// stub is an agent whose program is a shell script, in a lab without installed agents.
func stub(t *testing.T, script string) *Agent {
	t.Helper()
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	dir := t.TempDir()
	a := &Agent{Kind: Claude, Name: "stub", Dir: dir, Home: dir, Work: dir, tmp: dir, server: server}
	a.lab = &Lab{t: t}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a.lab.Model, err = NewModel(l, dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.lab.Model.Close()) })
	a.run([]string{"sh", "-c", script}, []string{"LAB_WORD=it's $here"}, start{width: 100, height: 30})
	return a
}

func TestAgent_ownEnvironment(t *testing.T) {
	t.Setenv("INTERCOM_SECRET", "of the person who runs the tests")
	a := stub(t, `echo "[$INTERCOM_SECRET] [$LAB_WORD] [$HOME] [$TMUX_PANE]"; exec cat`)
	a.WaitForText("[" + a.Pane + "]")
	s := a.lab.Capture(a)
	assert.Contains(t, s.String(), "[] [it's $here] ["+a.Home+"]")
	assert.Equal(t, []int{100, 30, 30, 30}, []int{s.Width, s.Height, len(s.Rows), len(s.Plain)})
	a.WaitFor("nothing is left between the pane and the program", func(s Screen) bool { return s.Command == "cat" })
	assert.Equal(t, a.PID, s.PID)
}

func TestScreen_capture(t *testing.T) {
	a := stub(t, `printf '\033[2J\033[?25l\033]2;a  title \007\033[3;5H\033[1mbold\033[0m x'; exec cat`)
	a.WaitForText("bold x")
	a.WaitFor("the title", func(s Screen) bool { return s.Title != "" })
	s := a.lab.Capture(a)
	assert.Equal(t, "    bold x", s.Plain[2])
	assert.Contains(t, s.Rows[2], "\x1b[1mbold")
	assert.Equal(t, []int{10, 2}, []int{s.CursorX, s.CursorY})
	assert.False(t, s.CursorVisible)
	assert.False(t, s.Alternate)
	assert.Equal(t, "a  title", strings.TrimSpace(s.Title))
}

// Stop ends everything that an agent has started, even processes that ignore the end of their terminal, have left its session, or
// lack its environment.
func TestAgent_stopEndsEverything(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere nobody can tell whose a process is that has left its parent and its session")
	}
	a := stub(t, `
		trap '' HUP TERM
		setsid sh -c 'trap "" HUP TERM; echo $$ > daemon; while :; do sleep 1; done' &
		env -i sh -c 'trap "" HUP TERM; echo $$ > child; while :; do sleep 1; done' &
		echo started
		while :; do sleep 1; done`)
	var daemon, child string
	tmuxtest.WaitFor(t, "both", func() bool {
		d, _ := os.ReadFile(a.Work + "/daemon")
		c, _ := os.ReadFile(a.Work + "/child")
		daemon, child = strings.TrimSpace(string(d)), strings.TrimSpace(string(c))
		return daemon != "" && child != ""
	})
	assert.Greater(t, len(a.Processes()), 2)
	a.Stop()
	assert.Empty(t, a.Processes())
	for _, pid := range []string{daemon, child} {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil {
			assert.Contains(t, string(state), ") Z ", "it has ended, and nobody has asked after it")
		}
	}
	// A second Stop has nothing to end.
	a.Stop()
}

func TestAgent_EditJSON(t *testing.T) {
	a := &Agent{}
	file := filepath.Join(t.TempDir(), "new", "settings.json")
	require.NoError(t, a.EditJSON(file, func(s map[string]any) { s["one"] = 1 }))
	require.NoError(t, a.EditJSON(file, func(s map[string]any) { s["two"] = []string{"x"} }))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.JSONEq(t, `{"one":1,"two":["x"]}`, string(data))
	require.NoError(t, a.WriteFile(file, "no JSON"))
	assert.ErrorContains(t, a.EditJSON(file, func(map[string]any) {}), file)
}

func TestKind_versions(t *testing.T) {
	for _, k := range Kinds {
		assert.Regexp(t, `^\d+\.\d+\.\d+$`, k.Version(), k)
		assert.NotEmpty(t, k.Package())
	}
	for _, a := range profile.Agents() {
		c, ok := clients[Kind(a.Name)]
		require.True(t, ok, "%s is not in the lab", a.Name)
		assert.NotNil(t, c.program, a.Name)
		assert.NotNil(t, c.configure, a.Name)
		assert.NotNil(t, c.ready, a.Name)
		assert.NotNil(t, c.asks, a.Name)
	}
	assert.Len(t, Kinds, len(profile.Agents()))
	t.Setenv("INTERCOM_AGENTS", t.TempDir())
	_, err := Codex.Installed()
	assert.ErrorContains(t, err, ".ci/agents codex")
	_, err = Kind("nobody").Installed()
	assert.ErrorContains(t, err, "nobody")
}
