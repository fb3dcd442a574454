package tmux

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Keys is when people pressed keys, as far as it is about one pane. A program draws what was
// typed a moment later, so for that moment its screen says nothing of it.
type Keys struct {
	// Last is when a key was pressed last at a terminal whose keys go to the pane: it is the
	// active one there. Whole seconds, rounded down; zero where there is no such terminal.
	Last time.Time

	session string // the same of the pane's session, whichever of its panes the keys went to
}

// keysCommand asks when a key was pressed last at each terminal; sep tells its fields apart.
func keysCommand(sep string) command.Command {
	return command.Clients(command.Row(sep, []command.Field{command.PaneID, command.ClientControl, command.ClientActivity}))
}

// parseKeys reads the reply to keysCommand: the newest key by pane. A control client has none.
func parseKeys(reply, sep string) (map[string]time.Time, error) {
	all, err := records(reply, sep, 3)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	last := map[string]time.Time{}
	for _, f := range all {
		var n numbers
		control, at := n.flag(f[1]), time.Unix(int64(n.number(f[2])), 0)
		if n.err != nil {
			return nil, fmt.Errorf("keys: %w", n.err)
		}
		if !control && at.After(last[f[0]]) {
			last[f[0]] = at
		}
	}
	return last, nil
}

// checkActivity admits what a comparison of keys may hold.
func checkActivity(activity string) error {
	if _, err := strconv.ParseUint(activity, 10, 63); err != nil {
		return fmt.Errorf("activity %q: not a number", activity)
	}
	return nil
}
