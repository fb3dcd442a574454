package process

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A terminal in canonical mode reports nothing of keys that are typed, echoed and erased. It
// reports each line that is read, and every write. A terminal that is gone counts no more, and one
// of the same name begins with another count.
func TestUsage(t *testing.T) {
	cmd := exec.Command("sh", "-c", `while read -r line; do case $line in tty) printf more >/dev/tty; echo . ;; mine) echo -; read -r line </dev/tty; echo "$line" ;; *) echo "$line" ;; esac; done`)
	master, err := pty.Start(cmd)
	require.NoError(t, err)
	defer master.Close()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	tty, err := os.Readlink("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd/0")
	require.NoError(t, err)
	var nameless uint64
	use := func() (reads, writes uint64) {
		t.Helper()
		uses, ok := Usage(tty, cmd.Process.Pid)
		require.True(t, ok)
		nameless = uses.Nameless
		return uses.Reads, uses.Writes
	}
	var shown strings.Builder
	shows := func(text string) {
		t.Helper()
		end := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer end.Stop()
		for buf := make([]byte, 256); !strings.HasSuffix(shown.String(), text); {
			n, err := master.Read(buf)
			require.NoError(t, err, "%q", shown.String())
			shown.Write(buf[:n])
		}
	}
	types := func(text string) { t.Helper(); _, err := master.WriteString(text); require.NoError(t, err) }

	r0, w0 := use()
	types("abc\x7f")
	shows("abc\b \b")
	r, w := use()
	assert.Equal(t, []uint64{r0, w0}, []uint64{r, w}, "typed, echoed and erased")

	types("\n")
	shows("\b\r\nab\r\n")
	r1, w1 := use()
	assert.Greater(t, r1, r0, "read")
	assert.Greater(t, w1, w0, "written")

	foreign, err := os.OpenFile(tty, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer foreign.Close()
	_, err = foreign.WriteString("news")
	require.NoError(t, err)
	r2, w2 := use()
	assert.Equal(t, r1, r2)
	assert.Greater(t, w2, w1, "written by another program")

	was := nameless
	types("tty\n")
	shows("more.\r\n")
	use()
	assert.Greater(t, nameless, was, "written to what may be this terminal")

	for _, line := range []string{"one", "two"} {
		types(line + "\n") // writes before the last query are not the reason
		shows(line + "\r\n" + line + "\r\n")
		require.Eventually(t, func() bool { return asleep(cmd.Process.Pid) }, 20*time.Second, time.Millisecond, "it has come back from its write")
		read, written := use()
		other := exec.Command("sh", "-c", "printf more >/dev/tty")
		tty, err := pty.Start(other)
		require.NoError(t, err)
		defer tty.Close()
		require.NoError(t, other.Wait())
		was = nameless
		stillRead, stillWritten := use()
		assert.Equal(t, []uint64{read, written}, []uint64{stillRead, stillWritten})
	}
	assert.Equal(t, was, nameless, "written to another terminal")

	types("mine\n")
	shows("mine\r\n-\r\n")
	before, ok := Usage(tty, cmd.Process.Pid)
	require.True(t, ok && before.Told, "its reads are told of")
	types("three\n")
	shows("three\r\nthree\r\n")
	after, _ := Usage(tty, cmd.Process.Pid)
	assert.Equal(t, before.Reads, after.Reads, "read under another name")
	assert.Greater(t, after.NamelessReads, before.NamelessReads)

	Unused(tty)
	r3, w3 := use()
	unread, _ := Usage(tty, cmd.Process.Pid)
	assert.False(t, unread.Told, "none was told of since it is watched")
	assert.Greater(t, r3, w2)
	assert.Greater(t, w3, w2)
	_, ok = Usage(tty, os.Getpid())
	assert.True(t, ok, "it is watched")
	Unused(tty)
	_, ok = Usage(tty, os.Getpid())
	assert.False(t, ok, "it is not this process's terminal")
}

// If the kernel drops reports because nobody takes them, every terminal counts as written to, and
// the loss is told: a read may have been among them.
func TestUsage_lost(t *testing.T) {
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	require.NoError(t, err)
	events, err := strconv.Atoi(strings.TrimSpace(string(limit)))
	require.NoError(t, err)
	var ttys [2]*os.File
	var pids [2]int
	for i := range ttys {
		cmd := exec.Command("sleep", "1000")
		master, err := pty.Start(cmd)
		require.NoError(t, err)
		defer master.Close()
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		name, err := os.Readlink("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd/0")
		require.NoError(t, err)
		ttys[i], err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
		require.NoError(t, err)
		defer ttys[i].Close()
		go func() { _, _ = io.Copy(io.Discard, master) }()
		pids[i] = cmd.Process.Pid
	}
	of := func(i int) Uses {
		t.Helper()
		uses, ok := UsageSoFar(ttys[i].Name(), pids[i])
		require.True(t, ok)
		return uses
	}
	defer Unused(ttys[0].Name())
	defer Unused(ttys[1].Name())
	of(0)
	was := of(1)
	for range events { // by turns, since equal reports are merged
		for _, tty := range ttys {
			_, err := tty.WriteString(".")
			require.NoError(t, err)
		}
	}
	is := of(1)
	assert.Greater(t, is.Lost, was.Lost)
	assert.Greater(t, is.Writes, was.Writes)
	assert.False(t, is.Told)
	assert.Equal(t, is.Lost, of(1).Lost, "once")
}

// A program that waits in the middle of a long write to its terminal counts as writing; one that
// waits to write anywhere else, or sleeps, does not.
func TestWriting(t *testing.T) { // not beside TestDeaf_epoll: this program's own epoll watches the terminals
	for name, c := range map[string]struct {
		program string
		where   string // where it waits
		want    bool
	}{
		"its terminal":    {"head -c 1000000 /dev/zero", "wait_woken", true},
		"by another name": {"head -c 1000000 /dev/zero >/dev/tty", "wait_woken", true},
		"a pipe":          {"head -c 1000000 /dev/zero | sleep 600", "pipe_write", false},
		"it sleeps":       {"sleep 600", "nanosleep", false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", c.program)
			master, err := pty.Start(cmd) // which nobody reads
			require.NoError(t, err)
			defer func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL); _ = cmd.Wait(); _ = master.Close() }()
			tty, err := os.Readlink("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd/0")
			require.NoError(t, err)
			if _, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/syscall"); err != nil {
				t.Skip("the call that a child is in cannot be read: sysctl kernel.yama.ptrace_scope=1 at most, and no container without ptrace:", err)
			}
			require.Eventually(t, func() bool {
				front, err := Front(tty, cmd.Process.Pid)
				return err == nil && slices.ContainsFunc(front.Members, func(p Process) bool {
					where, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/wchan")
					return strings.Contains(string(where), c.where)
				})
			}, 20*time.Second, time.Millisecond)
			front, err := Front(tty, cmd.Process.Pid)
			require.NoError(t, err)
			assert.Equal(t, c.want, Writing(front.Members, tty))
		})
	}
}

// The writes of the processes of a terminal add up, even if some have ended since and were waited
// for.
func TestWrote(t *testing.T) {
	t.Parallel()
	shell, child, other := began{10, 1}, began{11, 2}, began{12, 3}
	before := map[began]uint64{shell: 5, child: 2}
	for name, c := range map[string]struct {
		now  map[began]uint64
		want bool
	}{
		"nobody":                      {map[began]uint64{shell: 5, child: 2}, false},
		"one has":                     {map[began]uint64{shell: 6, child: 2}, true},
		"a child was waited for":      {map[began]uint64{shell: 7}, false},
		"and wrote before":            {map[began]uint64{shell: 8}, true},
		"nobody waited for it":        {map[began]uint64{shell: 5}, true},
		"another one has begun":       {map[began]uint64{shell: 7, other: 0}, false},
		"and has written":             {map[began]uint64{shell: 5, other: 2}, true},
		"the same number, other ones": {map[began]uint64{{10, 9}: 7}, true},
	} {
		assert.Equal(t, c.want, wrote(before, c.now), name)
	}
	assert.True(t, wrote(nil, nil), "nobody was asked before")
}
