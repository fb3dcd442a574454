package ui

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A frame lays out only what is visible, however much is held: 16 messages of a megabyte each cost it no more
// than a few copies of them.
func TestU8_largeMessages(t *testing.T) {
	m := world().size(80, 24)
	require.NotEmpty(t, m.known.held)
	one := m.known.held[0]
	one.Envelope.Body = strings.Repeat("日本語 and words ", 1<<16)
	m.known.held = nil
	for i := range 16 {
		next := one
		next.Delivery = message.ID(fmt.Sprintf("00000000-0000-7000-8000-0000000d%04d", i))
		m.known.held = append(m.known.held, next)
	}
	m = m.keys("3")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m = m.keys("down up")
	_, _ = m.frame()
	runtime.ReadMemStats(&after)
	spent := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("two keys and a frame: %d MiB", spent)
	assert.Less(t, spent, uint64(4*16), "MiB for two keys and a frame, over bodies of %d MiB", 16*len(one.Envelope.Body)>>20)
}
