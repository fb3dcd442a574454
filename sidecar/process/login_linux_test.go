package process_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

func TestLogin_isSetOnceAndHandedOn(t *testing.T) {
	t.Parallel()
	if process.Login(os.Getpid()) != 0 {
		t.Skip("this process has a login, which cannot be changed")
	}
	var logins []uint32
	for range 2 {
		cmd := exec.Command("sh", "-c", "id -u >/proc/self/loginuid && echo && exec sleep 60")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		if n, _ := out.Read(make([]byte, 1)); n == 0 {
			t.Skip("this kernel knows no logins")
		}
		logins = append(logins, process.Login(cmd.Process.Pid))
	}
	assert.NotZero(t, logins[0])
	assert.NotZero(t, logins[1])
	assert.NotEqual(t, logins[0], logins[1])
	assert.Zero(t, process.Login(1<<30), "there is none")
}

func TestOfAnother(t *testing.T) {
	t.Parallel()
	assert.False(t, process.OfAnother(os.Getpid()))
	assert.False(t, process.OfAnother(0))
	assert.False(t, process.OfAnother(1<<30), "there is none")
	if os.Geteuid() != 0 { // to root, no process is
		assert.True(t, process.OfAnother(1))
	}
}

// The sockets of X11, by path and by abstract name, and a program's own socket with a similar name.
func TestDisplay(t *testing.T) {
	const dir = "/tmp/.X11-unix"
	_ = os.Mkdir(dir, 0o777)
	path := filepath.Join(dir, "X"+strconv.Itoa(10_000+os.Getpid()))
	listen := func(address string) {
		l, err := net.Listen("unix", address)
		if err != nil {
			t.Skip("no display can be made here: ", err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				_, _ = c.Write([]byte{1})
			}
		}()
	}
	dial := func(address string) net.Conn {
		c, err := net.Dial("unix", address)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		_, err = c.Read(make([]byte, 1)) // it is accepted
		require.NoError(t, err)
		return c
	}
	before := time.Now().Add(-time.Second)
	listen("@" + path)
	listen(filepath.Join(t.TempDir(), "X0"))
	abstract := dial("@" + path)
	assert.Zero(t, process.Display(os.Getpid()), "an abstract name without its file may be anybody's")
	listen(path)
	assert.WithinRange(t, process.Display(os.Getpid()), before, time.Now())
	abstract.Close()
	assert.Zero(t, process.Display(os.Getpid()))
	named := dial(path)
	assert.WithinRange(t, process.Display(os.Getpid()), before, time.Now())

	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(path, 1, 1))
		assert.Zero(t, process.Display(os.Getpid()), "another user's display")
		require.NoError(t, os.Chown(path, 0, 0))
	}

	require.NoError(t, os.Rename(path, path+".away"))
	t.Cleanup(func() { os.Remove(path + ".away") })
	listen(path)
	assert.Zero(t, process.Display(os.Getpid()), "another file has its name now")
	named.Close()
	assert.Zero(t, process.Display(1<<30), "there is none")
}
