//go:build darwin || freebsd

package api

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peer asks the kernel who is at the other end of c.
func peer(c net.Conn) (Caller, error) {
	var caller Caller
	err := control(c, func(fd int) error {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return err
		}
		caller = Caller{PID: peerPID(fd), UID: int(cred.Uid)}
		return nil
	})
	if err != nil {
		return Caller{}, fmt.Errorf("peer credentials: %w", err)
	}
	return caller, nil
}
