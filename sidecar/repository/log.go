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

// Log appends a line to agent.log: "[time] Processed: .aea/message-….json -> acknowledged". Whatever the words
// contain, it stays one line, nothing in it acts on a terminal, and credentials are masked.
func (d Dir) Log(at time.Time, did, what, became string) error {
	_, err := d.append(logLine(at, did, what, became))
	return err
}

func logLine(at time.Time, did, what, became string) string {
	return secret.Mask(fmt.Sprintf("[%s] %s: %s -> %s\n", aea.Timestamp(at), word(did), word(what), word(became)))
}

// append writes lines at the end of agent.log, and returns how many of them are complete there.
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

// torn reports whether a file ends in the middle of a line, as after the disk was full.
func torn(f *os.File) bool {
	last := make([]byte, 1)
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// Processed is Log for a message that was processed.
func (d Dir) Processed(at time.Time, name, became string) error {
	return d.Log(at, "Processed", filepath.Join(folder, name), became)
}

// word returns a text as a log shows it: quoted if it is not UTF-8 or not printable.
func word(text string) string {
	// A byte that is not UTF-8 may be an 8-bit control character of a terminal.
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// searched is how many bytes at the end of a log are searched.
const searched = 1 << 20

// Sent reports whether the log says that a message with that id was sent from here. An Answered line proves
// nothing: the message that was answered may only have claimed to come from here.
func (d Dir) Sent(id string) bool { return d.logged("Sent", id) }

// NoteSent notes that a message with that id was sent from a repository. When the notes have twice the length that
// is searched, it drops what is not. The notes are locked meanwhile: sidecars and commands write them. The error is
// errBusy if another program keeps the lock.
func (e Enabled) NoteSent(path, id string) error {
	f, err := lock(e.sentLog(path))
	if errors.Is(err, fs.ErrNotExist) {
		if err = atomicfile.MkdirAll(e.Dir, 0o700); err == nil {
			f, err = lock(e.sentLog(path))
		}
	}
	if err != nil {
		return fmt.Errorf("sent from %q: %w", path, err)
	}
	defer release(f)
	text := word(id) + "\n"
	if torn(f) {
		text = "\n" + text
	}
	_, err = f.WriteString(text)
	if info, unknown := f.Stat(); err == nil && unknown == nil && info.Size() > 2*searched {
		_, latest, _ := strings.Cut(lastOf(f), "\n")
		err = atomicfile.Write(e.sentLog(path), []byte(latest), 0o600)
	}
	return err
}

// Sent reports whether a message with that id was sent from a repository, according to its log or to NoteSent.
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

// lastOf returns the end of a log, which is searched.
func lastOf(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, max(info.Size()-searched, 0), searched))
	return string(text)
}

// Answered reports whether the log says that a message with that id was answered, which named this repository
// as its author's.
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
