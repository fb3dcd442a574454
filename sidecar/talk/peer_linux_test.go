package talk

import (
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Another user's connection is refused before anything of it is read, unless the person has asked
// for the document's own way: anybody.
func TestH71_K33_otherUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user: run it as root to see this")
	}
	who := newPerson(t).keep()
	p := who.start(Wish{})
	assert.Error(t, rawAs(t, p, 65534, "2:no"))
	assert.Empty(t, p.unread(t, CheckOptions{}))
	require.NoError(t, p.raw(t, "3:yes"))
	assert.Equal(t, []string{"yes"}, texts(p.unread(t, CheckOptions{})))

	anybody := newPerson(t).configure(Config{Auth: AuthNone}).keep()
	p = anybody.start(Wish{})
	require.NoError(t, rawAs(t, p, 65534, "3:yes"))
	assert.Equal(t, []string{"yes"}, texts(p.unread(t, CheckOptions{})))
}

// rawAs is raw with a socket of another user.
func rawAs(t *testing.T, p Port, uid int, text string) error {
	t.Helper()
	var fd int
	made := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		if _, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0); errno != 0 {
			made <- errno
			return
		}
		var err error
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		made <- err
	}()
	require.NoError(t, <-made)
	require.NoError(t, unix.Connect(fd, &unix.SockaddrInet4{Port: p.Number, Addr: [4]byte{127, 0, 0, 1}}))
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	require.NoError(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	_ = c.(*net.TCPConn).CloseWrite()
	_, err = io.ReadAll(c)
	return err
}

// A peer that has closed before anybody asked is nobody's that we know.
func TestH71_unknownPeer(t *testing.T) {
	t.Parallel()
	s, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer s.Close()
	pair := func() (client, accepted net.Conn) {
		client, err := net.Dial("tcp4", s.Addr().String())
		require.NoError(t, err)
		accepted, err = s.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { client.Close(); accepted.Close() })
		return client, accepted
	}
	client, accepted := pair()
	require.NoError(t, kernel{}.same(accepted))
	require.NoError(t, client.(*net.TCPConn).CloseWrite())
	require.NoError(t, kernel{}.same(accepted), "it has only said that nothing more comes")
	require.NoError(t, client.Close())
	until(t, func() bool { return kernel{}.same(accepted) != nil }, "closed")
	assert.ErrorIs(t, kernel{}.same(accepted), errUnknownPeer)

	client, accepted = pair()
	require.NoError(t, client.(*net.TCPConn).SetLinger(0))
	require.NoError(t, client.Close())
	assert.ErrorIs(t, kernel{}.same(accepted), errUnknownPeer)
}
