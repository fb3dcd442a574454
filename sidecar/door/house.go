package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// House hands messages over, and has an address for what comes back. The fields are set before Run;
// all methods may be called from any goroutine.
type House struct {
	Ledger string       // the file in which our sockets are written down, in a directory of ours; required
	Log    *slog.Logger // required
	// Heard is told each word that comes, by the goroutine that reads that connection.
	Heard func(context.Context, Word)
	// Gap is called before a message is written. nil but in tests.
	Gap func(moment string)

	mu        sync.Mutex
	begun     bool
	over      bool
	swept     bool
	addresses map[string]*address // by their directory
	running   sync.WaitGroup
}

// address is a socket of ours.
type address struct {
	path   string
	inode  uint64
	tag    string
	socket net.Listener
	room   chan struct{}
	mu     sync.Mutex
	known  []string // ids of words that came here last: one that comes twice is told once
}

const (
	// heardFor is how long a connection may stay, and heardMost how many may at a time.
	heardFor  = 5 * time.Second
	heardMost = 16
	// longestWord is the longest line that is read, in bytes.
	longestWord = 1 << 20
	// knownWords is how many ids are remembered of each socket.
	knownWords = 256
	// scarceFor is how long is waited where a connection could not be accepted for want of something.
	scarceFor = 100 * time.Millisecond
)

// ErrClosed says that the house is not served.
var ErrClosed = errors.New("nobody would hear what comes back")

// Run removes what earlier processes left behind, and serves until ctx is done. Nothing of it is left
// when it returns.
func (h *House) Run(ctx context.Context) error {
	h.mu.Lock()
	h.begun = true
	if !h.swept {
		h.sweep()
	}
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	h.over = true
	for _, a := range h.addresses {
		_ = a.socket.Close()
		remove(a.path, a.inode)
	}
	h.addresses = nil
	if err := h.write(nil); err != nil {
		h.Log.Warn("write down that no socket is left", "err", err)
	}
	h.mu.Unlock()
	h.running.Wait()
	return nil
}

// address is the path of our socket in a directory, which is made where there is none.
func (h *House) address(in profile.Inbox, dir string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun || h.over {
		return "", ErrClosed
	}
	if a := h.addresses[dir]; a != nil {
		if inode, ok := inodeOf(a.path); ok && inode == a.inode {
			return a.path, nil
		}
		_ = a.socket.Close() // somebody has removed it
		delete(h.addresses, dir)
	}
	path := filepath.Join(dir, strconv.Itoa(os.Getpid())+".sock")
	if len(path) > longestSocket {
		return "", fmt.Errorf("%q is too long for a socket", path)
	}
	a := &address{path: path, tag: in.Tag, room: make(chan struct{}, heardMost)}
	if err := h.open(a); err != nil {
		return "", err
	}
	if h.addresses == nil {
		h.addresses = map[string]*address{}
	}
	h.addresses[dir] = a
	h.running.Go(func() { h.listen(a) })
	return path, nil
}

// open makes the socket, which is written down before: a process that is killed in between leaves a
// name without a socket, never a socket without a name.
func (h *House) open(a *address) (err error) {
	all := h.ours()
	if err := h.write(append(all, left{Path: a.path})); err != nil {
		return err
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: a.path, Net: "unix"})
	if err != nil {
		return errors.Join(err, h.write(all))
	}
	socket.SetUnlinkOnClose(false) // by name: it may be another one by then
	a.socket = socket
	info, err := os.Lstat(a.path)
	if err == nil {
		a.inode = inode(info)
		err = os.Chmod(a.path, 0o600)
	}
	if err == nil {
		err = h.write(append(all, left{a.path, a.inode}))
	}
	if err != nil {
		_ = a.socket.Close()
		remove(a.path, a.inode)
	}
	return err
}

// listen accepts at a socket until that is closed. One that fails for good is given up, so that the
// next message makes another: an agent would be told that it is heard there.
func (h *House) listen(a *address) {
	warned := false
	for {
		conn, err := a.socket.Accept()
		switch {
		case err == nil:
			warned = false
		case errors.Is(err, net.ErrClosed):
			return
		default:
			if !warned {
				h.Log.Warn("accept what comes back", "socket", a.path, "err", err)
			}
			if warned = true; passes(err) {
				time.Sleep(scarceFor)
				continue
			}
			h.giveUp(a)
			return
		}
		select {
		case a.room <- struct{}{}:
			h.running.Go(func() {
				defer func() { <-a.room }()
				h.hear(a, conn)
			})
		default:
			_ = conn.Close()
		}
	}
}

// passes reports whether an error of Accept will pass by itself.
func passes(err error) bool {
	for _, one := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// giveUp closes a socket that cannot be heard at any more.
func (h *House) giveUp(a *address) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = a.socket.Close()
	dir := filepath.Dir(a.path)
	if h.addresses[dir] != a {
		return // it was replaced, or we end
	}
	remove(a.path, a.inode)
	delete(h.addresses, dir)
	if err := h.write(h.ours()); err != nil {
		h.Log.Warn("write down which sockets are left", "err", err)
	}
}

// hear reads what one connection says.
func (h *House) hear(a *address, conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(heardFor))
	pid, uid, err := peer(conn)
	if err != nil || uid != os.Geteuid() {
		h.Log.Warn("a word of somebody else", "socket", a.path, "pid", pid, "uid", uid, "err", err)
		return
	}
	start, err := process.Start(pid)
	if err != nil {
		return // it has ended: nobody can tell whose word it was
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, longestWord)
	for lines.Scan() {
		w, id, ok := parse(a.tag, lines.Bytes())
		if !ok || !a.fresh(id) || h.Heard == nil {
			continue
		}
		w.PID, w.Start = pid, start
		ctx, cancel := context.WithTimeout(context.Background(), heardFor)
		h.Heard(ctx, w)
		cancel()
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
		h.Log.Warn("read what came back", "socket", a.path, "pid", pid, "err", err)
	}
}

// fresh notes the id of a word, and reports whether it did not come before. One without an id is
// always new.
func (a *address) fresh(id string) bool {
	if id == "" {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.known {
		if one == id {
			return false
		}
	}
	a.known = append(a.known, id)
	a.known = a.known[max(0, len(a.known)-knownWords):]
	return true
}

// inodeOf is that of a socket, if one is there.
func inodeOf(path string) (uint64, bool) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return 0, false
	}
	return inode(info), true
}
