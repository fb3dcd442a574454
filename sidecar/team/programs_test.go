package team_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// The programs in the panes of teammates are read as they were recorded, and a team without any has no file. An
// unreadable file is an error, because it may name anybody.
func TestPrograms(t *testing.T) {
	t.Parallel()
	d := team.Dir{Path: t.TempDir()}
	all := []team.Program{{Name: "alice", PID: 12, Start: 1 << 60, Boot: "b", Space: "pid:[4]"}, {Name: "bob", PID: 13}}
	assert.ErrorIs(t, d.SetPrograms(all), fs.ErrNotExist, "there is no team")
	require.NoError(t, d.Make())
	file := filepath.Join(d.Path, team.Folder, "processes.json")
	for _, want := range [][]team.Program{nil, all, all[1:], nil} {
		require.NoError(t, d.SetPrograms(want))
		got, err := d.Programs()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.NoFileExists(t, file)

	require.NoError(t, os.WriteFile(file, []byte(`[{"name": "ali`), 0o600))
	_, err := d.Programs()
	assert.Error(t, err)
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Symlink("/dev/zero", file))
	_, err = d.Programs()
	assert.Error(t, err)
}
