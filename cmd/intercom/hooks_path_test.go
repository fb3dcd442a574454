package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// What is installed for an agent names the launcher, which stays, and not the program of a revision, which is removed when others
// are in use. The doctor reports an entry that points to nothing, and installing again repairs it.
func TestU10_M5_whatIsInstalledStays(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	store := filepath.Join(home, "data", "intercom", "bin")
	revision := func(key string) string {
		program := filepath.Join(store, key, "intercom")
		require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o700))
		data, err := os.ReadFile(thisProgram())
		require.NoError(t, err)
		tmuxtest.Program(t, program, string(data))
		_ = os.Remove(filepath.Join(store, "used"))
		require.NoError(t, os.Symlink(program, filepath.Join(store, "used")))
		return program
	}
	first := revision("aaaaaaaaaaaa")
	script, err := os.ReadFile(filepath.Join("..", "..", "tmux-plugin", "intercom-cli"))
	require.NoError(t, err)
	launcher := filepath.Join(store, "intercom")
	tmuxtest.Program(t, launcher, string(script))
	run := func(words ...string) (string, error) {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, "data"), "XDG_RUNTIME_DIR=" + home, "PATH=/usr/bin:/bin", "INTERCOM_TEST_MAIN=1"}
		cmd.Stdin = strings.NewReader("{}")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	installs := map[string][][]string{}
	for file, commands := range map[string][][]string{
		".claude/settings.json": {{"hooks", "install", "claude"}}, ".claude.json": {{"mcp", "install", "claude"}},
		".codex/config.toml":                   {{"hooks", "install", "codex"}, {"mcp", "install", "codex"}},
		".gemini/settings.json":                {{"hooks", "install", "gemini"}, {"mcp", "install", "gemini"}},
		".config/opencode/plugins/intercom.js": {{"hooks", "install", "opencode"}}, ".config/opencode/opencode.json": {{"mcp", "install", "opencode"}},
	} {
		installs[filepath.Join(home, file)] = commands
		for _, words := range commands {
			out, err := run(append([]string{first}, words...)...)
			require.NoError(t, err, out)
		}
		text := read(t, filepath.Join(home, file))
		assert.Contains(t, text, launcher, file)
		assert.NotContains(t, text, first, file)
	}
	repository := filepath.Join(home, "repository")
	require.NoError(t, os.Mkdir(repository, 0o700))
	out, err := run(first, "aea", "install", "--repository", repository)
	require.NoError(t, err, out)
	scripts := filepath.Join(repository, ".aea", "scripts", "intercom.sh")
	assert.Contains(t, read(t, scripts), launcher)
	assert.NotContains(t, read(t, scripts), first)
	out, _ = run(first, "aea", "doctor", "--repository", repository)
	assert.NotContains(t, out, "intercom.sh")
	out, _ = run(first, "doctor")
	assert.NotContains(t, out, "where no program is")
	assert.NotContains(t, out, "which an update of the plugin may remove")

	second := revision("bbbbbbbbbbbb")
	require.NoError(t, os.RemoveAll(filepath.Dir(first)))
	out, err = run("sh", "-c", launcher+" hook claude Stop")
	require.NoError(t, err, "it runs the program of the revision in use: %s", out)

	// Older versions installed the path of a revision.
	for file := range installs {
		old := strings.ReplaceAll(read(t, file), launcher, first)
		require.NoError(t, os.WriteFile(file, []byte(old), 0o600))
	}
	// An entry that is not ours is not reported.
	settings := filepath.Join(home, ".claude", "settings.json")
	require.NoError(t, os.WriteFile(settings, []byte(strings.Replace(read(t, settings), "{", `{"about": "/nowhere/intercom",`, 1)), 0o600))
	out, err = run(second, "doctor")
	require.Error(t, err)
	assert.NotContains(t, out, "/nowhere")
	for file, commands := range installs {
		assert.Contains(t, out, file+" calls "+first+", where no program is", out)
		for _, words := range commands {
			assert.Contains(t, out, "→ intercom "+strings.Join(words, " "))
			told, err := run(append([]string{second}, words...)...)
			require.NoError(t, err, told)
		}
		assert.Contains(t, read(t, file), launcher, file)
		assert.NotContains(t, read(t, file), first, file)
	}
	out, _ = run(second, "doctor")
	assert.NotContains(t, out, "where no program is")
}
