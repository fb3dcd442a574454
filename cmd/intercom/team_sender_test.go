package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If no socket can be reached, as in an agent's sandbox, the caller cannot be identified: it has to say who it is to send, and to
// name the inbox that it reads. If it is certain that no sidecar runs, nobody has a session, and the caller is the lead.
func TestTeam_whoSendsWhereNoSocketCanBeReached(t *testing.T) {
	w := newWorld(t)
	project := teamIn(t, filepath.Join(w.env["HOME"], "project"))
	inbox := func(name string) string { return filepath.Join(project, ".team", "inbox", name+".jsonl") }
	sockets := filepath.Join(w.env["XDG_RUNTIME_DIR"], "intercom")
	require.NoError(t, os.Symlink(sockets, sockets))
	require.NoError(t, os.WriteFile(inbox("lead"), []byte(`{"type": "message", "from": "zed", "content": "done", "timestamp": 1.0}`+"\n"), 0o600))
	before := read(t, inbox("zed"))
	for line, hint := range map[string]string{
		"send zed hello": "--from NAME", "broadcast hello": "--from NAME", "inbox": "intercom team inbox NAME", "inbox --peek": "intercom team inbox NAME",
	} {
		r := w.run(append([]string{"team", "--dir", project}, strings.Fields(line)...)...)
		assert.Equal(t, 2, r.code, line)
		assert.Empty(t, r.out, line)
		assert.Contains(t, r.err, "whose session this is cannot be asked", line)
		assert.Contains(t, r.err, hint, line)
	}
	assert.Equal(t, before, read(t, inbox("zed")))
	assert.Contains(t, read(t, inbox("lead")), "done")
	for _, line := range []string{"send zed one --from lead", "inbox lead"} {
		r := w.run(append([]string{"team", "--dir", project}, strings.Fields(line)...)...)
		assert.Zero(t, r.code, "%s: %s", line, r.err)
	}
	assert.Contains(t, read(t, inbox("zed")), `"one"`)

	require.NoError(t, os.Remove(sockets))
	r := w.run("team", "--dir", project, "send", "zed", "two")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, read(t, inbox("zed")), `"from": "lead", "content": "two"`)
}
