package own_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// A file that others may write, or something that is no file, does not count as ours.
func TestS24_OursAlone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("ours"), []byte("text"), 0o600))
	text, err := own.Read(at("ours"), 4)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	_, err = own.Read(at("ours"), 3)
	assert.ErrorContains(t, err, "more than 3 bytes")
	_, err = own.Read(at("none"), 3)
	assert.ErrorIs(t, err, fs.ErrNotExist)

	require.NoError(t, os.WriteFile(at("open"), nil, 0o600))
	require.NoError(t, os.Chmod(at("open"), 0o620))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	require.NoError(t, os.Symlink("ours", at("link")))
	names := map[string]string{"open": "has mode 0620", "fifo": "is a FIFO", "link": "is a symbolic link", ".": "is a directory"}
	if os.Geteuid() == 0 {
		require.NoError(t, os.WriteFile(at("theirs"), nil, 0o600))
		require.NoError(t, os.Chown(at("theirs"), 12345, -1))
		names["theirs"] = "belongs to another user"
	}
	for name, why := range names {
		_, err := own.Read(at(name), 10)
		assert.ErrorIs(t, err, own.ErrNotOurs, name)
		assert.ErrorContains(t, err, why)
		_, err = own.OpenFile(at(name), os.O_WRONLY|os.O_APPEND, 0)
		assert.ErrorIs(t, err, own.ErrNotOurs, name)
		assert.ErrorContains(t, err, why)
	}
	assert.Len(t, own.Glob(dir, "o*"), 2)
	require.NoError(t, os.Chmod(dir, 0o770))
	_, err = own.List(dir)
	assert.ErrorIs(t, err, own.ErrNotOurs)
}
