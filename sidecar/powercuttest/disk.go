package powercuttest

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// piece is how many bytes a disk writes at once: part of a write may be on disk, but never part of
// a piece.
const piece = 512

// change is one change of a file that need not be on disk yet.
type change struct {
	at   int64
	data []byte // nil: the file was truncated or extended to that length
}

// file is the content of a file: the part on disk, and later changes.
type file struct {
	durable []byte
	pending []change
	mode    fs.FileMode
	dir     bool
}

func (f *file) now() []byte {
	out := append([]byte(nil), f.durable...)
	for _, c := range f.pending {
		out = c.apply(out)
	}
	return out
}

func (c change) apply(to []byte) []byte {
	if c.data == nil {
		if int64(len(to)) > c.at {
			return to[:c.at]
		}
		return append(to, make([]byte, c.at-int64(len(to)))...)
	}
	if end := c.at + int64(len(c.data)); int64(len(to)) < end {
		to = append(to, make([]byte, end-int64(len(to)))...)
	}
	copy(to[c.at:], c.data)
	return to
}

func (f *file) sync() { f.durable, f.pending = f.now(), nil }

// after returns what a power cut may leave of the file: each unsynced piece is there with a chance
// of one in two.
func (f *file) after(random *rand.Rand) []byte {
	out := append([]byte(nil), f.durable...)
	for _, c := range f.pending {
		if c.data == nil {
			if random.IntN(2) == 0 {
				out = c.apply(out)
			}
			continue
		}
		for at := 0; at < len(c.data); {
			end := min(len(c.data), at+piece-int((c.at+int64(at))%piece))
			if random.IntN(2) == 0 {
				out = change{c.at + int64(at), c.data[at:end]}.apply(out)
			}
			at = end
		}
	}
	return out
}

// naming is a change of names that need not be on disk yet. It removes a name, adds one, or both.
type naming struct {
	gone string
	name string
	of   *file
}

// disk is a directory with everything below it: the names on disk, and later changes of names, in
// order.
type disk struct {
	names   map[string]*file // as programs see it
	durable map[string]*file
	pending []naming
}

func newDisk(dir string) (*disk, error) {
	d := &disk{names: map[string]*file{}, durable: map[string]*file{}}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		f := &file{mode: info.Mode().Perm(), dir: entry.IsDir()}
		if entry.Type().IsRegular() {
			if f.durable, err = os.ReadFile(path); err != nil {
				return err
			}
		} else if !f.dir {
			return nil
		}
		d.names[path], d.durable[path] = f, f
		return nil
	})
	return d, err
}

func (d *disk) change(n naming) {
	n.apply(d.names)
	d.pending = append(d.pending, n)
}

func (n naming) apply(to map[string]*file) {
	if n.gone != "" {
		delete(to, n.gone)
	}
	if n.of != nil {
		to[n.name] = n.of
	}
}

// in reports whether the change is one of names in that directory.
func (n naming) in(dir string) bool {
	return n.gone != "" && filepath.Dir(n.gone) == dir || n.of != nil && filepath.Dir(n.name) == dir
}

// syncNames makes the names in a directory durable.
func (d *disk) syncNames(dir string) {
	kept := d.pending[:0:0]
	for _, n := range d.pending {
		if n.in(dir) {
			n.apply(d.durable)
		} else {
			kept = append(kept, n)
		}
	}
	d.pending = kept
}

// cut writes what a power cut may leave into the directory to.
func (d *disk) cut(from, to string, random *rand.Rand) error {
	names := make(map[string]*file, len(d.durable))
	for name, f := range d.durable {
		names[name] = f
	}
	for _, n := range d.pending {
		if random.IntN(2) == 0 {
			n.apply(names)
		}
	}
	return d.write(names, from, to, func(f *file) []byte { return f.after(random) })
}

// killed writes what the death of the process alone leaves: everything that it has done.
func (d *disk) killed(from, to string) error { return d.write(d.names, from, to, (*file).now) }

func (d *disk) write(names map[string]*file, from, to string, content func(*file) []byte) error {
	for name, f := range names {
		rel, err := filepath.Rel(from, name)
		if err != nil || strings.HasPrefix(rel, "..") {
			return fmt.Errorf("%q is not below %q", name, from)
		}
		path := filepath.Join(to, rel)
		if f.dir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		if !reachable(names, from, name) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content(f), f.mode|0o600); err != nil {
			return err
		}
	}
	return nil
}

// reachable reports whether all directories above a name exist.
func reachable(names map[string]*file, from, name string) bool {
	for dir := filepath.Dir(name); dir != from; dir = filepath.Dir(dir) {
		if f := names[dir]; f == nil || !f.dir {
			return false
		}
	}
	return true
}
