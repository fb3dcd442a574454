package tmux

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Alert writes a short sequence to the terminal of a client, in one piece, beside what tmux draws
// there. The sequence makes the terminal ring or show a notice. Alert never waits for the terminal.
func Alert(client Attached, sequence string) error {
	if err := foreign.WriteTerminal(client.TTY, sequence); err != nil {
		return fmt.Errorf("alert client %q: %w", client.Name, err)
	}
	return nil
}
