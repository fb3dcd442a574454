package talk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// A listener may have been told to append to a file of the person's instead of the port's own inbox. If that
// file has unread messages when the listener stops, or when another file is wanted, they still belong to the
// port: a check finds them, and the callback stays for them. Until they are taken away no other port may have
// the file.

// remembered is files.json: the message files of a port other than its inbox, in the order in which they were
// wanted.
type remembered struct {
	Files []string `json:"files"`
}

// remember adds message files to files.json, and drops from it those that certainly have no messages.
func (p Port) remember(paths ...string) error {
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == "" || path == p.Inbox() })
	if len(paths) == 0 {
		return nil
	}
	was := p.remembered()
	now := slices.DeleteFunc(slices.Clone(was), func(path string) bool { return slices.Contains(paths, path) || !mayHold(path) })
	for _, path := range paths {
		if !slices.Contains(now, path) {
			now = append(now, path)
		}
	}
	if slices.Equal(was, now) {
		return nil
	}
	return writeJSON(p.files(), remembered{now})
}

// remembered returns what files.json says. A file that cannot be read says nothing.
func (p Port) remembered() []string {
	var r remembered
	_ = readJSON(p.files(), &r)
	return r.Files
}

// earlier returns the files, other than now, that hold messages of the port. It leaves out a file that is
// another port's by now or that holds something else, because a check may empty what it returns.
func (p Port) earlier(now string) (all []string) {
	for _, path := range append(p.remembered(), p.Inbox()) {
		if path != now && !slices.Contains(all, path) && holdsMessages(path) && p.takes(path) == nil {
			all = append(all, path)
		}
	}
	return all
}

// messageFiles returns the files in which messages of a port lie, the file that is or was listened for last,
// and whether there ever was a listener.
func (p Port) messageFiles() (all []string, known bool) {
	now := p.Inbox()
	w, err := p.Wanted()
	if known = err == nil; known {
		now = w.MessageFile
	} else {
		for _, path := range append(p.remembered(), now, p.files()) {
			_, err := os.Lstat(path)
			known = known || err == nil
		}
	}
	return append(p.earlier(now), now), known
}

// yielded makes all other ports leave a message file to this one. The error is an *Error if something in the
// file is another port's.
func (p Port) yielded(path string) error {
	for _, number := range p.numbers() {
		if other := p.Port(number); number != p.Number && slices.ContainsFunc(other.remembered(), func(one string) bool { return same(one, path) }) {
			if err := other.forget(path, p.Number); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget leaves a message file to another port, unless it is still appended to or has unread messages. It
// removes the callback if that was there for nothing else.
func (p Port) forget(path string, to int) error {
	if s, ours := p.advertised(); ours && same(s.File, path) { // no longer wanted, so there is no listener to stop
		return Errorf(FileError, to, "Message file %q is still that of port %d", path, p.Number).
			With("hint", "that listener is about to end: try again in a second, or choose another --message-file")
	}
	unlock, err := p.lockChecks()
	if err != nil {
		return err
	}
	defer unlock()
	if holdsMessages(path) {
		return Errorf(FileError, to, "Message file %q has unread messages of port %d", path, p.Number).
			With("hint", fmt.Sprintf("intercom talk check --port %d --clear takes them out; or choose another --message-file", p.Number))
	}
	if mayHold(path) {
		return Errorf(FileError, to, "Message file %q may have unread messages of port %d, and cannot be read now", path, p.Number).
			With("hint", "put it back, or remove its other hard links, and try again; or choose another --message-file")
	}
	left := slices.DeleteFunc(p.remembered(), func(one string) bool { return same(one, path) })
	if err := writeJSON(p.files(), remembered{left}); err != nil {
		return Errorf(FileError, to, "%w", err)
	}
	if p.Unread() {
		files, _ := p.messageFiles()
		_ = p.clear(files, make([]found, len(files))) // an unusable file among them keeps nobody from this one
	}
	return nil
}

// keeps returns the error for port to, which wants a message file for which this port is listened on.
func (p Port) keeps(path string, to int) error {
	return Errorf(FileError, to, "Message file %q is that of port %d", path, p.Number).
		With("hint", fmt.Sprintf("choose another --message-file, or stop that listener: intercom talk listen stop --port %d", p.Number))
}

// inboxOf returns the port whose own inbox a path leads to, 0 for none.
func (h Home) inboxOf(path string) int {
	number, err := ParsePort(filepath.Base(filepath.Dir(resolved(path))))
	if err != nil || !same(path, h.Port(number).Inbox()) {
		return 0
	}
	return number
}

// same reports whether two paths lead to one file, which need not exist.
func same(a, b string) bool {
	return a == b || filepath.Base(a) == filepath.Base(b) && resolved(a) == resolved(b)
}

// resolved returns a path without the links to its directory. It does not follow a link in the place of the
// file itself.
func resolved(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, filepath.Base(path))
}

// holdsMessages reports whether a file is there, belongs to this user, and has a whole line.
func holdsMessages(path string) bool {
	holds, certain := unreadIn(path)
	return holds && certain
}

// mayHold reports whether a file may have messages: it has some, or it cannot be read now, or its directory is
// away.
func mayHold(path string) bool {
	holds, certain := unreadIn(path)
	return holds || !certain
}

// unreadIn reports whether a file of this user has a whole line, and whether that is certain.
func unreadIn(path string) (holds, certain bool) {
	f, err := own.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(path))
		return false, err == nil
	}
	if err != nil {
		return false, false
	}
	defer f.Close()
	_, err = bufio.NewReaderSize(f, maxEnvelope).ReadSlice('\n')
	holds = err == nil || errors.Is(err, bufio.ErrBufferFull)
	return holds, (holds || errors.Is(err, io.EOF)) && own.Sole(f) == nil
}
