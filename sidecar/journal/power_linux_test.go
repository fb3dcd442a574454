package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/powercuttest"
)

// The power is cut behind each system call of a journal's life: from the first, with which it is
// made, over commits and a prune, to its end. Everything that was confirmed is there, the database
// is sound, and it accepts more.
func TestD2_powerCutBeneathTheJournal(t *testing.T) {
	t.Parallel()
	if testing.Short() || underRace {
		t.Skip("a few hundred databases are opened: not with -short, nor with -race")
	}
	every := 25
	if os.Getenv("INTERCOM_LONG") != "" {
		every = 0
	}
	parent := private(t)
	dir := parent + "/journal"
	trace := powercuttest.Record(t, parent, childCommand(t, "through", dir, ""))
	trace.Every = every
	trace.Holds(t, 1, func(parent, said string) error {
		dir := parent + "/journal"
		j, err := Open(t.Context(), dir)
		if err != nil {
			return err
		}
		defer j.Close()
		if notice := j.Notice(); notice != "" {
			return errors.New(notice)
		}
		if sound := scalar(t, j, "PRAGMA integrity_check"); sound != "ok" {
			return errors.New(sound)
		}
		for line := range strings.Lines(said) {
			id, ok := strings.CutPrefix(strings.TrimSpace(line), "ack ")
			if !ok || strings.HasPrefix(id, "old") && strings.Contains(said, "pruning") {
				continue
			}
			if seen, err := j.Seen(t.Context(), message.ID(id)); err != nil || !seen {
				return fmt.Errorf("%s was confirmed, and is lost: %w", id, err)
			}
		}
		return j.writing(t.Context(), func(ctx context.Context, w *writer) error { return w.commit(ctx, testTime, wholeStep("after")) })
	})
}
