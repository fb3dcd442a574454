//go:build !linux

package talk

import "net"

// asker asks the system whose the other end of a connection is.
type asker interface {
	same(c net.Conn) error
	knows() bool
}

func newAsker() asker { return silent{} }

// silent is a system that does not tell: there a peer proves itself by its hello.
type silent struct{}

func (silent) same(net.Conn) error { return nil }
func (silent) knows() bool         { return false }
