package api

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the process that connected c has ended. Kernels before 6.5 do not tell.
func hungUp(c net.Conn) bool {
	var ended bool
	err := control(c, func(fd int) error {
		process, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if err != nil {
			return err
		}
		defer unix.Close(process)
		// One that has ended can be read from.
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, 0)
		ended = n > 0
		return err
	})
	switch {
	case errors.Is(err, unix.ENOPROTOOPT):
		return false
	case err != nil:
		return true // some kernels have no descriptor of one that has been reaped
	}
	return ended
}
