package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model checks a client's messages as strictly as the source of a tmux up to 3.3a does. Each of its
// errors crashes such a server, or leads to a crash.
type model struct {
	flagged, named, done, commanded bool
	open                            map[int32]string // streams that wait for an answer
}

// take checks whole messages. An incomplete rest is no error yet.
func (m *model) take(data []byte) error {
	for len(data) >= headerSize {
		size := int(binary.NativeEndian.Uint16(data[4:]))
		if flags := binary.NativeEndian.Uint16(data[6:]); flags != 0 {
			return fmt.Errorf("flags %x", flags)
		}
		if size < headerSize || size > maxMessage || size > len(data) {
			return fmt.Errorf("size %d of %d", size, len(data))
		}
		if data[8] != protocolVersion {
			return fmt.Errorf("version %d", data[8])
		}
		if err := m.message(binary.NativeEndian.Uint32(data), data[headerSize:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes of a header", len(data))
	}
	return nil
}

func (m *model) message(kind uint32, data []byte) error {
	sized := func(n int) error {
		if len(data) != n {
			return fmt.Errorf("message %d: %d bytes, not %d", kind, len(data), n)
		}
		return nil
	}
	if kind >= 100 && kind < 200 && m.done {
		return fmt.Errorf("message %d after DONE", kind)
	}
	switch kind {
	case msgIdentifyFlags, msgIdentifyFeatures, msgIdentifyClientPID:
		m.flagged = m.flagged || kind == msgIdentifyFlags
		return sized(4)
	case msgIdentifyLongFlags:
		return sized(8)
	case msgIdentifyTerm, msgIdentifyTTYName, msgIdentifyCwd:
		m.named = m.named || kind == msgIdentifyTTYName
		if len(data) == 0 || data[len(data)-1] != 0 {
			return fmt.Errorf("message %d: no NUL", kind)
		}
		return nil
	case msgIdentifyDone:
		if !m.named || !m.flagged {
			return errors.New("DONE without a terminal's name")
		}
		m.done = true
		return sized(0)
	case msgCommand:
		if !m.done || m.commanded || len(data) < 5 || data[len(data)-1] != 0 {
			return errors.New("COMMAND at the wrong time, or cut")
		}
		m.commanded = true
		if argc := int32(binary.NativeEndian.Uint32(data)); argc <= 0 || int(argc) != bytes.Count(data[4:], []byte{0}) {
			return fmt.Errorf("COMMAND of %d arguments", argc)
		}
		return nil
	case msgRead, msgReadDone, msgWriteReady:
		if len(data) < 4 || kind != msgRead && len(data) != 8 {
			return fmt.Errorf("message %d of %d bytes", kind, len(data))
		}
		stream := int32(binary.NativeEndian.Uint32(data))
		want := map[bool]string{true: "write", false: "read"}[kind == msgWriteReady]
		if m.open[stream] != want {
			return fmt.Errorf("message %d for stream %d, which is %q", kind, stream, m.open[stream])
		}
		if kind != msgRead {
			m.open[stream] = "answered"
		}
		return nil
	}
	return fmt.Errorf("message %d is none of a client's", kind)
}

// heard records the complete messages of a server.
func (m *model) heard(data []byte) {
	r := newReader(bytes.NewReader(data))
	for {
		in, err := r.next()
		if err != nil {
			return
		}
		stream, err := in.integer(0)
		if err != nil || m.open[stream] != "" {
			continue
		}
		switch in.kind {
		case msgReadOpen:
			m.open[stream] = "read"
		case msgWriteOpen:
			m.open[stream] = "write"
		}
	}
}

// scripted is a connection whose other side has sent everything already, and which records what is
// written to it.
type scripted struct {
	net.Conn
	wrote bytes.Buffer
}

func (s *scripted) Write(p []byte) (int, error) { return s.wrote.Write(p) }

// answers returns what an exchange writes in answer to a server's messages.
func answers(said, stdin []byte) (*scripted, *exchange, error) {
	conn := &scripted{}
	x := &exchange{conn: conn, stdin: stdin, awaits: stdin != nil}
	err := x.serve(newReader(bytes.NewReader(said)))
	return conn, x, err
}

// said returns a server's messages.
func said(kinds ...any) []byte {
	var m messages
	for i := 0; i < len(kinds); i += 2 {
		m.put(uint32(kinds[i].(int)), kinds[i+1].([]byte))
	}
	return m.Bytes()
}

func of(parts ...any) (data []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			data = append(data, i32(int32(p))...)
		case string:
			data = append(data, p...)
		}
	}
	return data
}

// For any command line, a server that trusts its client can take the request, or the request is
// refused before a byte of it is made.
func TestRequest_isOneThatTheStrictestServerTakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringN(0, 20000, 20000)), 0, 40).Draw(t, "argv")
		m, err := request(rapid.Int().Draw(t, "pid"), argv)
		size := len(argv)
		for _, a := range argv {
			size += len(a)
		}
		bad := len(argv) == 0 || size > MaxArguments || strings.Contains(strings.Join(argv, ""), "\x00")
		if bad {
			require.ErrorIs(t, err, errArguments)
			return
		}
		require.NoError(t, err)
		require.NoError(t, (&model{}).take(m.Bytes()))
	})
}

// The longest command line is one message of the longest size; one byte more is refused.
func TestRequest_longest(t *testing.T) {
	t.Parallel()
	m, err := request(1, []string{strings.Repeat("x", MaxArguments-1)})
	require.NoError(t, err)
	require.NoError(t, (&model{}).take(m.Bytes()))
	_, err = request(1, []string{strings.Repeat("x", MaxArguments)})
	require.ErrorIs(t, err, errArguments)
}

// Whatever a server says, in whatever pieces, our answers would not harm a server that trusts its
// client: each question is answered once, and nothing follows a surprise.
func TestServe_answersNoServerCouldStumbleOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all messages
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			kind := rapid.SampledFrom([]uint32{msgReadOpen, msgReadOpen, msgWriteOpen, msgWriteOpen, msgWrite, msgWriteClose, msgFlags, 307, 207, msgShutdown, msgExit}).Draw(t, "kind")
			data := of(rapid.IntRange(0, 4).Draw(t, "stream"), rapid.IntRange(-1, 3).Draw(t, "fd"), "-\x00")
			all.put(kind, data[:rapid.SampledFrom([]int{len(data), len(data), len(data), 8, 7, 4, 3, 0}).Draw(t, "length")])
		}
		stdin := rapid.SliceOfN(rapid.Byte(), 0, 40000).Draw(t, "stdin")
		conn, x, _ := answers(all.Bytes(), stdin)
		m := model{done: true, open: map[int32]string{}}
		m.heard(all.Bytes())
		require.NoError(t, m.take(conn.wrote.Bytes()))
		require.Equal(t, !x.awaits, bytes.Contains(conn.wrote.Bytes(), stdin) && slices.Contains(kinds(conn.wrote.Bytes()), msgReadDone) && x.stdin == nil)
	})
}

func kinds(data []byte) (all []uint32) {
	r := newReader(bytes.NewReader(data))
	for {
		in, err := r.next()
		if err != nil {
			return all
		}
		all = append(all, in.kind)
	}
}

func FuzzServe(f *testing.F) {
	f.Add(said(msgWriteOpen, of(1, 1, 0), msgWrite, of(1, "hello\n"), msgExit, of(0)), []byte("text"))
	f.Add(said(msgReadOpen, of(3, 0, "-\x00"), msgReadOpen, of(3, 0, "-\x00")), []byte("text"))
	f.Add(said(msgExit, of(0, "access not allowed\x00")), []byte{})
	f.Fuzz(func(t *testing.T, said, stdin []byte) {
		conn, _, _ := answers(said, stdin)
		m := model{done: true, open: map[int32]string{}}
		m.heard(said)
		require.NoError(t, m.take(conn.wrote.Bytes()))
	})
}

func TestServe_table(t *testing.T) {
	t.Parallel()
	open := func(stream, fd int) []byte { return of(stream, fd, 0) }
	var refused *Refusal
	var status *ExitError
	for name, c := range map[string]struct {
		said          []byte
		stdout, wrote string
		sent          bool
		is            error
		as            any
	}{
		"output":                  {said(msgWriteOpen, open(1, 1), msgWrite, of(1, "a"), msgWrite, of(1, "b"), msgExit, of(0)), "ab", ready(1, true).String(), false, nil, nil},
		"no status":               {said(msgExit, of()), "", "", false, nil, nil},
		"status":                  {said(msgExit, of(1)), "", "", false, nil, &status},
		"not allowed":             {said(msgExit, of(0, "access not allowed\x00")), "", "", false, nil, &refused},
		"input":                   {said(msgReadOpen, of(3, 0, "-\x00"), msgExit, of(0)), "", input(3, []byte("in")).String(), true, nil, nil},
		"a file":                  {said(msgReadOpen, of(3, -1, "/f\x00"), msgExit, of(1)), "", unreadable(3).String(), false, nil, &status},
		"a file to write":         {said(msgWriteOpen, of(3, -1, 0, "/f\x00"), msgExit, of(1)), "", ready(3, false).String(), false, nil, &status},
		"asked twice":             {said(msgReadOpen, of(3, 0, "-\x00"), msgReadOpen, of(3, 0, "-\x00")), "", input(3, []byte("in")).String(), true, ErrProtocol, nil},
		"output nobody opened":    {said(msgWrite, of(1, "a")), "", "", false, ErrProtocol, nil},
		"unknown":                 {said(9999, of()), "", "", false, ErrProtocol, nil},
		"cancelled":               {said(307, of(3)), "", "", false, ErrProtocol, nil},
		"ends in the middle":      {said(msgWriteOpen, open(1, 1))[:20], "", "", false, io.ErrUnexpectedEOF, nil},
		"a descriptor":            {bytes.Replace(said(msgExit, of()), []byte{16, 0, 0, 0}, []byte{16, 0, 0, 0x80}, 1), "", "", false, ErrProtocol, nil},
		"another version":         {[]byte{12, 0, 0, 0, 16, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0}, "", "", false, ErrProtocol, nil},
		"shorter than its header": {[]byte{12, 0, 0, 0, 15, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0}, "", "", false, ErrProtocol, nil},
	} {
		conn, x, err := answers(c.said, []byte("in"))
		assert.Equal(t, c.stdout, x.stdout.String(), name)
		assert.Equal(t, c.wrote, conn.wrote.String(), name)
		assert.Equal(t, c.sent, !x.awaits, name)
		switch {
		case c.as != nil:
			assert.ErrorAs(t, err, c.as, name)
		case c.is != nil:
			assert.ErrorIs(t, err, c.is, name)
		default:
			assert.NoError(t, err, name)
		}
	}
}

// The bytes themselves, as in the source of the protocol.
func TestRequest_golden(t *testing.T) {
	t.Parallel()
	m, err := request(0x1234, []string{"display-message", "-p", ""})
	require.NoError(t, err)
	head := func(kind, size byte) string {
		return string([]byte{kind, 0, 0, 0, size, 0, 0, 0, 8, 0, 0, 0, 255, 255, 255, 255})
	}
	assert.Equal(t, ""+
		head(100, 20)+"\x00\x10\x01\x00"+
		head(111, 24)+"\x00\x10\x01\x00\x00\x00\x00\x00"+
		head(101, 17)+"\x00"+
		head(109, 20)+"\x00\x00\x00\x00"+
		head(102, 17)+"\x00"+
		head(108, 18)+"/\x00"+
		head(107, 20)+"\x34\x12\x00\x00"+
		head(106, 16)+
		head(200, 40)+"\x03\x00\x00\x00display-message\x00-p\x00\x00", m.String())
}
