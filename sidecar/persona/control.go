package persona

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Control sends one command to the persona that was started with --control path, a socket, and waits until it has been
// executed, at most five seconds. A command that takes time (`:alt 1s`) has only begun by then.
func Control(path, command string) error {
	conn, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		return fmt.Errorf("persona control: %w", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s\n", command); err != nil {
		return fmt.Errorf("persona control %q: %w", command, err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("persona control %q: %w", command, err)
	}
	if answer = strings.TrimSpace(answer); answer != "ok" {
		return errors.New(answer)
	}
	return nil
}

// control receives commands from outside. It belongs to the loop.
type control struct {
	loop  *loop
	obey  func(string) error
	fd    int    // the FIFO, or the listening socket; -1: none
	made  string // the socket to remove at the end
	peers map[int]*peer
}

// peer is a source of commands: a connection, or the FIFO.
type peer struct {
	source *source
	held   []byte
	answer bool
}

func openControl(path string, l *loop, obey func(string) error) (*control, error) {
	c := &control{loop: l, obey: obey, fd: -1, peers: map[int]*peer{}}
	if path == "" {
		return c, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeNamedPipe != 0:
		if c.fd, err = own.Pipe(path); err != nil {
			return nil, fmt.Errorf("open control %q: %w", path, err)
		}
		c.take(c.fd, false)
		return c, nil
	case err == nil && info.Mode()&fs.ModeSocket != 0:
		// A persona that was killed leaves its socket behind.
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("open control: %w", err)
		}
	case err == nil:
		return nil, fmt.Errorf("open control %q: neither a FIFO nor a socket", path)
	}
	if c.fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		return nil, fmt.Errorf("open control %q: %w", path, err)
	}
	unix.CloseOnExec(c.fd)
	if err := errors.Join(unix.SetNonblock(c.fd, true), unix.Bind(c.fd, &unix.SockaddrUnix{Name: path}), unix.Listen(c.fd, 16)); err != nil {
		unix.Close(c.fd)
		return nil, fmt.Errorf("open control %q: %w", path, err)
	}
	c.made = path
	l.watch(c.fd, nil, c.accept)
	return c, nil
}

func (c *control) accept() {
	fd, _, err := unix.Accept(c.fd)
	if err != nil {
		return
	}
	unix.CloseOnExec(fd)
	unix.SetNonblock(fd, true)
	c.take(fd, true)
}

func (c *control) take(fd int, answer bool) {
	p := &peer{answer: answer}
	c.peers[fd] = p
	p.source = c.loop.watch(fd, nil, func() { c.hear(fd, p) })
}

// hear executes the complete lines received so far. At the end of a connection, a last line without a line break counts
// too.
func (c *control) hear(fd int, p *peer) {
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	gone := err != nil || n <= 0
	if gone {
		if len(p.held) > 0 {
			p.held = append(p.held, '\n')
		}
	} else {
		p.held = append(p.held, buf[:n]...)
	}
	for {
		line, rest, whole := bytes.Cut(p.held, []byte("\n"))
		if !whole {
			break
		}
		p.held = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		answer := "ok\n"
		if err := c.obey(string(line)); err != nil {
			answer = "error: " + err.Error() + "\n"
		}
		if p.answer {
			unix.Write(fd, []byte(answer))
		}
	}
	if gone {
		c.loop.forget(p.source)
		delete(c.peers, fd)
		unix.Close(fd)
	}
}

func (c *control) close() {
	for fd := range c.peers {
		if fd != c.fd {
			unix.Close(fd)
		}
	}
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
	if c.made != "" {
		os.Remove(c.made)
	}
}
