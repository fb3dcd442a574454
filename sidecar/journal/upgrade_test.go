package journal

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The content that the version of schema 3 left is there unchanged: chats, sessions, messages,
// verdicts, deliveries and receipts, field by field.
func TestMigrate_schema3(t *testing.T) {
	dir := schema3(t)
	j := mustOpen(t, dir)
	assert.Empty(t, j.Notice())
	assert.Equal(t, len(migrations()), version(t, j))
	assert.Equal(t, "ok", scalar(t, j, "PRAGMA integrity_check"))
	assertSchema3(t, j)
	assertHolds(t, j)

	// The journal goes on: waiting deliveries can be typed, and answered.
	mustCommit(t, j, wholeStep("later"))
	waiting, err := j.Waiting(t.Context(), "")
	require.NoError(t, err)
	for _, p := range waiting {
		for _, state := range []message.ReceiptState{message.Typed, message.Submitted, message.Answered} {
			mustCommit(t, j, message.Step{Receipts: []message.Receipt{{Delivery: p.Delivery.ID, Message: p.Delivery.Message.ID, Target: p.Delivery.Target, State: state, At: testTime}}})
		}
	}
	waiting, err = j.Waiting(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, waiting)
	require.NoError(t, j.Close())
}

// A journal of a later version is refused, and not one byte of its files is changed.
func TestOpen_newerIsNotTouched(t *testing.T) {
	dir := schema3(t)
	j, err := open(t.Context(), dir, append(migrations(), "CREATE TABLE later (x INTEGER) STRICT;"))
	require.NoError(t, err)
	require.NoError(t, j.Close())
	before := bytesIn(t, dir)
	for range 2 {
		_, err = Open(t.Context(), dir)
		require.ErrorIs(t, err, ErrNewer)
		require.ErrorIs(t, Inspect(t.Context(), dir), ErrNewer)
		require.Equal(t, before, bytesIn(t, dir))
	}
	j, err = open(t.Context(), dir, append(migrations(), "CREATE TABLE later (x INTEGER) STRICT;"))
	require.NoError(t, err)
	assertSchema3(t, j)
	require.NoError(t, j.Close())
}

// Helpers of the tests.

func schema1(t testing.TB) string {
	t.Helper()
	golden, err := os.ReadFile(filepath.Join("testdata", "schema1.db"))
	require.NoError(t, err)
	return placed(t, golden)
}

func schema3(t testing.TB) string {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "schema3", "journal.db.gz"))
	require.NoError(t, err)
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	golden, err := io.ReadAll(reader)
	require.NoError(t, err)
	return placed(t, golden)
}

// placed returns the directory of a journal with that content.
func placed(t testing.TB, db []byte) string {
	t.Helper()
	dir := private(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileName), db, 0o600))
	return dir
}

// assertSchema3 compares a journal with the account that the version of schema 3 gave of it.
func assertSchema3(t testing.TB, j *Journal) {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("testdata", "schema3", "account.json"))
	require.NoError(t, err)
	var want account
	require.NoError(t, json.Unmarshal(doc, &want))
	got, err := accountOf(t.Context(), j)
	require.NoError(t, err)
	doc, err = json.Marshal(got)
	require.NoError(t, err)
	got = account{}
	require.NoError(t, json.Unmarshal(doc, &got))
	require.Len(t, want.Messages, 23)
	assert.Equal(t, want, got)
}

// assertHolds compares the hold of each delivery with the cause of its wait in the version of
// schema 3, which took that from the words of the reason: the bodies name it.
func assertHolds(t testing.TB, j *Journal) {
	t.Helper()
	waiting, err := j.Waiting(t.Context(), "")
	require.NoError(t, err)
	seen := map[message.Hold]bool{}
	for _, p := range waiting {
		hold := message.Hold("")
		if name, of := strings.CutPrefix(p.Delivery.Message.Body, "hold: "); of && p.Last.Reason != message.AgentGone {
			name, _, _ = strings.Cut(name, ",")
			hold = message.Hold(name)
		}
		assert.Equal(t, hold, p.Last.Hold, "%s: %s", p.Delivery.Message.Body, p.Last.Reason)
		seen[p.Last.Hold] = true
	}
	assert.Len(t, seen, 6, "%v", seen)
}

// bytesIn returns the checksums of all files of a directory.
func bytesIn(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return all
}
