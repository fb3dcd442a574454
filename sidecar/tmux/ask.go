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
	s := short{bin: o.Bin, socket: o.Socket}
	if s.bin == "" {
		s.bin = "tmux"
	}
	var cmds []command.Command
	for _, name := range names {
		if err := checkOption(name, ""); err != nil {
			return nil, err
		}
		cmds = append(cmds, command.ShowOption(command.Server, name), command.ShowOption(command.Everyone, name))
	}
	replies, err := s.run(ctx, cmds)
	if err != nil {
		return nil, fmt.Errorf("options of tmux server %q: %w", o.Socket, err)
	}
	values := make(map[string]string, len(names))
	for i, reply := range replies {
		if value := strings.TrimSuffix(reply, "\n"); value != "" {
			values[names[i/2]] = value
		}
	}
	return values, nil
}
