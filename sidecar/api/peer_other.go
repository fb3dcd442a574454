//go:build !linux && !darwin && !freebsd

package api

import (
	"net"
	"os"
)

// peer cannot ask the kernel on this system. The socket's directory keeps out everybody but this user and root:
// Listen has checked that it belongs to this user and is closed to others.
func peer(net.Conn) (Caller, error) { return Caller{UID: os.Geteuid()}, nil }
