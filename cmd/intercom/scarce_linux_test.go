package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// starved is a line program in a pane, whose sidecar gets no more of some resource for a while.
type starved struct {
	*talker
	screen func() string
	pid    int
}

func newStarved(t *testing.T) *starved {
	t.Helper()
	k := newTalker(t)
	in, screen := k.reader("scarce")
	s := &starved{talker: in, screen: screen, pid: k.sidecarOf(in.env["INTERCOM_SERVER"])}
	require.NotZero(t, s.pid)
	s.sends("before")
	return s
}

// sends sends a message and waits until it was submitted and is shown.
func (s *starved) sends(text string) {
	s.t.Helper()
	s.runs("send", "Ada", text, "--wait", "submitted")
	until(s.t, func() bool { return strings.Contains(s.screen(), text) })
}

// anyhow runs a command that may fail, and returns all its output.
func (s *starved) anyhow(words ...string) (string, error) {
	out, err := s.command(thisProgram(), words...).CombinedOutput()
	return string(out), err
}

// meanwhile sends a message while the sidecar starves, and returns the output.
func (s *starved) meanwhile() (said string) {
	s.t.Helper()
	said, err := s.anyhow("send", "Ada", "meanwhile", "--wait", "submitted", "--timeout", "1s")
	s.t.Logf("%v: %s", err, said)
	if err == nil {
		assert.Contains(s.t, said, "submitted", "nothing else is success")
		until(s.t, func() bool { return strings.Contains(s.screen(), "meanwhile") })
	}
	return said
}

// recovers waits until nothing is wrong any more. A message that was accepted meanwhile has then arrived once, or awaits
// approval, or is uncertain; one that was not accepted never arrives.
func (s *starved) recovers() {
	s.t.Helper()
	until(s.t, func() bool {
		out, _ := s.anyhow("status")
		return strings.Contains(out, "Ada") && !strings.Contains(out, "degraded")
	})
	s.sends("after")
	switch log := s.runs("log"); {
	case !strings.Contains(log, "meanwhile"):
		assert.NotContains(s.t, s.screen(), "meanwhile", "it was never accepted")
	case strings.Contains(log, "message to Ada awaits your approval"): // its sender had ended and could not be identified
		assert.NotContains(s.t, s.screen(), "meanwhile")
		assert.Contains(s.t, s.runs("inbox", "list"), "meanwhile")
	case strings.Contains(log, "uncertain"):
		assert.LessOrEqual(s.t, strings.Count(s.screen(), "meanwhile"), 1, s.screen())
	default:
		assert.Equal(s.t, 1, strings.Count(s.screen(), "meanwhile"), "%s\n%s", log, s.screen())
	}
}

// openOf is the number of files that a process has open.
func openOf(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	return len(all)
}

// When a sidecar runs out of file descriptors, it or the doctor says so, nothing is reported as submitted that was not, and it
// recovers once it has some.
func TestD2_U9_NoDescriptors(t *testing.T) {
	t.Parallel()
	s := newStarved(t)
	var was unix.Rlimit
	require.NoError(t, unix.Prlimit(s.pid, unix.RLIMIT_NOFILE, nil, &was))
	leave := func(n int) {
		require.NoError(t, unix.Prlimit(s.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(n), Max: was.Max}, nil))
	}
	leave(openOf(t, s.pid) + 5) // enough for an answer
	out, err := s.anyhow("doctor")
	assert.Error(t, err)
	assert.Regexp(t, `the sidecar says: (no file descriptor is left: |\d+ file descriptors are open; )the limit is \d+`, out)
	assert.Contains(t, out, "raise the limit")

	leave(3)
	assert.NotContains(t, s.meanwhile(), "submitted,")
	out, err = s.anyhow("doctor")
	assert.Error(t, err)
	assert.Regexp(t, fmt.Sprintf(`the sidecar of process %d does not answer: \d+ file descriptors are open; the limit is 3`, s.pid), out)
	assert.NotContains(t, out, "kill -9", "it is not to be ended")

	require.NoError(t, unix.Prlimit(s.pid, unix.RLIMIT_NOFILE, &was, nil))
	s.recovers()
	assert.Equal(t, s.pid, s.sidecarOf(s.env["INTERCOM_SERVER"]), "it is the same sidecar")
}

// When a sidecar can start no more processes, the doctor says so, and the sidecar recovers once it can. If the shortage ended it,
// another one takes over.
func TestD2_U9_NoProcesses(t *testing.T) {
	t.Parallel()
	s := newStarved(t)
	group := groupOf(t, "pids", s.pid)
	setLimit(t, group, "pids.max", "1")
	out, err := s.anyhow("doctor")
	t.Logf("%v: %s", err, out)
	assert.Error(t, err)
	// A sidecar that needs a new thread just then and gets none ends with that message.
	assert.Regexp(t, "resource temporarily unavailable|fatal error: newosproc", out)
	s.meanwhile()
	setLimit(t, group, "pids.max", "max")
	s.recovers()
}

// When a sidecar gets no more memory it ends, and another one takes over.
func TestD2_NoMemory(t *testing.T) {
	t.Parallel()
	s := newStarved(t)
	until(t, func() bool { out, _ := s.anyhow("doctor"); return strings.Contains(out, "restarts the sidecar") })
	var ports [4]string
	for i := range ports {
		ports[i] = aFreePort(t)
		s.ok("listen", "start", "--port", ports[i])
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmData:")
	var size uint64
	_, err = fmt.Sscan(rest, &size)
	require.NoError(t, err)
	require.NoError(t, unix.Prlimit(s.pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: size << 10, Max: unix.RLIM_INFINITY}, nil))
	// Each text lacks its last byte, so the sidecar holds all of them at once: more memory than it has to spare.
	text := fmt.Sprintf("%d:%s", 1<<20, strings.Repeat("x", 1<<20-1))
	until(t, func() bool {
		var all sync.WaitGroup
		for i := range 16 * len(ports) { // as many as it reads at once
			all.Go(func() {
				c, err := net.Dial("tcp4", "127.0.0.1:"+ports[i%len(ports)])
				if err == nil {
					defer c.Close()
					_ = c.SetDeadline(time.Now().Add(5 * time.Second))
					_, _ = io.WriteString(c, text)
					_, _ = io.Copy(io.Discard, c)
				}
			})
		}
		all.Wait()
		return s.sidecarOf(s.env["INTERCOM_SERVER"]) != s.pid
	})
	s.recovers()
	var told string
	until(t, func() bool {
		told, _ = s.anyhow("doctor")
		return strings.Contains(told, "sidecars have reported problems")
	})
	// Its runtime reports the lack of memory, or crashes on it.
	assert.Regexp(t, `stderr\.log, (fatal error: |SIG)`, told)
}

// groupOf moves a process into a control group of its own.
func groupOf(t *testing.T, controller string, pid int) string {
	t.Helper()
	for _, root := range []string{filepath.Join("/sys/fs/cgroup", controller), "/sys/fs/cgroup"} {
		group := filepath.Join(root, fmt.Sprintf("intercom-test-%d", pid))
		if os.Mkdir(group, 0o700) != nil {
			continue
		}
		t.Cleanup(func() {
			for _, one := range strings.Fields(limitOf(group, "cgroup.procs")) {
				_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(one), 0)
			}
			_ = os.Remove(group)
		})
		if _, err := os.Stat(filepath.Join(group, "pids.max")); err == nil {
			setLimit(t, group, "cgroup.procs", fmt.Sprint(pid))
			return group
		}
		_ = os.Remove(group)
	}
	t.Skip("no control group can be made here, by which a process gets no other: it takes root and the controller " + controller)
	return ""
}

func setLimit(t *testing.T, group, file, value string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(group, file), []byte(value), 0))
}

func limitOf(group, file string) string {
	text, _ := os.ReadFile(filepath.Join(group, file))
	return string(text)
}
