package repository

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An answer to a repository that is away waits for it, also over a restart, and a person is told. It is written
// once the directory is back, or to the place to which the repository was moved, if that is enabled.
func TestA64_AskerIsAway(t *testing.T) {
	t.Parallel()
	for how, away := range map[string]func(h *house) (back func()){
		"its .aea is moved, and back": func(h *house) func() {
			aside := filepath.Join(h.t.TempDir(), "aside")
			require.NoError(h.t, os.Rename(h.asker.at(), aside))
			return func() { require.NoError(h.t, os.Rename(aside, h.asker.at())) }
		},
		"its .aea is a link for a while": func(h *house) func() {
			aside, elsewhere := filepath.Join(h.t.TempDir(), "aside"), h.t.TempDir()
			require.NoError(h.t, os.Rename(h.asker.at(), aside))
			require.NoError(h.t, os.Symlink(elsewhere, h.asker.at()))
			return func() {
				all, err := os.ReadDir(elsewhere)
				require.NoError(h.t, err)
				assert.Empty(h.t, all, "nothing is written through a link")
				require.NoError(h.t, os.Remove(h.asker.at()))
				require.NoError(h.t, os.Rename(aside, h.asker.at()))
			}
		},
		"it is deleted, and made again": func(h *house) func() {
			require.NoError(h.t, os.Rename(h.asker.Path, filepath.Join(h.t.TempDir(), "deleted")))
			return func() { require.NoError(h.t, os.MkdirAll(h.asker.at(), 0o755)) }
		},
		"it is moved, and enabled there": func(h *house) func() {
			to := filepath.Join(h.t.TempDir(), "moved")
			require.NoError(h.t, os.Rename(h.asker.Path, to))
			return func() {
				clone := repo(h.t, "clone") // of the same agent, which asked nothing
				h.wish(clone, MonitorAuto)
				h.asker = Dir{to}
				h.wish(h.asker, MonitorAuto)
			}
		},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(how+map[bool]string{true: ", over a restart"}[restarts], func(t *testing.T) {
				t.Parallel()
				h := newHouse(t)
				h.speaks = make(chan struct{})
				h.run()
				defer func() { h.end() }()
				m := letter(h.asker, h.target, "question")
				require.NoError(t, h.asker.Log(at, "Sent", m.ID, "claude-target"))
				name, err := h.target.Put(m, "")
				require.NoError(t, err)
				h.until(func() bool { return h.asked() == 1 })
				untold := "an answer of claude-target is not in " + h.asker.Path + " yet"
				back := away(h)
				close(h.speaks)
				h.until(func() bool { return h.marked(name) && strings.Contains(h.notices(), untold) })
				assert.NotContains(t, h.log(), "no way back")
				if restarts {
					h.end()
					h.run()
				}
				back()
				h.until(func() bool {
					h.later.Add(int64(rescan))
					return len(h.answers()) == 1
				})
				h.settled()
				require.Len(t, h.answers(), 1)
				assert.Equal(t, "said by ben", h.answers()[0].Body)
				assert.Equal(t, h.asker.Path, h.answers()[0].To.Path)
				assert.Equal(t, m.ID, h.answers()[0].ReplyTo)
			})
		}
	}
}

// A question of a repository that is already away when the question is taken in is answered like any other, and
// delays nobody else's.
func TestA64_AskerIsAwayWhenItIsTakenIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	aside := filepath.Join(t.TempDir(), "aside")
	require.NoError(t, os.Rename(h.asker.at(), aside))
	h.run()
	defer h.end()
	h.until(func() bool {
		return h.marked(name) && strings.Contains(h.notices(), "an answer of claude-target is not in")
	})
	assert.Equal(t, 1, h.asked())
	require.NoError(t, os.Rename(aside, h.asker.at()))
	h.until(func() bool {
		h.later.Add(int64(rescan))
		return len(h.answers()) == 1
	})
	assert.Equal(t, "said by ben", h.answers()[0].Body)
}

// Files that are away while another sidecar begins, as during a checkout, are known when they are back. Another
// file under such a name is another message.
func TestA58_FilesAreAwayAtTheStart(t *testing.T) {
	t.Parallel()
	for same, want := range map[bool]int{true: 1, false: 2} {
		t.Run(map[bool]string{true: "the same", false: "another"}[same], func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.run()
			defer func() { h.end() }()
			name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
			require.NoError(t, err)
			h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
			h.end()
			text, err := os.ReadFile(h.target.File(name))
			require.NoError(t, err)
			require.NoError(t, os.Remove(h.target.File(name)))
			require.NoError(t, os.RemoveAll(h.target.at(processed)))
			first := h.asked()
			h = h.beside() // the journal of the first one knows it anyway
			h.run()
			h.until(func() bool { return h.peers.Enabled.Served(h.target.Path) })
			h.settled()
			if !same {
				m := letter(h.asker, h.target, "question")
				m.Body = "another one"
				other, err := h.target.Put(m, "other")
				require.NoError(t, err)
				text, err = os.ReadFile(h.target.File(other))
				require.NoError(t, err)
				require.NoError(t, os.Remove(h.target.File(other)))
				h.settled()
			}
			require.NoError(t, os.WriteFile(h.target.File(name)+".new", text, 0o600))
			require.NoError(t, os.Rename(h.target.File(name)+".new", h.target.File(name)))
			h.until(func() bool {
				h.later.Add(int64(rescan))
				return h.marked(name)
			})
			h.until(func() bool { return len(h.answers()) >= want })
			h.settled()
			assert.Len(t, h.answers(), want)
			assert.Equal(t, want, first+h.asked())
		})
	}
}

// A file that is written anew, with another end of its last line, is the same message, whether or not its
// marker is there.
func TestA58_AFileIsWrittenAnew(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
	text, err := os.ReadFile(h.target.File(name))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(h.target.File(name)+".new", append(text, " \n"...), 0o600))
	require.NoError(t, os.Rename(h.target.File(name)+".new", h.target.File(name)))
	require.NoError(t, os.Rename(h.target.at(processed), filepath.Join(t.TempDir(), "taken away"))) // at once: it is marked again meanwhile
	h.until(func() bool {
		h.later.Add(int64(rescan))
		return h.marked(name)
	})
	h.settled()
	assert.Len(t, h.answers(), 1)
	assert.Equal(t, 1, h.asked())
}

// A repository that was moved, with a link in its old place, and that is enabled under both names, counts as
// one.
func TestA61_OneDirectoryOfTwoNames(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	to := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(h.target.Path, to))
	require.NoError(t, os.Symlink(to, h.target.Path))
	moved := Dir{to}
	h.wish(moved, MonitorAuto)
	h.run()
	defer h.end()
	name, err := moved.Put(letter(h.asker, moved, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
	var log []byte
	times := func() int {
		if log, err = os.ReadFile(moved.at(logName)); errors.Is(err, fs.ErrNotExist) { // its first line also comes after the marker
			return 0
		}
		require.NoError(t, err)
		return strings.Count(string(log), "Processed: .aea/"+name+" ")
	}
	h.until(func() bool { return times() > 0 }) // it is logged after its marker
	h.settled()
	assert.Equal(t, 1, times(), "%s", log)
}

// If a directory has two names, its own name counts, and nobody waits for the other. An .aea that is a link to
// another repository's, which anybody who works there can make, takes away neither that repository's name nor
// its own.
func TestOnce_whatIsALinkIsNoDouble(t *testing.T) {
	t.Parallel()
	one, other := repo(t, "one"), repo(t, "other")
	alias := Dir{filepath.Join(t.TempDir(), "alias")}
	require.NoError(t, os.Symlink(other.Path, alias.Path))
	require.NoError(t, os.RemoveAll(one.at()))
	require.NoError(t, os.Symlink(other.at(), one.at()))
	p := &Peers{Enabled: EnabledIn(t.TempDir())}
	var wishes []Wish
	for _, d := range []Dir{alias, one, other} {
		wishes = append(wishes, Wish{Path: d.Path})
		require.NoError(t, p.Enabled.Set(Wish{Path: d.Path}))
	}
	for range 2 {
		var paths []string
		for _, w := range once(wishes) {
			paths = append(paths, w.Path)
		}
		assert.ElementsMatch(t, []string{one.Path, other.Path}, paths)
		slices.Reverse(wishes)
	}
	for d, awaited := range map[Dir]bool{alias: false, one: true, other: true, {"/of/nobody"}: false} {
		assert.Equal(t, awaited, p.awaited(d.Path), d.Path)
	}
}

// notices returns what a person was told.
func (h *house) notices() (all string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.noticed, "\n")
}
