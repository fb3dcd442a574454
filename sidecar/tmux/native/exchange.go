package native

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
)

// Server is one running tmux server. The zero value is no server.
type Server struct {
	Socket string // path of its socket
	PID    int    // of its process
}

// Reply is the output of a command line, and how much of its input was sent.
type Reply struct {
	Stdout, Stderr []byte

	// Sent reports whether all of the request, and all of the input that the server asked for, was
	// written. If it is false, no command behind one that reads input has run or will run.
	Sent bool
}

// ErrPeer is wrapped by the error if the process behind a socket is not the expected one, or if the
// system cannot tell which it is. Nothing was written to it.
var ErrPeer = errors.New("not known to be that tmux server")

// Run has the server run one command line with stdin as its standard input, and waits until it or
// ctx ends. The error wraps ErrPeer or ErrProtocol, or is a *Refusal, an *ExitError or an error of
// the connection. The Reply holds what came before the error.
func (s Server) Run(ctx context.Context, argv []string, stdin []byte) (Reply, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return Reply{}, fmt.Errorf("big-endian: %w", ErrPeer) // there the header differs between versions
	}
	asked, err := request(os.Getpid(), argv)
	if err != nil {
		return Reply{}, err
	}
	conn, err := dial(ctx, s.Socket)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = conn.Close() }() // a server keeps its end open as long as ours is
	if err := checkPeer(conn, s.PID); err != nil && gate.Stands("native:peer") {
		return Reply{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(asked.Bytes()); err != nil {
		return Reply{}, because(ctx, err)
	}
	in := reader{readers.Get().(*bufio.Reader)}
	in.Reset(conn)
	defer func() { in.Reset(nil); readers.Put(in.Reader) }()
	x := exchange{conn: conn, stdin: stdin, awaits: stdin != nil}
	err = x.serve(in)
	return Reply{x.stdout.Bytes(), x.stderr.Bytes(), !x.awaits || !gate.Stands("native:sent")}, because(ctx, err)
}

// crowded is the pause before dialling a server again whose queue of connections is full.
const crowded = 2 * time.Millisecond

// dial connects to a server. Like the tmux program, it waits for a server that is too busy to
// accept.
func dial(ctx context.Context, socket string) (*net.UnixConn, error) {
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", socket)
		switch {
		case err == nil:
			return conn.(*net.UnixConn), nil
		case !errors.Is(err, syscall.EAGAIN):
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, because(ctx, err)
		case <-time.After(crowded):
		}
	}
}

// because returns the cause of the end of ctx if ctx has ended, and otherwise err.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

var readers = sync.Pool{New: func() any { return newReader(nil).Reader }}

// exchange is a connection to which the request was written.
type exchange struct {
	conn           net.Conn
	stdin          []byte
	awaits         bool // the input is not written yet
	answered       []int32
	stdout, stderr bytes.Buffer
	outputs        []output
}

// output is a stream that the server has opened.
type output struct {
	stream int32
	to     *bytes.Buffer
}

// serve answers the server until it says that the command has ended.
func (x *exchange) serve(r reader) error {
	for {
		in, err := r.next()
		if err != nil {
			return fmt.Errorf("read from tmux: %w", err)
		}
		switch in.kind {
		case msgExit:
			return in.exit()
		case msgShutdown:
			return errors.New("the tmux server ends")
		case msgReadOpen:
			err = x.read(in)
		case msgWriteOpen:
			err = x.open(in)
		case msgWrite:
			err = x.write(in)
		case msgWriteClose, msgFlags:
		default:
			err = in.surprise()
		}
		if err != nil {
			return err
		}
	}
}

// read answers once, with all of the input in one write.
func (x *exchange) read(in incoming) error {
	stream, fd, err := x.question(in)
	if err != nil {
		return err
	}
	if fd != 0 {
		return x.answer(unreadable(stream))
	}
	if err := x.answer(input(stream, x.stdin)); err != nil {
		return err
	}
	x.stdin, x.awaits = nil, false
	return nil
}

// open accepts a stream of output.
func (x *exchange) open(in incoming) error {
	stream, fd, err := x.question(in)
	if err != nil {
		return err
	}
	to := map[int32]*bytes.Buffer{1: &x.stdout, 2: &x.stderr}[fd]
	if to != nil {
		x.outputs = append(x.outputs, output{stream, to})
	}
	return x.answer(ready(stream, to != nil))
}

// question returns the stream and the descriptor of a request of the server. The stream must be
// new: a second answer crashes a server of any version.
func (x *exchange) question(in incoming) (stream, fd int32, err error) {
	if stream, err = in.integer(0); err != nil {
		return 0, 0, err
	}
	if fd, err = in.integer(1); err != nil {
		return 0, 0, err
	}
	for _, s := range x.answered {
		if s == stream && gate.Stands("native:once") {
			return 0, 0, fmt.Errorf("stream %d was opened twice: %w", stream, ErrProtocol)
		}
	}
	x.answered = append(x.answered, stream)
	return stream, fd, nil
}

func (x *exchange) answer(m *messages) error {
	if _, err := x.conn.Write(m.Bytes()); err != nil {
		return fmt.Errorf("write to tmux: %w", err)
	}
	return nil
}

func (x *exchange) write(in incoming) error {
	stream, err := in.integer(0)
	if err != nil {
		return err
	}
	for _, o := range x.outputs {
		if o.stream == stream {
			o.to.Write(in.data[4:])
			return nil
		}
	}
	return in.surprise()
}
