package tmuxtest

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Between is a proxy between a client and a server. It passes the bytes of each to the other
// unchanged, except for what the Wire of that connection does to them. The process that listens is
// our own.
type Between struct {
	Socket string

	mu   sync.Mutex
	next Wire
	last *talk
	idle sync.WaitGroup
}

// talk records the bytes of one connection, by the client and by the server.
type talk struct {
	mu   sync.Mutex
	said [2][]byte
}

// Wire says what happens to one connection. The zero value changes nothing.
type Wire struct {
	CutUp, CutDown   int  // close both ends after so many bytes to the server, to the client; 0: never
	HangUp, HangDown int  // pass nothing more that way after so many bytes, and tell nobody; 0: never
	Flip             int  // the byte of the server in which some bits are flipped, counted from 1; 0: none
	Bits             byte // the bits to flip
	Single           bool // write each byte by itself
}

// NewBetween starts a proxy before a server. It runs until the end of the test.
func NewBetween(t testing.TB, s *Server) *Between {
	t.Helper()
	b := &Between{Socket: filepath.Join(s.Dir, "w")}
	_ = syscall.Unlink(b.Socket)
	l, err := net.Listen("unix", b.Socket)
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	b.idle.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", s.Socket)
			for errors.Is(err, syscall.EAGAIN) { // it has not accepted earlier connections yet
				time.Sleep(time.Millisecond)
				server, err = net.Dial("unix", s.Socket)
			}
			if err != nil {
				_ = client.Close()
				continue
			}
			b.mu.Lock()
			w, k := b.next, &talk{}
			b.next, b.last = Wire{}, k
			b.mu.Unlock()
			b.idle.Go(func() { k.carry(client.(*net.UnixConn), server.(*net.UnixConn), w) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); b.idle.Wait() })
	return b
}

// Next sets the Wire of the next connection, and only of that.
func (b *Between) Next(w Wire) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = w
}

// Said returns the bytes that the client and the server sent in the last connection.
func (b *Between) Said() (client, server []byte) {
	b.mu.Lock()
	k := b.last
	b.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]byte(nil), k.said[0]...), append([]byte(nil), k.said[1]...)
}

// carry copies until one end is closed. It has closed both ends when it returns.
func (k *talk) carry(client, server *net.UnixConn, w Wire) {
	var both sync.WaitGroup
	end := func() { _ = client.Close(); _ = server.Close() }
	way := func(from, to *net.UnixConn, i, cut, hang, flip int) {
		defer end()
		buf, n := make([]byte, 32<<10), 0
		for {
			got, err := from.Read(buf)
			data := buf[:got]
			k.mu.Lock()
			k.said[i] = append(k.said[i], data...)
			k.mu.Unlock()
			if at := flip - 1 - n; flip > 0 && at >= 0 && at < len(data) {
				data[at] ^= w.Bits
			}
			pass := data
			for _, most := range []int{cut, hang} {
				if most > 0 {
					pass = pass[:min(len(pass), max(0, most-n))]
				}
			}
			for len(pass) > 0 {
				size := len(pass)
				if w.Single {
					size = 1
				}
				if _, err := to.Write(pass[:size]); err != nil {
					_, _ = io.Copy(io.Discard, from) // from may still send, but nobody needs it
					return
				}
				pass = pass[size:]
			}
			n += len(data)
			if err != nil || cut > 0 && n >= cut {
				return
			}
		}
	}
	both.Go(func() { way(client, server, 0, w.CutUp, w.HangUp, 0) })
	both.Go(func() { way(server, client, 1, w.CutDown, w.HangDown, w.Flip) })
	both.Wait()
}
