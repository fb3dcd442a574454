//go:build !linux

package talk

import "net"

// asker asks the system which user has the other end of a connection.
type asker interface {
	same(c net.Conn) error
	knows() bool
}

func newAsker() asker { return silent{} }

// silent is for a system that does not tell: there a peer proves itself by its hello.
type silent struct{}

func (silent) same(net.Conn) error { return nil }
func (silent) knows() bool         { return false }
