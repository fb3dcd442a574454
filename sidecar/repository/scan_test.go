package repository

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The policies know when a message was written, not only when it was taken.
func TestEnvelope_hasTheTimeOfTheMessage(t *testing.T) {
	t.Parallel()
	b := newBox(&Peers{Enabled: EnabledIn(t.TempDir())}, repo(t, "repo"), message.Peer{})
	sent := at.Add(-8 * 24 * time.Hour)
	assert.Equal(t, strconv.FormatInt(sent.Unix(), 10), b.envelope(&job{message: aea.Message{Time: sent}}).Meta["aea_time"])
	assert.NotContains(t, b.envelope(&job{}).Meta, "aea_time")
}
