package foreign_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Whatever stands at a path, reading it ends at once, takes hardly any memory, and says what it is.
func TestS24_WhateverStandsThere(t *testing.T) {
	const limit = 64 << 10
	for name, c := range map[string]struct {
		put  func(t *testing.T, path string)
		says string
	}{
		"FIFO":              {func(t *testing.T, path string) { require.NoError(t, syscall.Mkfifo(path, 0o600)) }, "is a FIFO, not a regular file"},
		"device":            {func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/tty", path)) }, "is a character device, not a regular file"},
		"link to /dev/zero": {func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/zero", path)) }, "is a character device, not a regular file"},
		"link to a FIFO": {func(t *testing.T, path string) {
			require.NoError(t, syscall.Mkfifo(path+"-", 0o600))
			require.NoError(t, os.Symlink(path+"-", path))
		}, "is a FIFO"},
		"directory": {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, "is a directory, not a regular file"},
		"socket": {func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
		}, "is a socket, not a regular file"},
		"sparse file of 50 GB": {func(t *testing.T, path string) { sparse(t, path, 50<<30) }, "has more than 65536 bytes"},
		"a byte too much":      {func(t *testing.T, path string) { sparse(t, path, limit+1) }, "has more than 65536 bytes"},
		"as much as there may": {func(t *testing.T, path string) { sparse(t, path, limit) }, ""},
		"nothing":              {func(*testing.T, string) {}, "no such file"},
		"link to nothing":      {func(t *testing.T, path string) { require.NoError(t, os.Symlink(path+"-", path)) }, "no such file"},
		"link to itself":       {func(t *testing.T, path string) { require.NoError(t, os.Symlink(path, path)) }, "too many levels"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "ic") // short, for the socket
			require.NoError(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			path := filepath.Join(dir, "x")
			c.put(t, path)
			for way, read := range map[string]func() error{
				"read": func() error { _, err := foreign.Read(path, limit); return err },
				"in":   func() error { _, err := foreign.ReadIn(dir, "x", limit); return err },
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				done := make(chan error, 1)
				go func() { done <- read() }()
				select {
				case err := <-done:
					if c.says == "" {
						assert.NoError(t, err, way)
					} else if way == "read" || !strings.HasPrefix(name, "link to") && name != "device" {
						assert.ErrorContains(t, err, c.says, way)
					} else {
						assert.Error(t, err, way)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%s hangs", way)
				}
				runtime.ReadMemStats(&after)
				assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), way)
			}
		})
	}
}

// A file that grows while it is read is read up to the limit, and is too large then.
func TestS24_GrowsWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	sparse(t, path, 10)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return
		}
		defer f.Close()
		for piece := make([]byte, 4096); ; {
			select {
			case <-stop:
				return
			default:
				_, _ = f.Write(piece)
			}
		}
	}()
	for {
		text, err := foreign.Read(path, 1<<20)
		assert.LessOrEqual(t, len(text), 1<<20)
		if large, ok := errors.AsType[*foreign.TooLargeError](err); ok {
			assert.Equal(t, path, large.Path)
			break
		}
		require.NoError(t, err)
	}
	close(stop)
	<-stopped
}

// A terminal that takes a part of a text is an error that says so.
func TestWriteTerminal_takesOnlyAPart(t *testing.T) {
	master, slave, err := pty.Open() // which nobody reads
	require.NoError(t, err)
	defer master.Close()
	defer slave.Close()
	err = foreign.WriteTerminal(slave.Name(), strings.Repeat("x", 1<<20))
	require.ErrorIs(t, err, io.ErrShortWrite)
	assert.NotContains(t, err.Error(), "%!")
}

func TestOpenItself_refusesALink(t *testing.T) {
	dir := t.TempDir()
	sparse(t, filepath.Join(dir, "x"), 1)
	require.NoError(t, os.Symlink("x", filepath.Join(dir, "link")))
	_, err := foreign.ReadItself(filepath.Join(dir, "link"), 10)
	assert.ErrorContains(t, err, "is a symbolic link, not a regular file")
	_, err = foreign.ReadItself(filepath.Join(dir, "x"), 10)
	assert.NoError(t, err)
	_, err = foreign.ReadIn(dir, "link", 10)
	assert.NoError(t, err, "which does not lead out")
	_, err = foreign.ReadItself(filepath.Join(dir, "none"), 10)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestGlob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a*b[")
	for _, path := range []string{"one/x-1.jsonl", "one/x-2.jsonl", "two/x-1.jsonl", "two/y-1.jsonl", ".three/x-9.jsonl"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), nil, 0o600))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	quoted := strings.NewReplacer("*", `\*`, "[", `\[`).Replace(dir)
	for _, pattern := range []string{"*/x-*.jsonl", "one/x-?.jsonl", "two/y-1.jsonl", "fifo/*", "none/*", "*", "[ot]*/x-1.jsonl"} {
		want, err := filepath.Glob(filepath.Join(quoted, pattern))
		require.NoError(t, err)
		assert.Equal(t, want, foreign.Glob(filepath.Join(quoted, pattern)), pattern)
	}
	assert.Empty(t, foreign.Glob("*"))
	assert.Empty(t, foreign.Glob(""))
}

// sparse makes a file of that size without writing any data.
func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, size))
}
