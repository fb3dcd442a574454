package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of what is typed, echoed and erased a terminal that gathers lines tells nothing; of each line that is read, and of whatever
// anybody writes, it does. What ends counts no more, and a terminal of the same name begins with another count.
func TestUsage(t *testing.T) {
	cmd := exec.Command("cat")
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

	opens := exec.Command("sh", "-c", "printf more >/dev/tty")
	other, err := pty.Start(opens)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, opens.Wait())
	was := nameless
	r3, w3 := use()
	assert.Equal(t, []uint64{r2, w2}, []uint64{r3, w3})
	assert.Greater(t, nameless, was, "written to what may be this terminal")

	Unused(tty)
	r3, w3 = use()
	assert.Greater(t, r3, w2)
	assert.Greater(t, w3, w2)
	_, ok := Usage(tty, os.Getpid())
	assert.True(t, ok, "it is watched")
	Unused(tty)
	_, ok = Usage(tty, os.Getpid())
	assert.False(t, ok, "it is not this process's terminal")
}
