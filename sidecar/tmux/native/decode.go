package native

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrProtocol is wrapped by the error if a server says something that this package does not know.
// Do not talk to that server by this protocol again.
var ErrProtocol = errors.New("not tmux's protocol as known here")

// incoming is one message of the server. Its data is valid until the next message is read.
type incoming struct {
	kind uint32
	data []byte
}

// reader splits a server's output into messages. A server writes as many messages at once as it
// has, one per line of output, and reader reads them together, too.
type reader struct{ *bufio.Reader }

func newReader(from io.Reader) reader { return reader{bufio.NewReaderSize(from, maxMessage)} }

// next reads one message, whose data is valid until the next call. At the end of the connection,
// wherever that is, the error is one of package io.
func (r reader) next() (incoming, error) {
	header, err := r.peek(headerSize)
	if err != nil {
		return incoming{}, err
	}
	kind, size := binary.NativeEndian.Uint32(header), binary.NativeEndian.Uint32(header[4:])
	if size < headerSize || size > maxMessage { // a message with a descriptor sets a higher bit
		return incoming{}, fmt.Errorf("a message of %d bytes: %w", size, ErrProtocol)
	}
	if version := header[8]; version != protocolVersion {
		return incoming{}, fmt.Errorf("version %d: %w", version, ErrProtocol)
	}
	whole, err := r.peek(int(size))
	if err != nil {
		return incoming{}, err
	}
	_, err = r.Discard(len(whole)) // the data stays in the buffer until more is read
	return incoming{kind, whole[headerSize:]}, err
}

// peek returns the next n bytes without consuming them.
func (r reader) peek(n int) ([]byte, error) {
	data, err := r.Peek(n)
	if errors.Is(err, io.EOF) && len(data) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// integer returns the i-th integer at the beginning of the data.
func (in incoming) integer(i int) (int32, error) {
	if len(in.data) < 4*(i+1) {
		return 0, in.surprise()
	}
	return int32(binary.NativeEndian.Uint32(in.data[4*i:])), nil
}

// exit returns the result of the command. If the message holds a text in addition to a status, the
// server ran nothing.
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

// Refusal is a server's message to a client for which it runs nothing.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// ExitError reports a command line that ended with a status other than 0.
type ExitError struct{ Status int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }
