// Package trust keeps the list of project files that a person trusts: policies, and files about AEA's messages. The
// list has the hash of a file's content, so a file that changes is no longer trusted.
//
// One file holds the list for all tmux servers. Each line is the hash, a blank, and the file that had the content.
// Whoever can write that file counts as the person. A List has no state of its own; its methods may be called from any
// goroutine and process, but of two changes at the same instant one may be lost.
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

// maxList is the maximum size of the file, in bytes.
const maxList = 1 << 20

// List is the list in a state directory: ${XDG_STATE_HOME:-~/.local/state}/intercom.
type List struct{ dir string }

// In returns the list in that directory. It creates nothing.
func In(dir string) List { return List{dir} }

// Path returns the path of the list.
func (l List) Path() string { return filepath.Join(l.dir, "trusted") }

// entry is one line.
type entry struct{ hash, file string }

// Trusted reports whether a person trusts the content with that SHA-256 hash at that place in a project, such as
// .intercom/policy.lua. Content that they have seen as one kind of file must not be read as the other kind. A list that
// cannot be read trusts nothing.
func (l List) Trusted(place, hash string) bool {
	entries, err := l.read()
	return err == nil && slices.ContainsFunc(entries, func(e entry) bool {
		return e.hash == hash && strings.HasSuffix(e.file, string(filepath.Separator)+place)
	})
}

// Listed reports whether Remove would remove anything.
func (l List) Listed(hash, file string) bool {
	entries, err := l.read()
	return err == nil && slices.ContainsFunc(entries, removes(hash, file))
}

// Add trusts the current content of a file, and no longer any earlier content of it.
func (l List) Add(hash, file string) error {
	if !isHash(hash) || strings.ContainsAny(file, "\n\x00") {
		return fmt.Errorf("trusting %q: not the hash and the name of a file", file)
	}
	return l.change(func(e entry) bool { return e.file == file }, entry{hash, file})
}

// Remove no longer trusts this content, in whatever file it is, nor any content that the file had.
func (l List) Remove(hash, file string) error {
	return l.change(removes(hash, file))
}

func removes(hash, file string) func(entry) bool {
	return func(e entry) bool { return e.file == file || e.hash == hash }
}

// change removes entries from the list and adds others.
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

// read reads the list from its file, which only the person may be able to write.
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
