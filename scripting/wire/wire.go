// Package wire defines what passes between a process and its policy worker: requests one way, replies the other, over
// pipes. A frame is two lengths of four bytes each, big-endian, then a header in JSON, then raw bytes. Bodies do not
// travel inside JSON, which would cost more than all the rest.
//
// The worker runs code that others wrote, so the reader does not assume that what it sends is well formed or small.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// Limits of a frame, in bytes.
const (
	MaxHeader = 48 << 20 // room for a set of 64 files in JSON, or for all that scripts remember
	MaxBlobs  = 24 << 20
	// MaxReplyHeader and MaxReplyBlobs limit the replies of a worker.
	MaxReplyHeader = 4 << 20
	MaxReplyBlobs  = 8 << 20
)

// Request is a request to a worker. Exactly one of Load, Evaluate and Test is set.
type Request struct {
	Load     *Load     `json:"load,omitempty"`
	Evaluate *Evaluate `json:"evaluate,omitempty"`
	Test     *Test     `json:"test,omitempty"`
	Blobs    []int     `json:"blobs,omitempty"` // lengths; set by Write
}

// Load gives a worker its set, once, as the first request.
type Load struct {
	Files      policy.Files `json:"files"`
	Generation string       `json:"generation"`      // the generation that its verdicts name
	Avoid      []string     `json:"avoid,omitempty"` // files that are not loaded: they count as broken
}

// Evaluate asks what should happen to a message. The blob is its body.
type Evaluate struct {
	Input policy.Input `json:"input"`
	// SameConfig says that the input's Config, which is left out, is the last one sent.
	SameConfig bool `json:"same_config,omitempty"`
	// Others are the changes among the further known peers since the last request.
	Others policy.News `json:"others"`
	// Memories are those that changed since the last request.
	Memories policy.Memories `json:"memories,omitempty"`
	// Avoid are scripts that are not run: each of their hooks counts as failed.
	Avoid []string `json:"avoid,omitempty"`
	// Announce asks for a Running before each script and hook.
	Announce bool `json:"announce,omitempty"`
	// Behind, if not 0, says that the request was sent before the verdict on the previous message arrived. If the
	// previous message was Left, has effects to be remembered, or took longer than Behind, the worker answers Left at
	// once.
	Behind time.Duration `json:"behind,omitempty"`
}

// Test asks for the tests of the one loaded file. A Running comes before each case, and before each message in it. No
// Evaluate follows.
type Test struct {
	File policy.Source `json:"file"` // the file of tests
	// Ended are cases not to be run, by their numbers, because no worker has survived them. Each has the text of the
	// failure.
	Ended map[int]string `json:"ended,omitempty"`
}

// Reply is an answer of a worker. Exactly one of Loaded, Running, Verdict, Left, Tested and Error is set, besides the
// fields that belong to it.
type Reply struct {
	Loaded  *Loaded         `json:"loaded,omitempty"`
	Running *Running        `json:"running,omitempty"` // more follows
	Verdict *policy.Verdict `json:"verdict,omitempty"`
	Left    bool            `json:"left,omitempty"` // of an Evaluate with Behind: ask about the message anew
	Tested  *policy.Tested  `json:"tested,omitempty"`
	Error   string          `json:"error,omitempty"` // the request itself was wrong
	Used    time.Duration   `json:"used,omitempty"`  // processor time since the worker began; not with Running
	Texts   *Texts          `json:"texts,omitempty"` // with Verdict
	Blobs   []int           `json:"blobs,omitempty"` // lengths; set by Write
}

// Loaded is the answer to Load.
type Loaded struct {
	Scripts  []policy.Script  `json:"scripts"`
	Problems []policy.Problem `json:"problems,omitempty"` // if not all are warnings, the set cannot be used
	Settings policy.Settings  `json:"settings"`
	Lines    policy.Lines     `json:"lines,omitempty"` // of the settings
}

// Running says what is about to be run. Without a hook, it names the file about to be loaded.
type Running struct {
	Script string      `json:"script"`
	Hook   policy.Hook `json:"hook,omitempty"`
	Case   int         `json:"case,omitempty"` // number of the test, from 1
}

// Texts says which blobs are the texts of a verdict.
type Texts struct {
	Body      *int   `json:"body,omitempty"`
	Formatted []*int `json:"formatted,omitempty"` // one for each outcome
}

// ErrUnsent is wrapped by the error about a frame of which nothing was written, because JSON cannot represent it, or
// because its reader would refuse its size.
var ErrUnsent = errors.New("not sent")

// Write sends one frame.
func Write(w io.Writer, header any, blobs [][]byte) error {
	maxHeader, maxBlobs := MaxHeader, MaxBlobs
	lengths := make([]int, len(blobs))
	size := 0
	for i, b := range blobs {
		lengths[i] = len(b)
		size += len(b)
	}
	switch h := header.(type) {
	case *Request:
		h.Blobs = lengths
	case *Reply:
		h.Blobs = lengths
		maxHeader, maxBlobs = MaxReplyHeader, MaxReplyBlobs
	}
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("encoding a header: %w: %w", ErrUnsent, err)
	}
	if len(text) > maxHeader || size > maxBlobs {
		return fmt.Errorf("frame of %d and %d bytes is too large: %w", len(text), size, ErrUnsent)
	}
	frame := make([]byte, 8, 8+len(text)+size)
	binary.BigEndian.PutUint32(frame, uint32(len(text)))
	binary.BigEndian.PutUint32(frame[4:], uint32(size))
	frame = append(frame, text...)
	for _, b := range blobs {
		frame = append(frame, b...)
	}
	_, err = w.Write(frame)
	return err
}

// ReadRequest reads one frame from the process that started this worker. The error is io.EOF at the end of the input.
func ReadRequest(r io.Reader) (Request, [][]byte, error) {
	var q Request
	blobs, err := read(r, MaxHeader, MaxBlobs, &q, &q.Blobs)
	return q, blobs, err
}

// ReadReply reads one frame from a worker. The error is io.EOF if the worker has closed its output.
func ReadReply(r io.Reader) (Reply, [][]byte, error) {
	var a Reply
	blobs, err := read(r, MaxReplyHeader, MaxReplyBlobs, &a, &a.Blobs)
	return a, blobs, err
}

var errLengths = errors.New("frame whose lengths do not agree")

func read(r io.Reader, maxHeader, maxBlobs uint32, header any, lengths *[]int) ([][]byte, error) {
	var sizes [8]byte
	if _, err := io.ReadFull(r, sizes[:]); err != nil {
		return nil, err
	}
	text, size := binary.BigEndian.Uint32(sizes[:]), binary.BigEndian.Uint32(sizes[4:])
	if text > maxHeader || size > maxBlobs {
		return nil, fmt.Errorf("frame of %d and %d bytes is too large", text, size)
	}
	frame := make([]byte, int(text)+int(size))
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(frame[:text], header); err != nil {
		return nil, fmt.Errorf("decoding a header: %w", err)
	}
	rest := frame[text:]
	var blobs [][]byte
	for _, n := range *lengths {
		if n < 0 || n > len(rest) {
			return nil, errLengths
		}
		blobs = append(blobs, rest[:n])
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return nil, errLengths
	}
	return blobs, nil
}
