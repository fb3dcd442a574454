package tmux

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Hook is a command that a server runs after, or in place of, one of the commands that type a
// message.
type Hook struct {
	Name    string // after-load-buffer, command-alias[100]
	Session string // $1; "" for all
	Runs    string // as tmux prints it
}

// typingCommands are the commands of a look and of compare-and-type.
var typingCommands = []string{
	"capture-pane", "delete-buffer", "display-message", "if-shell", "load-buffer", "paste-buffer", "set-environment",
}

// Hooks returns the hooks that a person has set on the commands with which we type a message, and
// the aliases that they gave to one of those commands. Because of them typing may fail, or type
// more than the message.
func Hooks(ctx context.Context, o Options) ([]Hook, error) {
	s := short{bin: o.Bin, socket: o.Socket}
	if s.bin == "" {
		s.bin = "tmux"
	}
	replies, err := s.run(ctx, []command.Command{command.Sessions(command.SessionID.Format())})
	if err != nil {
		return nil, fmt.Errorf("sessions of tmux server %q: %w", o.Socket, err)
	}
	sessions := append([]string{""}, strings.Fields(replies[0])...)
	cmds := make([]command.Command, len(sessions))
	for i, session := range sessions {
		cmds[i] = command.ShowHooks(session)
	}
	if replies, err = s.run(ctx, cmds); err != nil {
		return nil, fmt.Errorf("hooks of tmux server %q: %w", o.Socket, err)
	}
	aliases, err := s.run(ctx, []command.Command{command.ShowAliases()})
	if err != nil {
		return nil, fmt.Errorf("aliases of tmux server %q: %w", o.Socket, err)
	}
	var found []Hook
	for line := range strings.Lines(aliases[0]) {
		name, runs, _ := strings.Cut(strings.TrimSpace(line), " ")
		if of, _, _ := strings.Cut(strings.Trim(runs, `"'`), "="); slices.Contains(typingCommands, of) {
			found = append(found, Hook{Name: name, Runs: runs})
		}
	}
	for i, reply := range replies {
		for line := range strings.Lines(reply) {
			name, runs, _ := strings.Cut(strings.TrimSpace(line), " ")
			name, _, _ = strings.Cut(name, "[")
			if runs != "" && (name == "command-error" || slices.Contains(typingCommands, strings.TrimPrefix(name, "after-"))) {
				found = append(found, Hook{Name: name, Session: sessions[i], Runs: runs})
			}
		}
	}
	return found, nil
}
