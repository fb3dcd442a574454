package daemon_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A sidecar whose lives are all shorter than a minute removes old messages too. If the clock has leapt ahead, it
// may be wrong, so nothing is removed until the clock says the same a day later.
func TestRetention_ShortLives(t *testing.T) {
	t.Parallel()
	paths := headless(t, shortDir(t), "a")
	const day = 24 * time.Hour
	opened := func(look func(*journal.Journal)) {
		t.Helper()
		j, err := journal.Open(t.Context(), paths.State)
		require.NoError(t, err)
		look(j)
		require.NoError(t, j.Close())
	}
	e := message.Envelope{
		ID: message.NewID(), Created: time.Now(), Type: message.KindNotice, Trust: message.TrustPerson, Origin: message.OriginHuman, Body: "old",
		From: message.Address{Name: "Ada"},
	}
	opened(func(j *journal.Journal) {
		require.NoError(t, j.Commit(t.Context(), message.Step{
			Received: []message.Envelope{e}, Verdicts: []message.Verdict{{Message: e.ID, Decision: message.Decision{Verb: message.VerbDrop}, At: time.Now()}},
			Notices: []message.Notice{{Text: "the newest"}},
		}))
	})
	for _, life := range []struct {
		days  time.Duration
		stays bool
	}{{0, true}, {91, true}, {92, false}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, daemon.Run(ctx, daemon.Config{
			Paths: paths, Version: "test", Linger: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
			Now: func() time.Time { return time.Now().Add(life.days * day) },
		}))
		require.NoError(t, ctx.Err(), "by itself")
		cancel()
		opened(func(j *journal.Journal) {
			seen, err := j.Seen(t.Context(), e.ID)
			require.NoError(t, err)
			assert.Equal(t, life.stays, seen, "%d days later", life.days)
		})
	}
}
