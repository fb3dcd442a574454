package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Keys is when people pressed keys, as far as it is about one pane.
type Keys struct {
	// Last is when a key was pressed last at a terminal whose keys go to the pane: it is the
	// active one there. Whole seconds, rounded down; zero where there is no such terminal.
	Last time.Time

	session string // the same of the pane's session, whichever of its panes the keys went to
}

// Keys asks when people pressed keys that went to a pane. A program draws what was typed a
// moment later, so for that moment its screen says nothing of it.
func (c *Client) Keys(ctx context.Context, pane string) (Keys, error) {
	if err := checkPane(pane); err != nil {
		return Keys{}, err
	}
	sep := newNonce()
	replies, err := c.run(
		ctx, command{"list-clients", "-F", row(sep, []string{"#{pane_id}", "#{client_control_mode}", "#{client_activity}"})},
		command{"display-message", "-p", "-t", pane, "#{session_activity}"},
	)
	if err != nil {
		return Keys{}, fmt.Errorf("keys of %q: %w", pane, err)
	}
	all, err := records(replies[0], sep, 3)
	if err != nil {
		return Keys{}, fmt.Errorf("keys of %q: %w", pane, err)
	}
	k := Keys{session: strings.TrimSpace(replies[1])}
	if _, err := strconv.ParseInt(k.session, 10, 64); err != nil {
		return Keys{}, fmt.Errorf("keys of %q: activity %q is not a number", pane, k.session)
	}
	for _, f := range all {
		var n numbers
		control, at := n.flag(f[1]), time.Unix(int64(n.number(f[2])), 0)
		if n.err != nil {
			return Keys{}, fmt.Errorf("keys of %q: %w", pane, n.err)
		}
		if f[0] == pane && !control && at.After(k.Last) {
			k.Last = at
		}
	}
	return k, nil
}
