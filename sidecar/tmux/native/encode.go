package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
)

// The types of messages, by their numbers, which are the same in every version.
const (
	msgIdentifyFlags     = 100
	msgIdentifyTerm      = 101
	msgIdentifyTTYName   = 102
	msgIdentifyDone      = 106
	msgIdentifyClientPID = 107
	msgIdentifyCwd       = 108
	msgIdentifyFeatures  = 109
	msgIdentifyLongFlags = 111

	msgCommand  = 200
	msgExit     = 203
	msgShutdown = 210
	msgFlags    = 218

	msgReadOpen   = 300
	msgRead       = 301
	msgReadDone   = 302
	msgWriteOpen  = 303
	msgWrite      = 304
	msgWriteReady = 305
	msgWriteClose = 306
)

const (
	protocolVersion = 8
	headerSize      = 16
	maxMessage      = 16384 // with its header; tmux drops the connection on a longer message
	maxData         = maxMessage - headerSize
)

// MaxArguments is the maximum number of bytes of the arguments of a command line together,
// including one more byte for each. The tmux program has the same limit.
const MaxArguments = maxData - 4

// clientFlags says that we read UTF-8 (0x10000, tmux -u) and start no server (0x1000, tmux -N). It
// sets no other bits: they make a client of another kind, which a server treats differently.
const clientFlags = 0x11000

// badDescriptor is EBADF, which the tmux program answers if it could not open a requested file.
const badDescriptor = 9

// messages holds the bytes to write: whole messages, and only those that the functions below put
// there. All integers are in the byte order of the machine. On a little-endian machine the header
// is the same before and after tmux 3.6, which changed its fields.
type messages struct{ bytes.Buffer }

// put adds one message. It is the only function that writes headers. Its callers keep within
// maxData.
func (m *messages) put(kind uint32, data ...[]byte) {
	size := headerSize
	for _, d := range data {
		size += len(d)
	}
	var header [headerSize]byte
	binary.NativeEndian.PutUint32(header[0:], kind)
	binary.NativeEndian.PutUint32(header[4:], uint32(size))
	binary.NativeEndian.PutUint32(header[8:], protocolVersion)
	binary.NativeEndian.PutUint32(header[12:], 0xffffffff)
	m.Write(header[:])
	for _, d := range data {
		m.Write(d)
	}
}

func i32(n int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }

func u64(n uint64) []byte { return binary.NativeEndian.AppendUint64(nil, n) }

// errArguments is wrapped by the error if a command line cannot be sent.
var errArguments = errors.New("cannot be sent to tmux")

// request identifies a client without a terminal and has it run one command line, whose commands
// are separated by ";" arguments. It leaves out what a server up to 3.6 does not survive: without
// arguments the server makes a new session; a NUL makes more arguments than were counted; and
// without the name of a terminal, even an empty one, it reads a missing string.
func request(pid int, argv []string) (*messages, error) {
	size := 0
	for _, a := range argv {
		if strings.IndexByte(a, 0) >= 0 && gate.Stands("native:nul") {
			return nil, fmt.Errorf("argument %q: a NUL %w", a, errArguments)
		}
		size += len(a) + 1
	}
	if len(argv) == 0 && gate.Stands("native:none") {
		return nil, fmt.Errorf("a command line without a command %w", errArguments)
	}
	if size > MaxArguments && gate.Stands("native:size") {
		return nil, fmt.Errorf("a command line of %d bytes %w: %d at most", size, errArguments, MaxArguments)
	}
	none := []byte{0}
	m := &messages{}
	m.Grow(256 + size)
	m.put(msgIdentifyFlags, i32(clientFlags))
	m.put(msgIdentifyLongFlags, u64(clientFlags))
	m.put(msgIdentifyTerm, none)
	m.put(msgIdentifyFeatures, i32(0))
	m.put(msgIdentifyTTYName, none)
	m.put(msgIdentifyCwd, []byte("/\x00"))
	m.put(msgIdentifyClientPID, i32(int32(pid)))
	m.put(msgIdentifyDone)
	line := make([]byte, 0, 4+size)
	line = append(line, i32(int32(len(argv)))...)
	for _, a := range argv {
		line = append(append(line, a...), 0)
	}
	m.put(msgCommand, line)
	return m, nil
}

// input returns the messages with all of the standard input, and its end.
func input(stream int32, text []byte) *messages {
	m := &messages{}
	for len(text) > 0 {
		n := min(len(text), maxData-4)
		m.put(msgRead, i32(stream), text[:n])
		text = text[n:]
	}
	m.put(msgReadDone, i32(stream), i32(0))
	return m
}

// unreadable answers the request for a file that we do not open.
func unreadable(stream int32) *messages {
	m := &messages{}
	m.put(msgReadDone, i32(stream), i32(badDescriptor))
	return m
}

// ready answers that output may come, or, if there is false, that we do not accept it.
func ready(stream int32, there bool) *messages {
	code := int32(0)
	if !there {
		code = badDescriptor
	}
	m := &messages{}
	m.put(msgWriteReady, i32(stream), i32(code))
	return m
}
