package journal

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Bits are flipped in every part of a journal. A journal that Open finds damaged is set aside with
// all of its files unchanged, Notice says so, and a new journal begins that works and stays.
func TestD3_flippedBitsAreSetAside(t *testing.T) {
	t.Parallel()
	const page, wal = 4096, "-wal"
	frame := func(n int) int { return logHeader + (n-1)*(frameHeader+page) }
	for name, c := range map[string]struct {
		part   string // of the database's files
		offset func(t *testing.T, b []byte) int
	}{
		"header: what it is":         {"", func(*testing.T, []byte) int { return 5 }},
		"header: size of a page":     {"", func(*testing.T, []byte) int { return 16 }},
		"header: who may read":       {"", func(*testing.T, []byte) int { return 19 }},
		"header: number of pages":    {"", func(*testing.T, []byte) int { return 30 }},
		"header: free pages":         {"", func(*testing.T, []byte) int { return 35 }},
		"header: format of schema":   {"", func(*testing.T, []byte) int { return 47 }},
		"header: vacuum":             {"", func(*testing.T, []byte) int { return 55 }},
		"schema":                     {"", func(*testing.T, []byte) int { return 100 }},
		"a page of the tree":         {"", pageOf("deliveries")},
		"a page of an index":         {"", pageOf("receipts_of_delivery")},
		"the words of the search":    {"", pageOf("words_data")},
		"a page that points nowhere": {"", func(t *testing.T, b []byte) int { return pageOf("events")(t, b) + 8 }},
		"a session, as it is now": {"", func(t *testing.T, b []byte) int {
			at := pageOf("sessions")(t, b)
			return at + last(`{"id":"ada"`)(t, b[at:at+page])
		}},
		"a message to be decided": {"", last(`{"id":"undecided"`)},
		"log: header":             {wal, func(*testing.T, []byte) int { return 3 }},
		"log: salt":               {wal, func(*testing.T, []byte) int { return 17 }},
		"log: sum of its header":  {wal, func(*testing.T, []byte) int { return 30 }},
		"log: first frame":        {wal, func(*testing.T, []byte) int { return frame(1) + 1000 }},
		"log: number of a page":   {wal, func(*testing.T, []byte) int { return frame(7) + 3 }},
		"log: mark of a commit":   {wal, func(*testing.T, []byte) int { return frame(9) + 7 }},
		"log: salt of a frame":    {wal, func(*testing.T, []byte) int { return frame(11) + 9 }},
		"log: sum of a frame":     {wal, func(*testing.T, []byte) int { return frame(13) + 20 }},
		"log: text in a frame":    {wal, first("what w7 says")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			damagedJournal(t, dir, c.part == wal)
			path := filepath.Join(dir, fileName)
			content, err := os.ReadFile(path + c.part)
			require.NoError(t, err)
			content[c.offset(t, content)] ^= 0x10
			require.NoError(t, os.WriteFile(path+c.part, content, 0o600))
			before := contents(t, path)

			j := mustOpen(t, dir)
			aside, err := filepath.Glob(path + ".damaged-*Z")
			require.NoError(t, err)
			require.Len(t, aside, 1, "it was not set aside")
			assert.Contains(t, j.Notice(), aside[0])
			t.Log(j.Notice()[strings.LastIndex(j.Notice(), "("):])
			kept := contents(t, aside[0])
			assert.Equal(t, before[c.part], kept[c.part], "what is damaged was not kept as it was")
			assert.Subset(t, slices.Collect(maps.Keys(kept)), []string{"", wal})
			if c.part == wal {
				assert.Equal(t, before[""], kept[""])
			}

			assert.Empty(t, events(t, j, Query{}))
			mustCommit(t, j, wholeStep("new"))
			require.NoError(t, j.Close())
			j = mustOpen(t, dir)
			assert.Empty(t, j.Notice(), "the new journal is sound")
			assert.Equal(t, 1, wholeSteps(t, j))
			assert.Equal(t, kept, contents(t, aside[0]), "what was set aside was touched later")
		})
	}
}

// A large journal that was not closed is checked while it serves, not before. If it is damaged, the
// next start sets it aside, however it was closed.
func TestOpen_LargeIsCheckedLater(t *testing.T) {
	t.Parallel()
	for name, flip := range map[string]bool{"sound": false, "damaged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := private(t)
			damagedJournal(t, dir, false)
			path := filepath.Join(dir, fileName)
			require.NoError(t, os.WriteFile(path+"-wal", make([]byte, logHeader), 0o600), "as the power left it")
			if flip {
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				content[pageOf("words_data")(t, content)] ^= 0x10
				require.NoError(t, os.WriteFile(path, content, 0o600))
			}
			for life := range 2 {
				j, err := openChecking(t.Context(), dir, migrations(), 4096)
				require.NoError(t, err)
				if life == 0 {
					assert.Empty(t, j.Notice(), "nobody has looked")
					assert.Equal(t, flip, damaged(j.Check(t.Context())))
				} else {
					assert.Equal(t, flip, j.Notice() != "")
					assert.NoError(t, j.Check(t.Context()))
				}
				require.NoError(t, j.Close())
			}
			assert.NoFileExists(t, path+unsound)
		})
	}
}

// After a power cut the end of the log is torn. That is no damage, and nothing that was confirmed
// was in it.
func TestOpen_tornLogIsNotDamaged(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func([]byte) []byte{
		"nothing":               func(b []byte) []byte { return b },
		"header never written":  func(b []byte) []byte { clear(b[:logHeader]); return b },
		"cut in a frame":        func(b []byte) []byte { return b[:len(b)-1000] },
		"last piece is missing": func(b []byte) []byte { clear(b[len(b)-512:]); return b },
		"last frames, a piece": func(b []byte) []byte {
			clear(b[len(b)-3*(frameHeader+4096)+1024:][:512])
			return b
		},
		"empty": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			damagedJournal(t, dir, true)
			path := filepath.Join(dir, fileName) + "-wal"
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, tear(content), 0o600))
			j := mustOpen(t, dir)
			assert.Empty(t, j.Notice())
			assert.Equal(t, "ok", fresh(t, j, "PRAGMA integrity_check"))
		})
	}
}

// Helpers of the tests.

// damagedJournal makes a journal that is about to be damaged: with its log, as a killed
// process leaves it, or without.
func damagedJournal(t *testing.T, dir string, log bool) {
	t.Helper()
	from := private(t)
	j := mustOpen(t, from)
	mustCommit(t, j, message.Step{Peers: []message.Peer{{ID: "ada", Name: "Ada"}}, Received: []message.Envelope{envelope("undecided")}})
	for n := range 10 {
		mustCommit(t, j, wholeStep(message.ID(fmt.Sprint("d", n))))
	}
	require.NoError(t, j.writing(context.Background(), func(ctx context.Context, w *writer) error { return w.bringHome(ctx) }))
	for n := range 12 {
		mustCommit(t, j, wholeStep(message.ID(fmt.Sprint("w", n))))
	}
	if !log {
		require.NoError(t, j.Close())
	}
	for _, part := range []string{"", "-wal"} {
		content, err := os.ReadFile(j.Path() + part)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fileName)+part, content, 0o600))
	}
}

// pageOf returns the offset of the root page of a table or index.
func pageOf(name string) func(*testing.T, []byte) int {
	return func(t *testing.T, content []byte) int {
		dir := private(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fileName), content, 0o600))
		var page int
		require.NoError(t, mustOpen(t, dir).read.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, name).Scan(&page))
		return (page - 1) * 4096
	}
}

// first and last return the offset of the first or last occurrence of a text.
func first(text string) func(*testing.T, []byte) int { return within(text, strings.Index) }

func last(text string) func(*testing.T, []byte) int { return within(text, strings.LastIndex) }

func within(text string, index func(string, string) int) func(*testing.T, []byte) int {
	return func(t *testing.T, content []byte) int {
		at := index(string(content), text)
		require.Positive(t, at, "%q is not there", text)
		return at
	}
}

// contents returns the files of a database, except its index of the log, which SQLite rewrites each
// time.
func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, part := range parts {
		if part == "-shm" {
			continue
		}
		content, err := os.ReadFile(path + part)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		found[part] = string(content)
	}
	return found
}
