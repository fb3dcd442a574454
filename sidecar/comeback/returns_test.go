package comeback

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// desk is a relay that takes a notice unless it is down, and a tmux server with one pane.
type desk struct {
	down    bool
	notices []string
	options map[string]string
}

func (*desk) Snapshot() registry.Snapshot { return registry.Snapshot{} }

func (d *desk) NotifyOf(_ context.Context, _ message.ID, text string) error {
	if d.down {
		return errors.New("down")
	}
	d.notices = append(d.notices, text)
	return nil
}

func (d *desk) PaneOptions(context.Context, string, ...string) (map[string]string, error) {
	return d.options, nil
}

func (d *desk) SetPaneOptions(_ context.Context, _ string, options map[string]string) error {
	d.options = options
	return nil
}

func (*desk) SetServerOption(context.Context, string, string) error { return nil }

func (*desk) TakeBack(context.Context, string) {}

// An offer that could not be told is told at a later look, or in a later life; one that was told is not
// told again.
func TestOffer_untilItIsTold(t *testing.T) {
	d := &desk{down: true}
	life := func() *watch {
		return &watch{Returns: &Returns{
			Relay: d, Tmux: d, Options: tmux.Options{Socket: filepath.Join(t.TempDir(), "none")}, Log: slog.New(slog.DiscardHandler),
		}}
	}
	was := message.Peer{ID: "s"}
	was.Pane = "%1"
	back := Comeback{Absence: Absence{Chat: message.Chat{ID: "c", Name: "plans", State: message.ChatOver}, Gone: []Lost{{message.Participant{Name: "ada"}, was}}}}
	w := life()
	w.offer(t.Context(), back)
	assert.Empty(t, w.offered)
	assert.Empty(t, d.options, "a later life would not tell it")
	d.down = false
	w.offer(t.Context(), back)
	assert.Equal(t, []string{"ada in %1 is back: intercom chat start --again plans restores chat plans"}, d.notices)
	assert.True(t, w.offered[back.key()])
	later := life()
	later.offer(t.Context(), back)
	assert.Len(t, d.notices, 1)
	assert.True(t, later.offered[back.key()])
}
