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

// maxDigits is how many digits a length may have. None that has more is a length that we take.
const maxDigits = 7

// Violations of the framing. Nothing of a connection is read after one: what follows could be
// anything, also something that looks like a frame.
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

// frames reads the frames of a connection. What is read lasts until the next read.
type frames struct {
	r *bufio.Reader
	// Begun is called before the content of a frame is read, with its length; nil: nothing is.
	begun func(length int) error
	body  bytes.Buffer
}

// next is the content of the next frame, of at most limit bytes. The error is io.EOF where the
// connection ends between two frames. Nothing is allocated before the length is accepted, and
// then only as the content arrives.
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
		case c < '0' || c > '9', digits == 1 && length == 0: // 07: is no number that anybody writes
			return 0, ErrMalformed
		case digits == maxDigits:
			return 0, fmt.Errorf("%w: more than %d digits", ErrTooLarge, maxDigits)
		}
		length = length*10 + int(c-'0')
	}
}

// ready reports whether a whole frame has arrived already, as far as the buffer holds it.
func (f *frames) ready() bool {
	have, _ := f.r.Peek(f.r.Buffered())
	head := bytes.IndexByte(have[:min(len(have), maxDigits+1)], ':')
	if head < 1 {
		return false
	}
	length, err := strconv.Atoi(string(have[:head]))
	return err == nil && length >= 0 && len(have)-head-1 >= length
}
