package tmux

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
)

// Options say which server a Client is for and how to reach it.
type Options struct {
	Socket string // required: path of the server's socket
	Bin    string // the tmux program; "" is "tmux" from PATH

	// Transport is auto (or ""), control, process or native. auto uses control mode if the server
	// is 3.8 or newer, and short processes otherwise, because up to 3.7 the mere presence of a
	// control client can crash the server. control uses control mode on any version. native uses
	// tmux's own protocol, and short processes for what that protocol cannot carry.
	Transport string

	// Trigger is auto (or ""), inotify, polling or output. It selects how the client learns that a
	// program wrote to a pane. auto is inotify on Linux, output with control mode on a server of
	// 3.8 or newer on other systems, and polling otherwise.
	Trigger string

	// Deadline is how long one command may take before its process is killed or its connection is
	// given up. 0 means 5 s, and 30 s for a command that types: a process that starts slowly must
	// not leave doubt about what was typed.
	Deadline time.Duration

	Logger *slog.Logger // nil: nothing is logged
}

// The deadlines if Options set none. A command that types is given up late: once it is given up, it
// is not known whether the text arrived, and nothing more is typed there until that is known.
const (
	defaultDeadline = 5 * time.Second
	defaultTyping   = 30 * time.Second
)

// Info describes the server and how the client reaches it.
type Info struct {
	PID       int    // of the server; with Start it identifies the server for good
	Start     int64  // when it was started, in seconds since 1970
	Version   string // of the server, as tmux writes it: 3.3a
	Socket    string // as the server knows it
	Transport string // control, process or native
	Why       string // why that transport was chosen, in a few words
}

// Client is a connection to one running server. It is safe for use by many goroutines.
type Client struct {
	info     Info
	born     uint64 // start time of the server's process, 0 if the system does not tell
	short    short
	control  *control // nil: not in control mode
	direct   *direct  // nil: not in tmux's own protocol
	deadline time.Duration
	typing   time.Duration // the deadline of a command that types
	log      *slog.Logger
	owned    bool // made by StartServer

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // all goroutines of the client

	silent atomic.Int64 // since when the server has answered no command, in ns since 1970; 0 if it answers

	looks chan lookRequest
	gone  chan struct{}
	edges *edges
}

// SocketPath finds the socket as tmux does: from TMUX inside a pane, else the default
// server of this user. getenv is usually os.Getenv.
func SocketPath(getenv func(string) string) string {
	if value := getenv("TMUX"); value != "" {
		for i := range len(value) {
			if value[i] == ',' {
				return value[:i]
			}
		}
	}
	dir := getenv("TMUX_TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default")
}

// Open connects to the server that listens on o.Socket. It never starts one: if there is none, the
// error is ErrNoServer. ctx covers only the opening; Close ends the client.
func Open(ctx context.Context, o Options) (*Client, error) {
	if o.Bin == "" {
		o.Bin = "tmux"
	}
	typing := o.Deadline
	if o.Deadline <= 0 {
		o.Deadline, typing = defaultDeadline, defaultTyping
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{
		short:    short{bin: o.Bin, socket: o.Socket},
		deadline: o.Deadline,
		typing:   typing,
		log:      o.Logger,
		looks:    make(chan lookRequest),
		gone:     make(chan struct{}),
	}
	info, err := c.identify(ctx)
	if err != nil {
		return nil, fmt.Errorf("tmux server %q: %w", o.Socket, err)
	}
	c.info = info
	c.born, _ = process.Start(info.PID)
	c.info.Transport, c.info.Why, err = chooseTransport(o.Transport, info.Version)
	if err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	switch c.info.Transport {
	case "control":
		c.control = newControl(c.short, c.sessions, c.deadline, c.log)
		c.wg.Go(func() { c.control.serve(c.ctx) })
	case "native":
		c.speak(ctx, info)
	}
	c.edges, err = newEdges(c, o.Trigger)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.wg.Go(c.serveLooks)
	c.wg.Go(c.watchServer)
	return c, nil
}

// Info describes the server and the transport that is in use now. Only the transport can change
// while the client is open.
func (c *Client) Info() Info {
	info := c.info
	if c.direct != nil && !c.direct.usable() {
		info.Transport, info.Why = "process", "the native client is off until the sidecar restarts, because tmux gave an unexpected answer"
	}
	if c.control != nil && c.control.isBarred() {
		info.Transport, info.Why = "process", "every session would end with its last client (destroy-unattached or exit-unattached), so intercom must not attach one"
	}
	return info
}

// Gone returns a channel that is closed when the server has ended, however it ended. A server that
// merely does not answer is not gone.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Close ends all goroutines and processes of the client and waits for them. It leaves the server as
// it is.
func (c *Client) Close() error {
	c.cancel()
	c.wg.Wait()
	return nil
}

// speak tries tmux's own protocol. If the server does not understand it, the client uses short
// processes.
func (c *Client) speak(ctx context.Context, info Info) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	d := &direct{server: native.Server{Socket: c.short.socket, PID: info.PID}, log: c.log}
	if err := d.probe(ctx, info); err != nil {
		c.info.Transport, c.info.Why = "process", "the native client was asked for, but failed: "+err.Error()
		return
	}
	c.direct = d
}

// chooseTransport chooses the transport and says why.
func chooseTransport(asked, version string) (transport, why string, err error) {
	switch safe := controlIsSafe(version); {
	case asked == "control" && !safe:
		return "control", fmt.Sprintf("asked for, although a control client can crash tmux %s", version), nil
	case asked == "native" && !release.MatchString(version):
		return "process", fmt.Sprintf("the native client was asked for, but tmux %s is not a known release", version), nil
	case asked == "control" || asked == "process" || asked == "native":
		return asked, "asked for", nil
	case asked != "" && asked != "auto":
		return "", "", fmt.Errorf("transport %q: not auto, control, process or native", asked)
	case safe:
		return "control", fmt.Sprintf("tmux %s is 3.8 or newer", version), nil
	default:
		return "process", fmt.Sprintf("a control client can crash tmux %s; fixed in 3.8", version), nil
	}
}

// release matches a released version. next-3.8, 3.8-rc, master and the base system's tmux of
// OpenBSD do not match: nobody knows what they contain, so they count as old.
var release = regexp.MustCompile(`^([0-9]+)\.([0-9]+)[a-z]?$`)

// controlIsSafe reports whether a server of that version is safe from crashes by a control client.
func controlIsSafe(version string) bool {
	m := release.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > 3 || major == 3 && minor >= 8
}

// run has the server execute cmds in one step. It uses the transport in use, and a short process if
// that transport fails, so it must be safe to run cmds twice. run never types.
func (c *Client) run(ctx context.Context, cmds ...command.Command) ([]string, error) {
	started := time.Now()
	replies, err := c.carry(ctx, cmds)
	switch refused := (*commandError)(nil); {
	case err == nil || errors.As(err, &refused):
		c.silent.Store(0)
	case errors.Is(err, context.DeadlineExceeded):
		c.silent.CompareAndSwap(0, started.UnixNano())
	}
	return replies, err
}

// answersWithin is how soon a live server answers.
const answersWithin = 3 * time.Second // a slow start of one process is not its silence

// Silent asks the server for an answer and returns for how long it has not answered: 0 if it
// answers. The error says why the server could not be asked.
func (c *Client) Silent(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answersWithin, errDeadline)
	defer cancel()
	// Ask by a process, which can be given up; giving up a batch of a control connection costs the
	// connection.
	if _, err := c.short.run(ctx, []command.Command{command.Print("")}); !errors.Is(err, errDeadline) {
		c.silent.Store(0)
		return 0, err // the server answers, or is gone, which others report
	}
	if since := c.silent.Load(); since > 0 {
		return max(time.Since(time.Unix(0, since)), answersWithin), nil
	}
	return answersWithin, nil
}

// carry executes cmds by the transport in use.
func (c *Client) carry(ctx context.Context, cmds []command.Command) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	if c.control != nil {
		// Ignore the caller's cancellation: giving up a batch costs the connection.
		patient, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), c.deadline, errDeadline)
		defer stop()
		replies, err := transport(c.control).run(patient, cmds)
		if err == nil || !errors.Is(err, errConnection) {
			return replies, err
		}
	}
	if c.direct.usable() {
		replies, err := transport(c.direct).run(ctx, cmds)
		if err == nil || !errors.Is(err, errConnection) {
			return replies, err
		}
	}
	return transport(c.short).run(ctx, cmds)
}

// errDeadline is the cause if a command was given up because tmux did not answer.
var errDeadline = fmt.Errorf("no answer from tmux: %w", context.DeadlineExceeded)

// identify asks the server for its identity, by a process.
func (c *Client) identify(ctx context.Context) (Info, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	sep := newNonce()
	replies, err := c.short.run(ctx, []command.Command{command.Expand("", command.Row(sep, serverFields))})
	if err != nil {
		return Info{}, err
	}
	return identity(replies[0], sep)
}

// identity parses a server's reply about its identity.
func identity(reply, sep string) (Info, error) {
	rows, err := records(reply, sep, len(serverFields))
	if err != nil {
		return Info{}, err
	}
	if len(rows) != 1 {
		return Info{}, fmt.Errorf("identity %q: not one record", reply)
	}
	var n numbers
	info := Info{PID: n.number(rows[0][0]), Start: int64(n.number(rows[0][1])), Version: rows[0][2], Socket: rows[0][3]}
	if n.err == nil && info.PID <= 0 {
		return Info{}, fmt.Errorf("identity %q: no pid", reply)
	}
	return info, n.err
}
