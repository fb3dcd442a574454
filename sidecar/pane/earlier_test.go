package pane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A delivery that an earlier version left in its journal is typed, or looked for where it was typed, as
// that version would have done: schema4.json holds what that version made of each delivery.
func TestCompose_deliveriesOfAnEarlierVersion(t *testing.T) {
	const testdata = "../journal/testdata"
	golden, err := os.ReadFile(filepath.Join(testdata, "schema4.db"))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.db"), golden, 0o600))
	text, err := os.ReadFile(filepath.Join(testdata, "schema4.json"))
	require.NoError(t, err)
	var typed []struct {
		Delivery     message.ID
		Why          string
		Pasted, Line string
	}
	require.NoError(t, json.Unmarshal(text, &typed))
	require.NotEmpty(t, typed)

	j, err := journal.Open(t.Context(), dir)
	require.NoError(t, err)
	defer func() { assert.NoError(t, j.Close()) }()
	was, err := j.Restore(t.Context())
	require.NoError(t, err)
	left := relay.Restored{Stopped: was.Stopped}
	for _, s := range was.Sessions {
		left.Peers = append(left.Peers, relay.SavedPeer{Peer: s, Last: 1, Cause: -1})
	}
	for _, c := range was.Chats {
		left.Chats = append(left.Chats, relay.SavedChat{Chat: c})
	}
	for _, p := range was.Pending {
		left.Deliveries = append(left.Deliveries, relay.SavedDelivery(p))
	}
	handed := map[message.ID]message.Delivery{}
	for _, effect := range relay.NewState([32]byte{1}, message.Limits{}).Step(time.Now(), left) {
		if f, ok := effect.(relay.Deliver); ok {
			handed[f.Delivery.ID] = f.Delivery
		}
	}
	assert.Len(t, handed, 19, "queued, held for a moment, or typed")

	for _, want := range typed {
		d, ok := handed[want.Delivery]
		if !ok { // it waits for a person, was taken, or is over
			d, err = j.Delivery(t.Context(), want.Delivery)
			require.NoError(t, err)
		}
		p := Pane{prof: profile.LinePaste()}
		one, _ := p.compose(d)
		assert.Equal(t, want.Pasted, one.text, want.Why)
		p.prof = profile.Line()
		one, _ = p.compose(d)
		assert.Equal(t, want.Line, one.text, want.Why)
	}
}
