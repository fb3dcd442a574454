package persona

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// How a stand-in keeps its files.
const (
	notesOn      = "on"
	notesOff     = "off"
	notesGarbage = "garbage" // as an unknown version would write them
	notesBehind  = "behind"  // a background process writes them, as for Codex: this process has no file open
)

// notes writes the files of a stand-in. As with the real agents, a note is written a little later, in order.
type notes struct {
	loop    *loop
	mode    string
	status  string // auto, none, or a fixed state for the status file
	lag     time.Duration
	pending []func()
}

// later calls f to write something after the lag.
func (n *notes) later(f func()) {
	n.pending = append(n.pending, f)
	if n.lag <= 0 {
		n.flush()
		return
	}
	n.loop.after(n.lag, func() {
		if len(n.pending) > 0 {
			f := n.pending[0]
			n.pending = n.pending[1:]
			f()
		}
	})
}

// flush writes what is pending.
func (n *notes) flush() {
	for len(n.pending) > 0 {
		f := n.pending[0]
		n.pending = n.pending[1:]
		f()
	}
}

// record returns one line of a transcript. Each %s in format stands for a value, encoded as JSON.
func record(format string, values ...any) string {
	texts := make([]any, len(values))
	for i, v := range values {
		texts[i] = quoted(v)
	}
	return fmt.Sprintf(format, texts...)
}

// quoted returns a value as JSON.
func quoted(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// appendTo opens a file for appending records.
func appendTo(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return own.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// newID returns a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// stamp formats a time as the agents do.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// startTicks returns when this process began, in clock ticks since boot, or 0 if the system does not tell.
func startTicks() string {
	start, _ := process.Start(os.Getpid())
	return strconv.FormatUint(start, 10)
}
