// Package daemon puts the sidecar together from its parts, by struct literals, and ends
// it in order. It owns the process's lifetime: Run supervises one life of the sidecar after
// the other, each of which starts one goroutine for each part and is over when all of them
// have ended. Beyond that it owns nothing.
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

// Config says which server a sidecar is for, and where its things are.
type Config struct {
	Paths     api.Paths    // required; from api.Places; without a Server the sidecar is headless
	Tmux      string       // the tmux program; "" is tmux from PATH
	Transport string       // auto (or ""), process, control, native
	Trigger   string       // auto (or ""), inotify, polling, output
	Version   string       // of this program
	Policies  Policies     // the person's own; without Lua, Policy decides
	Policy    relay.Policy // decides about messages; nil: they are delivered, as far as their chats' settings let them
	Person    string       // how a person's own words are signed; "" is "person"
	Talk      talk.Home    // the person's ports; without a Dir none is served
	Registry  string       // AEA's own list of agents; "" is none
	Launcher  []string     // becomes the program of a session that is started; see launch.Launcher
	Log       *slog.Logger
	// Unpublished leaves the panes without the options that say what they are: tmux draws its terminals again when an option
	// changes.
	Unpublished bool
	// Linger is how long a headless sidecar waits for another request before it ends; 0 is
	// half a minute.
	Linger time.Duration
	// Recognised is how long the answer to a start waits for an agent that nobody has named to be recognised; 0 is half a
	// second.
	Recognised time.Duration
	// Guard makes sure that somebody brings this process back when it has died. It is called when
	// the sidecar serves, and every two seconds. It may be nil.
	Guard func() error
	// Ready is called each time that the sidecar begins to serve. It may be nil.
	Ready func()
	// Abandon ends the process. It is called when an end that was asked for, or had to be, has
	// not come within a few seconds, whatever hangs: what was accepted stands in the journal, as
	// after a power cut. nil waits for ever.
	Abandon func()
	// Now is the clock by which messages, receipts and limits are dated; nil is time.Now.
	Now func() time.Time
	// Awake is how long the computer has been awake, since whenever: what waits for a while waits by it. nil is the monotonic clock.
	Awake func() time.Duration
	// Gap is called before and after a pane types (see pane.Panes), before a message is written to an inbox (see door.House),
	// and between the steps of a handshake (see service.Teams) and of a start (see service.Launches). nil but in tests.
	Gap func(pane, moment string)
}

// Policies says which policies decide, besides those in Paths.Config.
type Policies struct {
	Lua     bool            // the person's Lua is asked
	Worker  []string        // starts a policy worker; nil is this program, as `intercom policy-worker`
	Shipped []policy.Source // asked after the person's own
	// Trusted is about a project's own file, by its place in the project and its content; nil is no.
	Trusted func(place, hash string) bool
}

const (
	// SocketOption is the tmux option that tells where the sidecar's socket is, to programs
	// whose environment differs from the sidecar's.
	SocketOption = "@intercom-socket"
	// TransportOption is how the person chooses a transport: auto, process, control or native.
	TransportOption = "@intercom-transport"
	// publishOption is off where the person wants no options at panes (Config.Unpublished).
	publishOption = "@intercom-publish"
)

// How a sidecar that breaks down is begun anew: at once, then ever more seldom. What it
// had accepted stands in the journal, so that the next life goes on where the last one was.
const (
	breakdowns     = 5
	breakdownDecay = time.Minute
	breakdownPause = 15 * time.Second
	endPatience    = 30 * time.Second // longer than any part takes to end
)

// Run serves one tmux server, or with none named is headless, until ctx is done, somebody
// asks it to end, the server ends, or nobody needs a headless one any more: then it returns
// nil. It returns an error if it cannot begin, wrapping api.ErrHeld if another sidecar
// serves that server already, ErrJournalHeld if one elsewhere has the journal, and
// tmux.ErrNoServer if there is none. Once it serves, a
// breakdown of a part is logged, and all of them begin anew.
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

// lives is one life of the sidecar after the other, as its supervisor sees them.
type lives struct {
	cfg    Config
	served bool  // one of them did: what ends the next is worth another try
	over   bool  // there will be no other one
	err    error // how the last one ended
}

// Serve is one life.
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

// hear logs what the supervisor does about an end; that itself is logged by Serve.
func (l *lives) hear(e suture.Event) {
	if e.Type() != suture.EventTypeServiceTerminate {
		l.cfg.Log.Warn("supervisor", "event", e.String())
	}
}

// contain makes an error of a panic, so that the other parts can be ended in order.
func contain(part string, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", part, p, stack())
		}
	}()
	return run()
}
