package pane

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// stumbling is a door at which the first look panics.
type stumbling struct {
	ajar
	looks int
}

func (s *stumbling) Find(in profile.Inbox, who door.Owner) (door.Offer, error) {
	if s.looks++; s.looks == 1 {
		panic("stumbled")
	}
	return s.ajar.Find(in, who)
}

// What a panic kept from being read is read by the goroutine that serves next, though the pane does not ask again.
func TestSetup_isReadAfterAPanic(t *testing.T) {
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := &stumbling{ajar: ajar{none: door.ErrNone}}
		s := newSetup(profile.Claude(), agent.Agent{Kind: agent.Claude, Home: home, Dir: home}, d, nil)
		require.Nil(t, s.now(time.Now()))
		assert.PanicsWithValue(t, "stumbled", func() { _ = s.Serve(t.Context()) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() {
			<-s.changes()
			cancel()
		}()
		assert.ErrorIs(t, s.Serve(ctx), context.Canceled)
		require.NotNil(t, s.now(time.Now()))
		assert.False(t, s.lost(time.Now().Add(time.Hour)), "it waits for nothing")
	})
}
