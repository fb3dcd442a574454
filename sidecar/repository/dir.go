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

// The places in a repository.
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

// NoAEA is why a directory is no repository in which AEA was installed.
const NoAEA = "it has no .aea directory"

// NoDirectory is the Why of a path at which nothing lies.
const NoDirectory = "no such file or directory"

// PathError says why a directory is no repository that takes messages.
type PathError struct {
	Path string
	Why  string
}

func (e *PathError) Error() string { return fmt.Sprintf("repository %q: %s", e.Path, e.Why) }

// Open opens the .aea of a repository, by its path as a message may name it: absolute, without
// "..", and of a directory that is there and has an .aea of its own, no link, that belongs to
// this user. The error is a *PathError.
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

// plainPath reports whether a path is absolute, and without "..".
func plainPath(path string) bool {
	return filepath.IsAbs(path) && !slices.Contains(strings.Split(path, "/"), "..")
}

// there is nil if the .aea is there, and one of this user.
func (d Dir) there() error { return d.check(d.at()) }

// check refuses what is no directory of this user.
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

// Exposed says that others than this user may write in the .aea, "" if they may not. A message is of this user all the same,
// or it is not read, but whoever may write there can remove it and give it another name.
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

// File is the path of a message.
func (d Dir) File(name string) string { return d.at(name) }

// because is an error of a file without its name.
func because(err error) string { return reason(err).Error() }

// Entry is one message as the directory has it.
type Entry struct {
	Name      string
	Time      time.Time // when the file was written
	Changed   time.Time // when it was, or its names or its permissions were
	Processed bool
}

// version is one text as long as a file stays as it is.
func (e Entry) version() string { return e.Changed.UTC().Format(time.RFC3339Nano) }

// List is what there is, newest first, as the document's own command has it.
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

// marks are the names of the messages that are processed.
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

// has reports whether there is a file of that name, here or in the archive.
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

// Read reads one message. The error is an *aea.InvalidError where the file is none, and another one where
// it cannot be read for now; text is what was read, for a hash.
func (d Dir) Read(name string) (m aea.Message, text []byte, err error) {
	if err := named(name); err != nil {
		return m, nil, err
	}
	text, _, err = foreign.ReadOurs(d.at(name), aea.MaxMessage)
	return understood(name, text, err)
}

// named refuses what is no name of a message.
func named(name string) error {
	if !aea.IsName(name) {
		return &aea.InvalidError{Why: fmt.Sprintf("%.80q is no name of a message", name)}
	}
	if !utf8.ValidString(name) { // the ledger and the journal could not tell it from others
		return &aea.InvalidError{Why: "its name is not UTF-8"}
	}
	return nil
}

// understood is Read, of a file that was read, or could not be.
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

// forNow reports whether an error is none of the file, but of a system that lacks something, or of a disk
// that does not answer.
func forNow(err error) bool {
	of, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EIO, syscall.ESTALE, syscall.EINTR}, of)
}

// Message is what Read says of one message.
type Message struct {
	Message aea.Message
	Err     error

	text []byte
}

// ReadAll is Read of many messages, in their order. They are read on all processors: each takes several
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

// readSome is Read of several messages, each of which is told in their order.
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

// Lies is a message by its name, which may be in the archive; its file is as in the repository. It
// is one of fs.ErrNotExist where there is none.
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

// Put writes a message as a new file, and returns its name. Where others of the same second and
// author are there already, it gets a number; nothing is ever replaced.
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
		// One that was archived keeps its name, so that its marker never is another's.
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

// Mark says that a message is processed. It may be said twice.
func (d Dir) Mark(name string) error { return errors.Join(d.MarkAll(name)...) }

// MarkAll is Mark of many messages at the same moment; an error is nil for one that is marked. Their
// markers are names of one empty file: to make a file takes the system many times as long as to name one.
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
	made := "" // the first of them
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

// mark makes a marker, as another name of one that was made if that can be, and returns one for the next.
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

// Own is the agent of this repository, by its agent-config.yaml.
func (d Dir) Own() aea.Agent {
	c, _ := Read(d.Path) // one that cannot be read says nothing of it
	return d.by(c)
}

// by is the agent of this repository as its configuration says.
func (d Dir) by(c Config) aea.Agent {
	return aea.Agent{ID: aea.CleanID(c.Said.AgentID(filepath.Base(d.Path))), Path: d.Path}
}

// Owner is the agent of a repository, as of one moment.
type Owner struct{ aea.Agent }

// Owner is Own, to be asked about many messages.
func (d Dir) Owner() Owner { return Owner{d.Own()} }

// Mine reports whether a message is one that the repository's own agent sent to another: AEA's own
// scripts leave a copy with the sender.
func (o Owner) Mine(m aea.Message) bool {
	from := m.From.Path == o.Path || m.From.Path == "" && aea.CleanID(m.From.ID) == o.ID
	return from && m.To.ID != "" && aea.CleanID(m.To.ID) != o.ID
}

// Others reports whether a message is addressed to another repository, by its path and its agent: one
// of the two may be out of date, when a repository was moved or its agent renamed.
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

// PID is the process that says that it processes the messages here, 0 for none.
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
