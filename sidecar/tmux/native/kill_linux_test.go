package native_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// speaksTo makes the test program a client that types lines into a pane, one after another: "SOCKET
// PID PANE COUNT".
const speaksTo = "INTERCOM_TEST_SPEAKS_TO"

func TestMain(m *testing.M) {
	if to := os.Getenv(speaksTo); to != "" {
		os.Exit(speak(to))
	}
	goleak.VerifyTestMain(m)
}

func speak(to string) int {
	var (
		n     native.Server
		pane  string
		count int
	)
	if _, err := fmt.Sscan(to, &n.Socket, &n.PID, &pane, &count); err != nil {
		return 2
	}
	for i := range count {
		reply, err := n.Run(context.Background(), typing(pane, "x"), fmt.Appendf(nil, "line %d of a process.\n", i))
		if err != nil || string(reply.Stdout) != "TYPED\n" {
			return 1
		}
		fmt.Println("typed", i)
	}
	return 0
}

// A process of ours is killed, or stopped and then killed, at the n-th call of each system call by
// which it talks to a server. Meanwhile the server answers others. It lives on and keeps nothing.
// The text came whole, once and in order: all lines that were reported as typed, and one more line
// at most.
func TestS23_C47_KilledAtEverySystemCall(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which a process is killed at a system call: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	points := []int{1, 2, 3, 5, 8}
	if os.Getenv("INTERCOM_LONG") != "" {
		points = nil
		for i := range 24 {
			points = append(points, i+1)
		}
	}
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		before, ended, stopped := descriptors(t, s.PID), 0, 0
		for _, call := range []string{"socket", "connect", "getsockopt", "write", "read", "close"} {
			for _, signal := range []string{"SIGKILL", "SIGSTOP"} {
				for _, at := range points {
					r := s.NewRecorder(false)
					cmd := exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=%s:when=%d", call, signal, at), os.Args[0])
					cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s %d", speaksTo, s.Socket, s.PID, r.Pane, 4))
					out, err := cmd.StdoutPipe()
					require.NoError(t, err)
					require.NoError(t, cmd.Start())
					lines, said := bufio.NewScanner(out), 0
					done := make(chan struct{})
					go func() {
						defer close(done)
						for lines.Scan() {
							said++
						}
					}()
					if signal == "SIGSTOP" {
						child, since := 0, 0
						tmuxtest.WaitFor(t, "its end, or that it is stopped", func() bool {
							select {
							case <-done:
								return true
							default:
							}
							child = childOf(cmd.Process.Pid)
							if since++; child == 0 || !halted(child) {
								since = 0
							}
							return since > 4 // the tracer halts it for a moment at each call
						})
						select {
						case <-done:
						default:
							stopped++
							reply, err := n.Run(t.Context(), []string{"display-message", "-p", "#{pid}"}, nil)
							require.NoError(t, err)
							require.Equal(t, fmt.Sprintln(s.PID), string(reply.Stdout))
							require.Empty(t, s.Run("list-clients"))
							if err := syscall.Kill(child, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) { // it had ended
								require.NoError(t, err)
							}
						}
					}
					<-done
					if err := cmd.Wait(); err != nil {
						ended++
					}
					reply, err := n.Run(t.Context(), typing(r.Pane, "x"), []byte("last"))
					require.NoError(t, err)
					require.Equal(t, "TYPED\n", string(reply.Stdout))
					tmuxtest.WaitFor(t, "the last text", func() bool { return bytes.HasSuffix(r.Bytes(), []byte("last")) })
					want := ""
					got := strings.TrimSuffix(string(r.Bytes()), "last")
					count := strings.Count(got, "\n")
					for i := range count {
						want += fmt.Sprintf("line %d of a process.\n", i)
					}
					assert.Equal(t, want, got, "%s at %s %d", signal, call, at)
					assert.GreaterOrEqual(t, count, said)
					assert.LessOrEqual(t, count, said+1)
					require.True(t, s.Alive())
					s.Run("kill-pane", "-t", r.Pane)
				}
			}
		}
		t.Logf("%d ended early, %d of them stopped before", ended, stopped)
		assert.Greater(t, ended, 10)
		assert.Greater(t, stopped, 5)
		nothingLeft(t, s, before)
	})
}

// childOf returns the first process that another has started, or 0 if there is none.
func childOf(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for field := range strings.FieldsSeq(string(text)) {
		child, _ := strconv.Atoi(field)
		return child
	}
	return 0
}

// halted reports whether all threads of a process are halted.
func halted(pid int) bool {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range all {
		text, _ := os.ReadFile(path)
		if _, rest, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(rest, "T") && !strings.HasPrefix(rest, "t") {
			return false
		}
	}
	return len(all) > 0
}
