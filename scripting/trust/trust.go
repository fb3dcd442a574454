// Package trust keeps which files of projects a person trusts, their policies and what they
// say of AEA's messages: by the hash of their content, so that a file that has changed is a
// file that nobody trusts.
//
// They stand in one file for all tmux servers, a line each: the hash, a blank, and the file
// that had it. Whoever can write that file is the person, as far as a computer can tell. A
// List has no state of its own; its methods may be called from any goroutine and process,
// and what two of them change at the same instant may be the change of one.
package trust

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// maxList is the most bytes that the file may have.
const maxList = 1 << 20

// List is the list in a directory of state: ${XDG_STATE_HOME:-~/.local/state}/intercom.
type List struct{ dir string }

// In is the list in that directory. It makes nothing.
func In(dir string) List { return List{dir} }

// Path is where the list stands.
func (l List) Path() string { return filepath.Join(l.dir, "trusted") }

// entry is one line.
type entry struct{ hash, file string }

// Trusted reports whether a person trusts the content of that SHA-256 in a file of that place
// in a project, as .intercom/policy.lua: what they have seen as the one kind of file is not to
// be read as the other. A list that cannot be read trusts nothing.
func (l List) Trusted(place, hash string) bool {
	entries, err := l.read()
	return err == nil && slices.ContainsFunc(entries, func(e entry) bool {
		return e.hash == hash && strings.HasSuffix(e.file, string(filepath.Separator)+place)
	})
}

// Listed reports whether there is something for Remove to take out.
func (l List) Listed(hash, file string) bool {
	entries, err := l.read()
	return err == nil && slices.ContainsFunc(entries, removes(hash, file))
}

// Add trusts the content that a file has now, and no longer any other that it had.
func (l List) Add(hash, file string) error {
	if !isHash(hash) || strings.ContainsAny(file, "\n\x00") {
		return fmt.Errorf("trusting %q: not the hash and the name of a file", file)
	}
	return l.change(func(e entry) bool { return e.file == file }, entry{hash, file})
}

// Remove trusts neither what a file has now, in whatever file it stands, nor what it ever had.
func (l List) Remove(hash, file string) error {
	return l.change(removes(hash, file))
}

func removes(hash, file string) func(entry) bool {
	return func(e entry) bool { return e.file == file || e.hash == hash }
}

// change takes entries out of the list and adds others.
func (l List) change(remove func(entry) bool, add ...entry) error {
	entries, err := l.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries = append(slices.DeleteFunc(entries, remove), add...)
	var text strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&text, "%s %s\n", e.hash, e.file)
	}
	if text.Len() > maxList {
		return fmt.Errorf("list of trusted policies %q: more than %d bytes", l.Path(), maxList)
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("list of trusted policies: %w", err)
	}
	return atomicfile.Write(l.Path(), []byte(text.String()), 0o600)
}

// read reads the list, of a file that is the person's alone to write.
func (l List) read() ([]entry, error) {
	text, err := own.Read(l.Path(), maxList)
	if err != nil {
		return nil, fmt.Errorf("list of trusted policies: %w", err)
	}
	var entries []entry
	for line := range strings.Lines(string(text)) {
		hash, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if isHash(hash) {
			entries = append(entries, entry{hash, file})
		}
	}
	return entries, nil
}

func isHash(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == 32 && strings.ToLower(text) == text
}
