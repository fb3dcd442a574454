//go:build !linux && !darwin && !freebsd

package api

import (
	"net"
	"os"
)

// peer has no way to ask here. That nobody but this user and root comes to the socket is the
// doing of its directory, which Listen has found to be this user's and closed to others.
func peer(net.Conn) (Caller, error) { return Caller{UID: os.Geteuid()}, nil }
