package door

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peer returns the process and user at the other end, as reported by the kernel.
func peer(conn net.Conn) (pid, uid int, err error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, errors.New("not a unix socket")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var (
		cred   *unix.Ucred
		failed error
	)
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, 0, err
	}
	if failed != nil {
		return 0, 0, failed
	}
	return int(cred.Pid), int(cred.Uid), nil
}
