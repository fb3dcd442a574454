package team

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
)

// Remove takes the messages for which are returns true out of an inbox, and leaves the others in their order.
// It waits for programs that write to the inbox, as Drain does. After a crash in between, either all of those
// messages are gone or none. Only what an earlier crash left behind, or what somebody wrote at that moment, may
// then be there twice.
func (d Dir) Remove(name string, are func(Message) bool) error {
	if err := d.readable(name); err != nil {
		return err
	}
	err := func() error {
		held, err := d.take(name)
		defer held.let()
		if err != nil {
			return err
		}
		text, err := held.read()
		if err != nil {
			return err
		}
		var rest []byte
		for line := range bytes.Lines(text) {
			if m, err := parse(line); err == nil && are(m) || len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			rest = append(rest, line...)
		}
		return d.leave(name, held, rest)
	}()
	if err = errors.Join(err, d.restore(name)); err != nil {
		return fmt.Errorf("inbox of %q: %w", name, err)
	}
	return nil
}

// leave writes the rest of an inbox that was taken in place of its last part, from where restore takes it, and
// removes the parts before it.
func (d Dir) leave(name string, held takings, rest []byte) error {
	if last := len(held) - 1; len(rest) > 0 && last >= 0 {
		if err := atomicfile.Write(held[last].path, rest, 0o600); err != nil {
			return err
		}
		held = held[:last]
	}
	if err := held.remove(); err != nil {
		return err
	}
	return atomicfile.SyncDir(d.at(inboxes))
}

// Has reports whether an inbox has a message as Send would have written it.
func (d Dir) Has(name string, m Message) (bool, error) {
	all, _, err := d.Peek(name)
	return slices.ContainsFunc(all, m.Same), err
}

// Make makes the .team of a project if it has none.
func (d Dir) Make() error {
	if err := atomicfile.Mkdir(d.at(), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a team: %w", err)
	}
	return check(d.at())
}

// Stamp returns a text that changes with the content of an inbox, without reading it. "" means that the inbox
// is empty.
func (d Dir) Stamp(name string) string {
	info, err := os.Lstat(d.inbox(name))
	taken, _ := d.taken(name)
	if err != nil && len(taken) == 0 {
		return ""
	}
	if err != nil {
		return fmt.Sprint(taken)
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano(), taken)
}
