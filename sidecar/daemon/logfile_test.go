package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
)

// The log keeps to its size although many write to it at once. Every record is whole, and the newest ones are in the
// file itself.
func TestD8_LogIsRotated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	log, err := daemon.OpenLog(api.Paths{Log: filepath.Join(dir, "sidecar.log")})
	require.NoError(t, err)
	const writers, each = 4, 2500
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				_, err := fmt.Fprintf(log, "writer %d record %05d %s\n", w, i, strings.Repeat("x", 2000))
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	require.NoError(t, log.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, files, 4, "the log and three older ones")
	kept := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(text), 4<<20)
		for line := range strings.Lines(string(text)) {
			assert.Regexp(t, `^writer \d record \d{5} x+\n$`, line)
			assert.Len(t, line, len("writer 0 record 00000 ")+2001)
			kept++
		}
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	assert.Greater(t, kept, 3*2000)
	newest, err := os.ReadFile(filepath.Join(dir, "sidecar.log"))
	require.NoError(t, err)
	assert.Contains(t, string(newest), fmt.Sprintf("record %05d", each-1))
	_, err = log.Write([]byte("late"))
	assert.ErrorIs(t, err, os.ErrClosed)
}
