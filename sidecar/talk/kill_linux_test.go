package talk

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The listener is killed at the n-th call of each system call with which it touches the files of the port, in
// any thread. Of the messages that a sender was told are stored, none is missing, none is there twice, and all
// are whole. The next listener goes on.
func TestK48_killedAtEverySystemCall(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which the listener is killed at a system call: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	most, step := 9, 4
	if os.Getenv("INTERCOM_LONG") != "" {
		most, step = 40, 1
	}
	died, runs := 0, 0
	t.Run("points", func(t *testing.T) {
		for _, call := range []string{"openat", "flock", "newfstatat,fstat", "write", "fsync", "unlinkat"} {
			for n := 1; n <= most; n += step {
				t.Run(fmt.Sprint(call, " ", n), func(t *testing.T) {
					runs++
					if killedAt(t, strace, call, n) {
						died++
					}
				})
			}
		}
	})
	t.Logf("%d runs, %d killed", runs, died)
	assert.Greater(t, died, 10, "most of the first points are reached")
}

// killedAt runs a listener that is killed at one point, and reports whether it was.
func killedAt(t *testing.T, strace, call string, n int) bool {
	who := newPerson(t)
	number := freePort(t)
	require.NoError(t, who.want(number, Wish{}))
	p := who.Port(number)
	other := who.another(strace, "-f", "-qq", "-o", "/dev/null", "-P", p.Inbox(), "-P", p.Callback(),
		"-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n))
	told := map[string]bool{}
	killed := false
	for i := 0; i < 20 && !killed; i++ {
		text := fmt.Sprint(i)
		err := p.say(t, 9001, text)
		if told[text] = err == nil; !told[text] {
			killed = true
			assert.Contains(t, []Code{ConnectionClosed, ConnectionRefused}, codeOf(err), "%v", err)
		}
	}
	other.in.Close()
	_ = other.Wait()
	seen := map[string]int{}
	for _, m := range p.unread(t, CheckOptions{}) {
		seen[m.Text]++
		assert.Contains(t, told, m.Text, "whole, and sent by somebody")
	}
	for text, is := range told {
		if is {
			assert.Equal(t, 1, seen[text], "told that %s is stored", text)
		}
		assert.LessOrEqual(t, seen[text], 1)
	}
	who.keep()
	_, err := who.Keeper.Look(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.say(t, 9001, "next"))
	all := p.unread(t, CheckOptions{Clear: true})
	assert.Equal(t, "next", all[len(all)-1].Text)
	return killed
}
