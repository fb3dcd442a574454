package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The program that serves an agent's tools is in no sandbox of the agent's: by it, an agent reads and writes the messages of
// the repository in which it works and of those that its person has enabled, and of no other.
func TestMCP_repositoriesWithinReach(t *testing.T) {
	t.Parallel()
	server := inHome(t)
	home := server.Dir
	repo := func(name string) string {
		dir := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".aea"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".aea", "message-20260101T000000Z-from-claude-x.json"), []byte(`{"message": "for `+name+`"}`), 0o600))
		return dir
	}
	mine, enabled, foreign := repo("mine"), repo("enabled"), repo("foreign")
	install := exec.Command(thisProgram(), "aea", "install", "--repository", enabled)
	install.Env, install.Dir = server.Env, home
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Symlink(foreign, filepath.Join(mine, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(mine, "sub"), 0o700))
	server.Dir = filepath.Join(mine, "sub")
	tools := connectMCP(t, server, "2025-11-25", nil)

	for _, tool := range []string{"aea_check", "aea_list"} {
		for _, within := range []string{"", mine, filepath.Join(mine, "sub"), enabled} {
			r := calls(t, tools, tool, map[string]any{"repository": within})
			assert.False(t, r.IsError, "%s %q: %s", tool, within, textOfResult(r))
		}
		for _, without := range []string{foreign, filepath.Join(mine, "link"), mine + "/../foreign", "../../foreign"} {
			told := failureOf(t, calls(t, tools, tool, map[string]any{"repository": without}))
			assert.Contains(t, told.Error, "an agent may use only the one in which it works", "%s %q", tool, without)
			assert.Contains(t, told.Hint, "intercom aea install", "%s %q", tool, without)
		}
	}
	failureOf(t, calls(t, tools, "aea_thread", map[string]any{"repository": foreign, "conversation_id": "x"}))

	send := func(to, path, from string) map[string]any {
		return map[string]any{"to": to, "to_path": path, "repository": from, "type": "update", "subject": "s", "message": "hello"}
	}
	r := calls(t, tools, "aea_send", send("claude-enabled", enabled, ""))
	assert.False(t, r.IsError, textOfResult(r))
	before := entriesOf(t, foreign)
	failureOf(t, calls(t, tools, "aea_send", send("claude-foreign", foreign, "")))
	failureOf(t, calls(t, tools, "aea_send", send("claude-foreign", filepath.Join(mine, "link"), "")))
	failureOf(t, calls(t, tools, "aea_send", send("claude-enabled", enabled, foreign))) // as the agent of another repository
	assert.Equal(t, before, entriesOf(t, foreign), "nothing was written there, not a line of its log either")
}

func entriesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}
