package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// The functions below serve programs that a key starts and that end a moment later: each call takes
// one or two short processes and needs no Client.

// Terminal describes a person's terminal before something is shown there.
type Terminal struct {
	Name          string
	Width, Height int
	UTF8          bool // it shows more than ASCII
}

// SetOfServer is Client.SetServerOption.
func SetOfServer(ctx context.Context, o Options, name, value string) error {
	return brief(o).SetServerOption(ctx, name, value)
}

// Terminals lists the clients of a server that are terminals, not programs.
func Terminals(ctx context.Context, o Options) ([]Terminal, error) {
	rows, err := brief(o).list(ctx, command.Clients, terminalFields)
	if err != nil {
		return nil, fmt.Errorf("list clients: %w", err)
	}
	var n numbers
	var all []Terminal
	for _, f := range rows {
		t := Terminal{Name: f[0], Width: n.number(f[1]), Height: n.number(f[2]), UTF8: n.flag(f[3])}
		if !n.flag(f[4]) {
			all = append(all, t)
		}
	}
	return all, n.err
}

// ListPanes is Client.Panes.
func ListPanes(ctx context.Context, o Options) ([]Pane, error) { return brief(o).Panes(ctx) }

// Shell returns the shell of a new pane, and the command that a person has set in its place.
func Shell(ctx context.Context, o Options) (shell, instead string, err error) {
	replies, err := brief(o).run(ctx, command.ShowOption(command.Everyone, "default-shell"), command.ShowOption(command.Everyone, "default-command"))
	if err != nil {
		return "", "", fmt.Errorf("shell of tmux server %q: %w", o.Socket, err)
	}
	return strings.TrimSpace(replies[0]), strings.TrimSpace(replies[1]), nil
}

// PaneAt returns the id of the pane that a target means, or "" if it means none. A target that
// names no window is looked up in the window of the pane from, and one that names no session in the
// session of from. from is "" if there is no pane to start at.
func PaneAt(ctx context.Context, o Options, target, from string) (string, error) {
	c := brief(o)
	// tmux itself would take the current window of the session, whichever pane asks.
	if named := strings.HasPrefix(target, "@") || strings.HasPrefix(target, "$"); from != "" && !named {
		replies, err := c.run(ctx, command.Expand(from, command.Fields(" ", command.WindowID, command.SessionID)))
		if err != nil {
			return "", fmt.Errorf("window of pane %q: %w", from, err)
		}
		window, session, _ := strings.Cut(strings.TrimSpace(replies[0]), " ")
		switch {
		case strings.HasPrefix(target, ":"):
			target = session + target
		case !strings.Contains(target, ":"):
			target = window + "." + strings.TrimPrefix(target, ".")
		}
	}
	// If the target of a format does not exist, tmux expands the fields of whatever it takes for
	// the current pane. So the target stands in a command that refuses a missing pane, too.
	replies, err := c.run(ctx, command.Capture(target), command.Expand(target, command.PaneID.Format()))
	if refused := (*commandError)(nil); errors.As(err, &refused) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("pane %q of tmux: %w", target, err)
	}
	return strings.TrimSpace(replies[1]), nil
}

// Show shows text for the duration d in the status line of a client, or until a key is pressed
// there. Before tmux 3.6 a message freezes the panes, so there d is at most 2 s. Nothing in text is
// expanded or run; line breaks become blanks.
func Show(ctx context.Context, o Options, client, text string, d time.Duration) error {
	if err := brief(o).message(ctx, client, text, d); err != nil {
		return fmt.Errorf("show at client %q: %w", client, err)
	}
	return nil
}

// GoTo makes a client show a pane, whichever session and window the pane is in.
func GoTo(ctx context.Context, o Options, client, pane string) error {
	if err := checkPane(pane); err != nil {
		return err
	}
	if _, err := brief(o).run(ctx, command.Switch(client, pane)); err != nil {
		return fmt.Errorf("show pane %q at client %q: %w", pane, client, err)
	}
	return nil
}

// Set sets user options (@name) for all sessions; the value "" removes one. It does not write
// options that have their value already, since each write redraws every client.
func Set(ctx context.Context, o Options, options map[string]string) error {
	c := brief(o)
	var names []string
	for name, value := range options {
		if err := checkOption(name, value); err != nil {
			return err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	have, err := c.options(ctx, names, command.Everyone)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	var cmds []command.Command
	for _, name := range names {
		switch value := options[name]; {
		case value == have[name]:
		case value == "":
			cmds = append(cmds, command.DropOption(command.Everyone, name))
		default:
			cmds = append(cmds, command.SetOption(command.Everyone, name, value))
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	if _, err := c.run(ctx, cmds...); err != nil {
		return fmt.Errorf("set options: %w", err)
	}
	return nil
}

// ours is the prefix of every option that we keep in a server.
const (
	ours = "@intercom-"
	// originOption is set by every binding of ours, and no other binding names it.
	originOption = ours + "origin"
	// ourTable is the key table in which the plugin drops keys that were typed too early for a
	// popup.
	ourTable = "intercom"
	// prefixTable is the table of the keys that follow the prefix.
	prefixTable = "prefix"
)

// paneOptions are our options of a pane.
var paneOptions = []string{ours + "session", ours + "name", ours + "agent", ours + "title", ours + "offered", ours + "state", ours + "waits"}

// settings are the options that a person sets for us, as docs/keys.md lists them. We write none of
// them.
var settings = []string{
	ours + "chat-key", ours + "menu-key", ours + "jump-key", ours + "install", ours + "bin", ours + "release-url", ours + "transport", ours + "publish",
}

// Removed lists what Clear removed from a server, and what it left there.
type Removed struct {
	Keys    []string `json:"keys"`                   // of the prefix table, as tmux writes them
	Options []string `json:"options"`                // of the server and of all sessions
	Panes   []string `json:"panes"`                  // that had options or marks of ours
	Yours   []string `json:"options_left,omitempty"` // options that a person has set
}

// binding parses a line of list-keys, bind-key [-r] -T TABLE KEY COMMAND…, and reports whether the
// binding is ours. table is "" if the line is no binding.
func binding(line string) (table, key string, ours bool) {
	words := strings.Fields(line)
	at := slices.Index(words, "-T")
	if at < 0 || at+2 >= len(words) {
		return "", "", false
	}
	return words[at+1], unescapeKey(words[at+2]), strings.Contains(line, originOption)
}

// PrefixKeys returns the keys that are bound after the prefix, as tmux writes them, and for each
// whether the binding is ours.
func PrefixKeys(ctx context.Context, o Options) (map[string]bool, error) {
	replies, err := brief(o).run(ctx, command.Keys())
	if err != nil {
		return nil, fmt.Errorf("tmux server %q: %w", o.Socket, err)
	}
	return prefixKeys(replies[0]), nil
}

func prefixKeys(listed string) map[string]bool {
	keys := map[string]bool{}
	for line := range strings.Lines(listed) {
		if table, key, ours := binding(line); table == prefixTable {
			keys[key] = ours
		}
	}
	return keys
}

// Clear removes everything of ours from a running server: key bindings, options of the server, of
// all sessions and of the panes, and the marks of typing. It leaves everything else as it is, also
// the options that a person has set for us. No sidecar may be using the server: it would put its
// own options back.
func Clear(ctx context.Context, o Options) (Removed, error) {
	var r Removed
	c := brief(o)
	ofPanes := []command.Format{command.PaneID.Format()}
	for _, name := range paneOptions {
		ofPanes = append(ofPanes, command.Option(name))
	}
	replies, err := c.run(ctx,
		command.Keys(),
		command.ShowOptions(command.Server),
		command.ShowOptions(command.Everyone),
		command.Panes(command.Join(" ", ofPanes...)),
		command.ShowEnvironment(),
	)
	if err != nil {
		return r, fmt.Errorf("tmux server %q: %w", o.Socket, err)
	}
	var cmds []command.Command
	for line := range strings.Lines(replies[0]) {
		table, key, of := binding(line)
		switch {
		case table == ourTable:
		case table == prefixTable && of:
			r.Keys = append(r.Keys, key)
		default:
			continue
		}
		cmds = append(cmds, command.Unbind(table, key))
	}
	for i, scope := range []command.Scope{command.Server, command.Everyone} {
		for line := range strings.Lines(replies[1+i]) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case slices.Contains(settings, name):
				r.Yours = append(r.Yours, name)
			case strings.HasPrefix(name, ours) && checkOption(name, "") == nil:
				r.Options = append(r.Options, name)
				cmds = append(cmds, command.DropOption(scope, name))
			}
		}
	}
	for line := range strings.Lines(replies[3]) {
		words := strings.Fields(line)
		if len(words) < 2 || checkPane(words[0]) != nil {
			continue
		}
		r.Panes = append(r.Panes, words[0])
		for _, name := range paneOptions {
			cmds = append(cmds, command.DropOption(command.Pane(words[0]), name))
		}
	}
	for line := range strings.Lines(replies[4]) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		if pane, ok := strings.CutPrefix(name, markPrefix); ok && checkPane("%"+pane) == nil {
			r.Panes = append(r.Panes, "%"+pane)
			cmds = append(cmds, command.UnsetEnvironment(name))
		}
	}
	slices.Sort(r.Panes)
	r.Panes = slices.Compact(r.Panes)
	for _, names := range []*[]string{&r.Options, &r.Yours} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	for _, batch := range split(cmds) {
		if _, err := c.run(ctx, batch...); err != nil {
			return r, fmt.Errorf("tmux server %q: %w", o.Socket, err)
		}
	}
	return r, nil
}

// unescapeKey removes the quotes or the backslash that list-keys adds to a key which tmux's parser
// would otherwise misread.
func unescapeKey(key string) string {
	if end := len(key) - 1; end > 1 && key[0] == key[end] && (key[0] == '"' || key[0] == '\'') {
		key = key[1:end]
	}
	if i := strings.IndexByte(key, '\\'); i >= 0 && i+1 < len(key) { // at most one character of a key is escaped
		key = key[:i] + key[i+1:]
	}
	return key
}

// brief returns a client for one or two short processes. It has no goroutines, and needs no Close.
func brief(o Options) *Client {
	c := &Client{short: short{bin: o.Bin, socket: o.Socket}, deadline: o.Deadline}
	if c.short.bin == "" {
		c.short.bin = "tmux"
	}
	if c.deadline <= 0 {
		c.deadline = defaultInspection
	}
	return c
}

// NoServer reports whether an error says that there is no such tmux server (any more).
func NoServer(err error) bool { return errors.Is(err, ErrNoServer) }

var terminalFields = []command.Field{command.ClientName, command.ClientWidth, command.ClientHeight, command.ClientUTF8, command.ClientControl}
