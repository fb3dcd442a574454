package persona

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// The events of a Record.
const (
	EventStart    = "start"    // running; Text is the name
	EventReady    = "ready"    // the prompt or the composer is shown and empty, and keys are read
	EventRead     = "read"     // Bytes came from the terminal
	EventKey      = "key"      // a control key or an escape sequence that means nothing here; Text is its bytes
	EventPaste    = "paste"    // a bracketed paste; Text is what stood between the marks
	EventEnter    = "enter"    // Enter was ignored on purpose
	EventReceived = "received" // message N was submitted; Text is all of it
	EventEmpty    = "empty"    // Enter on an empty composer
	EventSaid     = "said"     // Text was printed, as the answer to message N
	EventUnasked  = "unasked"  // Text was printed without being asked, the Nth time
	EventSilent   = "silent"   // message N gets no answer: the limit is reached
	EventCommand  = "command"  // a command, Text, by input or by control
	EventChange   = "change"   // what --change-on-paste did
	EventChild    = "child"    // a program was started; N is its pid
	EventChildEnd = "childend" // it ended; N is its exit code
	EventInbox    = "inbox"    // a message came to its inbox; Text is its content
	EventPassword = "password" // a line was read without echo; Text is the line
	EventDialog   = "dialog"   // the dialog opened
	EventAnswer   = "answer"   // the dialog was answered with choice N
	EventApproved = "approved" // the dialog's command was run and ended with code N
	EventFlood    = "flood"    // a flood ended after N lines
	EventResize   = "resize"   // the terminal is N columns wide now, and was drawn anew
	EventSignal   = "signal"   // Text names it
	EventEnd      = "end"      // N is the exit code
)

// Record is one line of a persona's log.
type Record struct {
	Time  int64  `json:"time"` // CLOCK_MONOTONIC in ns: comparable between the processes of one machine
	Event string `json:"event"`
	N     int    `json:"n,omitempty"`
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
}

// mostLog is the maximum size of a log, in bytes.
const mostLog = 1 << 30

// ReadLog reads all complete lines of the log at path. It leaves out a last line that is still being written.
func ReadLog(path string) ([]Record, error) {
	data, err := own.Read(path, mostLog)
	if err != nil {
		return nil, fmt.Errorf("persona log: %w", err)
	}
	var records []Record
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return records, fmt.Errorf("persona log %q line %d: %w", path, len(records)+1, err)
		}
		records = append(records, r)
	}
	return records, nil
}

// now reads the clock of Record.Time.
func now() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(monotonic, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// recorder appends records to a file, each in one write.
type recorder struct{ f *os.File }

func openRecorder(path string) (recorder, error) {
	if path == "" {
		return recorder{}, nil
	}
	f, err := own.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return recorder{}, fmt.Errorf("open log: %w", err)
	}
	return recorder{f: f}, nil
}

func (r recorder) add(rec Record) {
	if r.f == nil {
		return
	}
	rec.Time = now()
	line, err := json.Marshal(rec)
	if err != nil {
		return
	}
	r.f.Write(append(line, '\n'))
}

func (r recorder) close() {
	if r.f != nil {
		r.f.Close()
	}
}
