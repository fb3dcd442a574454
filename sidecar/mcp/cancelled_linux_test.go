package mcp

import (
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A call that its client cancels, at whatever moment, is answered in vain, unless the client had read the
// answer by then.
func TestReceipts_cancelledAtAnyMoment(t *testing.T) {
	t.Parallel()
	id, err := jsonrpc.MakeID("one")
	require.NoError(t, err)
	for _, at := range []string{"before it is wanted", "once it is wanted", "while it is written", "once it is written"} {
		theirs, ours, err := os.Pipe()
		require.NoError(t, err)
		defer theirs.Close()
		defer ours.Close()
		out := &outlet{Writer: ours}
		var r receipts
		moment := func(now string) {
			if now == at {
				r.cancelled(id, now != "once it is written")
			}
		}
		told := make(chan reading, 1)
		r.begins(id)
		moment("before it is wanted")
		r.want(id, func(now reading) { told <- now })
		moment("once it is wanted")
		if awaited := r.of(id); awaited != nil {
			moment("while it is written")
			_, err := out.Write([]byte("answer\n"))
			require.NoError(t, err)
			r.await(t.Context(), awaited, out, out.written())
			moment("once it is written")
		}
		select {
		case now := <-told:
			assert.Equal(t, lost, now, at)
		case <-time.After(20 * time.Second):
			t.Fatalf("cancelled %s: nobody is told", at)
		}
		r.rest()
		assert.Empty(t, r.wanted, at)
		assert.Empty(t, r.unread, at)
		assert.Empty(t, r.vain, at)
	}
	// Another call with that id is independent of it.
	var r receipts
	r.cancelled(id, true)
	r.begins(id)
	r.want(id, func(reading) {})
	assert.Contains(t, r.wanted, id)
}
