package native

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer reports whether the process that listens is the server, and ours.
func checkPeer(conn *net.UnixConn, pid int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("peer of the socket: %w: %w", failed, ErrPeer)
	}
	if int(peer.Pid) != pid || int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("process %d of user %d listens, not %d: %w", peer.Pid, peer.Uid, pid, ErrPeer)
	}
	return nil
}
