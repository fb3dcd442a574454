package api

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peer asks the kernel who is at the other end of c: for a client, the process that called listen; for a
// server, the one that called connect.
func peer(c net.Conn) (Caller, error) {
	var cred *unix.Ucred
	err := control(c, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return Caller{}, fmt.Errorf("peer credentials: %w", err)
	}
	return Caller{PID: int(cred.Pid), UID: int(cred.Uid)}, nil
}
