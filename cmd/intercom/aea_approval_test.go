package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A message that waits for approval has its processed marker, but list, show and thread say that it waits, and name the command
// that approves it.
func TestAEA_listSaysWhatAwaitsApproval(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "two")
	k.runsIn(all[0], "aea", "send", "--to", "claude-two", "--type", "handoff", "--subject", "S", "--message", "B")
	k.runs("up")
	var id string
	until(t, func() bool {
		var waiting []aeaApproval
		require.NoError(t, json.Unmarshal([]byte(k.runs("aea", "approvals")), &waiting))
		if len(waiting) == 1 {
			id = waiting[0].ID.Short()
			assert.False(t, waiting[0].Processed, "a person has not said yes")
		}
		return id != ""
	})
	until(t, func() bool { return k.listed(all[1], "list")[0].Processed })
	one := k.listed(all[1], "list")[0]
	assert.Equal(t, id, one.Approval)
	for _, words := range [][]string{{"list"}, {"show", one.File}, {"thread", one.ID}} {
		cmd := k.command(thisProgram(), append([]string{"aea"}, words...)...)
		cmd.Dir = all[1]
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		shown, _ := io.ReadAll(terminal) // reading ends with an error when the program ends
		_ = cmd.Wait()
		require.NoError(t, terminal.Close())
		assert.Contains(t, string(shown), "Waits for approval: ", "%v", words)
		assert.Contains(t, string(shown), "intercom aea approve "+id, "%v", words)
		assert.NotContains(t, string(shown), "Processed: ", "%v", words)
	}
}

// `aea send` refuses a relative path, even one that leads to a repository. The hint names the absolute path, which is
// accepted.
func TestA38_relativePath(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "two")
	inside := filepath.Join(all[0], "src")
	require.NoError(t, os.Mkdir(inside, 0o700))
	send := func(dir, path string) (string, error) {
		cmd := k.command(thisProgram(), "aea", "send", "--to", "claude-two", "--to-path", path, "--type", "update", "--subject", "S", "--message", "B")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for path, dir := range map[string]string{"../two": all[0], "../../two": inside, "two": filepath.Dir(all[0]), "./two": filepath.Dir(all[0])} {
		out, err := send(dir, path)
		failed, ok := errors.AsType[*exec.ExitError](err)
		require.True(t, ok, "%s: %v", path, err)
		assert.Equal(t, 1, failed.ExitCode(), path)
		assert.Contains(t, out, "the path is not absolute", path)
		assert.Contains(t, out, "hint: --to-path "+all[1]+"\n", path)
	}
	there := func() []string {
		files, err := filepath.Glob(filepath.Join(all[1], ".aea", "message-*.json"))
		require.NoError(t, err)
		return files
	}
	assert.Empty(t, there())
	out, err := send(all[0], all[1])
	require.NoError(t, err, out)
	assert.Len(t, there(), 1)
}

// In a repository without .aea that lies inside one with .aea, `aea send` writes in the name of the outer repository. `aea check`
// shows the outer repository's messages too, so the answer is found there.
func TestAEA_nestedRepository(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("outer", "two")
	inner := filepath.Join(all[0], "vendor", "inner")
	require.NoError(t, os.MkdirAll(filepath.Join(inner, ".git"), 0o700))
	var sent aeaSent
	require.NoError(t, json.Unmarshal([]byte(k.runsIn(inner, "aea", "send", "--to", "claude-two", "--type", "question", "--subject", "S", "--message", "B")), &sent))
	assert.Equal(t, all[0], sent.From.Path)
	assert.Equal(t, "claude-outer", sent.From.ID)
	assert.Contains(t, k.runsIn(inner, "aea", "check"), `"repository":"`+all[0]+`"`)
}
