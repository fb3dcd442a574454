package repository

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// A file that changes again and again does not make a ledger grow for ever, and its lines stay in order.
func TestLedger_isShortenedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	there := func(string) bool { return true }
	l, err := openLedger(path, there)
	require.NoError(t, err)
	set := func(file, hash string) {
		require.NoError(t, l.set(line{File: file, Stage: refused, Hash: hash, Became: strings.Repeat("x", 64<<10)}))
	}
	set("first", "1")
	set("second", "2")
	for i := range 2 * shortenAt / (64 << 10) {
		set("changes", strconv.Itoa(i))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(shortenAt+65<<10))
	}
	set("last", "3")
	known := l.known
	l.close()
	l, err = openLedger(path, there)
	require.NoError(t, err)
	defer l.close()
	assert.Len(t, l.known, 4)
	for file, one := range known {
		assert.Equal(t, one.Hash, l.known[file].Hash, file)
	}
	var files []string
	for _, one := range inOrder(l.known) {
		files = append(files, one.File)
	}
	assert.Equal(t, []string{"first", "second", "changes", "last"}, files)
}

// A ledger of any length is read.
func TestLedger_ofAnyLength(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	drop(t, d, "message-1-from-a.json", "")
	e := EnabledIn(t.TempDir())
	path := e.ledger(d.Path)
	require.NoError(t, os.MkdirAll(e.Dir, 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 65<<20)) // a hole is no line
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer f.Close()
	one := line{File: "message-1-from-a.json", Stage: done, Hash: "1"}
	_, err = f.WriteString("\n" + one.text())
	require.NoError(t, err)
	assert.Equal(t, []line{one}, e.lines(d))
	l, err := openLedger(path, d.has)
	require.NoError(t, err)
	defer l.close()
	assert.Equal(t, done, l.known[one.File].Stage)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(1<<10))
}

// A message taken by a sidecar that no longer runs is in nobody's hand, and is shown to an agent that looks.
func TestLedger_inHandWhileItIsServed(t *testing.T) {
	t.Parallel()
	d, e := repo(t, "repo"), EnabledIn(t.TempDir())
	drop(t, d, "message-1-from-a.json", "")
	l, err := openLedger(e.ledger(d.Path), d.has)
	require.NoError(t, err)
	require.NoError(t, l.set(line{File: "message-1-from-a.json", Stage: taken, Held: "at a limit"}))
	l.close()
	inHand := func() bool {
		all := e.Progress(d)
		require.Len(t, all, 1)
		return all[0].InHand
	}
	assert.False(t, inHand())
	serves, err := claim.Take(e.claim(d.Path))
	require.NoError(t, err)
	assert.True(t, inHand())
	require.NoError(t, serves.Release())
	assert.False(t, inHand())
}
