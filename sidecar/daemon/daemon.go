// Package daemon puts the sidecar together from its parts, by struct literals, and ends it in
// order. It owns the lifetime of the process: Run supervises one life of the sidecar after another.
// Each life starts one goroutine for each part and is over when all of them have ended. The package
// owns nothing else.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/thejerf/suture/v4"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Config says which server a sidecar serves, and where its files are.
type Config struct {
	Paths     api.Paths    // required; from api.Places; without a Server the sidecar is headless
	Tmux      string       // the tmux program; "" is tmux from PATH
	Transport string       // auto (or ""), process, control, native
	Trigger   string       // auto (or ""), inotify, polling, output
	Version   string       // of this program
	Policies  Policies     // the person's policies; without Lua, Policy decides
	Policy    relay.Policy // decides about messages; nil: deliver them, as far as the settings of their chats allow
	Person    string       // how a person's own words are signed; "" is "person"
	Talk      talk.Home    // the person's ports; without a Dir the sidecar serves none
	Registry  string       // AEA's own list of agents; "" is none
	Launcher  []string     // becomes the program of a started session; see launch.Launcher
	Log       *slog.Logger
	// Unpublished leaves the panes without the options that describe them: tmux redraws its
	// terminals when an option changes.
	Unpublished bool
	// Linger is how long a headless sidecar waits for another request before it ends; 0 is half a
	// minute.
	Linger time.Duration
	// Recognised is how long the reply to a start waits until an agent that nobody named is
	// recognised; 0 is half a second.
	Recognised time.Duration
	// Guard makes sure that somebody restarts this process when it has died. It is called when the
	// sidecar begins to serve, and every two seconds. It may be nil.
	Guard func() error
	// Ready is called each time the sidecar begins to serve. It may be nil.
	Ready func()
	// Abandon ends the process, whatever hangs. It is called if an end that was requested or
	// necessary has not come within a few seconds. As after a power cut, accepted messages are in
	// the journal. nil waits for ever.
	Abandon func()
	// Now is the clock for the times of messages, receipts and limits; nil is time.Now.
	Now func() time.Time
	// Awake returns how long the computer has been awake, from any starting point. Waits are
	// measured by it. nil is the monotonic clock.
	Awake func() time.Duration
	// Gap is called before and after a pane types (see pane.Panes), before a message is written to an inbox (see door.House),
	// and between the steps of a handshake (see service.Teams) and of a start (see service.Launches). nil but in tests.
	Gap func(pane, moment string)
}

// Policies says which policies decide, in addition to those in Paths.Config.
type Policies struct {
	Lua     bool            // ask the person's Lua
	Worker  []string        // starts a policy worker; nil starts this program as `intercom policy-worker`
	Shipped []policy.Source // asked after the person's own
	// Trusted reports whether a project's own file is trusted, by its place in the project and its
	// content; nil is no.
	Trusted func(place, hash string) bool
}

const (
	// SocketOption is the tmux option that names the sidecar's socket, for programs whose
	// environment differs from the sidecar's.
	SocketOption = "@intercom-socket"
	// TransportOption is the tmux option by which the person chooses a transport: auto, process,
	// control or native.
	TransportOption = "@intercom-transport"
	// publishOption is off if the person wants no options on panes (Config.Unpublished).
	publishOption = "@intercom-publish"
)

// How a sidecar that breaks down is restarted: at once, then ever less often. Everything that it
// had accepted is in the journal, so the next life goes on where the last one ended.
const (
	breakdowns     = 5
	breakdownDecay = time.Minute
	breakdownPause = 15 * time.Second
	endPatience    = 30 * time.Second // longer than any part takes to end
)

// Run serves one tmux server, or none if it is headless. It returns nil when ctx is done, somebody
// asks it to end, the server ends, or nobody needs a headless sidecar any more. It returns an error
// if it cannot begin. The error wraps api.ErrHeld if another sidecar serves that server already,
// ErrJournalHeld if a sidecar elsewhere has the journal, and tmux.ErrNoServer if there is no
// server. Once Run serves, it logs the breakdown of a part and restarts all parts.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Person == "" {
		cfg.Person = "person"
	}
	if cfg.Linger <= 0 {
		cfg.Linger = 30 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	lives := &lives{cfg: cfg}
	top := suture.New("sidecar", suture.Spec{
		EventHook: lives.hear, FailureThreshold: breakdowns, FailureDecay: breakdownDecay.Seconds(),
		FailureBackoff: breakdownPause, Timeout: endPatience,
	})
	top.Add(lives)
	err := top.Serve(ctx)
	if lives.over {
		return lives.err
	}
	return err
}

// lives runs one life of the sidecar after another, for the supervisor.
type lives struct {
	cfg    Config
	served bool  // one of them served, so a later failure is worth another try
	over   bool  // there will be no other life
	err    error // how the last one ended
}

// Serve runs one life.
func (l *lives) Serve(ctx context.Context) error {
	cfg := l.cfg
	cfg.Ready = func() {
		l.served = true
		if l.cfg.Ready != nil {
			l.cfg.Ready()
		}
	}
	err := contain("sidecar", func() error { return live(ctx, cfg) })
	again := err != nil && l.served && !errors.Is(err, api.ErrHeld) && !errors.Is(err, ErrJournalHeld) && !errors.Is(err, tmux.ErrNoServer) && ctx.Err() == nil
	if again {
		l.cfg.Log.Error("the sidecar broke down", "err", err)
		return err
	}
	l.over, l.err = true, err
	return suture.ErrTerminateSupervisorTree
}

// hear logs the supervisor's reaction to an end; Serve logs the end itself.
func (l *lives) hear(e suture.Event) {
	if e.Type() != suture.EventTypeServiceTerminate {
		l.cfg.Log.Warn("supervisor", "event", e.String())
	}
}

// contain turns a panic into an error, so that the other parts can end in order.
func contain(part string, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", part, p, stack())
		}
	}()
	return run()
}
