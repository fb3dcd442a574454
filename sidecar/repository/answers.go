package repository

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// answerLog is a file that all sidecars of a person share. It says which messages were answered, and by which
// sidecar. A sidecar that is killed may have decided about a message, and another one may then decide anew.
// When the first comes back, its journal still has its answer. Only the answer that is written first counts. A
// sidecar keeps the file locked from its check for an earlier answer until its own answer is written, so the
// later of two lines about one message counts.
type answerLog struct {
	path string
	file os.FileInfo // the file that was read; shortening it puts another one in its place
	read int64       // how many bytes of it
	of   map[message.ID]answer
}

// answer is one line of the file.
type answer struct {
	To      message.ID `json:"to"` // our id of the message that is answered
	By      string     `json:"by"`
	ID      string     `json:"id"`                // message_id of the answer
	Written bool       `json:"written,omitempty"` // its file is certainly there
}

const (
	answersPatience = 200 * time.Millisecond // with another program that writes there
	answersMost     = 2 << 20                // in bytes; beyond that, the older half is forgotten
)

// errBusy says that another program has the file locked, perhaps because it was stopped while it wrote.
var errBusy = errors.New("another program is writing there")

// locked runs write, which writes an answer, while no other sidecar writes one.
func (a *answerLog) locked(write func(f *os.File) error) error {
	if err := atomicfile.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	f, err := a.current()
	if err == nil && a.read > answersMost {
		err = a.shorten(f)
		release(f)
		if err == nil {
			f, err = a.current()
		}
	}
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	defer release(f)
	return write(f)
}

// look reads what sidecars have written, without the lock: it does not wait for one that is writing.
func (a *answerLog) look() error {
	f, err := own.Open(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		*a = answerLog{path: a.path}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return a.catchUp(f)
}

// current returns the file, locked and read to its end.
func (a *answerLog) current() (*os.File, error) {
	f, err := lock(a.path)
	if err != nil {
		return nil, err
	}
	if err := a.catchUp(f); err != nil {
		release(f)
		return nil, err
	}
	return f, nil
}

func release(f *os.File) {
	own.Unlock(f)
	f.Close()
}

// lock opens a log to append to it, locked against all that do the same. It returns errBusy after answersPatience.
func lock(path string) (*os.File, error) {
	for end := time.Now().Add(answersPatience); ; time.Sleep(time.Millisecond) {
		f, err := own.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil && own.There(f) {
			return f, nil
		}
		release(f)
		switch {
		case err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return nil, err
		case time.Now().After(end):
			return nil, errBusy
		}
	}
}

// catchUp reads what other sidecars have written since.
func (a *answerLog) catchUp(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if a.file == nil || !os.SameFile(a.file, info) || info.Size() < a.read {
		a.read, a.of = 0, map[message.ID]answer{}
	}
	a.file = info
	text, err := io.ReadAll(io.NewSectionReader(f, a.read, info.Size()-a.read))
	if err != nil {
		return err
	}
	// What follows the last line break may be half a line, so it is read again next time.
	a.read += int64(bytes.LastIndexByte(text, '\n') + 1)
	for line := range strings.Lines(string(text)) {
		var one answer
		if json.Unmarshal([]byte(line), &one) == nil && one.To != "" {
			a.of[one.To] = one
		}
	}
	return nil
}

// shorten drops the earlier half of the file.
func (a *answerLog) shorten(f *os.File) error {
	text, err := io.ReadAll(io.NewSectionReader(f, a.read/2, a.read))
	if err != nil {
		return err
	}
	_, later, _ := strings.Cut(string(text), "\n")
	return atomicfile.Write(a.path, []byte(later), 0o600)
}

// note appends a line to the file.
func (a *answerLog) note(f *os.File, one answer) error {
	text, _ := json.Marshal(one) // strings and a bool cannot fail
	line := string(text) + "\n"
	if torn(f) {
		line = "\n" + line
	}
	if _, err := f.WriteString(line); err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	return nil
}

// others reports whether another sidecar has answered a message. there reports whether an answer that was begun
// has its file.
func (a *answerLog) others(to message.ID, by string, there func(id string) bool) bool {
	one := a.of[to]
	return one.By != "" && one.By != by && (one.Written || there(one.ID))
}
