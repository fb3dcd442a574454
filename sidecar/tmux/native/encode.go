package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
)

// The types of message, by the number that they have in every version.
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
	maxMessage      = 16384 // with its header; a tmux drops the connection of a longer one
	maxData         = maxMessage - headerSize
)

// MaxArguments is how many bytes the arguments of a command line may have together, with one
// more for each: the tmux program has the same limit.
const MaxArguments = maxData - 4

// clientFlags says that we read UTF-8 (0x10000, tmux -u) and start no server (0x1000, tmux -N).
// Nothing else: other bits make a client of another kind, which a server treats in other ways.
const clientFlags = 0x11000

// badDescriptor is EBADF, which the tmux program answers where it could not open what it was asked to.
const badDescriptor = 9

// messages is what may be written: whole messages, and nothing but what the functions below put
// there. All integers are in the order of the machine; on a little-endian one the header is the
// same before and after tmux 3.6, where its fields changed.
type messages struct{ bytes.Buffer }

// put adds one message. It alone writes headers. Its callers keep within maxData.
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

// errArguments is wrapped by the error of a command line that cannot be sent.
var errArguments = errors.New("cannot be sent to tmux")

// request identifies a client without a terminal and has it run one command line, whose
// commands are separated by arguments ";". What a server up to 3.6 does not survive is kept out:
// no arguments at all are a new session, a NUL makes more of them than were counted, and without
// a name of a terminal, though it be empty, it reads where nothing is.
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

// input is all of the standard input, and its end.
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

// unreadable answers the question for a file that we do not open.
func unreadable(stream int32) *messages {
	m := &messages{}
	m.put(msgReadDone, i32(stream), i32(badDescriptor))
	return m
}

// ready answers that output may come, or that there is no such place for it.
func ready(stream int32, there bool) *messages {
	code := int32(0)
	if !there {
		code = badDescriptor
	}
	m := &messages{}
	m.put(msgWriteReady, i32(stream), i32(code))
	return m
}
