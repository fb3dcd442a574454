package talk

import (
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Another user's connection is refused before anything is read from it, unless the person has asked for the
// document's own way: anybody.
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
	return connectedAs(t, p, uid, func(c net.Conn) error {
		if _, err := io.WriteString(c, text); err != nil {
			return err
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, err := io.ReadAll(c)
		return err
	})
}

// connectedAs calls do with a connection of another user, and closes it.
func connectedAs(t *testing.T, p Port, uid int, do func(net.Conn) error) error {
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
	c, err := net.FileConn(f)
	require.NoError(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	_ = f.Close() // the connection has its own
	return do(c)
}

// A peer that sends and closes at once is admitted only if the kernel still tells who it was.
func TestH71_K33_sentAndClosed(t *testing.T) {
	t.Parallel()
	if !closedIsTold(t) {
		t.Skip("this kernel does not tell whose a closed socket was: it does since 6.17")
	}
	who := newPerson(t).keep()
	p := who.start(Wish{})
	const times = 20
	all := numbered(times)
	for i := range all { // more than is in flight at once: until all is read the kernel cannot acknowledge the end
		all[i] += strings.Repeat(".", 150<<10)
	}
	sends := func(text string) {
		c := p.dial(t)
		require.NoError(t, c.(*net.TCPConn).SetWriteBuffer(1<<20))
		_, err := io.WriteString(c, framed(text))
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	for _, text := range all {
		sends(text)
	}
	until(t, func() bool { return len(p.unread(t, CheckOptions{})) == times }, "all are stored")
	assert.ElementsMatch(t, all, texts(p.unread(t, CheckOptions{Clear: true})))
	assert.Zero(t, who.refused(p, "peer"))

	// For a message that fits, it tells for about 40 ms, which a busy machine may need.
	for _, text := range numbered(times) {
		sends(text)
	}
	until(t, func() bool { return len(p.unread(t, CheckOptions{}))+who.refused(p, "peer") == times }, "each is stored, or refused")
	assert.Subset(t, numbered(times), texts(p.unread(t, CheckOptions{Clear: true})))
	if os.Geteuid() != 0 {
		return // only root can be another user
	}
	for range times {
		_ = connectedAs(t, p, 65534, func(c net.Conn) error {
			_, err := io.WriteString(c, "2:no")
			return err // refused already, or not yet
		})
	}
	require.NoError(t, p.raw(t, "3:yes"))
	assert.Equal(t, []string{"yes"}, texts(p.unread(t, CheckOptions{})))
}

// closedIsTold reports whether the kernel tells whose a closed socket was.
func closedIsTold(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		return rootIsTold()
	}
	o, err := closedBy(os.Geteuid())
	require.NoError(t, err)
	return o.uid != 0
}

// What the kernel says about a socket that nobody has open counts only if it can be true.
func TestH71_proven(t *testing.T) {
	t.Parallel()
	const established, finWait2, timeWait = 1, 5, 6
	for o, want := range map[owner]bool{
		{uid: 1000, inode: 7, state: established}: true,
		{uid: 0, inode: 7, state: established}:    true,
		{uid: 1000, state: finWait1}:              true,
		{uid: 0, state: finWait1}:                 rootIsTold(),
		{uid: 0, state: finWait2}:                 false,
		{uid: 0, state: timeWait}:                 false,
		{uid: 1000, state: timeWait}:              false,
	} {
		assert.Equal(t, want, o.proven(), "%+v", o)
	}
	if os.Geteuid() != 0 {
		assert.False(t, rootIsTold(), "who cannot find out believes nothing")
	}
}

// A peer that has closed, and whose end is acknowledged, is not known.
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
	until(t, func() bool { return kernel{}.same(accepted) != nil }, "closed, and that is acknowledged")
	assert.ErrorIs(t, kernel{}.same(accepted), errUnknownPeer)

	client, accepted = pair()
	require.NoError(t, client.(*net.TCPConn).SetLinger(0))
	require.NoError(t, client.Close())
	until(t, func() bool { return kernel{}.same(accepted) != nil }, "reset, which may reach it a moment later")
	assert.ErrorIs(t, kernel{}.same(accepted), errUnknownPeer)
}

// Who may connect, and how much an inbox keeps, follows config.json as it is now, not as it was when the port
// was opened. While the file is broken, the earlier settings hold.
func TestH71_K37_settingsThatAreChanged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user: run it as root to see this")
	}
	who := newPerson(t).configure(Config{Auth: AuthNone, MaxInbox: 2}).keep()
	p := who.start(Wish{})
	before, err := p.Wanted()
	require.NoError(t, err)
	look := func() []Refused {
		refused, err := who.Keeper.Look(t.Context())
		require.NoError(t, err)
		return refused
	}
	require.NoError(t, rawAs(t, p, 65534, "3:one"))

	who.configure(Config{Auth: AuthPeer, MaxInbox: 3})
	require.Empty(t, look())
	assert.Error(t, rawAs(t, p, 65534, "2:no"))
	for _, text := range []string{"two", "three"} {
		require.NoError(t, p.say(t, 9002, text))
	}
	assert.Equal(t, InboxFull, codeOf(p.say(t, 9002, "four")))

	require.NoError(t, os.WriteFile(who.Dir+"/config.json", []byte(`{"auth": "nobody"}`), 0o600))
	refused := look()
	require.Len(t, refused, 1)
	assert.ErrorContains(t, refused[0].Err, `auth is "nobody", not "peeruid" or "none": what it said before holds`)
	assert.Error(t, rawAs(t, p, 65534, "2:no"))

	who.configure(Config{Auth: AuthNone})
	require.Empty(t, look())
	require.NoError(t, rawAs(t, p, 65534, "4:four"))
	assert.Equal(t, []string{"one", "two", "three", "four"}, texts(p.unread(t, CheckOptions{})))
	after, ok := p.Listening()
	require.True(t, ok)
	assert.Equal(t, before, after.Wish, "nobody had to start it again")
}
