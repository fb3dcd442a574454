package process

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// displays matches the sockets of X11 and Wayland; X11 also listens at an abstract name of the
// first form.
var displays = regexp.MustCompile(`^(/tmp/\.X11-unix/X[0-9]+|/run/user/[0-9]+/wayland-[0-9]+)$`)

// Display returns since when the display (X11, Wayland) of this user exists to which a process is
// connected, or the zero time if there is none. It is the time of the last change of the display's
// socket, which only the clock can make older than it is. Display does not see whether the display
// has let the process in, nor a display by TCP (ssh -X).
func Display(pid int) (since time.Time) {
	files := "/proc/" + strconv.Itoa(pid) + "/fd/"
	open, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return since
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return since
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	for _, f := range open {
		to, _ := os.Readlink(files + f.Name())
		var inode uint32
		if _, err := fmt.Sscanf(to, "socket:[%d]", &inode); err != nil {
			continue
		}
		mine, err := askUnix(fd, inode)
		if err != nil || mine.peer == 0 {
			continue
		}
		if theirs, err := askUnix(fd, mine.peer); err == nil {
			if at := theirs.display(); !at.IsZero() && (since.IsZero() || at.Before(since)) {
				since = at
			}
		}
	}
	return since
}

// unixSocket is the kernel's information about a unix socket. An accepted socket has the name and
// the file of the listening one.
type unixSocket struct {
	name       string // "@…" for an abstract one, "" for none
	peer       uint32 // inode
	ino, major uint32 // of its file, 0 for none
	minor      uint32
}

// display returns since when the display of a socket exists, or zero if the socket belongs to no
// display. It ignores a file of that name that is not the socket's own. It also ignores another
// user's display, since anybody may connect to a display that lets nobody else in. The display of a
// server that root runs may be this user's.
func (s unixSocket) display() (since time.Time) {
	path, abstract := strings.CutPrefix(s.name, "@")
	var file unix.Stat_t
	if !displays.MatchString(path) || unix.Lstat(path, &file) != nil || file.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return since
	}
	if !abstract && (uint32(file.Ino) != s.ino || unix.Major(uint64(file.Dev)) != s.major || unix.Minor(uint64(file.Dev)) != s.minor) {
		return since
	}
	if file.Uid != 0 && int(file.Uid) != os.Geteuid() {
		return since
	}
	return time.Unix(file.Ctim.Unix())
}

const (
	sockDiag     = 20                       // SOCK_DIAG_BY_FAMILY
	sizeofUnix   = unix.SizeofNlMsghdr + 24 // struct unix_diag_req
	atUnixAnswer = unix.SizeofNlMsghdr + 16 // behind struct unix_diag_msg
	showNamePeer = 0x1 | 0x2 | 0x4          // UDIAG_SHOW_NAME, _VFS, _PEER
	attrName     = 0                        // UNIX_DIAG_NAME
	attrFile     = 1                        // UNIX_DIAG_VFS: inode, device
	attrPeer     = 2                        // UNIX_DIAG_PEER
)

// askUnix asks the kernel (UNIX_DIAG) for the socket of an inode.
func askUnix(fd int, inode uint32) (s unixSocket, err error) {
	var q [sizeofUnix]byte
	native := binary.NativeEndian
	native.PutUint32(q[0:], sizeofUnix)
	native.PutUint16(q[4:], sockDiag)
	native.PutUint16(q[6:], unix.NLM_F_REQUEST)
	native.PutUint32(q[8:], inode) // sequence
	b := q[unix.SizeofNlMsghdr:]
	b[0] = unix.AF_UNIX
	native.PutUint32(b[4:], 0xffffffff) // states: all
	native.PutUint32(b[8:], inode)
	native.PutUint32(b[12:], showNamePeer)
	native.PutUint32(b[16:], 0xffffffff) // no cookie
	native.PutUint32(b[20:], 0xffffffff)
	if err := unix.Sendto(fd, q[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return s, fmt.Errorf("netlink: %w", err)
	}
	var a [1024]byte
	n, _, err := unix.Recvfrom(fd, a[:], 0)
	if err != nil {
		return s, fmt.Errorf("netlink: %w", err)
	}
	if n < atUnixAnswer || native.Uint16(a[4:]) != sockDiag || native.Uint32(a[8:]) != inode {
		return s, fmt.Errorf("netlink: socket %d: no answer", inode)
	}
	s.read(a[atUnixAnswer:n])
	return s, nil
}

// read reads the attributes (struct nlattr, padded to 4 bytes) of an answer.
func (s *unixSocket) read(attrs []byte) {
	native := binary.NativeEndian
	for len(attrs) >= 4 {
		size, kind := int(native.Uint16(attrs)), native.Uint16(attrs[2:])
		if size < 4 || size > len(attrs) {
			return
		}
		value := attrs[4:size]
		switch {
		case kind == attrName && len(value) > 0 && value[0] == 0:
			s.name = "@" + string(value[1:])
		case kind == attrName:
			s.name = strings.TrimRight(string(value), "\x00")
		case kind == attrFile && len(value) >= 8: // the kernel's internal form of the device: 12 bits and 20
			dev := native.Uint32(value[4:])
			s.ino, s.major, s.minor = native.Uint32(value), dev>>20, dev&0xfffff
		case kind == attrPeer && len(value) >= 4:
			s.peer = native.Uint32(value)
		}
		attrs = attrs[min((size+3)&^3, len(attrs)):]
	}
}
