package tmux

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Keys tells when people last pressed keys that concern one pane. A program draws typed keys a
// moment later, so for that moment its screen does not show them.
type Keys struct {
	// Last is when a key was last pressed at a terminal whose keys go to the pane, because the pane
	// is the active one there. In whole seconds, rounded down; zero if there is no such terminal.
	Last time.Time

	session string // the same for the pane's session, whichever of its panes the keys went to
}

// keysCommand asks when a key was last pressed at each terminal; sep separates the fields.
func keysCommand(sep string) command.Command {
	return command.Clients(command.Row(sep, []command.Field{command.PaneID, command.ClientControl, command.ClientActivity}))
}

// parseKeys parses the reply to keysCommand into the time of the newest key by pane. It skips
// control clients, which have no keys.
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

// checkActivity admits only a number, which is safe in the comparison of keys.
func checkActivity(activity string) error {
	if _, err := strconv.ParseUint(activity, 10, 63); err != nil {
		return fmt.Errorf("activity %q: not a number", activity)
	}
	return nil
}
