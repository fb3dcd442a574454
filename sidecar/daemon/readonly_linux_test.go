package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// readOnly makes all writes of a process to its journal fail, as on a file system that has become read-only under
// open files, until writable is called.
func (r *rig) readOnly(pid int) (writable func()) {
	r.t.Helper()
	need(r.t, "strace")
	cmd := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EROFS", "-p", fmt.Sprint(pid))
	require.NoError(r.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	writable = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // strace then detaches from the process
		<-ended
	}
	r.t.Cleanup(writable)
	r.waitFor("all its threads are traced", func() bool {
		select {
		case <-ended:
			r.t.Skip("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope 0, in a container --cap-add SYS_PTRACE)")
		default:
		}
		all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		require.NoError(r.t, err)
		for _, path := range all {
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "\nTracerPid:\t0\n") {
				return false
			}
		}
		return len(all) > 0
	})
	return writable
}

// If the disk becomes read-only in the middle of a chat, as after an error in the file system, the sidecar holds
// everything, still answers requests and says why. Once the disk is writable again, words said meanwhile are
// delivered, once.
func TestD2_ReadOnlyDiskInAChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	child, line := r.childBy(nil, "")
	require.Equal(t, "ready\n", line)
	d := &smallDisk{rig: r, child: child}
	a, b := d.adopted("Ada", silent...), d.adopted("Ben", silent...)
	chat := d.chat([]*agent{a, b}, unlimited...)

	writable := d.readOnly(child.Process.Pid)
	a.do(":say meanwhile")
	d.waitFor("it says so", func() bool { return len(d.trouble()) == 1 })
	assert.Equal(t, []string{"disk is read-only: " + filepath.Join(d.cfg.Paths.State, "journal.db")}, d.trouble())
	d.waitFor("the status line", func() bool { return strings.HasPrefix(d.option(), "disk is read-only") })
	_, err := d.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: "never taken"})
	require.ErrorContains(t, err, "disk is read-only")
	refused, is := errors.AsType[*api.Error](err)
	require.True(t, is)
	assert.Contains(t, refused.Hint, "make it writable again")
	assert.Empty(t, b.received())
	assert.Equal(t, message.ChatOn, d.current(chat).State)

	writable()
	b.hears("[Ada] (1): meanwhile")
	d.waitFor("it is well", func() bool { return len(d.trouble()) == 0 && !strings.Contains(d.option(), "disk") })
	d.say(chat, "and on it goes")
	b.hears("[tester] (0): and on it goes")
	assert.Equal(t, []string{"[Ada] (1): meanwhile", "[tester] (0): and on it goes"}, b.received())
}
