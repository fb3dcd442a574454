package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If something else replaces the status file, reading it does not block, costs little, and yields no status; the
// last status no longer counts either. Once the file is back, it counts again.
func TestS24_StatusFileIsReplaced(t *testing.T) {
	start, err := started(os.Getpid())
	require.NoError(t, err)
	home := t.TempDir()
	path := filepath.Join(home, "sessions", strconv.Itoa(os.Getpid())+".json")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d,"procStart":"%d","sessionId":"s","status":"idle"}`, os.Getpid(), start), 0o600))
	for name, c := range map[string]struct {
		put  func() error
		says string
	}{
		"FIFO":      {func() error { return syscall.Mkfifo(path, 0o600) }, "is a FIFO, not a regular file"},
		"zero":      {func() error { return os.Symlink("/dev/zero", path) }, "is a character device, not a regular file"},
		"directory": {func() error { return os.Mkdir(path, 0o700) }, "is a directory, not a regular file"},
		"sparse": {func() error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 50<<30)
		}, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := NewFollower(Agent{Kind: Claude, Home: home, Tried: []int{os.Getpid()}}, nil, time.Now)
			defer f.beside.close()
			_, err := f.byStatus()
			require.NoError(t, err)
			require.Equal(t, StatusIdle, f.status.State)
			f.told = *f.status
			require.NoError(t, os.Rename(path, path+"-"))
			require.NoError(t, c.put())
			assert.Less(t, allocated(func() {
				looked := make(chan error, 1)
				go func() { _, err := f.byStatus(); looked <- err }()
				select {
				case err = <-looked:
				case <-time.After(20 * time.Second):
					require.Fail(t, "it hangs")
				}
			}), uint64(1<<20))
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, f.unasked, c.says)
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Rename(path+"-", path))
			_, err = f.byStatus()
			assert.NoError(t, err)
			assert.NoError(t, f.unasked)
		})
	}
}
