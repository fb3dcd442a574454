package team

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

const (
	extension = ".jsonl"
	maxInbox  = 64 << 20               // bytes
	openTries = 50                     // while somebody else drains it each time
	patience  = 10 * time.Second       // with another program that changes a file
	pause     = 200 * time.Microsecond // between attempts
)

// BusyError says that another program keeps an inbox locked, or open for writing.
type BusyError struct{ Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("inbox %q: another program is writing to it", e.Path)
}

func (d Dir) inbox(name string) string { return d.at(inboxes, name+extension) }

// Aside returns the path of the file for lines that are not messages.
func (d Dir) Aside(name string) string { return d.at(inboxes, name+".broken") }

// make makes the directory of the inboxes if there is none.
func (d Dir) make() error {
	dir := d.at(inboxes)
	if err := atomicfile.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return check(dir)
}

// add appends lines to an inbox. If it returns nil, they are on disk once sync has been called. Otherwise none
// of them is there.
func (d Dir) add(name string, lines []byte) error {
	if err := d.make(); err != nil {
		return fmt.Errorf("inbox of %q: %w", name, err)
	}
	f, err := locked(d.inbox(name), time.Now().Add(patience), func(path string) (*os.File, error) { return foreign.AppendOurs(path, 0o600) })
	if err != nil {
		return fmt.Errorf("inbox of %q: %w", name, err)
	}
	defer f.Close()
	defer own.Unlock(f)
	if err := appendTo(f, lines); err != nil {
		return fmt.Errorf("inbox of %q: %w", name, err)
	}
	return nil
}

// sync puts the names of inboxes on disk, since some may be new.
func (d Dir) sync() error { return atomicfile.SyncDir(d.at(inboxes)) }

// appendTo writes lines at the end of a locked file.
func appendTo(f *os.File, lines []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size+int64(len(lines)) > maxInbox {
		return fmt.Errorf("it has %d bytes: the limit is %d", size, maxInbox)
	}
	if last := make([]byte, 1); size > 0 {
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			lines = append([]byte{'\n'}, lines...) // somebody left half a line
		}
	}
	n, err := f.Write(lines)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		return nil
	}
	// Remove what was written, unless somebody has written more after it.
	if info, failed := f.Stat(); failed == nil && info.Size() == size+int64(n) {
		_ = f.Truncate(size)
	}
	return err
}

// locked opens and locks the file that has this name. A program that drains an inbox renames it; then the new
// file of that name is waited for no longer than it takes to open it.
func locked(path string, end time.Time, open func(path string) (*os.File, error)) (*os.File, error) {
	for try := 1; ; try++ {
		f, err := open(path)
		if _, replaced := errors.AsType[*foreign.NotOursError](err); replaced && try < openTries {
			continue // perhaps just now
		}
		if err != nil {
			return nil, err
		}
		err = lock(f, end)
		if err == nil && own.There(f) {
			return f, nil
		}
		own.Unlock(f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// lock locks an open file. It also returns nil once the file has lost its name.
func lock(f *os.File, end time.Time) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case !own.There(f):
			return nil
		case time.Now().After(end):
			return &BusyError{f.Name()}
		}
		time.Sleep(pause)
	}
}

// Peek returns the messages of an inbox, oldest first, and how many of its lines are not messages. It changes
// nothing and waits for nobody.
func (d Dir) Peek(name string) (all []Message, wrong int, err error) {
	if err := d.readable(name); err != nil {
		return nil, 0, err
	}
	taken, err := d.taken(name)
	if err != nil {
		return nil, 0, fmt.Errorf("inbox of %q: %w", name, err)
	}
	for _, path := range append(taken, d.inbox(name)) {
		text, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // nothing has come, or somebody drains it
		}
		if err != nil {
			return nil, 0, fmt.Errorf("inbox of %q: %w", name, err)
		}
		messages, broken := split(text)
		all, wrong = append(all, messages...), wrong+bytes.Count(broken, []byte{'\n'})
	}
	return all, wrong, nil
}

// read reads a file that others may remove and create again meanwhile.
func read(path string) ([]byte, error) {
	for try := 1; ; try++ {
		text, _, err := foreign.ReadOurs(path, maxInbox)
		if _, replaced := errors.AsType[*foreign.NotOursError](err); !replaced || try == openTries {
			return text, err
		}
	}
}

// readable returns an error for an inbox that nobody can have.
func (d Dir) readable(name string) error {
	c, err := d.Config()
	if err == nil {
		err = c.knows(name)
	}
	if err != nil {
		return err
	}
	if err := check(d.at(inboxes)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("inbox of %q: %w", name, err)
	}
	return nil
}

// Drain takes all messages out of an inbox, oldest first, once use has returned nil for them; otherwise they
// are put back. If several programs drain at once, each message goes to one of them. Lines that are not
// messages, or that are too long for one, are put aside and counted.
//
// Drain first renames the inbox, so that nobody opens it any more. It waits for programs that lock nothing and
// had opened it before. So no line is lost, except through programs that empty the file themselves. If a
// process is killed while it drains, what it leaves under the other name goes back into the inbox with the next
// Send, Drain or Remove.
func (d Dir) Drain(name string, use func([]Message) error) (aside int, err error) {
	if err := d.readable(name); err != nil {
		return 0, err
	}
	hidden := false
	defer func() {
		if hidden { // everything held has been let go by now
			err = errors.Join(err, d.restore(name))
		}
	}()
	held, err := d.take(name)
	defer held.let()
	if err != nil {
		return 0, fmt.Errorf("inbox of %q: %w", name, err)
	}
	text, err := held.read()
	if err != nil {
		hidden = true
		return 0, fmt.Errorf("inbox of %q: %w", name, err)
	}
	all, broken := split(text)
	if err := use(all); err != nil {
		hidden = true
		return 0, err
	}
	if len(broken) > 0 {
		if err := d.putAside(name, broken); err != nil {
			return 0, err
		}
	}
	if err := held.remove(); err != nil {
		return 0, fmt.Errorf("inbox of %q: %w", name, err)
	}
	if len(held) == 0 {
		return 0, nil
	}
	if err := d.sync(); err != nil { // otherwise a power cut could bring back what was read
		return 0, fmt.Errorf("inbox of %q: %w", name, err)
	}
	return bytes.Count(broken, []byte{'\n'}), nil
}

// split returns the messages of an inbox, and the lines that are not messages.
func split(text []byte) (all []Message, broken []byte) {
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		m, err := parse(line)
		if err != nil {
			broken = append(append(broken, bytes.TrimRight(line, "\n")...), '\n')
			continue
		}
		all = append(all, m)
	}
	return all, broken
}

// putAside keeps lines that are not messages.
func (d Dir) putAside(name string, lines []byte) error {
	f, err := foreign.AppendOurs(d.Aside(name), 0o600)
	if err == nil {
		_, err = f.Write(lines)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("inbox of %q: %w", name, err)
	}
	return nil
}
