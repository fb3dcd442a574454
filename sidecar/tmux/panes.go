package tmux

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Pane is one entry of the list of all panes: the facts that are cheap to get for each.
type Pane struct {
	ID            string // %7, never used again by this server
	SessionID     string // $1
	Session       string
	Elsewhere     []string // ids of the other sessions that hold its window: grouped sessions, or by a link
	WindowID      string   // @3
	Window        int      // its index in the session
	WindowName    string
	Index         int  // in the window
	Active        bool // of its window
	Current       bool // its window is the current one of the session
	Attached      int  // clients of the session
	PID           int  // what tmux started in it; stale when dead
	TTY           string
	Dead          bool
	InMode        bool
	Width, Height int
	Title         string
	Command       string // name of the process in front, as tmux tells it
	StartCommand  string // its start command; "": the default shell
}

// Panes lists all panes of the server, each once. A pane whose window is linked into several
// sessions is listed under the first of them.
func (c *Client) Panes(ctx context.Context) ([]Pane, error) {
	rows, err := c.list(ctx, command.Panes, paneFields)
	if err != nil {
		return nil, fmt.Errorf("list panes: %w", err)
	}
	var n numbers
	seen := make(map[string]int, len(rows)) // index in panes
	panes := make([]Pane, 0, len(rows))
	for _, f := range rows {
		if i, ok := seen[f[0]]; ok {
			if p := &panes[i]; p.SessionID != f[1] && !slices.Contains(p.Elsewhere, f[1]) {
				p.Elsewhere = append(p.Elsewhere, f[1])
			}
			continue
		}
		seen[f[0]] = len(panes)
		panes = append(panes, Pane{
			ID: f[0], SessionID: f[1], Session: f[2], WindowID: f[3], Window: n.number(f[4]), WindowName: f[5],
			Index: n.number(f[6]), Active: n.flag(f[7]), Current: n.flag(f[8]), Attached: n.number(f[9]),
			PID: n.number(f[10]), TTY: f[11], Dead: n.flag(f[12]), InMode: n.flag(f[13]),
			Width: n.number(f[14]), Height: n.number(f[15]), Title: f[16], Command: f[17], StartCommand: f[18],
		})
	}
	if n.err != nil {
		return nil, fmt.Errorf("list panes: %w", n.err)
	}
	return panes, nil
}

// Glance returns some facts of every pane of the server, by pane id, in one cheap command: Dead,
// InMode, Alternate, CursorVisible, PID, CursorX, CursorY, HistorySize, Width and Height. Type
// refuses these Facts, since they come from no Look.
func (c *Client) Glance(ctx context.Context) (map[string]Facts, error) {
	replies, err := c.run(ctx, command.Panes(glanceFormat))
	if err != nil {
		return nil, fmt.Errorf("glance at panes: %w", err)
	}
	panes, err := parseGlance(replies[0])
	if err != nil {
		return nil, fmt.Errorf("glance at panes: %w", err)
	}
	return panes, nil
}

// Attached is a client of the server: a person's terminal, or a program in control mode.
type Attached struct {
	Name          string // what Tell takes
	TTY           string
	PID           int
	Session       string
	SessionID     string
	Pane          string // the active pane of what it shows
	Control       bool   // a program, not a terminal
	Ours          bool   // the connection of this Client
	Activity      int64  // last key, in seconds since 1970; of a control client, its start
	KeyTable      string // "prefix" between the prefix key and the next
	Suspended     bool   // locked or stopped
	Width, Height int
}

// Clients lists the clients of the server, including our own control clients.
func (c *Client) Clients(ctx context.Context) ([]Attached, error) {
	rows, err := c.list(ctx, command.Clients, clientFields)
	if err != nil {
		return nil, fmt.Errorf("list clients: %w", err)
	}
	var n numbers
	clients := make([]Attached, 0, len(rows))
	for _, f := range rows {
		a := Attached{
			Name: f[0], TTY: f[1], PID: n.number(f[2]), Session: f[3], SessionID: f[4], Pane: f[5],
			Control: n.flag(f[6]), Activity: int64(n.number(f[7])), KeyTable: f[8],
			Suspended: strings.Contains(f[9], "suspended"), Width: n.number(f[10]), Height: n.number(f[11]),
		}
		a.Ours = c.isOurs(a.PID)
		clients = append(clients, a)
	}
	if n.err != nil {
		return nil, fmt.Errorf("list clients: %w", n.err)
	}
	return clients, nil
}

// list runs a list command with a format of fields and returns its records.
func (c *Client) list(ctx context.Context, list func(command.Format) command.Command, fields []command.Field) ([][]string, error) {
	// From 3.7 on, tmux cuts short a format that it does not expand within 100 ms, as happens if
	// the machine stood still for a moment.
	const attempts = 3
	for n := 1; ; n++ {
		sep := newNonce()
		replies, err := c.run(ctx, list(command.Row(sep, fields)))
		if err != nil {
			return nil, err
		}
		all, err := records(replies[0], sep, len(fields))
		if err == nil || n == attempts {
			return all, err
		}
	}
}

// Tell shows text for a moment in the status line of a client. Nothing in text is expanded or run;
// line breaks become blanks. It is no error if the client is not there (any more); then nobody sees
// the text.
func (c *Client) Tell(ctx context.Context, client, text string) error {
	if err := c.message(ctx, client, text, 0); err != nil {
		return fmt.Errorf("tell client %q: %w", client, err)
	}
	return nil
}

// isOurs reports whether pid is a control client of this Client.
func (c *Client) isOurs(pid int) bool {
	return c.control != nil && c.control.isOurs(pid) || c.edges != nil && c.edges.isOurs(pid)
}
