package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

type cursor struct {
	Next int       `json:"next"`
	At   time.Time `json:"at"`
}

const cursors message.RecordKind[cursor] = "cursor"

// A record comes back as the type of its kind, and open records with everything else that a start
// needs. The same id in another kind is another record.
func TestRecords(t *testing.T) {
	dir := private(t)
	j := mustOpen(t, dir)
	record := func(id string, open bool, next int) message.Record {
		r, err := cursors.Record(id, open, cursor{next, testTime})
		require.NoError(t, err)
		return r
	}
	other := message.Record{Kind: "handshake", ID: "b", Open: true, Doc: []byte(`["any"]`)}
	mustCommit(t, j, message.Step{Records: []message.Record{record("b", true, 1), record("a", true, 1), other}})
	mustCommit(t, j, message.Step{Records: []message.Record{record("b", true, 2), record("c", true, 7)}})
	mustCommit(t, j, message.Step{Records: []message.Record{record("c", false, 8)}})
	assert.Empty(t, events(t, j, Query{}), "a record is no event")
	require.NoError(t, j.Close())

	j = mustOpen(t, dir)
	r, err := j.Restore(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []message.Record{record("a", true, 1), record("b", true, 2), other}, r.Records)
	values, err := cursors.Values(r.Records...)
	require.NoError(t, err)
	assert.Equal(t, map[string]cursor{"a": {1, testTime}, "b": {2, testTime}}, values)
	one, err := j.Record(t.Context(), "cursor", "c")
	require.NoError(t, err)
	assert.Equal(t, record("c", false, 8), one)
	_, err = j.Record(t.Context(), "handshake", "c")
	assert.ErrorIs(t, err, ErrNotFound)

	// A record that is opened again is returned again.
	mustCommit(t, j, message.Step{Records: []message.Record{record("c", true, 9)}})
	r, err = j.Restore(t.Context())
	require.NoError(t, err)
	assert.Len(t, r.Records, 4)

	_, err = cursors.Values(message.Record{Kind: "cursor", ID: "x", Doc: []byte(`[]`)})
	assert.ErrorContains(t, err, `record cursor "x"`)
	_, err = message.RecordKind[func()]("f").Record("x", true, nil)
	assert.ErrorContains(t, err, `record f "x"`)
}

// Closed records are pruned as old messages are; open ones stay however old they are.
func TestRecords_pruned(t *testing.T) {
	j := mustOpen(t, private(t))
	var old, young message.Step
	for i := range windowEvents + 3 {
		old.Records = append(old.Records, message.Record{Kind: "k", ID: fmt.Sprint("old", i), Doc: []byte("1")})
	}
	old.Records = append(old.Records, message.Record{Kind: "k", ID: "open", Open: true, Doc: []byte("1")}, message.Record{Kind: "k", ID: "again", Doc: []byte("1")})
	young.Records = []message.Record{{Kind: "k", ID: "young", Doc: []byte("1")}, {Kind: "k", ID: "again", Doc: []byte("2")}}
	commitAt(t, j, testTime.Add(-100*day), old)
	commitAt(t, j, testTime.Add(-8*day), young)
	left := func() string {
		return scalar(t, j, `SELECT coalesce(group_concat(id, ' '), '') FROM (SELECT id FROM records ORDER BY id)`)
	}
	pruned, err := j.Prune(t.Context(), Retention{}, testTime)
	require.NoError(t, err)
	assert.Equal(t, windowEvents+3, pruned.Records)
	assert.Equal(t, "again open young", left())
	pruned, err = j.Prune(t.Context(), Retention{Bytes: 1}, testTime)
	require.NoError(t, err)
	assert.Equal(t, 2, pruned.Records)
	assert.Equal(t, "open", left())
}
