package mcp

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// left reports what is known about the bytes written to w, except the last after bytes. A pipe tells how much
// waits in it. A unix socket (which Node makes for a child) tells only whether everything was read, and nothing
// about bytes lost at its end. A network socket tells only that the other computer has the bytes. Anything
// else, such as a file or a terminal, has what was written.
func left(w io.Writer, after int64) (now reading) {
	file, ok := w.(syscall.Conn)
	if !ok {
		return read
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return unknown
	}
	now = unknown // closed
	_ = raw.Control(func(of uintptr) {
		fd := int(of)
		var is unix.Stat_t
		if unix.Fstat(fd, &is) != nil {
			return
		}
		var waits int
		pipe := is.Mode&unix.S_IFMT == unix.S_IFIFO
		switch {
		case pipe:
			waits, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		case is.Mode&unix.S_IFMT == unix.S_IFSOCK:
			if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_UNIX {
				return
			}
			waits, err = unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		default:
			now = read
			return
		}
		look := []unix.PollFd{{Fd: int32(fd)}}
		if err != nil {
			return
		}
		if _, err = unix.Poll(look, 0); err != nil {
			now = unread
			return
		}
		gone := look[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		switch {
		case pipe && int64(waits) <= after, !gone && waits == 0:
			now = read
		case pipe && gone:
			now = lost
		case !gone:
			now = unread
		}
	})
	return now
}
