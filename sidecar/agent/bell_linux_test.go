package agent

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// While a directory of one agent is on a file system that hangs, others are listened to, rung for and forgotten.
func TestBell_aFileSystemThatHangs(t *testing.T) {
	b := newBell(t)
	dir, hangs, release := hanging(t)
	heard := make(chan bool, 1)
	go func() { heard <- b.listen(filepath.Join(dir, "sessions"), make(chan struct{}, 1)) }()
	hangs()

	other, ear := t.TempDir(), make(chan struct{}, 1)
	done := make(chan bool, 1)
	go func() { done <- b.listen(other, ear) }()
	select {
	case ok := <-done:
		require.True(t, ok)
	case <-time.After(20 * time.Second):
		require.FailNow(t, "it waits for a file system that it does not ask about")
	}
	require.NoError(t, os.WriteFile(filepath.Join(other, "x"), nil, 0o600))
	select {
	case <-ear:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "it does not ring")
	}
	b.forget(ear)
	release()
	assert.False(t, <-heard)
}

// hanging mounts a file system that answers no question. hangs returns once somebody has asked one; release makes
// all who ask fail.
func hanging(t *testing.T) (dir string, hangs, release func()) {
	t.Helper()
	dir = t.TempDir()
	// Not os.OpenFile, which would poll it: until it is mounted, that fails.
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no file system of its own can be had; load the kernel module fuse, and run as root: ", err)
	}
	fuse := os.NewFile(uintptr(fd), "/dev/fuse")
	release = func() { _ = fuse.Close() }
	t.Cleanup(release)
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, os.Getuid(), os.Getgid())
	if err := syscall.Mount("hanging", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		t.Skip("no file system of its own can be mounted; run as root, in a container with CAP_SYS_ADMIN: ", err)
	}
	t.Cleanup(func() {
		release()
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	})
	request := make([]byte, 1<<17)
	_, err = fuse.Read(request) // FUSE_INIT, which the kernel asks first
	require.NoError(t, err)
	const head, body = 16, 64
	answer := make([]byte, head+body)
	binary.NativeEndian.PutUint32(answer, head+body)
	copy(answer[8:head], request[8:16])                // the request's number
	binary.NativeEndian.PutUint32(answer[head:], 7)    // version 7.31 of the protocol
	binary.NativeEndian.PutUint32(answer[head+4:], 31) // without any of its features
	_, err = fuse.Write(answer)
	require.NoError(t, err)
	return dir, func() {
		_, err := fuse.Read(request)
		require.NoError(t, err)
	}, release
}
