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

// Viewer is a client of a server, as far as its health is concerned.
type Viewer struct {
	Name    string
	Session string
	UTF8    bool // it shows more than ASCII
	Control bool // a program, not a terminal
}

// Health is what a running server tells of itself to whoever looks for what is wrong.
type Health struct {
	Info    Info // without a transport: see Choose
	Viewers []Viewer
	Options map[string]string // the user options that were asked for and are set
}

// ProgramVersion is the version of the tmux program, as it writes it: 3.3a. bin "" is tmux
// from PATH; the error of one that is not there wraps exec.ErrNotFound.
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

// ErrNoProgram is wrapped by the error of a tmux program that is not there.
var ErrNoProgram = exec.ErrNotFound

// numbered is the beginning of a version that can be compared: of releases, and of what
// comes before them. master and the base system's tmux of OpenBSD have no number.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:next-)?([0-9]+)\.([0-9]+)`) })

// TooOld reports whether a version is older than 3.2, the first that this package can use.
// A version without a number is not taken for old.
func TooOld(version string) bool { return before(version, 3, 2) }

// TellsPastes reports whether a tmux of that version tells of a program that it has bracketed paste switched off: all do from 3.7 on,
// and one whose version is no number is taken for new.
func TellsPastes(version string) bool { return !before(version, 3, 7) }

// before reports whether a version is older than that one; what is no number is not.
func before(version string, major, minor int) bool {
	m := numbered().FindStringSubmatch(version)
	if m == nil {
		return false
	}
	its, _ := strconv.Atoi(m[1])
	after, _ := strconv.Atoi(m[2])
	return its < major || its == major && after < minor
}

// Inspect asks a running server how it is, and for some user options, by short processes,
// and changes nothing. The error is ErrNoServer where none answers.
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

// Choose is which transport and trigger Open would use for a server of that version, and
// why that transport.
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

// Withdraw removes a user option of the server itself if it still has that value: the test
// and the removal are one step of the server. It reports whether the option is gone.
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
	left, err := Ask(ctx, o, name)
	return err == nil && left[name] != value, err
}

// defaultInspection is how long Inspect asks altogether.
const defaultInspection = 5 * time.Second

var viewerFields = []command.Field{command.ClientName, command.ClientSession, command.ClientUTF8, command.ClientControl}
