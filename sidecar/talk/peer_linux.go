package talk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// asker asks the kernel which user has the other end of a connection.
type asker interface {
	// same returns an error for a peer that is not known to be this user's. On a system that does not tell, it
	// returns nil.
	same(c net.Conn) error
	// knows reports whether the system tells. If it does not, a peer of this user proves itself by its hello.
	knows() bool
}

func newAsker() asker { return kernel{} }

// kernel asks one exact question (INET_DIAG) about one socket, given by both of its addresses.
//
// A peer that sends and closes at once often has no process any more when the question comes. Its socket then
// still exists until the system has acknowledged its end, for about 40 ms, and a kernel since 6.17 says whose
// it was. Older kernels say 0 for every such socket, and all kernels do once that time is over (FIN_WAIT2,
// TIME_WAIT). That 0 proves nothing, and the peer is not known.
type kernel struct{}

func (kernel) knows() bool { return true }

// errUnknownPeer says that the other end was closed before it could be asked about, and that the kernel does
// not tell who closed it.
var errUnknownPeer = errors.New("the peer has closed already, and is not known")

func (kernel) same(c net.Conn) error {
	peer, okPeer := c.RemoteAddr().(*net.TCPAddr)
	own, okOwn := c.LocalAddr().(*net.TCPAddr)
	if !okPeer || !okOwn || peer.IP.To4() == nil || own.IP.To4() == nil {
		return errUnknownPeer
	}
	o, err := ownerOf(peer, own)
	switch {
	case err != nil:
		return fmt.Errorf("peer %v: %w", peer, err)
	case !o.proven():
		return fmt.Errorf("peer %v: %w", peer, errUnknownPeer)
	case int(o.uid) != os.Geteuid():
		return fmt.Errorf("peer %v: user %d", peer, o.uid)
	}
	return nil
}

// owner says whose a socket is.
type owner struct {
	uid, inode uint32 // inode is 0 once nobody has the socket open
	state      byte
}

const finWait1 = 4 // TCP_FIN_WAIT1: closed, but the other side has not acknowledged it

// proven reports whether uid is the user who has the socket, or who closed it.
func (o owner) proven() bool {
	return o.inode != 0 || o.state == finWait1 && (o.uid != 0 || rootIsTold())
}

// rootIsTold reports whether uid 0 of a closed socket means root, as it does if the kernel also tells the uids
// of other users. Only root can find out, and nobody else needs to.
var rootIsTold = sync.OnceValue(func() bool {
	const other, tries = 1, 20
	for range tries {
		o, err := closedBy(other)
		switch {
		case err != nil:
			return false
		case o.inode == 0 && o.state == finWait1:
			return o.uid == other
		}
		// A process that was just started had the socket too, or this took too long.
	}
	return false
})

// closedBy returns what the kernel says about a socket of that user that was just closed.
func closedBy(uid int) (o owner, err error) {
	s, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return o, err
	}
	defer s.Close()
	c, err := net.DialTCP("tcp4", nil, s.Addr().(*net.TCPAddr))
	if err != nil {
		return o, err
	}
	raw, err := c.SyscallConn()
	if err == nil {
		err = errors.Join(raw.Control(func(fd uintptr) { err = unix.Fchown(int(fd), uid, -1) }), err)
	}
	if err := errors.Join(err, c.Close()); err != nil {
		return o, err
	}
	return ownerOf(c.LocalAddr().(*net.TCPAddr), s.Addr().(*net.TCPAddr))
}

const (
	sizeofRequest = unix.SizeofNlMsghdr + 56 // struct inet_diag_req_v2
	sizeofAnswer  = unix.SizeofNlMsghdr + 72 // struct inet_diag_msg
	atState       = unix.SizeofNlMsghdr + 1  // idiag_state
	atOwner       = unix.SizeofNlMsghdr + 64 // idiag_uid, followed by idiag_inode
	sockDiag      = 20                       // SOCK_DIAG_BY_FAMILY
)

// ownerOf asks for the owner of the socket whose own address is local and whose peer is remote.
func ownerOf(local, remote *net.TCPAddr) (o owner, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return o, fmt.Errorf("netlink: %w", err)
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	var q [sizeofRequest]byte
	native := binary.NativeEndian
	native.PutUint32(q[0:], sizeofRequest)
	native.PutUint16(q[4:], sockDiag)
	native.PutUint16(q[6:], unix.NLM_F_REQUEST)
	native.PutUint32(q[8:], 1) // sequence
	b := q[unix.SizeofNlMsghdr:]
	b[0], b[1] = unix.AF_INET, unix.IPPROTO_TCP
	native.PutUint32(b[4:], 0xffffffff) // states: all
	id := b[8:]                         // struct inet_diag_sockid
	binary.BigEndian.PutUint16(id[0:], uint16(local.Port))
	binary.BigEndian.PutUint16(id[2:], uint16(remote.Port))
	copy(id[4:], local.IP.To4())
	copy(id[20:], remote.IP.To4())
	native.PutUint32(id[40:], 0xffffffff) // no cookie
	native.PutUint32(id[44:], 0xffffffff)
	if err := unix.Sendto(fd, q[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return o, fmt.Errorf("netlink: %w", err)
	}
	var a [1024]byte
	n, _, err := unix.Recvfrom(fd, a[:], 0)
	switch {
	case err != nil:
		return o, fmt.Errorf("netlink: %w", err)
	case n >= unix.SizeofNlMsghdr+4 && native.Uint16(a[4:]) == unix.NLMSG_ERROR:
		code := int32(native.Uint32(a[unix.SizeofNlMsghdr:]))
		if unix.Errno(-code) == unix.ENOENT {
			return o, errUnknownPeer
		}
		return o, fmt.Errorf("socket diagnosis: %w", unix.Errno(-code))
	case n < sizeofAnswer || native.Uint16(a[4:]) != sockDiag:
		return o, errors.New("netlink: unexpected answer")
	}
	return owner{uid: native.Uint32(a[atOwner:]), inode: native.Uint32(a[atOwner+4:]), state: a[atState]}, nil
}
