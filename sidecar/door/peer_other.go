//go:build !linux

package door

import (
	"errors"
	"net"
)

// peer is not supported here: inboxes have only been examined on Linux.
func peer(net.Conn) (pid, uid int, err error) {
	return 0, 0, errors.New("not supported on this system")
}
