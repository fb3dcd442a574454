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

// House hands messages over and provides an address for replies. Set the fields before Run. All methods may be
// called from any goroutine.
type House struct {
	Ledger string       // the file that lists our sockets, in a directory of ours; required
	Log    *slog.Logger // required
	// Heard is called with each received Word, by the goroutine that reads the connection.
	Heard func(context.Context, Word)
	// Gap is called before a message is written. It is nil except in tests.
	Gap func(moment string)

	mu        sync.Mutex
	begun     bool
	over      bool
	swept     bool
	addresses map[string]*address // by directory
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
	known  []string // ids of the words received last: a repeated one is reported once
}

const (
	// heardFor is how long a connection may stay, and heardMost how many may exist at a time per socket.
	heardFor  = 5 * time.Second
	heardMost = 16
	// longestWord is the longest line that is read, in bytes.
	longestWord = 1 << 20
	// knownWords is how many ids are remembered per socket.
	knownWords = 256
	// scarceFor is the pause after a connection could not be accepted for lack of resources.
	scarceFor = 100 * time.Millisecond
)

// ErrClosed says that the House is not running.
var ErrClosed = errors.New("replies cannot be received while the sidecar starts or ends")

// Run removes what earlier processes left behind, and serves until ctx is done. When it returns, it has removed
// everything that it created.
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

// address returns the path of our socket in a directory. It creates the socket if there is none.
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

// open creates the socket, after it has recorded its name. A process that is killed in between leaves a name
// without a socket, never a socket without a name.
func (h *House) open(a *address) (err error) {
	all := h.ours()
	if err := h.write(append(all, left{Path: a.path})); err != nil {
		return err
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: a.path, Net: "unix"})
	if err != nil {
		return errors.Join(err, h.write(all))
	}
	socket.SetUnlinkOnClose(false) // unlinking by name might remove another socket by then
	a.socket = socket
	return h.keep(a, all)
}

// keep makes a new socket private and records which one it is. If that fails, it removes the socket and its name:
// all are the other sockets.
func (h *House) keep(a *address, all []left) error {
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
		err = errors.Join(err, h.write(all))
	}
	return err
}

// listen accepts on a socket until that is closed. After a permanent error it gives the socket up, so that the next
// message creates another one: otherwise an agent would be told that somebody listens there.
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

// passes reports whether an error of Accept is temporary.
func passes(err error) bool {
	for _, one := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// giveUp closes a socket that can no longer accept.
func (h *House) giveUp(a *address) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = a.socket.Close()
	dir := filepath.Dir(a.path)
	if h.addresses[dir] != a {
		return // it was replaced, or the House ends
	}
	remove(a.path, a.inode)
	delete(h.addresses, dir)
	if err := h.write(h.ours()); err != nil {
		h.Log.Warn("write down which sockets are left", "err", err)
	}
}

// hear reads the words from one connection.
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
		return // it has ended: nobody can tell who sent the word
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

// fresh records the id of a word, and reports whether it is new. A word without an id is always new.
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

// inodeOf returns the inode of a socket, if there is one at the path.
func inodeOf(path string) (uint64, bool) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return 0, false
	}
	return inode(info), true
}
