package native

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Listener is the process of this user that listens at the other end of a connection, 0 if it is
// another's or the system does not tell.
func Listener(conn *net.UnixConn) (pid int) {
	if peer, err := peerOf(conn); err == nil && int(peer.Uid) == os.Geteuid() {
		return int(peer.Pid)
	}
	return 0
}

func peerOf(conn *net.UnixConn) (peer *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return peer, failed
}

// checkPeer reports whether the process that listens is the server, and ours.
func checkPeer(conn *net.UnixConn, pid int) error {
	peer, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("peer of the socket: %w: %w", err, ErrPeer)
	}
	if int(peer.Pid) != pid || int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("process %d of user %d listens, not %d: %w", peer.Pid, peer.Uid, pid, ErrPeer)
	}
	return nil
}
