package repository

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A sender is killed at each system call by which a message comes to be: a file with a message's name is always
// whole.
func TestA56_killedWhileItWrites(t *testing.T) {
	const at = "INTERCOM_TEST_PUT"
	if dir := os.Getenv(at); dir != "" {
		d := Dir{dir}
		for i := range 2 {
			m := letter(d, d, "update")
			m.Body = strings.Repeat("x", 5000)
			_, err := d.Put(m, fmt.Sprint(i))
			require.NoError(t, err)
		}
		return
	}
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which the sender is killed at a system call: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	died, runs := 0, 0
	for call, points := range map[string]int{"write,pwrite64": 4, "fsync,fdatasync": 2, "linkat,renameat,renameat2": 2} {
		for n := range points {
			runs++
			d := repo(t, "repo")
			child := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call,
				"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n+1), os.Args[0], "-test.run=^TestA56_killedWhileItWrites$")
			child.Env = append(os.Environ(), at+"="+d.Path)
			if child.Run() != nil {
				died++
			}
			paths, err := filepath.Glob(d.at("message-*.json"))
			require.NoError(t, err)
			for _, path := range paths {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				require.True(t, json.Valid(text), "%s %d: %d bytes of %s", call, n+1, len(text), path)
			}
		}
	}
	t.Logf("%d runs, %d killed", runs, died)
	assert.Greater(t, died, runs/3, "most points are reached")
}

// If the system has no watch left, messages are found all the same, by listing the directory.
func TestA61_noWatchLeft(t *testing.T) {
	const unwatched = "INTERCOM_TEST_UNWATCHED"
	if os.Getenv(unwatched) == "" {
		t.Parallel()
		child := func(last ...string) ([]byte, error) {
			words := append([]string{"-Ur", "sh", "-c", `echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"`, "sh"}, last...)
			cmd := exec.CommandContext(t.Context(), "unshare", words...)
			cmd.Env = append(os.Environ(), unwatched+"=1")
			return cmd.CombinedOutput()
		}
		if out, err := child("true"); err != nil {
			t.Skipf("no user namespace can be made here in which there are no watches: %v: %s", err, out)
		}
		out, err := child(os.Args[0], "-test.count=1", "-test.v", "-test.run=^TestA61_noWatchLeft$")
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS")
		return
	}
	_, err := fsnotify.NewWatcher()
	require.Error(t, err)
	h := newHouse(t)
	h.run()
	defer h.end()
	for range 5 {
		name, err := h.target.Put(letter(h.asker, h.target, "update"), "")
		require.NoError(t, err)
		h.until(func() bool { return h.marked(name) })
	}
}
