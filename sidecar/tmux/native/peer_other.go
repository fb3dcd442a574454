//go:build !linux

package native

import "net"

// checkPeer refuses every server, because only Linux has code that identifies the listener.
func checkPeer(*net.UnixConn, int) error { return ErrPeer }

// Listener returns 0, because nothing here identifies the listener.
func Listener(*net.UnixConn) (pid int) { return 0 }
