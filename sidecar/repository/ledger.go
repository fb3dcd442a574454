package repository

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// stage is how far the processing of a message has come. The next sidecar that processes the repository goes by
// it; the markers, which anybody can write, are only for readers.
type stage string

const (
	taken   stage = "taken"   // the relay has it; nothing was done about it
	acting  stage = "acting"  // an agent or a command has it, or may have
	done    stage = "done"    // it is marked, or about to be
	left    stage = "left"    // it was not processed: an agent that looks by itself finds it
	marked  stage = "marked"  // somebody else marked it
	refused stage = "refused" // it is no message, or none that is processed
	flagged stage = "flagged" // another sidecar ended while it acted on it; a person was told
)

// line is an entry of a ledger about one file.
type line struct {
	File   string     `json:"file"`
	Stage  stage      `json:"stage"`
	Hash   string     `json:"hash,omitempty"`    // SHA-256 of a message's file; the version of a refused file
	ID     string     `json:"id,omitempty"`      // message_id
	Our    message.ID `json:"message,omitempty"` // our id of it
	By     string     `json:"by,omitempty"`      // the sidecar
	Became string     `json:"became,omitempty"`
	Held   string     `json:"held,omitempty"`   // why it, or its answer, goes on only once a person says so
	Answer message.ID `json:"answer,omitempty"` // that answer

	// Owes says that the author waits for an acknowledgement, which is in the journal of the sidecar By.
	Owes bool `json:"owes,omitempty"`

	at   int  // its position among the lines of the ledger
	last bool // one of the last lines when the ledger was opened
	away bool // its file was missing then
}

// lastLines is the number of last lines whose messages agent.log may lack after a sidecar was killed: a whole
// window, each message with as many lines as it may have.
const lastLines = 4 * window

// ledger records what became of the messages of one repository, in a file of the person's state. Only the
// holder of the repository's claim writes it. Its lines are not synced: they have to outlive processes only;
// the journal holds what has to outlive the machine.
type ledger struct {
	path  string
	file  *os.File              // nil: still to be opened
	size  int                   // of the file, in bytes
	most  int                   // the size beyond which it is shortened
	lines int                   // how many were read or written
	torn  bool                  // its last line may be incomplete: the disk was full
	known map[string]line       // by file
	ids   map[string]line       // by message_id, of the first file with it
	ours  map[message.ID]string // files by our ids
}

// shortenAt is the size in bytes from which a ledger is shortened while it is written. A file that is not a
// message may change for ever, with a line each time.
const shortenAt = 8 << 20

// mostAway is roughly how many missing files a ledger remembers, the latest ones: a checkout, or a copy of the
// directory, may bring them back.
const mostAway = 10_000

// openLedger reads what is known. It forgets files that no longer exist, except the latest ones.
func openLedger(path string, there func(file string) bool) (*ledger, error) {
	l := &ledger{path: path}
	l.forget()
	latest := map[string]line{}
	err := readLedger(path, func(one line) {
		l.lines++
		one.at = l.lines
		latest[one.File] = one
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var kept []line
	away := 0
	for _, one := range slices.Backward(inOrder(latest)) {
		one.last = one.at > l.lines-lastLines
		if one.away = !there(one.File); one.away {
			away++
		}
		if one.away && (away > mostAway || one.Hash == "") {
			continue // if it came back, nobody could tell whether it is the same
		}
		kept = append(kept, one)
	}
	for _, one := range slices.Backward(kept) {
		l.note(one)
	}
	if err := atomicfile.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := l.shorten(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l, nil
}

// readLedger calls each for the lines of a ledger, in order. The ledger may have any length.
func readLedger(path string, each func(line)) error {
	f, err := own.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for r := bufio.NewReader(f); err == nil; {
		var text []byte
		text, err = r.ReadBytes('\n')
		var one line
		if json.Unmarshal(text, &one) == nil && one.File != "" {
			each(one)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func inOrder(lines map[string]line) []line {
	return slices.SortedFunc(maps.Values(lines), func(a, b line) int { return cmp.Compare(a.at, b.at) })
}

// shorten rewrites the file with what is known, and opens it.
func (l *ledger) shorten() error {
	var text strings.Builder
	for _, one := range inOrder(l.known) {
		text.WriteString(one.text())
	}
	l.close()
	l.file, l.most = nil, 2*l.size // if it fails, it is tried again at that size
	if err := atomicfile.Write(l.path, []byte(text.String()), 0o600); err != nil {
		return err
	}
	l.torn, l.size = false, text.Len()
	l.most = max(shortenAt, 2*l.size)
	return l.open()
}

func (l *ledger) open() (err error) {
	l.file, err = own.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	return err
}

func (l *ledger) forget() {
	l.known, l.ids, l.ours = map[string]line{}, map[string]line{}, map[message.ID]string{}
}

func (one line) text() string {
	text, _ := json.Marshal(one) // strings and a bool cannot fail
	return string(text) + "\n"
}

func (l *ledger) note(one line) {
	l.known[one.File] = one
	if one.ID != "" {
		if first, had := l.ids[one.ID]; !had || first.File == one.File {
			l.ids[one.ID] = one
		}
	}
	if one.Our != "" {
		l.ours[one.Our] = one.File
	}
}

// set records how far a message has come.
func (l *ledger) set(one line) error {
	had := l.known[one.File]
	one.at = l.lines + 1
	if had.last, had.away, had.at = false, false, one.at; had == one {
		return nil
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	text := one.text()
	if l.torn {
		text = "\n" + text
	}
	if _, err := io.WriteString(l.file, text); err != nil {
		l.torn = true
		return fmt.Errorf("ledger: %w", err)
	}
	l.torn = false
	l.lines, l.size = one.at, l.size+len(text)
	l.note(one)
	if l.size > l.most {
		if err := l.shorten(); err != nil {
			return fmt.Errorf("shorten the ledger: %w", err)
		}
	}
	return nil
}

// back handles a file that is there again. If it is not the same as before, its line is forgotten.
func (l *ledger) back(one line, same bool) {
	if one.away = false; same {
		l.note(one)
		return
	}
	delete(l.known, one.File)
	if l.ids[one.ID].File == one.File {
		delete(l.ids, one.ID)
	}
	delete(l.ours, one.Our)
}

func (l *ledger) close() { _ = l.file.Close() }

// Progress is how far one message has come, according to the ledger.
type Progress struct {
	File   string
	ID     message.ID // our id of it
	By     string     // the sidecar, named like its places
	InHand bool       // a sidecar processes the repository now, and has taken but not marked it
	Held   string     // why it, or its answer, goes on only once a person says so
	Answer message.ID // that answer
	Awaits bool       // it waits for a person's yes
}

// Progress returns the messages of a repository that are there now and are in hand, held, or waiting for a
// person's yes.
func (e Enabled) Progress(d Dir) (all []Progress) {
	served := e.Served(d.Path) // otherwise nobody works on them: an agent that looks by itself finds them
	for _, one := range e.lines(d) {
		p := Progress{
			File: one.File, ID: one.Our, By: one.By, InHand: served && (one.Stage == taken || one.Stage == acting), Held: one.Held, Answer: one.Answer,
			Awaits: one.awaits(),
		}
		if p.InHand || p.Held != "" || p.Awaits {
			all = append(all, p)
		}
	}
	return all
}

// awaits reports whether a person is asked about a message.
func (one line) awaits() bool { return one.Stage == done && one.Became == approval }

// lines returns the last line of the ledger about each file that is there.
func (e Enabled) lines(d Dir) (all []line) {
	at := map[string]int{}
	err := readLedger(e.ledger(d.Path), func(one line) {
		if i, had := at[one.File]; had {
			all[i] = one
			return
		}
		at[one.File] = len(all)
		all = append(all, one)
	})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(one line) bool { return !d.has(one.File) })
}

func (e Enabled) ledger(path string) string { return filepath.Join(e.Dir, Key(path)+".ledger") }

// sentLog returns the path of the notes about what was sent from a repository. agent.log may be lost to git
// reset, git clean or log rotation.
func (e Enabled) sentLog(path string) string { return filepath.Join(e.Dir, Key(path)+".sent") }

func (e Enabled) claim(path string) string { return filepath.Join(e.Dir, "claims", Key(path)) }

func (e Enabled) answerLog() string { return filepath.Join(e.Dir, "answers") }
