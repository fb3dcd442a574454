package talk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// MaxMessage is the most bytes that a message may have: 1 MiB, as the document proposes.
const MaxMessage = 1 << 20

// maxDigits is how many digits a length may have. A longer one is beyond every limit.
const maxDigits = 7

// Violations of the framing. After one, nothing more is read from the connection: what follows could be
// anything, even something that looks like a frame.
var (
	ErrCrossProtocol = errors.New("not a frame: it does not begin with a digit")
	ErrMalformed     = errors.New("not a frame: malformed length")
	ErrTooLarge      = errors.New("frame too large")
	ErrCut           = errors.New("the connection ended within a frame")
)

// AppendFrame appends a frame with that content.
func AppendFrame(to, content []byte) []byte {
	to = strconv.AppendInt(to, int64(len(content)), 10)
	to = append(to, ':')
	return append(to, content...)
}

// frames reads the frames of a connection. The content of a frame is valid until the next read.
type frames struct {
	r *bufio.Reader
	// begun is called with the length of a frame before its content is read. It may be nil.
	begun func(length int) error
	body  bytes.Buffer
}

// next returns the content of the next frame, of at most limit bytes. The error is io.EOF if the connection
// ends between two frames. Memory is allocated only after the length is accepted, and then only as the content
// arrives.
func (f *frames) next(limit int) ([]byte, error) {
	length, err := f.length(limit)
	if err != nil {
		return nil, err
	}
	if f.begun != nil {
		if err := f.begun(length); err != nil {
			return nil, err
		}
	}
	f.body.Reset()
	if _, err := io.CopyN(&f.body, f.r, int64(length)); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrCut
		}
		return nil, err
	}
	return f.body.Bytes(), nil
}

// length reads the head of a frame.
func (f *frames) length(limit int) (int, error) {
	length := 0
	for digits := 0; ; digits++ {
		c, err := f.r.ReadByte()
		switch {
		case err != nil && digits == 0:
			return 0, err
		case errors.Is(err, io.EOF):
			return 0, ErrCut
		case err != nil:
			return 0, err
		case c == ':' && digits > 0:
			if length > limit {
				return 0, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, length, limit)
			}
			return length, nil
		case digits == 0 && (c < '0' || c > '9'):
			return 0, ErrCrossProtocol
		case c < '0' || c > '9', digits == 1 && length == 0: // nobody writes a number as 07
			return 0, ErrMalformed
		case digits == maxDigits:
			return 0, fmt.Errorf("%w: more than %d digits", ErrTooLarge, maxDigits)
		}
		length = length*10 + int(c-'0')
	}
}

// ready reports whether the buffer already holds a whole frame.
func (f *frames) ready() bool {
	have, _ := f.r.Peek(f.r.Buffered())
	head := bytes.IndexByte(have[:min(len(have), maxDigits+1)], ':')
	if head < 1 {
		return false
	}
	length, err := strconv.Atoi(string(have[:head]))
	return err == nil && length >= 0 && len(have)-head-1 >= length
}
