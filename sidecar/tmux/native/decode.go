package native

import (
	"bufio"
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

// reader takes a server's messages apart. A server writes as many at once as there are, one a line of output: they are read so, too.
type reader struct{ *bufio.Reader }

func newReader(from io.Reader) reader { return reader{bufio.NewReaderSize(from, maxMessage)} }

// next reads one message, whose data is valid until the one after it is read. At the end of the connection, wherever it is, the
// error is of io.
func (r reader) next() (incoming, error) {
	header, err := r.peek(headerSize)
	if err != nil {
		return incoming{}, err
	}
	kind, size := binary.NativeEndian.Uint32(header), binary.NativeEndian.Uint32(header[4:])
	if size < headerSize || size > maxMessage { // a descriptor that comes with it sets a bit beyond
		return incoming{}, fmt.Errorf("a message of %d bytes: %w", size, ErrProtocol)
	}
	if version := header[8]; version != protocolVersion {
		return incoming{}, fmt.Errorf("version %d: %w", version, ErrProtocol)
	}
	whole, err := r.peek(int(size))
	if err != nil {
		return incoming{}, err
	}
	_, err = r.Discard(len(whole)) // it stays where it is until more is read
	return incoming{kind, whole[headerSize:]}, err
}

// peek is what comes next, without taking it.
func (r reader) peek(n int) ([]byte, error) {
	data, err := r.Peek(n)
	if errors.Is(err, io.EOF) && len(data) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return data, err
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
