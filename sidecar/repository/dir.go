package repository

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Names inside a repository.
const (
	folder    = ".aea"
	processed = ".processed"
	archived  = "archive"
	logName   = "agent.log"
)

// Dir is the .aea of one repository, as it was when it was opened. Its methods may be called from
// any goroutine and process.
type Dir struct {
	// Path is the repository: absolute, without links.
	Path string
}

// NoAEA is the Why of a directory in which AEA was not installed.
const NoAEA = "it has no .aea directory"

// NoDirectory is the Why of a path that does not exist.
const NoDirectory = "no such file or directory"

// PathError says why a directory is not a repository that takes messages.
type PathError struct {
	Path string
	Why  string
}

func (e *PathError) Error() string { return fmt.Sprintf("repository %q: %s", e.Path, e.Why) }

// Open opens the .aea of a repository. The path may come from a message: it must be absolute, without "..", and
// name an existing directory. The directory must have its own .aea, which is not a link and belongs to this
// user. The error is a *PathError.
func Open(path string) (Dir, error) {
	refused := func(why string) (Dir, error) { return Dir{}, &PathError{path, why} }
	switch {
	case !filepath.IsAbs(path):
		return refused("the path is not absolute")
	case !plainPath(path):
		return refused(`the path has ".."`)
	}
	whole, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return refused(NoDirectory)
	}
	if err != nil {
		return refused(because(err))
	}
	if info, err := os.Stat(whole); err != nil || !info.IsDir() {
		return refused("it is no directory")
	}
	d := Dir{whole}
	if err := d.there(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Dir{}, &PathError{path, NoAEA}
		}
		return refused(because(err))
	}
	return d, nil
}

// plainPath reports whether a path is absolute and has no "..".
func plainPath(path string) bool {
	return filepath.IsAbs(path) && !slices.Contains(strings.Split(path, "/"), "..")
}

// there returns nil if the .aea exists and is a directory of this user.
func (d Dir) there() error { return d.check(d.at()) }

// check returns an error if dir is not a directory of this user, or is a link.
func (d Dir) check(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	name, _ := filepath.Rel(d.Path, dir)
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link", name)
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", name)
	case ok && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", name)
	}
	return nil
}

// Exposed returns a text that says that other users may write in the .aea, "" if they may not. Only messages
// that belong to this user are read, but whoever may write there can remove or rename them.
func (d Dir) Exposed() string {
	info, err := os.Lstat(d.at())
	if err != nil || info.Mode().Perm()&0o022 == 0 {
		return ""
	}
	return "others may write there: " + info.Mode().Perm().String()
}

func (d Dir) at(parts ...string) string {
	return filepath.Join(append([]string{d.Path, folder}, parts...)...)
}

// File returns the path of a message.
func (d Dir) File(name string) string { return d.at(name) }

// because returns the text of an error of a file, without the file's name.
func because(err error) string { return reason(err).Error() }

// Entry is one message in the listing of the directory.
type Entry struct {
	Name      string
	Time      time.Time // when the file was written
	Changed   time.Time // when the file, its names or its permissions last changed
	Processed bool
}

// version returns a text that stays the same until the file changes.
func (e Entry) version() string { return e.Changed.UTC().Format(time.RFC3339Nano) }

// List returns the messages, newest first, like the AEA document's own command.
func (d Dir) List() ([]Entry, error) { return d.list(foreign.List) }

func (d Dir) list(list func(dir string) ([]fs.DirEntry, error)) ([]Entry, error) {
	entries, err := list(d.at())
	if err != nil {
		return nil, fmt.Errorf("repository %q: %w", d.Path, err)
	}
	marks, err := d.marksOf(list)
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, e := range entries {
		if !aea.IsName(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil { // it has gone
			continue
		}
		all = append(all, Entry{e.Name(), info.ModTime(), changed(info), marks[e.Name()]})
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name))
	})
	return all, nil
}

// marks returns the names of the processed messages.
func (d Dir) marks() (map[string]bool, error) { return d.marksOf(foreign.List) }

func (d Dir) marksOf(list func(dir string) ([]fs.DirEntry, error)) (map[string]bool, error) {
	marks := map[string]bool{}
	err := d.check(d.at(processed))
	if errors.Is(err, fs.ErrNotExist) {
		return marks, nil
	}
	entries, listed := []fs.DirEntry(nil), err
	if err == nil {
		entries, listed = list(d.at(processed))
	}
	if listed != nil {
		return nil, fmt.Errorf("repository %q: %w", d.Path, listed)
	}
	for _, e := range entries {
		marks[e.Name()] = true
	}
	return marks, nil
}

// has reports whether a file of that name exists, here or in the archive.
func (d Dir) has(name string) bool {
	for _, path := range []string{d.at(name), d.at(archived, name)} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// marked reports whether a message has its marker.
func (d Dir) marked(name string) bool {
	if d.check(d.at(processed)) != nil {
		return false
	}
	_, err := os.Lstat(d.at(processed, name))
	return err == nil
}

// Read reads one message. The error is an *aea.InvalidError if the file is not a message, and another one if it
// cannot be read for now. text is what was read, for a hash.
func (d Dir) Read(name string) (m aea.Message, text []byte, err error) {
	if err := named(name); err != nil {
		return m, nil, err
	}
	text, _, err = foreign.ReadOurs(d.at(name), aea.MaxMessage)
	return understood(name, text, err)
}

// named returns an error if name is not the name of a message.
func named(name string) error {
	if !aea.IsName(name) {
		return &aea.InvalidError{Why: fmt.Sprintf("%.80q is not the name of a message", name)}
	}
	if !utf8.ValidString(name) { // the ledger and the journal could not tell it from other names
		return &aea.InvalidError{Why: "its name is not UTF-8"}
	}
	return nil
}

// understood is Read for a file that was already read, or could not be.
func understood(name string, text []byte, err error) (m aea.Message, _ []byte, _ error) {
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return m, nil, err
		}
		if of, ok := errors.AsType[*foreign.NotOursError](err); ok {
			return m, nil, &aea.InvalidError{Why: "it " + of.Why, Cause: err}
		}
		if forNow(err) {
			return m, nil, fmt.Errorf("message %q: %w", name, reason(err))
		}
		return m, nil, &aea.InvalidError{Why: because(err)}
	}
	m, err = aea.Read(name, text)
	return m, text, err
}

// forNow reports whether an error does not come from the file, but from a system that lacks a resource or a
// disk that does not answer.
func forNow(err error) bool {
	of, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EIO, syscall.ESTALE, syscall.EINTR}, of)
}

// Message is the result of Read for one message.
type Message struct {
	Message aea.Message
	Err     error

	text []byte
}

// ReadAll is Read for many messages, in their order. It reads them on all processors, since each takes several
// system calls.
func (d Dir) ReadAll(names []string) []Message {
	all := make([]Message, len(names))
	var readers sync.WaitGroup
	share := max(1, (len(names)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for from := 0; from < len(names); from += share {
		readers.Go(func() {
			d.readSome(names[from:min(from+share, len(names))], func(i int, m Message) {
				m.text = nil
				all[from+i] = m
			})
		})
	}
	readers.Wait()
	return all
}

// readSome is Read for several messages. It calls each for them in their order.
func (d Dir) readSome(names []string, each func(i int, m Message)) {
	for i := 0; i < len(names); i++ {
		if err := named(names[i]); err != nil {
			each(i, Message{Err: err})
			continue
		}
		some := names[i:]
		if n := slices.IndexFunc(some, func(name string) bool { return named(name) != nil }); n > 0 {
			some = some[:n]
		}
		foreign.ReadAllOurs(d.at(), some, aea.MaxMessage, func(n int, text []byte, err error) {
			var m Message
			m.Message, m.text, m.Err = understood(some[n], text, err)
			each(i+n, m)
		})
		i += len(some) - 1
	}
}

// Lies returns a message by its name, also from the archive. Its File is relative to the repository. The error
// wraps fs.ErrNotExist if there is no such message.
func (d Dir) Lies(name string) (f Found, err error) {
	f = Found{Repository: d.Path, File: filepath.Join(folder, name), Processed: d.marked(name)}
	if f.Message, _, err = d.Read(name); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	text, _, err := foreign.ReadOurs(d.at(archived, name), aea.MaxMessage)
	if err != nil {
		return f, fmt.Errorf("message %q: %w", name, err)
	}
	f.File, f.Processed = filepath.Join(folder, archived, name), true
	f.Message, err = aea.Read(name, text)
	return f, err
}

// Put writes a message as a new file, and returns its name. If files of the same second and author exist, the
// name gets a number. Put never replaces a file.
func (d Dir) Put(m aea.Message, descriptor string) (name string, err error) {
	if err := aea.CheckDescriptor(descriptor); err != nil {
		return "", err
	}
	text, err := m.Encode()
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		name = aea.FileName(m.Time, m.From.ID, descriptor, n)
		// The name of an archived message is not used again, so that its marker never becomes another's.
		if _, err := os.Lstat(d.at(archived, name)); err == nil {
			continue
		}
		if _, err := os.Lstat(d.at(name)); err == nil {
			continue
		}
		err = atomicfile.Create(d.at(name), text, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// Mark marks a message as processed. It may be called twice.
func (d Dir) Mark(name string) error { return errors.Join(d.MarkAll(name)...) }

// MarkAll is Mark for many messages at once. It returns one error per message, nil if the message is marked.
// The markers are hard links to one empty file, because the system takes many times as long to create a file as
// to link one.
func (d Dir) MarkAll(names ...string) []error {
	errs := make([]error, len(names))
	if len(names) == 0 {
		return errs
	}
	dir := d.at(processed)
	err := d.there()
	if err == nil {
		err = d.check(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Mkdir(dir, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
			err = d.check(dir)
		}
	}
	made := "" // the marker that the next ones link to
	for i, name := range names {
		one := err
		if one == nil {
			made, one = mark(filepath.Join(dir, name), made)
		}
		if one != nil {
			errs[i] = fmt.Errorf("mark %q: %w", name, one)
		}
	}
	return errs
}

// mark makes a marker, if possible as a link to one that was made before, and returns the marker to link to
// next.
func mark(path, made string) (string, error) {
	if made != "" {
		switch err := os.Link(made, path); {
		case err == nil, errors.Is(err, fs.ErrExist):
			return made, nil
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return made, nil
	}
	if err != nil {
		return made, err
	}
	return path, f.Close()
}

// Own returns the agent of this repository, as its agent-config.yaml names it.
func (d Dir) Own() aea.Agent {
	c, _ := Read(d.Path) // an unreadable one names no agent
	return d.by(c)
}

// by returns the agent of this repository, as c names it.
func (d Dir) by(c Config) aea.Agent {
	return aea.Agent{ID: aea.CleanID(c.Said.AgentID(filepath.Base(d.Path))), Path: d.Path}
}

// Owner is the agent of a repository at one moment.
type Owner struct{ aea.Agent }

// Owner returns Own as an Owner, to be asked about many messages.
func (d Dir) Owner() Owner { return Owner{d.Own()} }

// Mine reports whether the repository's own agent sent a message to another one: AEA's own scripts leave a copy
// with the sender.
func (o Owner) Mine(m aea.Message) bool {
	from := m.From.Path == o.Path || m.From.Path == "" && aea.CleanID(m.From.ID) == o.ID
	return from && m.To.ID != "" && aea.CleanID(m.To.ID) != o.ID
}

// Others reports whether a message is addressed to another repository. Both path and agent must differ, since
// one of them may be out of date after a repository was moved or its agent renamed.
func (o Owner) Others(m aea.Message) bool {
	if m.To.Path == "" || m.To.ID != "" && aea.CleanID(m.To.ID) == o.ID {
		return false
	}
	if path := filepath.Clean(m.To.Path); path != o.Path {
		there, err := os.Stat(path)
		here, hereErr := os.Stat(o.Path)
		return err != nil || hereErr != nil || !os.SameFile(there, here) // it may be reached by a link
	}
	return false
}

// PID returns the process id in PIDFile, 0 for none.
func (d Dir) PID() int {
	text, err := foreign.ReadItself(d.at(PIDFile), 32)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
