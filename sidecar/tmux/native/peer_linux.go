package native

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Listener returns the process that listens at the other end of a connection. It returns 0 if the
// process belongs to another user or the system does not tell.
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

// checkPeer returns an error unless the listening process is the server with this pid, and runs as
// our user.
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
