package tmux

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// errOtherClient says that tmux would have shown the text to somebody else.
var errOtherClient = errors.New("this tmux shows messages only at the session's most recently used client, and that is a different one")

// frozenFor is the longest time that a message stays if tmux draws nothing new of the panes until
// it is gone: with the key that ends the message, a person would answer something that they have
// not seen.
const frozenFor = 2 * time.Second

// message shows text at a client. tmux 3.2a cannot be told at which client. There the process
// claims to be in the pane which the client shows, and the server takes the most recently used
// client of those that have this pane in their session. If that is another client, message shows
// nothing.
func (c *Client) message(ctx context.Context, client, text string, d time.Duration) error {
	_, err := c.run(ctx, command.Message(client, text, d))
	if !refusesFlag(err) {
		return err
	}
	d = min(d, frozenFor)
	if _, err = c.run(ctx, command.FreezingMessage(client, text, d)); !refusesFlag(err) {
		return err
	}
	pane, err := c.shownBy(ctx, client)
	if pane == "" || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	there := c.short
	there.pane = pane
	_, err = there.run(ctx, []command.Command{command.MessageHere(text, d)})
	return err
}

// refusesFlag reports whether an error says that this tmux does not know the flags of such a
// message.
func refusesFlag(err error) bool {
	refused := (*commandError)(nil)
	return errors.As(err, &refused) && (strings.Contains(refused.text, "usage: display-message") || strings.Contains(refused.text, "unknown flag"))
}

// shownBy returns the pane that a client shows, or "" if there is no such client. The error is
// errOtherClient if another client that could show the pane was used later.
func (c *Client) shownBy(ctx context.Context, client string) (string, error) {
	clients, err := c.Clients(ctx)
	if err != nil {
		return "", err
	}
	var asked Attached
	for _, a := range clients {
		if a.Name == client {
			asked = a
		}
	}
	places, err := c.list(ctx, command.Panes, []command.Field{command.PaneID, command.SessionID})
	if err != nil {
		return "", err
	}
	sessions := map[string]bool{} // that hold the pane
	for _, f := range places {
		if f[0] == asked.Pane {
			sessions[f[1]] = true
		}
	}
	for _, a := range clients {
		if sessions[a.SessionID] && a.Activity > asked.Activity {
			return "", errOtherClient
		}
	}
	return asked.Pane, nil
}
