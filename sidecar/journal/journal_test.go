package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVariable)]; child != nil {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

func TestOpen_makesEverythingPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "server")
	j := mustOpen(t, dir)
	mustCommit(t, j, message.Step{Notices: []message.Notice{{Text: "x"}}})

	info, err := os.Lstat(dir)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	for _, part := range []string{"", "-wal", "-shm"} {
		info, err := os.Lstat(j.Path() + part)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "mode of %s", info.Name())
	}
	assert.Empty(t, j.Notice())
}

func TestOpen_refusesUnsafePlaces(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"others may read":      func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o750)) },
		"others may enter":     func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o701)) },
		"owner may not write":  func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o500)) },
		"sticky neighbour":     func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky)) },
		"another's directory":  func(t *testing.T, dir string) { chown(t, dir) },
		"symbolic link":        func(t *testing.T, dir string) { replaceByLink(t, dir) },
		"file":                 func(t *testing.T, dir string) { replaceByFile(t, dir) },
		"database is a link":   func(t *testing.T, dir string) { linkFrom(t, filepath.Join(dir, fileName)) },
		"wal is a link":        func(t *testing.T, dir string) { linkFrom(t, filepath.Join(dir, fileName+"-wal")) },
		"another's database":   func(t *testing.T, dir string) { chown(t, makeFile(t, filepath.Join(dir, fileName))) },
		"database is a folder": func(t *testing.T, dir string) { require.NoError(t, os.Mkdir(filepath.Join(dir, fileName), 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			require.NoError(t, os.Mkdir(dir, 0o700))
			spoil(t, dir)
			before := tree(t, filepath.Dir(dir))

			j, err := Open(t.Context(), dir)
			assert.ErrorIs(t, err, ErrUnsafe)
			assert.ErrorContains(t, err, dir)
			assert.Nil(t, j)
			assert.Equal(t, before, tree(t, filepath.Dir(dir)), "something was changed in a place that was refused")
		})
	}
}

func TestOpen_tightensRestoredCopy(t *testing.T) {
	dir := private(t)
	require.NoError(t, mustOpen(t, dir).Close())
	require.NoError(t, os.Chmod(filepath.Join(dir, fileName), 0o644))
	j := mustOpen(t, dir)
	info, err := os.Stat(j.Path())
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

func TestOpen_anyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "with space", "a?mode=memory", "50%25", "#hash&x=y", "plus+", "übung", "line\nbreak", `back\slash`} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			j := mustOpen(t, dir)
			mustCommit(t, j, message.Step{Notices: []message.Notice{{Text: "x"}}})
			assert.FileExists(t, filepath.Join(dir, fileName))
			assert.FileExists(t, filepath.Join(dir, fileName+"-wal"))
		})
	}
}

func TestOpen_relativeName(t *testing.T) {
	t.Chdir(t.TempDir())
	mustOpen(t, "state")
	assert.FileExists(t, filepath.Join("state", fileName))
}

// A setting that SQLite silently did not take must stop us: with weaker settings a power cut loses
// confirmed steps.
func TestOpen_assertsDurability(t *testing.T) {
	for lacking, pragmas := range map[string][]string{
		"":             {"journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"},
		"journal_mode": {"journal_mode = DELETE", "synchronous = FULL", "foreign_keys = ON"},
		"synchronous":  {"journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"},
		"foreign_keys": {"journal_mode = WAL", "synchronous = FULL"},
	} {
		path, err := prepare(private(t))
		require.NoError(t, err)
		db, err := openPool(t.Context(), path, 1, url.Values{}, pragmas...)
		require.NoError(t, err)
		err = assertDurable(t.Context(), db)
		if lacking == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, lacking)
		}
		require.NoError(t, db.Close())
	}
	j := mustOpen(t, private(t))
	assert.NoError(t, assertDurable(t.Context(), j.writer.db))
	assert.Equal(t, 1, j.writer.db.Stats().MaxOpenConnections)
}

func TestOpen_readersCannotWrite(t *testing.T) {
	j := mustOpen(t, private(t))
	for _, statement := range []string{"DELETE FROM events", "CREATE TABLE x (y)", "PRAGMA user_version = 7"} {
		_, err := j.read.ExecContext(t.Context(), statement)
		assert.Error(t, err, statement)
	}
}

func TestOpen_migratesForward(t *testing.T) {
	dir := private(t)
	steps := migrations()
	j, err := open(t.Context(), dir, steps)
	require.NoError(t, err)
	mustCommit(t, j, message.Step{Notices: []message.Notice{{Text: "of old"}}})
	require.NoError(t, j.Close())

	// A step that fails half-way leaves the version before it.
	broken := append(slices.Clone(steps), "CREATE TABLE later (x) STRICT; INSERT INTO nowhere VALUES (1);")
	_, err = open(t.Context(), dir, broken)
	require.Error(t, err)
	j, err = open(t.Context(), dir, steps)
	require.NoError(t, err)
	assert.Equal(t, len(steps), version(t, j))
	require.NoError(t, j.Close())

	newer := append(slices.Clone(steps), "CREATE TABLE later (x INTEGER) STRICT;", "INSERT INTO later VALUES (7);")
	j, err = open(t.Context(), dir, newer)
	require.NoError(t, err)
	assert.Equal(t, len(newer), version(t, j))
	assert.Equal(t, "7", scalar(t, j, "SELECT x FROM later"))
	assert.Equal(t, []string{"of old"}, notices(t, j))
	require.NoError(t, j.Close())

	before, err := os.ReadFile(filepath.Join(dir, fileName))
	require.NoError(t, err)
	_, err = Open(t.Context(), dir)
	assert.ErrorIs(t, err, ErrNewer)
	assert.ErrorContains(t, err, fmt.Sprintf("its schema is %d, this program knows %d", len(newer), len(steps)))
	after, err := os.ReadFile(filepath.Join(dir, fileName))
	require.NoError(t, err)
	assert.Equal(t, before, after, "a newer journal was changed")
}

func TestOpen_setsDamagedJournalAside(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"not a database":  func(b []byte) []byte { return []byte(strings.Repeat("dear diary\n", 500)) },
		"header":          func(b []byte) []byte { copy(b, "SQLyte"); return b },
		"torn off":        func(b []byte) []byte { return b[:len(b)/2] },
		"schema page":     func(b []byte) []byte { return overwrite(b, 100, 400) },
		"pages of tables": func(b []byte) []byte { return overwrite(b, 2*4096, 20*4096) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			j := mustOpen(t, dir)
			for range 20 {
				mustCommit(t, j, wholeStep(message.NewID()))
			}
			require.NoError(t, j.Close())
			path := filepath.Join(dir, fileName)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			spoiled := damage(slices.Clone(content))
			require.NoError(t, os.WriteFile(path, spoiled, 0o600))

			j = mustOpen(t, dir)
			assert.Contains(t, j.Notice(), path+".damaged-")
			assert.Empty(t, events(t, j, Query{}))
			mustCommit(t, j, wholeStep(message.NewID()))

			aside, err := filepath.Glob(path + ".damaged-*Z")
			require.NoError(t, err)
			require.Len(t, aside, 1)
			kept, err := os.ReadFile(aside[0])
			require.NoError(t, err)
			assert.Len(t, kept, len(spoiled))

			require.NoError(t, j.Close())
			j = mustOpen(t, dir)
			assert.Empty(t, j.Notice(), "the new journal is sound")
		})
	}
}

func TestSetAside_keepsEverything(t *testing.T) {
	dir := private(t)
	path := filepath.Join(dir, fileName)
	var names []string
	for range 3 {
		for _, part := range parts {
			makeFile(t, path+part)
		}
		name, err := setAside(path, testTime)
		require.NoError(t, err)
		for _, part := range parts {
			assert.FileExists(t, name+part, "a part was not kept with its database")
			assert.NoFileExists(t, path+part)
		}
		names = append(names, filepath.Base(name))
	}
	assert.Equal(t, []string{
		"journal.db.damaged-20261121T130709Z", "journal.db.damaged-20261121T130709Z-2", "journal.db.damaged-20261121T130709Z-3",
	}, names)
}

func TestJournal_closed(t *testing.T) {
	j := mustOpen(t, private(t))
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())
	assert.ErrorIs(t, j.Commit(t.Context(), message.Step{Notices: []message.Notice{{Text: "x"}}}), ErrClosed)
	_, err := j.Seen(t.Context(), "x")
	assert.ErrorIs(t, err, ErrClosed)
	_, err = j.Restore(t.Context())
	assert.ErrorIs(t, err, ErrClosed)
}

// Helpers of the tests.

// childVariable tells the test binary that it is a child, and which of children.
const childVariable = "INTERCOM_JOURNAL_CHILD"

var children = map[string]func() int{}

// private returns an empty directory that the journal accepts.
func private(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return dir
}

func mustOpen(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := Open(context.Background(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	return j
}

func mustCommit(t testing.TB, j *Journal, steps ...message.Step) {
	t.Helper()
	require.NoError(t, j.Commit(context.Background(), steps...))
}

func events(t testing.TB, j *Journal, q Query) []message.Event {
	t.Helper()
	found, err := j.Events(context.Background(), q)
	require.NoError(t, err)
	return found
}

func notices(t testing.TB, j *Journal) []string {
	t.Helper()
	var found []string
	for _, e := range events(t, j, Query{}) {
		if e.Kind == kindNotice {
			found = append(found, e.Notice)
		}
	}
	return found
}

// scalar returns the one value of a query, as text.
func scalar(t testing.TB, j *Journal, query string, args ...any) string {
	t.Helper()
	var value string
	require.NoError(t, j.reading(context.Background(), func(tx *sql.Tx) error {
		return tx.QueryRow(query, args...).Scan(&value)
	}))
	return value
}

func version(t testing.TB, j *Journal) int {
	t.Helper()
	var n int
	require.NoError(t, j.read.QueryRow("PRAGMA user_version").Scan(&n))
	return n
}

// tree describes everything below dir, so that changes can be seen.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		found[path] = info.Mode().String()
		return nil
	}))
	return found
}

func makeFile(t testing.TB, path string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

func linkFrom(t testing.TB, path string) {
	t.Helper()
	target := makeFile(t, filepath.Join(t.TempDir(), "target"))
	require.NoError(t, os.Symlink(target, path))
}

func replaceByLink(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.Rename(dir, dir+"-real"))
	require.NoError(t, os.Symlink(dir+"-real", dir))
}

func replaceByFile(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.Remove(dir))
	makeFile(t, dir)
}

func chown(t testing.TB, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	require.NoError(t, os.Chown(path, 12345, 12345))
}

// overwrite changes every third of the bytes from one offset to another.
func overwrite(b []byte, from, to int) []byte {
	for i := from; i < min(to, len(b)); i += 3 {
		b[i] ^= 0xa5
	}
	return b
}

// Queries stay prepared. Of the queries that grow with a search only so many do, and the others are
// answered all the same, even after the connections were reopened.
func TestQueries_stayPrepared(t *testing.T) {
	j := mustOpen(t, private(t))
	for i := range mostStatements + 3 {
		found, err := list(t.Context(), j, "n", scanSeq, fmt.Sprintf("SELECT %d", i))
		require.NoError(t, err)
		require.Equal(t, []int64{int64(i)}, found)
		_, err = list(t.Context(), j, "n", scanSeq, fmt.Sprintf("SELECT %d", i))
		require.NoError(t, err)
	}
	assert.Len(t, j.statements, mostStatements)
	j.suspect = errors.New("a fault")
	require.NoError(t, j.mend(t.Context()))
	assert.Empty(t, j.statements)
	found, err := list(t.Context(), j, "n", scanSeq, "SELECT 1")
	require.NoError(t, err)
	assert.Equal(t, []int64{1}, found)
	require.NoError(t, j.Close())
	_, err = list(t.Context(), j, "n", scanSeq, "SELECT 1")
	assert.ErrorIs(t, err, ErrClosed)
}
