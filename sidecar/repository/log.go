package repository

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// Log appends a line to agent.log: "[time] Processed: .aea/message-….json -> acknowledged". It is
// one line whatever the words have, nothing in it acts on a terminal, and credentials are masked.
func (d Dir) Log(at time.Time, did, what, became string) error {
	_, err := d.append(logLine(at, did, what, became))
	return err
}

func logLine(at time.Time, did, what, became string) string {
	return secret.Mask(fmt.Sprintf("[%s] %s: %s -> %s\n", aea.Timestamp(at), word(did), word(what), word(became)))
}

// append writes lines at the end of agent.log, and says how many of them are whole there.
func (d Dir) append(lines ...string) (n int, err error) {
	if err := d.there(); err != nil {
		return 0, fmt.Errorf("log of %q: %w", d.Path, err)
	}
	f, err := foreign.AppendOurs(d.at(logName), 0o644)
	if err != nil {
		return 0, fmt.Errorf("log of %q: %w", d.Path, err)
	}
	text := strings.Join(lines, "")
	if torn(f) {
		text, lines = "\n"+text, append([]string{"\n" + lines[0]}, lines[1:]...)
	}
	written, err := f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	for ; n < len(lines) && written >= len(lines[n]); n++ {
		written -= len(lines[n])
	}
	if err != nil {
		return n, fmt.Errorf("log of %q: %w", d.Path, err)
	}
	return n, nil
}

// torn reports whether a file ends in the middle of a line, as where the disk was full.
func torn(f *os.File) bool {
	last := make([]byte, 1)
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// Processed is Log of a message that was processed.
func (d Dir) Processed(at time.Time, name, became string) error {
	return d.Log(at, "Processed", filepath.Join(folder, name), became)
}

// word is a text as a log has it.
func word(text string) string {
	// A byte that is no UTF-8 may be a control character of a terminal's 8-bit ones.
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// searched is how much of the end of a log is searched.
const searched = 1 << 20

// Sent reports whether the log says that a message of that id was sent from here. That somebody
// answered one proves nothing: its file may have said that it came from here.
func (d Dir) Sent(id string) bool { return d.logged("Sent", id) }

// NoteSent notes that a message of that id was sent from a repository.
func (e Enabled) NoteSent(path, id string) error {
	f, err := own.OpenFile(e.sentLog(path), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = atomicfile.MkdirAll(e.Dir, 0o700); err == nil {
			f, err = own.OpenFile(e.sentLog(path), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("sent from %q: %w", path, err)
	}
	text := word(id) + "\n"
	if torn(f) {
		text = "\n" + text
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Sent reports whether a message of that id was sent from a repository, as its log says or was noted here.
func (e Enabled) Sent(d Dir, id string) bool {
	if id == "" {
		return false
	}
	if d.Sent(id) {
		return true
	}
	f, err := own.Open(e.sentLog(d.Path))
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.Contains(strings.Split(lastOf(f), "\n"), word(id))
}

// lastOf is the end of a log, which is searched.
func lastOf(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, max(info.Size()-searched, 0), searched))
	return string(text)
}

// Answered reports whether the log says that a message of that id, which named this repository as
// its author's, was answered.
func (d Dir) Answered(id string) bool { return d.logged("Answered", id) }

func (d Dir) logged(did, id string) bool {
	if id == "" {
		return false
	}
	f, err := foreign.OpenItself(d.at(logName))
	if err != nil {
		return false
	}
	defer f.Close()
	for line := range strings.Lines(lastOf(f)) {
		if strings.Contains(line, "] "+did+": "+word(id)+" -> ") {
			return true
		}
	}
	return false
}
