package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a file")
	require.NoError(t, atomicfile.Write(path, []byte("one"), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())

	outside := filepath.Join(dir, "outside")
	require.NoError(t, os.WriteFile(outside, []byte("not ours"), 0o644))
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink(outside, path))
	require.NoError(t, atomicfile.Write(path, []byte("two"), 0o600))
	kept, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "not ours", string(kept), "a link in its place is replaced, not followed")
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "two", string(now))
}

func TestWrite_whatFailsLeavesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.MkdirAll(filepath.Join(taken, "below"), 0o700))
	assert.ErrorContains(t, atomicfile.Write(taken, []byte("x"), 0o600), `write "`+taken+`"`)
	assert.Error(t, atomicfile.Write(filepath.Join(dir, "none", "x"), nil, 0o600))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing beside it")
}
