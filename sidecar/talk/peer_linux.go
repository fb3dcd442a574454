package talk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// asker asks the kernel whose the other end of a connection is.
type asker interface {
	// same refuses a peer that is not this user's, as far as the system tells.
	same(c net.Conn) error
	// knows reports whether the system tells. Where it does not, a peer of this user proves
	// itself by its hello.
	knows() bool
}

func newAsker() asker { return kernel{} }

// kernel is one exact question (INET_DIAG) about one socket, by both of its addresses.
type kernel struct{}

func (kernel) knows() bool { return true }

// errUnknownPeer says that nobody has the other end any more: it was closed before it could be asked about.
var errUnknownPeer = errors.New("the peer has closed already, and is not known")

func (kernel) same(c net.Conn) error {
	peer, okPeer := c.RemoteAddr().(*net.TCPAddr)
	own, okOwn := c.LocalAddr().(*net.TCPAddr)
	if !okPeer || !okOwn || peer.IP.To4() == nil || own.IP.To4() == nil {
		return errUnknownPeer
	}
	uid, inode, err := ownerOf(peer, own)
	switch {
	case err != nil:
		return fmt.Errorf("peer %v: %w", peer, err)
	case inode == 0: // then the uid is 0 as well, whoever it was
		return fmt.Errorf("peer %v: %w", peer, errUnknownPeer)
	case int(uid) != os.Geteuid():
		return fmt.Errorf("peer %v: user %d", peer, uid)
	}
	return nil
}

const (
	sizeofRequest = unix.SizeofNlMsghdr + 56 // struct inet_diag_req_v2
	sizeofAnswer  = unix.SizeofNlMsghdr + 72 // struct inet_diag_msg
	atOwner       = unix.SizeofNlMsghdr + 64 // idiag_uid, and behind it idiag_inode
	sockDiag      = 20                       // SOCK_DIAG_BY_FAMILY
)

// ownerOf asks for the socket whose own address is local and whose peer is remote.
func ownerOf(local, remote *net.TCPAddr) (uid, inode uint32, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, 0, fmt.Errorf("netlink: %w", err)
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
		return 0, 0, fmt.Errorf("netlink: %w", err)
	}
	var a [1024]byte
	n, _, err := unix.Recvfrom(fd, a[:], 0)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("netlink: %w", err)
	case n >= unix.SizeofNlMsghdr+4 && native.Uint16(a[4:]) == unix.NLMSG_ERROR:
		code := int32(native.Uint32(a[unix.SizeofNlMsghdr:]))
		if unix.Errno(-code) == unix.ENOENT {
			return 0, 0, errUnknownPeer
		}
		return 0, 0, fmt.Errorf("socket diagnosis: %w", unix.Errno(-code))
	case n < sizeofAnswer || native.Uint16(a[4:]) != sockDiag:
		return 0, 0, errors.New("netlink: unexpected answer")
	}
	return native.Uint32(a[atOwner:]), native.Uint32(a[atOwner+4:]), nil
}
