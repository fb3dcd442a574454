package daemon

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
)

// ErrNewerJournal says that a newer version wrote the journal.
var ErrNewerJournal = journal.ErrNewer

// InspectJournal says what is wrong with the journal of a sidecar that does not run: it is damaged,
// of a newer version, or no plain file of this user. It changes nothing. It returns nil if the
// journal is sound or there is none, and ErrJournalHeld if a sidecar elsewhere uses it.
func InspectJournal(ctx context.Context, paths api.Paths) error {
	if JournalHeld(paths) {
		return journalHeld(paths)
	}
	return journal.Inspect(ctx, paths.State)
}

// JournalHeld reports whether a sidecar is using the journal, even one that cannot be reached from
// here.
func JournalHeld(paths api.Paths) bool { return claim.Held(journalLock(paths)) }
