package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// stage is how far the processing of a message has come. Whatever sidecar processes a repository
// next goes by it: the markers, which anybody can write, are for readers.
type stage string

const (
	taken   stage = "taken"   // it is with the relay; nothing was done about it
	acting  stage = "acting"  // an agent or a command has it, or may have
	done    stage = "done"    // it is marked, or about to be
	left    stage = "left"    // nobody was there for it: it is for who looks by themselves
	marked  stage = "marked"  // somebody else marked it
	refused stage = "refused" // it is no message, or none that is processed
	flagged stage = "flagged" // another sidecar ended while it acted on it: a person was told
)

// line is what a ledger says of one file.
type line struct {
	File   string     `json:"file"`
	Stage  stage      `json:"stage"`
	Hash   string     `json:"hash,omitempty"`    // SHA-256 of the file, of a message
	ID     string     `json:"id,omitempty"`      // message_id
	Our    message.ID `json:"message,omitempty"` // the id that it has with us
	By     string     `json:"by,omitempty"`      // the sidecar
	Became string     `json:"became,omitempty"`
	Held   string     `json:"held,omitempty"`   // why it, or its answer, goes on only once a person says so
	Answer message.ID `json:"answer,omitempty"` // that answer

	// Owes says that the author waits for an acknowledgement, which the journal of the sidecar has.
	Owes bool `json:"owes,omitempty"`

	last bool // one of the last when the ledger was opened
	away bool // its file was not there then
}

// lastLines are those about which the log may lack a line, where a sidecar was killed: all of a window, each
// with as many lines as a message may have.
const lastLines = 4 * window

// ledger says what became of the messages of one repository, in a file of the person's state. Only
// who has the claim on the repository writes it. Nothing of it is synced: it has to outlive
// processes, and the journal says what has to outlive the machine.
type ledger struct {
	path  string
	file  *os.File
	torn  bool                  // its last line may lack its end: the disk was full
	known map[string]line       // by file
	ids   map[string]line       // by message_id, the first of each
	ours  map[message.ID]string // the files by our ids
}

// maxLedger is how much of a ledger is read.
const maxLedger = 64 << 20

// mostAway is about how many files that are not there a ledger keeps what it knows, of the latest: a checkout, or a copy
// of the directory, may bring them back.
const mostAway = 10_000

// openLedger reads what is known. What is about files that there are no more it forgets, but for the latest.
func openLedger(path string, there func(file string) bool) (*ledger, error) {
	l := &ledger{path: path}
	text, err := own.Read(path, maxLedger)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l.forget()
	var order []line
	latest := map[string]int{}
	for text := range strings.Lines(string(text)) {
		var one line
		if json.Unmarshal([]byte(text), &one) == nil && one.File != "" {
			latest[one.File] = len(order)
			order = append(order, one)
		}
	}
	var kept strings.Builder
	away := 0
	for i, one := range slices.Backward(order) {
		if latest[one.File] != i {
			continue
		}
		if order[i].away = !there(one.File); order[i].away {
			away++
		}
		if order[i].away && (away > mostAway || one.Hash == "") {
			delete(latest, one.File) // nobody could tell whether it is the same, should it be back
		}
	}
	for i, one := range order {
		if n, ok := latest[one.File]; ok && n == i {
			one.last = i >= len(order)-lastLines
			l.note(one)
			kept.WriteString(one.text())
		}
	}
	if err := atomicfile.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := atomicfile.Write(path, []byte(kept.String()), 0o600); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if l.file, err = own.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l, nil
}

func (l *ledger) forget() {
	l.known, l.ids, l.ours = map[string]line{}, map[string]line{}, map[message.ID]string{}
}

func (one line) text() string {
	text, _ := json.Marshal(one) // of texts alone
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

// set says how far a message has come.
func (l *ledger) set(one line) error {
	had := l.known[one.File]
	if had.last, had.away = false, false; had == one {
		return nil
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
	l.note(one)
	return nil
}

// back takes in that a file is there again, the same as it was known or another one, of which nothing is known.
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

// Progress is how far one message has come, by the ledger.
type Progress struct {
	File   string
	ID     message.ID // that it has with us
	By     string     // the sidecar, as its places are named
	InHand bool       // a sidecar has taken it, and not marked it yet
	Held   string     // why it, or its answer, goes on only once a person says so
	Answer message.ID // that answer
	Awaits bool       // a person's yes
}

// Progress is how far the messages of a repository have come, as of now, of those that are there.
func (e Enabled) Progress(d Dir) (all []Progress) {
	for _, one := range e.lines(d) {
		p := Progress{
			File: one.File, ID: one.Our, By: one.By, InHand: one.Stage == taken || one.Stage == acting, Held: one.Held, Answer: one.Answer,
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

// lines are what the ledger of a repository says last of each file that is there.
func (e Enabled) lines(d Dir) (all []line) {
	text, err := own.Read(e.ledger(d.Path), maxLedger)
	if err != nil {
		return nil
	}
	at := map[string]int{}
	for text := range strings.Lines(string(text)) {
		var one line
		if json.Unmarshal([]byte(text), &one) != nil || one.File == "" {
			continue
		}
		if i, had := at[one.File]; had {
			all[i] = one
			continue
		}
		at[one.File] = len(all)
		all = append(all, one)
	}
	return slices.DeleteFunc(all, func(one line) bool { return !d.has(one.File) })
}

func (e Enabled) ledger(path string) string { return filepath.Join(e.Dir, Key(path)+".ledger") }

func (e Enabled) claim(path string) string { return filepath.Join(e.Dir, "claims", Key(path)) }

func (e Enabled) answerLog() string { return filepath.Join(e.Dir, "answers") }
