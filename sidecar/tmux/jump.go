package tmux

import (
	"context"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Jump makes a client show a pane: it selects the pane's session and window and makes the pane the
// active one. If client is "", it is the client at which the caller runs.
func Jump(ctx context.Context, o Options, client, pane string) error {
	if _, err := brief(o).run(ctx, command.SwitchTo(client, pane)); err != nil {
		return fmt.Errorf("go to pane %q: %w", pane, err)
	}
	return nil
}
