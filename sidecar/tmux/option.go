package tmux

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// SetPaneOptions sets user options (@name) of a pane; the value "" removes one. It does not write
// options that have their value already, since each write redraws every client. Values may hold any
// text; nothing in them is expanded.
func (c *Client) SetPaneOptions(ctx context.Context, pane string, options map[string]string) error {
	names := slices.Sorted(maps.Keys(options))
	for _, name := range names {
		if err := checkOption(name, options[name]); err != nil {
			return fmt.Errorf("pane %q: %w", pane, err)
		}
	}
	have, err := c.PaneOptions(ctx, pane, names...)
	if err != nil {
		return err
	}
	var cmds []command.Command
	for _, name := range names {
		switch value := options[name]; {
		case value == have[name]:
		case value == "":
			cmds = append(cmds, command.UnsetOption(command.Pane(pane), name))
		default:
			cmds = append(cmds, command.SetOption(command.Pane(pane), name, value))
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	if _, err := c.run(ctx, cmds...); err != nil {
		return fmt.Errorf("set options of pane %q: %w", pane, err)
	}
	return nil
}

// PaneOptions reads user options of a pane. Options that are not set are missing from the result.
func (c *Client) PaneOptions(ctx context.Context, pane string, names ...string) (map[string]string, error) {
	if err := checkPane(pane); err != nil {
		return nil, err
	}
	// show-options needs -q to keep silent about options that are not set, but then it also keeps
	// silent about a missing pane.
	there, err := c.run(ctx, command.Expand(pane, command.PaneID.Format()))
	if err == nil && strings.TrimSpace(there[0]) != pane {
		err = ErrNoPane
	}
	if err != nil {
		return nil, fmt.Errorf("options of pane %q: %w", pane, err)
	}
	values, err := c.options(ctx, names, command.Pane(pane))
	if err != nil {
		return nil, fmt.Errorf("options of pane %q: %w", pane, err)
	}
	return values, nil
}

// PanesWith returns the panes that have a user option of that name.
func (c *Client) PanesWith(ctx context.Context, name string) (panes []string, err error) {
	if err := checkOption(name, ""); err != nil {
		return nil, err
	}
	replies, err := c.run(ctx, command.Panes(command.Join(" ", command.PaneID.Format(), command.Option(name))))
	if err != nil {
		return nil, fmt.Errorf("panes with option %q: %w", name, err)
	}
	for line := range strings.Lines(replies[0]) {
		if pane, value, _ := strings.Cut(strings.TrimSpace(line), " "); value != "" && checkPane(pane) == nil {
			panes = append(panes, pane)
		}
	}
	return panes, nil
}

// SetServerOption sets one user option (@name) of the server, unless it has that value already. The
// value "" removes it.
func (c *Client) SetServerOption(ctx context.Context, name, value string) error {
	if err := checkOption(name, value); err != nil {
		return err
	}
	have, err := c.ServerOption(ctx, name)
	if err != nil || have == value {
		return err
	}
	set := command.SetOption(command.Server, name, value)
	if value == "" {
		set = command.UnsetOption(command.Server, name)
	}
	if _, err := c.run(ctx, set); err != nil {
		return fmt.Errorf("set server option %q: %w", name, err)
	}
	return nil
}

// TakeBack removes a user option of the server when the program that set it ends. It works even
// after ctx has ended, and does nothing if the server is gone.
func (c *Client) TakeBack(ctx context.Context, name string) {
	select {
	case <-c.Gone():
		return
	default:
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := c.SetServerOption(ending, name, ""); err != nil {
		c.log.Debug("take an option back", "name", name, "err", err)
	}
}

// ServerOption reads one user option of the server. It returns "" if the option is not set.
func (c *Client) ServerOption(ctx context.Context, name string) (string, error) {
	values, err := c.options(ctx, []string{name}, command.Server)
	if err != nil {
		return "", fmt.Errorf("server option %q: %w", name, err)
	}
	return values[name], nil
}

// options reads each option by a command of its own, so that the marks keep values with line breaks
// apart.
func (c *Client) options(ctx context.Context, names []string, scope command.Scope) (map[string]string, error) {
	values := make(map[string]string, len(names))
	if len(names) == 0 {
		return values, nil
	}
	var cmds []command.Command
	for _, name := range names {
		if err := checkOption(name, ""); err != nil {
			return nil, err
		}
		cmds = append(cmds, command.ShowOption(scope, name))
	}
	replies, err := c.run(ctx, cmds...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if value := strings.TrimSuffix(replies[i], "\n"); value != "" {
			values[name] = value
		}
	}
	return values, nil
}
