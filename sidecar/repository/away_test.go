package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An answer to a repository that is away when it is given waits for it, over a restart too, and a person is
// told. It is written once the directory is back, or where the repository was moved to, if that is enabled.
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

// A question of a repository that is away already when it is taken in is answered as any other, and keeps
// nobody else's waiting.
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
