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

	// Transport is auto (or ""), control, process or native. auto is control mode where the
	// server is 3.8 or newer, and short processes elsewhere, because up to 3.7 the mere
	// presence of a control client can crash the server. control insists, on any version.
	// native is tmux's own protocol, with short processes for what does not go that way.
	Transport string

	// Trigger is auto (or ""), inotify, polling or output: what tells that a pane was
	// written to. auto is inotify on Linux, output where control mode is in use, polling
	// elsewhere.
	Trigger string

	// Deadline is how long one command may take before its process is killed or its
	// connection given up. 0 is 5 s, and 30 s for one that types: how slowly a process starts is
	// no doubt about what was typed.
	Deadline time.Duration

	Logger *slog.Logger // nil: nothing is logged
}

// The deadlines where Options have none. One that types is given up late: whether its text came is
// not known then, and nothing more is typed there until that is.
const (
	defaultDeadline = 5 * time.Second
	defaultTyping   = 30 * time.Second
)

// Info describes the server and the way in which it is reached.
type Info struct {
	PID       int    // of the server; with Start it names the server for good
	Start     int64  // when it was started, in seconds since 1970
	Version   string // of the server, as tmux writes it: 3.3a
	Socket    string // as the server knows it
	Transport string // control, process or native
	Why       string // why that transport was chosen, in a few words
}

// Client is the way to one running server. It is safe for use by many goroutines.
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
	wg     sync.WaitGroup // every goroutine of ours

	silent atomic.Int64 // since when the server has answered no command, in ns since 1970; 0 if it has

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

// Open reaches the server that listens on o.Socket. It starts none: without one the error
// is ErrNoServer. ctx covers the opening only; Close ends the client.
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

// Info describes the server, and how it is spoken to now. Only the transport changes while the
// client is open.
func (c *Client) Info() Info {
	info := c.info
	if c.direct != nil && !c.direct.usable() {
		info.Transport, info.Why = "process", "the native client was switched off after an answer that nobody expected, until the sidecar starts again"
	}
	if c.control != nil && c.control.isBarred() {
		info.Transport, info.Why = "process", "each session ends with its last client (destroy-unattached or exit-unattached), which must not be ours"
	}
	return info
}

// Gone is closed when the server has ended, however it ended. A server that merely does
// not answer is not gone.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Close ends all goroutines and processes of the client and waits for them. The server is
// left as it is.
func (c *Client) Close() error {
	c.cancel()
	c.wg.Wait()
	return nil
}

// speak tries tmux's own protocol. It goes on by short processes where that is not understood.
func (c *Client) speak(ctx context.Context, info Info) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	d := &direct{server: native.Server{Socket: c.short.socket, PID: info.PID}, log: c.log}
	if err := d.probe(ctx, info); err != nil {
		c.info.Transport, c.info.Why = "process", "the native client was asked for: "+err.Error()
		return
	}
	c.direct = d
}

// chooseTransport decides how commands go, and says why.
func chooseTransport(asked, version string) (transport, why string, err error) {
	switch safe := controlIsSafe(version); {
	case asked == "control" && !safe:
		return "control", fmt.Sprintf("asked for, although a control client can crash tmux %s", version), nil
	case asked == "native" && !release.MatchString(version):
		return "process", fmt.Sprintf("the native client was asked for, but tmux %s is no release that is known", version), nil
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

// release is what a released version looks like. next-3.8, 3.8-rc, master and the base
// system's tmux of OpenBSD are none: nobody knows what they hold, so they count as old.
var release = regexp.MustCompile(`^([0-9]+)\.([0-9]+)[a-z]?$`)

// controlIsSafe reports whether a control client cannot crash a server of that version.
func controlIsSafe(version string) bool {
	m := release.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > 3 || major == 3 && minor >= 8
}

// run has the server execute cmds in one step. It goes by the transport in use; when that
// cannot carry them, by a short process, so cmds must bear being run twice. Typing is
// never done by run.
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

// answersWithin is how soon a server answers that does.
const answersWithin = 3 * time.Second // a slow start of one process is not its silence

// Silent asks whether the server answers, and is for how long it has not: 0 for one that does. The error is
// why it could not be asked.
func (c *Client) Silent(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answersWithin, errDeadline)
	defer cancel()
	// By a process, which can be given up: a batch of a control connection costs the connection.
	if _, err := c.short.run(ctx, []command.Command{command.Print("")}); !errors.Is(err, errDeadline) {
		c.silent.Store(0)
		return 0, err // it answers, or is gone, which is told elsewhere
	}
	if since := c.silent.Load(); since > 0 {
		return max(time.Since(time.Unix(0, since)), answersWithin), nil
	}
	return answersWithin, nil
}

// carry has cmds executed by the transport in use.
func (c *Client) carry(ctx context.Context, cmds []command.Command) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	if c.control != nil {
		// Without the caller's cancellation: giving up a batch costs the connection.
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

// errDeadline is the cause of a command that was given up because tmux did not answer.
var errDeadline = fmt.Errorf("no answer from tmux: %w", context.DeadlineExceeded)

// identify asks the server who it is, by a process.
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

// identity reads what a server says of itself.
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
