package tmux

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// session is a session that a control client could attach to.
type session struct {
	id       string
	attached bool
	fragile  bool // destroy-unattached or exit-unattached is set: it ends with its last client, which must not be ours
}

// sessions lists the sessions of the server. It uses a process, because it is needed while control
// mode is down.
func (c *Client) sessions(ctx context.Context) ([]session, error) {
	sep := newNonce()
	replies, err := c.short.run(ctx, []command.Command{command.Sessions(command.Row(sep, sessionFields))})
	if err != nil {
		return nil, err
	}
	rows, err := records(replies[0], sep, len(sessionFields))
	if err != nil {
		return nil, err
	}
	all := make([]session, len(rows))
	for i, f := range rows {
		all[i] = session{id: f[0], attached: f[1] != "0", fragile: isSet(f[2]) || isSet(f[3])}
	}
	return all, nil
}

// isSet reports whether an option has a value other than off.
func isSet(value string) bool { return value != "" && value != "0" && value != "off" }

// control is the transport of control mode: one client that is kept attached to some session, over
// a pty, without output and without influence on window sizes. While it is not attached, run fails
// with errConnection at once.
type control struct {
	short    short
	sessions func(context.Context) ([]session, error)
	deadline time.Duration
	log      *slog.Logger

	mu     sync.Mutex // guards the fields below
	conn   *connection
	barred bool // the last attempt found no session to attach to
}

func newControl(s short, sessions func(context.Context) ([]session, error), deadline time.Duration, log *slog.Logger) *control {
	return &control{short: s, sessions: sessions, deadline: deadline, log: log}
}

// run implements transport.
func (c *control) run(ctx context.Context, cmds []command.Command) ([]string, error) {
	conn := c.current()
	if conn == nil {
		return nil, errConnection
	}
	return conn.run(ctx, cmds)
}

// current returns the connection, or nil while there is none.
func (c *control) current() *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

// isBarred reports whether control is not attached because there is no session that it may attach
// to.
func (c *control) isBarred() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.barred
}

func (c *control) isOurs(pid int) bool {
	conn := c.current()
	return conn != nil && conn.cmd.Process.Pid == pid
}

// maxBackoff is the longest pause between two attempts to attach.
const maxBackoff = 2 * time.Second

// serve keeps a connection until ctx ends. It attaches again whenever one is lost, because its
// session ended, its process was killed or the server stayed silent.
func (c *control) serve(ctx context.Context) {
	backoff := 20 * time.Millisecond
	for ctx.Err() == nil {
		conn, err := c.attach(ctx)
		c.mu.Lock()
		c.conn, c.barred = conn, errors.Is(err, errNoSession)
		c.mu.Unlock()
		if err != nil {
			c.log.Debug("control mode", "err", err)
			timer := time.NewTimer(backoff)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		backoff = 20 * time.Millisecond
		select {
		case <-conn.closed:
		case <-ctx.Done():
		}
		c.mu.Lock()
		c.conn = nil
		c.mu.Unlock()
		conn.close()
	}
}

// errNoSession says that there is no session that we may attach to.
var errNoSession = errors.New("no session to attach to")

// attach connects to the session that it disturbs least: one that has a client already, else any.
// It never attaches to a session that ends with its last client: such a session would stay when its
// person leaves, and would end, with the agents in it, when we leave.
func (c *control) attach(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	all, err := c.sessions(ctx)
	if err != nil {
		return nil, err
	}
	target := ""
	for _, s := range all {
		if s.fragile {
			continue
		}
		if s.attached {
			target = s.id
			break
		}
		if target == "" {
			target = s.id
		}
	}
	if target == "" {
		return nil, errNoSession
	}
	return connect(ctx, c.short, target, "no-output,ignore-size", nil)
}

// connection is one control client. A goroutine reads what it prints; batches take turns.
type connection struct {
	pty    io.ReadWriteCloser
	cmd    *exec.Cmd
	notify func(line []byte) // called by the reader for each notification; may be nil
	turn   chan struct{}     // holds one value while a batch is under way
	closed chan struct{}     // closed when the reader has ended
	ended  sync.WaitGroup

	mu     sync.Mutex // guards stream and result
	stream stream
	result chan [][]byte // receives the awaited batch from the reader
}

// connect starts a control client for a session ($id) and checks that it answers.
func connect(ctx context.Context, s short, target, flags string, notify func([]byte)) (*connection, error) {
	master, slave, err := openPty()
	if err != nil {
		return nil, fmt.Errorf("control mode: %w", err)
	}
	defer func() { _ = slave.Close() }()
	// Make the terminal raw before anything is written: a cooked terminal cuts lines at 4,095
	// bytes, and tmux runs what is left; it would also echo.
	if err := makeRaw(slave); err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("control mode: %w", err)
	}
	// -E keeps the session's environment as it is.
	cmd := exec.Command(s.bin, "-u", "-N", "-C", "-S", s.socket, "attach-session", "-E", "-f", flags, "-t", target)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("control mode: %w", err)
	}
	conn := newConnection(master, notify)
	conn.cmd = cmd
	if _, err := conn.run(ctx, []command.Command{command.Print("ready")}); err != nil {
		conn.close()
		return nil, fmt.Errorf("attach to session %q: %w", target, err)
	}
	return conn, nil
}

// newConnection returns a connection that reads from a control client which prints to rw.
func newConnection(rw io.ReadWriteCloser, notify func([]byte)) *connection {
	conn := &connection{
		pty:    rw,
		notify: notify,
		turn:   make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
	conn.ended.Go(conn.read)
	return conn
}

// read feeds the stream until the client has ended.
func (c *connection) read() {
	defer close(c.closed)
	r := bufio.NewReaderSize(c.pty, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		c.mu.Lock()
		notification, complete := c.stream.feed(line)
		if complete {
			c.result <- c.stream.take()
		}
		c.mu.Unlock()
		if notification != nil && c.notify != nil {
			c.notify(notification)
		}
	}
}

// run sends a batch and waits for its replies. If ctx ends before the reply, run closes the
// connection: a late reply could not be told from the next one.
func (c *connection) run(ctx context.Context, cmds []command.Command) ([]string, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.closed:
		return nil, errConnection
	case <-ctx.Done():
		return nil, fmt.Errorf("tmux %s: %w", cmds[0].Name(), context.Cause(ctx))
	}
	nonce := newNonce()
	result := make(chan [][]byte, 1)
	c.mu.Lock()
	c.stream.expect(nonce)
	c.result = result
	c.mu.Unlock()
	defer context.AfterFunc(ctx, func() { _ = c.pty.Close() })() // also ends a blocked write
	if _, err := io.WriteString(c.pty, controlLines(nonce, cmds)); err != nil {
		_ = c.pty.Close()
		return nil, fmt.Errorf("tmux %s: %w", cmds[0].Name(), errConnection)
	}
	select {
	case batch := <-result:
		return c.replies(batch, nonce, cmds)
	case <-c.closed:
		return nil, fmt.Errorf("tmux %s: %w", cmds[0].Name(), errConnection)
	}
}

// replies splits an answered batch into the replies to its commands.
func (c *connection) replies(batch [][]byte, nonce string, cmds []command.Command) ([]string, error) {
	replies, refusal, notifications, ok := unguard(batch, nonce, len(cmds))
	if !ok {
		_ = c.pty.Close()
		return nil, fmt.Errorf("tmux %s: reply makes no sense: %w", cmds[0].Name(), errConnection)
	}
	if c.notify != nil {
		for _, n := range notifications {
			c.notify(n)
		}
	}
	if len(replies) < len(cmds) {
		return replies, &commandError{index: len(replies), text: strings.TrimSpace(refusal)}
	}
	return replies, nil
}

// close ends the client and waits for its reader and its process. It writes nothing, since a server
// that hangs would not read it; the server notices the end by itself.
func (c *connection) close() {
	if c.cmd != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
	_ = c.pty.Close()
	c.ended.Wait()
}

// openPty opens a pty whose master takes part in Go's polling. pty.Open leaves the master blocking,
// and then closing it would not end a read or write that waits: a stopped server would block us for
// ever.
func openPty() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = blocking.Close() }()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = slave.Close()
		return nil, nil, fmt.Errorf("terminal %q: %w", slave.Name(), err)
	}
	return os.NewFile(uintptr(fd), blocking.Name()), slave, nil
}

// makeRaw switches off everything that a terminal does to the bytes that pass through it.
func makeRaw(tty *os.File) error {
	raw, err := tty.SyscallConn()
	if err != nil {
		return fmt.Errorf("terminal %q: %w", tty.Name(), err)
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		var modes *unix.Termios
		if modes, inner = unix.IoctlGetTermios(int(fd), getModes); inner != nil {
			return
		}
		modes.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		modes.Oflag &^= unix.OPOST
		modes.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		modes.Cflag = modes.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
		inner = unix.IoctlSetTermios(int(fd), setModes, modes)
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return fmt.Errorf("terminal %q: %w", tty.Name(), err)
	}
	return nil
}
