package talk

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func readAll(r io.Reader, limit int) (all []string, err error) {
	f := frames{r: bufio.NewReaderSize(r, 16)}
	for {
		one, err := f.next(limit)
		if err != nil {
			return all, err
		}
		all = append(all, string(one))
	}
}

func TestK2_K3_framesHaveBytesAndBoundaries(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "13:Hello, World!", framed("Hello, World!"))
	assert.Equal(t, "2:é", framed("é"), "bytes, not characters")
	all := []string{"Hello, World!", "", "é", "7:inside:9", "日本語", strings.Repeat("x", 100)}
	for name, r := range map[string]io.Reader{
		"one write":     strings.NewReader(framed(all...)),
		"single bytes":  iotest.OneByteReader(strings.NewReader(framed(all...))),
		"last with EOF": iotest.DataErrReader(strings.NewReader(framed(all...))),
	} {
		got, err := readAll(r, MaxMessage)
		assert.ErrorIs(t, err, io.EOF, name)
		assert.Equal(t, all, got, name)
	}
}

// Bytes that are no frame are refused at the first of them, and what precedes them is not touched.
func TestK34_H67_H68_H69_violations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"POST / HTTP/1.1\r\n\r\n5:hello": ErrCrossProtocol,
		"\x16\x03\x01\x02\x00\x01":       ErrCrossProtocol,
		"SSH-2.0-x\r\n":                  ErrCrossProtocol,
		"abc:x":                          ErrCrossProtocol,
		"-1:x":                           ErrCrossProtocol,
		"+5:hello":                       ErrCrossProtocol,
		" 5:hello":                       ErrCrossProtocol,
		"٥:hello":                        ErrCrossProtocol,
		":":                              ErrCrossProtocol,
		"007:hello  ":                    ErrMalformed,
		"00:":                            ErrMalformed,
		"5 :hello":                       ErrMalformed,
		"0x5:hello":                      ErrMalformed,
		"5;hello":                        ErrMalformed,
		"99999999999:x":                  ErrTooLarge,
		"12345678":                       ErrTooLarge,
		"1048577:" + strings.Repeat("x", MaxMessage+1): ErrTooLarge,
		"5":     ErrCut,
		"5:hel": ErrCut,
		"5:":    ErrCut,
	} {
		short := text[:min(len(text), 20)]
		got, err := readAll(strings.NewReader("2:ok"+text), MaxMessage)
		assert.ErrorIs(t, err, want, "%q", short)
		assert.Equal(t, []string{"ok"}, got, "%q", short)
	}
	got, err := readAll(strings.NewReader(framed(strings.Repeat("x", MaxMessage))), MaxMessage)
	assert.ErrorIs(t, err, io.EOF)
	assert.Len(t, got[0], MaxMessage)
}

// An accepted length costs nothing until the bytes arrive. A refused one never costs anything.
func TestH68_noAllocationForAPromise(t *testing.T) {
	r := strings.NewReader("1048576:x")
	f := frames{r: bufio.NewReader(r)}
	_, err := f.next(MaxMessage)
	require.ErrorIs(t, err, ErrCut)
	assert.Less(t, f.body.Cap(), 64<<10)
}

// However a stream is cut into reads, the frames are the same, and ready is always right.
func TestK3_rapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.String()).Draw(t, "messages")
		stream := []byte(framed(all...))
		junk := rapid.SampledFrom([]string{"", "x", "00:", "123456789", "5:ab"}).Draw(t, "junk")
		parts := &chunks{rest: append(stream, junk...), next: func(n int) int { return rapid.IntRange(1, min(n, 40)).Draw(t, "part") }}
		f := frames{r: bufio.NewReaderSize(parts, 64)}
		for i, want := range all {
			ready := f.ready()
			left := len(parts.rest)
			got, err := f.next(MaxMessage)
			if err != nil || string(got) != want {
				t.Fatalf("frame %d: %q, %v, want %q", i, got, err, want)
			}
			if ready && len(parts.rest) != left {
				t.Fatalf("frame %d was ready, and more was read for it", i)
			}
		}
		if _, err := f.next(MaxMessage); err == nil {
			t.Fatal("what is no frame was read as one")
		}
	})
}

// chunks returns a text in parts.
type chunks struct {
	rest []byte
	next func(most int) int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := c.next(min(len(p), len(c.rest)))
	n = copy(p[:n], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Only what AppendFrame writes is read as frames.
func FuzzK34_frames(f *testing.F) {
	for _, seed := range []string{"13:Hello, World!", "0:", "2:é5:hello", "1048577:", "00:", "5:5:5:5"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := readAll(bytes.NewReader(text), 1<<10)
		if err == nil {
			t.Fatal("a stream has an end")
		}
		have := framed(all...)
		if !bytes.HasPrefix(text, []byte(have)) {
			t.Fatalf("%q was read as %q", text, all)
		}
		if err == io.EOF && len(have) != len(text) {
			t.Fatalf("%q was read as %q and nothing behind it", text, all)
		}
	})
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"id":"a","from":9001,"message":"x","type":"json"}`))
	f.Add([]byte(`{"id":"a","from":9001,"message":"eA==","type":"binary","thread":"t","receipt":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parseEnvelope(text)
		if err != nil {
			return
		}
		m := e.stored("now")
		if back := parseLine(m.appendLine(nil)); back != m {
			t.Fatalf("%+v came back as %+v", m, back)
		}
	})
}
