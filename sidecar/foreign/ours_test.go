package foreign_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// assertReadAlike compares reading files of a directory together with reading them one by one.
func assertReadAlike(t *testing.T, dir string, names []string) (read int) {
	t.Helper()
	n := 0
	foreign.ReadAllOurs(dir, names, 1<<10, func(i int, text []byte, err error) {
		assert.Equal(t, n, i, "in their order")
		n++
		want, _, wrong := foreign.ReadOurs(filepath.Join(dir, names[i]), 1<<10)
		assert.Equal(t, fmt.Sprint(wrong), fmt.Sprint(err), names[i])
		assert.Equal(t, string(want), string(text), names[i])
		if err == nil {
			read++
		}
	})
	assert.Equal(t, len(names), n)
	return read
}

// Reading together returns the same contents and the same refusals as reading one by one.
func TestReadAllOurs(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i := range 100 {
		name := fmt.Sprint("file ", i)
		path := filepath.Join(dir, name)
		names = append(names, name)
		switch i % 10 {
		case 3:
			require.NoError(t, os.Symlink("file 0", path))
		case 4:
			require.NoError(t, syscall.Mkfifo(path, 0o600))
		case 5:
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 1<<10+1)), 0o600))
		case 6:
			require.NoError(t, os.Link(filepath.Join(dir, "file 0"), path))
		case 7: // nothing
		case 8:
			require.NoError(t, os.Mkdir(path, 0o700))
		default:
			require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
		}
	}
	assert.Equal(t, 39, assertReadAlike(t, dir, names), "all ordinary ones but the one that has other names")
	assertReadAlike(t, dir, names[:1])
	assertReadAlike(t, dir, nil)
	assertReadAlike(t, dir+"/gone", names[:2])
}

// With few descriptors ReadAllOurs uses no more of them at once than there are.
func TestReadAllOurs_fewDescriptors(t *testing.T) {
	const at = "INTERCOM_TEST_DESCRIPTORS"
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint("file ", i))
	}
	if dir := os.Getenv(at); dir != "" {
		_, _, err := os.Pipe() // now everything that the runtime itself opens is open
		require.NoError(t, err)
		last, err := os.Open(dir)
		require.NoError(t, err)
		for _, more := range []uint64{3, 4, 6} {
			most := uint64(last.Fd()) + 1 + more
			require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: uint64(last.Fd()) + 7}))
			read := 0
			foreign.ReadAllOurs(dir, names, 1<<10, func(_ int, _ []byte, err error) {
				if assert.NoError(t, err, "%d descriptors", more) {
					read++
				}
			})
			assert.Equal(t, len(names), read)
		}
		return
	}
	dir := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestReadAllOurs_fewDescriptors$")
	cmd.Env = append(os.Environ(), at+"="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
