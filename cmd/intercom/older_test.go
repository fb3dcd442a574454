package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// This version goes on with the journal of an older version, with its chats and open deliveries. The older version, started on it
// again, says that a newer version wrote it, ends, and changes no byte of the database or its log. This version can then still
// use the journal.
func TestOlderVersion_leavesNewerJournalAlone(t *testing.T) {
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("builds a whole older program: make long does")
	}
	t.Parallel()
	const commit = "e74c688"
	st := newStage(t, tmuxtest.Versions(t)[0])
	old := olderVersion(t, st.root, commit)
	run := func(program string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(st.environ(), "INTERCOM_SERVER="+st.Socket)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(program string, args ...string) {
		t.Helper()
		out, err := run(program, args...)
		require.NoError(t, err, "%v: %s", args, out)
	}
	st.Run("new-session", "-d", "-s", "one", "sleep 1000")
	require.NoError(t, os.RemoveAll(st.paths().State)) // remove the journal of this version
	must(old, "up")
	must(old, "down")
	found, err := filepath.Glob(filepath.Join(st.env["XDG_STATE_HOME"], "intercom", "*", "journal.db"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	files := func() map[string]string {
		all := map[string]string{}
		parts, err := filepath.Glob(found[0] + "*")
		require.NoError(t, err)
		for _, part := range parts {
			content, err := os.ReadFile(part)
			require.NoError(t, err)
			all[part] = fmt.Sprintf("%x", sha256.Sum256(content))
		}
		return all
	}
	for part := range files() {
		require.NoError(t, os.Remove(part))
	}
	require.NoError(t, os.WriteFile(found[0], schema3(t, st.root), 0o600))

	must(thisProgram(), "up")
	must(thisProgram(), "down")
	before := files()
	out, err := run(old, "up")
	assert.Error(t, err)
	assert.Contains(t, out, "newer version")
	after := files()
	for part := range before {
		if !strings.HasSuffix(part, "-shm") { // locks and the log's index, which every reader makes anew
			assert.Equal(t, before[part], after[part], part)
		}
	}
	assert.Len(t, after, len(before))
	must(thisProgram(), "up")
	out, err = run(thisProgram(), "log")
	require.NoError(t, err)
	assert.Contains(t, out, "and then?")
	must(thisProgram(), "down")
}

// schema3 is a journal that the version of e74c688 wrote.
func schema3(t *testing.T, root string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(root, "sidecar", "journal", "testdata", "schema3", "journal.db.gz"))
	require.NoError(t, err)
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	db, err := io.ReadAll(reader)
	require.NoError(t, err)
	return db
}

// olderVersion builds the program as it was at a commit, if the clone has that commit.
func olderVersion(t *testing.T, root, commit string) string {
	t.Helper()
	git := exec.CommandContext(t.Context(), "git", "-C", root, "archive", "--format=tar", commit)
	tree, err := git.Output()
	if err != nil {
		t.Skipf("commit %s is not in this clone, whose program would be built (git fetch --unshallow gets it): %v", commit, err)
	}
	dir := t.TempDir()
	tar := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	tar.Stdin = bytes.NewReader(tree)
	out, err := tar.CombinedOutput()
	require.NoError(t, err, "%s", out)
	program := filepath.Join(t.TempDir(), "intercom")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/intercom")
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOTOOLCHAIN=local")
	out, err = build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}
