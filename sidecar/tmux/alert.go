package tmux

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Alert writes what makes a terminal ring or show a notice to that of a client, beside what tmux
// draws there: a short sequence, in one piece. It never waits for the terminal.
func Alert(client Attached, sequence string) error {
	if err := foreign.WriteTerminal(client.TTY, sequence); err != nil {
		return fmt.Errorf("alert client %q: %w", client.Name, err)
	}
	return nil
}
