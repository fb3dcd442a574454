package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// ErrJournalHeld says that a sidecar in another environment or container, or on another computer,
// has the journal.
var ErrJournalHeld = errors.New("another sidecar has this journal")

const (
	// journalPatience is how long to wait for the journal's lock. Its holder may be a sidecar whose
	// place in the runtime directory was taken away, and which is about to notice.
	journalPatience = guardEvery + time.Second
	journalPause    = 10 * time.Millisecond
)

// claimJournal takes the lock beside the journal. The lock in the runtime directory is not enough:
// if a home is shared, or a variable is not set, the same journal has several of those.
func claimJournal(ctx context.Context, paths api.Paths, patience time.Duration) (*claim.Claim, error) {
	for end := time.Now().Add(patience); ; {
		c, err := claim.Take(journalLock(paths))
		if !errors.Is(err, claim.ErrHeld) {
			return c, err
		}
		if time.Now().After(end) {
			return nil, journalHeld(paths)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(journalPause):
		}
	}
}

func journalLock(paths api.Paths) string { return filepath.Join(paths.State, "journal.lock") }

func journalHeld(paths api.Paths) error {
	return api.Errorf(api.CodeNoSidecar, "journal in %q: %w", paths.State, ErrJournalHeld).WithHint(
		"if that sidecar runs on this computer, a sandbox may hide its socket: run this command outside the sandbox, or set XDG_RUNTIME_DIR to the value used there; if another computer or container shares the directory, set XDG_STATE_HOME here to a directory of its own")
}
