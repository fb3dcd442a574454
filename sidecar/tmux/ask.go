package tmux

import (
	"context"
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Ask reads options (@name) of a running server by one short process. It returns the value that the
// user set for all sessions (-g), or else the server's own (-s). Options set in neither place are
// missing from the result. Ask is for callers that have no Client, or none yet.
func Ask(ctx context.Context, o Options, names ...string) (map[string]string, error) {
	return ask(ctx, o, names, command.Server, command.Everyone)
}

// AskServer is Ask for the server's own options alone. A sidecar sets those; what a user sets for
// all sessions under such a name says nothing about it.
func AskServer(ctx context.Context, o Options, names ...string) (map[string]string, error) {
	return ask(ctx, o, names, command.Server)
}

// ask reads options in scopes, of which the last one that sets an option counts.
func ask(ctx context.Context, o Options, names []string, scopes ...command.Scope) (map[string]string, error) {
	s := short{bin: o.Bin, socket: o.Socket}
	if s.bin == "" {
		s.bin = "tmux"
	}
	var cmds []command.Command
	for _, name := range names {
		if err := checkOption(name, ""); err != nil {
			return nil, err
		}
		for _, scope := range scopes {
			cmds = append(cmds, command.ShowOption(scope, name))
		}
	}
	replies, err := s.run(ctx, cmds)
	if err != nil {
		return nil, fmt.Errorf("options of tmux server %q: %w", o.Socket, err)
	}
	values := make(map[string]string, len(names))
	for i, reply := range replies {
		if value := strings.TrimSuffix(reply, "\n"); value != "" {
			values[names[i/len(scopes)]] = value
		}
	}
	return values, nil
}
