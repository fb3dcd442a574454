package api

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the process that connected c has ended. On kernels before 6.5, which cannot tell, it
// returns false.
func hungUp(c net.Conn) bool {
	var ended bool
	err := control(c, func(fd int) error {
		process, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if err != nil {
			return err
		}
		defer unix.Close(process)
		// The descriptor of a process that has ended is readable.
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, 0)
		ended = n > 0
		return err
	})
	switch {
	case errors.Is(err, unix.ENOPROTOOPT):
		return false
	case err != nil:
		return true // some kernels give no descriptor of a process that has been reaped
	}
	return ended
}
