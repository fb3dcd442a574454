package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrProtocol is wrapped by the error of a server that says what this package does not know: it
// is not to be spoken to in this way any more.
var ErrProtocol = errors.New("not tmux's protocol as known here")

// incoming is one message of the server. Its data is valid until the next one is read.
type incoming struct {
	kind uint32
	data []byte
}

// reader takes a server's messages apart.
type reader struct {
	from io.Reader
	buf  [maxMessage]byte
}

// next reads one message. At the end of the connection, wherever it is, the error is of io.
func (r *reader) next() (incoming, error) {
	header := r.buf[:headerSize]
	if _, err := io.ReadFull(r.from, header); err != nil {
		return incoming{}, err
	}
	size := binary.NativeEndian.Uint32(header[4:])
	if size < headerSize || size > maxMessage { // a descriptor that comes with it sets a bit beyond
		return incoming{}, fmt.Errorf("a message of %d bytes: %w", size, ErrProtocol)
	}
	if version := header[8]; version != protocolVersion {
		return incoming{}, fmt.Errorf("version %d: %w", version, ErrProtocol)
	}
	in := incoming{kind: binary.NativeEndian.Uint32(header)} // before the data takes its place
	in.data = r.buf[:size-headerSize]
	if _, err := io.ReadFull(r.from, in.data); err != nil {
		return incoming{}, err
	}
	return in, nil
}

// integer is the i-th integer at the beginning of the data.
func (in incoming) integer(i int) (int32, error) {
	if len(in.data) < 4*(i+1) {
		return 0, in.surprise()
	}
	return int32(binary.NativeEndian.Uint32(in.data[4*i:])), nil
}

// exit is how the command ended. A message instead of a status says that nothing was run.
func (in incoming) exit() error {
	if len(in.data) == 0 {
		return nil
	}
	status, err := in.integer(0)
	if err != nil {
		return err
	}
	if text := strings.TrimRight(string(in.data[4:]), "\x00"); text != "" {
		return &Refusal{text}
	}
	if status != 0 {
		return &ExitError{int(status)}
	}
	return nil
}

func (in incoming) surprise() error {
	return fmt.Errorf("message %d of %d bytes: %w", in.kind, len(in.data), ErrProtocol)
}

// Refusal is what a server says to a client for which it runs nothing.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// ExitError is a command line that ended otherwise than with status 0.
type ExitError struct{ Status int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }
