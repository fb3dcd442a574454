// Package team reads and writes the .team directory of the team lesson: config.json, which has the members, and
// inbox/NAME.jsonl, which has the messages for each of them, one per line. These files are the truth of that
// protocol. They follow the lesson's formats to the byte, so that its own programs and ours can share a team.
//
// The lesson's programs lock nothing. Ours lock (flock) an inbox while they change it, and never make a program
// without locks lose a line that it has written: see Drain.
//
// The package has no goroutine and no state; its methods may be called from any goroutine and process.
package team

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Folder is the directory of a team, in the directory of its project.
const Folder = ".team"

// Lead is the name of the leader of a team. The lead has an inbox, though it is not among the members that
// Enlist writes.
const Lead = "lead"

const (
	inboxes = "inbox"
	maxName = 64 // bytes

	mostNamed = 20 // teammates in an error
)

// Dir is the .team of one project.
type Dir struct {
	// Path is the project's directory.
	Path string
}

// Open opens the .team in a directory. It has to be a directory of this user, not a link, and not writable by
// everybody. A group may write there: the lesson's programs make it so where the umask is 002. If there is none, the error wraps fs.ErrNotExist.
func Open(path string) (Dir, error) {
	d := Dir{path}
	return d, check(d.at())
}

func (d Dir) at(parts ...string) string {
	return filepath.Join(append([]string{d.Path, Folder}, parts...)...)
}

// check returns an error unless dir is a directory of this user that not everybody may write.
func check(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%q is a symbolic link, not a directory", dir)
	case !info.IsDir():
		return fmt.Errorf("%q is not a directory", dir)
	case ok && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%q belongs to another user", dir)
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("%q can be written by everybody", dir)
	}
	return nil
}

// NameError says that a word cannot be the name of a teammate, because it cannot be the name of a file.
type NameError struct{ Name string }

func (e *NameError) Error() string { return fmt.Sprintf("%.80q is not a teammate's name", e.Name) }

// CheckName returns an error for a name that cannot be a file's name, or would be another file's.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || name[0] == '.' || name[0] == '-' ||
		strings.ContainsFunc(name, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }) {
		return &NameError{name}
	}
	return nil
}

// UnknownError says that a team has no such member.
type UnknownError struct {
	Name    string
	Members []string
}

func (e *UnknownError) Error() string {
	if len(e.Members) == 0 {
		return fmt.Sprintf("no teammate %q: the team has none", e.Name)
	}
	named, more := e.Members, ""
	if len(named) > mostNamed {
		named, more = named[:mostNamed], fmt.Sprintf(" and %d more", len(named)-mostNamed)
	}
	return fmt.Sprintf("no teammate %q; there are %s%s", e.Name, strings.Join(named, ", "), more)
}

// DocumentError is an error in the lesson's own words: its text is printed as it stands.
type DocumentError struct {
	Text string
	Hint string // the next step, beside the lesson's words
}

func (e *DocumentError) Error() string { return e.Text }

// Send puts a message into the inbox of a member or of the lead. When it returns nil, the message is on disk.
// For an unknown type the error is a *DocumentError. A *NameError or *UnknownError is about the sender or the
// recipient.
func (d Dir) Send(to string, m Message) error {
	c, err := d.Config()
	if err != nil {
		return err
	}
	line, err := m.encode()
	if err != nil {
		return err
	}
	for _, name := range []string{to, m.From} {
		if err := c.knows(name); err != nil {
			return err
		}
	}
	if err := d.add(to, line); err != nil {
		return err
	}
	if err := d.sync(); err != nil {
		return err
	}
	_ = d.restore(to) // the message is delivered, whatever becomes of what somebody left there
	return nil
}

// Knows returns a *NameError or an *UnknownError for a name that is neither the lead's nor a member's.
func (d Dir) Knows(name string) error {
	c, err := d.Config()
	if err == nil {
		err = c.knows(name)
	}
	return err
}

// Broadcast sends a message to all members except its author, and returns how many got it. The error names
// those who did not. Entries of config.json that name no teammate are passed over: see Config.Skipped.
func (d Dir) Broadcast(m Message) (n int, err error) {
	c, err := d.Config()
	if err != nil {
		return 0, err
	}
	m.Type = TypeBroadcast
	line, err := m.encode()
	if err != nil {
		return 0, err
	}
	if err := c.knows(m.From); err != nil {
		return 0, err
	}
	to := slices.DeleteFunc(c.names(), func(name string) bool { return name == m.From })
	for _, name := range to {
		if failed := d.add(name, line); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		n++
	}
	if n > 0 {
		err = errors.Join(err, d.sync())
	}
	if err != nil {
		return n, fmt.Errorf("broadcast reached %d of %d: %w", n, len(to), err)
	}
	return n, nil
}
