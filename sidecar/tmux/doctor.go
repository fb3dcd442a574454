package tmux

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Viewer is a client of a server, with the facts that matter to the server's health.
type Viewer struct {
	Name    string
	Session string
	UTF8    bool // it shows more than ASCII
	Control bool // a program, not a terminal
}

// Health is a running server's report to a caller that looks for faults.
type Health struct {
	Info    Info // without a transport; see Choose
	Viewers []Viewer
	Options map[string]string // the user options that were asked for and are set
}

// ProgramVersion returns the version of the tmux program, as the program writes it: 3.3a. If bin is
// "", it is tmux from PATH. If there is no such program, the error wraps exec.ErrNotFound.
func ProgramVersion(ctx context.Context, bin string) (string, error) {
	s := short{bin: bin}
	if s.bin == "" {
		s.bin = "tmux"
	}
	out, complaint, err := s.start(ctx, []string{"-V"}, nil, nil)
	if err != nil {
		return "", fmt.Errorf("version of %q: %w: %s", s.bin, err, strings.TrimSpace(complaint))
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "tmux "), nil
}

// ErrNoProgram is wrapped by the error if there is no tmux program.
var ErrNoProgram = exec.ErrNotFound

// numbered matches the beginning of a version that can be compared: a release or a next- version.
// master and the base system's tmux of OpenBSD have no number.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:next-)?([0-9]+)\.([0-9]+)`) })

// TooOld reports whether a version is older than 3.2, the first that this package can use. A
// version without a number does not count as old.
func TooOld(version string) bool { return before(version, 3, 2) }

// TellsPastes reports whether a tmux of that version tells that a program has bracketed paste
// switched off. All do from 3.7 on; a version without a number counts as new.
func TellsPastes(version string) bool { return !before(version, 3, 7) }

// before reports whether a version is older than major.minor. A version without a number is not.
func before(version string, major, minor int) bool {
	m := numbered().FindStringSubmatch(version)
	if m == nil {
		return false
	}
	its, _ := strconv.Atoi(m[1])
	after, _ := strconv.Atoi(m[2])
	return its < major || its == major && after < minor
}

// Inspect asks a running server about its health and for some user options, by short processes, and
// changes nothing. If no server answers, the error is ErrNoServer.
func Inspect(ctx context.Context, o Options, names ...string) (Health, error) {
	s := short{bin: o.Bin, socket: o.Socket}
	if s.bin == "" {
		s.bin = "tmux"
	}
	c := &Client{short: s, deadline: o.Deadline}
	if c.deadline <= 0 {
		c.deadline = defaultInspection
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	var h Health
	var err error
	if h.Info, err = c.identify(ctx); err != nil {
		return h, fmt.Errorf("tmux server %q: %w", o.Socket, err)
	}
	rows, err := c.list(ctx, command.Clients, viewerFields)
	if err != nil {
		return h, fmt.Errorf("clients of tmux server %q: %w", o.Socket, err)
	}
	var n numbers
	for _, f := range rows {
		h.Viewers = append(h.Viewers, Viewer{Name: f[0], Session: f[1], UTF8: n.flag(f[2]), Control: n.flag(f[3])})
	}
	if n.err != nil {
		return h, fmt.Errorf("clients of tmux server %q: %w", o.Socket, n.err)
	}
	if h.Options, err = Ask(ctx, o, names...); err != nil {
		return h, err
	}
	return h, nil
}

// Choose returns the transport and trigger that Open would use for a server of that version, and
// why it would use that transport.
func Choose(o Options, version string) (transport, why, trigger string, err error) {
	if transport, why, err = chooseTransport(o.Transport, version); err != nil {
		return "", "", "", err
	}
	trigger = o.Trigger
	if trigger == "" || trigger == "auto" {
		switch {
		case runtime.GOOS == "linux":
			trigger = "inotify"
		case transport == "control" && controlIsSafe(version):
			trigger = "output"
		default:
			trigger = "polling"
		}
	}
	return transport, why, trigger, nil
}

// Withdraw removes a user option of the server itself if it still has that value. The server tests
// and removes in one step. Withdraw reports whether the option is gone.
func Withdraw(ctx context.Context, o Options, name, value string) (bool, error) {
	if err := checkOption(name, value); err != nil {
		return false, err
	}
	if strings.ContainsAny(value, "#,{}%") {
		return false, fmt.Errorf("option %q: value %q cannot be compared inside tmux", name, value)
	}
	s := short{bin: o.Bin, socket: o.Socket}
	if s.bin == "" {
		s.bin = "tmux"
	}
	still, err := command.Equal([]command.Format{command.Option(name)}, []string{value})
	if err != nil {
		return false, fmt.Errorf("option %q: %w", name, err)
	}
	_, err = s.run(ctx, []command.Command{command.If("", command.Both(still, command.ServerPID.Format()), []command.Command{command.UnsetOption(command.Server, name)}, nil)})
	if err != nil {
		return false, fmt.Errorf("withdraw option %q of tmux server %q: %w", name, o.Socket, err)
	}
	left, err := AskServer(ctx, o, name)
	return err == nil && left[name] != value, err
}

// defaultInspection is how long Inspect may take altogether.
const defaultInspection = 5 * time.Second

var viewerFields = []command.Field{command.ClientName, command.ClientSession, command.ClientUTF8, command.ClientControl}
