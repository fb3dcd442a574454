package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The program contains policies with tests, at least eight of them of at most 25 lines. A person installs one by its name; a file
// that is already there is left alone.
func TestL15_gallery(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := []string{
		"HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_RUNTIME_DIR=" + dir, "PATH=/usr/bin:/bin", "INTERCOM_TEST_MAIN=1",
	}
	atTerminal := func(words ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(thisProgram(), append([]string{"policy"}, words...)...)
		cmd.Env = environ
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		defer terminal.Close()
		shown, _ := io.ReadAll(terminal) // reading ends with an error when the program ends
		_ = cmd.Wait()
		return strings.ReplaceAll(string(shown), "\r\n", "\n"), cmd.ProcessState.ExitCode()
	}
	listed := func() (all []offeredPolicy) {
		t.Helper()
		out, code := atTerminal("use", "--json")
		require.Zero(t, code, out)
		require.NoError(t, json.Unmarshal([]byte(out), &all))
		return all
	}

	short := 0
	for _, s := range policies.Examples() {
		if strings.Count(s.Text, "\n") <= 25 {
			short++
		}
	}
	assert.GreaterOrEqual(t, short, 8)
	for _, one := range listed() {
		assert.False(t, one.Used, one.Name)
		out, code := atTerminal("use", one.Name)
		require.Zero(t, code, out)
		assert.Equal(t, "in use: "+one.File+"\n"+one.Does+"\nchange it: intercom policy edit 50-"+one.Name+"; end it: intercom policy drop "+one.Name+"\n", out)
		info, err := os.Stat(one.File)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode())
	}
	for _, one := range listed() {
		assert.True(t, one.Used, one.Name)
	}
	out, code := atTerminal("test")
	assert.Zero(t, code, out)
	assert.Contains(t, out, "50-quiet-hours_test.lua")
	files, err := scripting.Read(filepath.Join(dir, "config", "intercom"))
	require.NoError(t, err)
	assert.Len(t, files.Sources, len(policies.Examples()))

	for asked, want := range map[string]string{"token-limit": "50-token-limit", "50-token-limit": "50-token-limit", "limit": ""} {
		found, _ := numbered(filepath.Join(dir, "config", "intercom"), asked)
		assert.Equal(t, want, found, "what policy edit opens for %s", asked)
	}

	own := filepath.Join(dir, "config", "intercom", "policies", "50-quiet-hours.lua")
	require.NoError(t, os.WriteFile(own, []byte("-- mine\n"), 0o600))
	out, code = atTerminal("use", "quiet-hours")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "is there already, and is left as it is")
	assert.Equal(t, "-- mine\n", read(t, own))
	ownTests := filepath.Join(dir, "config", "intercom", "policies", "50-quiet-hours_test.lua")
	require.NoError(t, os.Remove(ownTests))
	out, code = atTerminal("use", "quiet-hours")
	assert.Equal(t, 1, code, out)
	assert.NoFileExists(t, ownTests, "nothing is put beside it")
	require.NoError(t, os.WriteFile(ownTests, []byte("-- mine, too\n"), 0o600))

	// A test file without its policy does not count as the policy.
	require.NoError(t, os.Remove(own))
	out, code = atTerminal("use", "quiet-hours")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "50-quiet-hours_test.lua")
	assert.NoFileExists(t, own)
}

// A policy that is installed while the sidecar refuses the files is not reported as in use.
func TestL15_notInUse(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	config := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(config, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	out, code := st.intercom("up")
	require.Zero(t, code, out)
	shell := st.shell()
	puts := func(name string) {
		t.Helper()
		st.Run("send-keys", "-t", shell, "-l", "clear; "+thisProgram()+" policy use "+name+" --server="+st.Socket+`; echo "exit: $?"`)
		st.Run("send-keys", "-t", shell, "Enter")
	}
	puts("quiet-hours")
	st.WaitForText(shell, "exit: 0")
	out, _ = st.intercom("policy", "use")
	assert.Regexp(t, `(?m)^quiet-hours +yes `, out)

	write("policies/10-mark.lua", `intercom.on("format", function(msg) return "<" .. msg.from .. ">: " .. msg.body end)`)
	// `policy check`, with which `policy use` checks the files, does not run tests.
	write("policies/10-mark_test.lua", `cases("the mark", "format", { { fixture { from = "Ada", body = "x" }, "Ada: x" } })`)
	puts("token-limit")
	st.WaitForText(shell, "exit: 1")
	shown := st.Run("capture-pane", "-pJ", "-t", shell)
	assert.Contains(t, shown, "put in place, and not in use: ")
	assert.Contains(t, shown, "the policies before it stay in use: policies/10-mark_test.lua:1: the mark")
	out, _ = st.intercom("policy", "use")
	assert.Contains(t, out, "your files are not in use as they are: policies/10-mark_test.lua:1: the mark")
	assert.Regexp(t, `(?m)^quiet-hours +yes `, out)
	assert.Regexp(t, `(?m)^token-limit +- `, out)

	write("init.lua", "intercom.configure {")
	puts("cost-limit")
	st.WaitForText(shell, "init.lua:1:")
	st.WaitForText(shell, "exit: 1")
}

// `policy drop` removes the installed files after a y, and says if a file was changed.
func TestL15_dropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	placed := filepath.Join(dir, "config", "intercom", "policies", "50-quiet-hours.lua")
	tests := strings.TrimSuffix(placed, ".lua") + "_test.lua"
	atTerminal := func(key string, words ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(thisProgram(), append([]string{"policy"}, words...)...)
		cmd.Env = []string{
			"HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
			"XDG_RUNTIME_DIR=" + dir, "PATH=/usr/bin:/bin", "INTERCOM_TEST_MAIN=1",
		}
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		defer terminal.Close()
		var shown strings.Builder
		for b := make([]byte, 1<<10); ; {
			n, err := terminal.Read(b)
			shown.Write(b[:n])
			if err != nil { // the program has ended
				break
			}
			if key != "" && strings.HasSuffix(shown.String(), "[y/N] ") {
				_, err := terminal.WriteString(key)
				require.NoError(t, err)
				key = ""
			}
		}
		_ = cmd.Wait()
		return strings.ReplaceAll(shown.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode()
	}
	out, code := atTerminal("", "use", "quiet-hours")
	require.Zero(t, code, out)

	out, code = atTerminal("n", "drop", "quiet-hours")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "Remove "+placed+"?\nRemove "+tests+"? [y/N] no\n")
	assert.Contains(t, out, "nothing was done")
	assert.FileExists(t, placed)

	out, code = atTerminal("y", "drop", "50-quiet-hours.lua")
	assert.Zero(t, code, out)
	assert.True(t, strings.HasSuffix(out, " yes\nremoved: "+placed+"\nremoved: "+tests+"\n"), out)
	assert.NoFileExists(t, placed)
	assert.NoFileExists(t, tests)

	out, code = atTerminal("y", "drop", "quiet-hours")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, `policy "quiet-hours" is not in use`)

	// A person's own changes are mentioned before they are removed.
	out, code = atTerminal("", "use", "quiet-hours")
	require.Zero(t, code, out)
	require.NoError(t, os.WriteFile(placed, []byte("-- mine\n"), 0o600))
	require.NoError(t, os.Remove(tests))
	out, code = atTerminal("y", "drop", "quiet-hours")
	assert.Zero(t, code, out)
	assert.Contains(t, out, "Remove "+placed+"? It has been changed since it was installed. [y/N] yes\n")
	assert.NoFileExists(t, placed)
}
