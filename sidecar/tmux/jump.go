package tmux

import (
	"context"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Jump shows a pane at a client: its session, its window, and it as the active one. client is "" for
// the one at which the caller runs.
func Jump(ctx context.Context, o Options, client, pane string) error {
	if _, err := brief(o).run(ctx, command.SwitchTo(client, pane)); err != nil {
		return fmt.Errorf("go to pane %q: %w", pane, err)
	}
	return nil
}
