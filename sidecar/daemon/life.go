package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// sidecar is the running sidecar as a whole.
type sidecar struct {
	cfg     Config
	client  *tmux.Client // nil: headless
	journal *journal.Journal
	place   *claim.Claim // of the journal's directory
	relay   *relay.Relay
	panes   *pane.Panes // nil: headless
	house   *door.House // likewise
	services

	submitted []pane.Submitted // submitted by an earlier life, and not answered
	down      context.CancelFunc
	log       *slog.Logger
}

// live runs one life of the sidecar, from taking its lock to the end of all its parts.
func live(ctx context.Context, cfg Config) error {
	listener, err := api.Listen(cfg.Paths.Runtime, cfg.Paths.Key)
	if err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	defer listener.Release()
	ctx, down := context.WithCancel(ctx)
	defer down()
	defer deadline(ctx, cfg)()
	s := &sidecar{cfg: cfg, down: down, log: cfg.Log}
	if cfg.Paths.Server != "" {
		if err := cfg.consult(ctx); err != nil {
			return fmt.Errorf("start sidecar: %w", err)
		}
		s.client, err = tmux.Open(ctx, tmux.Options{
			Socket: cfg.Paths.Server, Bin: cfg.Tmux, Transport: cfg.Transport, Trigger: cfg.Trigger, Logger: cfg.Log,
		})
		if err != nil {
			return fmt.Errorf("start sidecar: %w", err)
		}
		defer s.client.Close()
	}
	if s.place, err = claimJournal(ctx, cfg.Paths, journalPatience); err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	defer s.place.Release() // before the listener's lock: whoever finds that lock free must find this one free
	s.journal, err = journal.Open(ctx, cfg.Paths.State)
	if err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	defer s.journal.Close()
	if notice := s.journal.Notice(); notice != "" {
		s.log.Warn("journal", "notice", notice)
	}
	s.relay = &relay.Relay{
		Journal: s.journal, Sink: sink{s}, Log: cfg.Log.With("part", "relay"), Person: cfg.Person, Policy: cfg.Policy, Again: s.restored, Now: cfg.Now, Awake: cfg.Awake,
	}
	if s.client != nil {
		s.house = &door.House{Ledger: filepath.Join(cfg.Paths.State, "sockets.json"), Log: cfg.Log.With("part", "doors")}
		if cfg.Gap != nil {
			s.house.Gap = func(moment string) { cfg.Gap("", moment) }
		}
		s.panes = &pane.Panes{Client: s.client, Relay: s.relay, Log: cfg.Log.With("part", "pane"), Gap: cfg.Gap, Now: cfg.Now}
	}
	s.assemble(ctx)
	repeal, err := s.legislate(ctx)
	if err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	defer repeal()
	if s.client != nil {
		if err := s.client.SetServerOption(ctx, SocketOption, cfg.Paths.Socket); err != nil {
			return fmt.Errorf("start sidecar: publish its socket: %w", err)
		}
	}
	if err = s.inherit(ctx); err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	return s.serve(ctx, listener)
}

// consult reads options of the tmux server: which transport the person wants, and whether another
// sidecar serves the server already. That sidecar may have been started in another environment,
// with other places and so another lock. Two sidecars would type everything twice.
func (cfg *Config) consult(ctx context.Context) error {
	server := tmux.Options{Socket: cfg.Paths.Server, Bin: cfg.Tmux}
	options, err := tmux.Ask(ctx, server, TransportOption, publishOption)
	if err != nil {
		return err
	}
	own, err := tmux.AskServer(ctx, server, SocketOption)
	if err != nil {
		return err
	}
	if cfg.Transport == "" {
		cfg.Transport = options[TransportOption]
	}
	cfg.Unpublished = cfg.Unpublished || options[publishOption] == "off"
	return cfg.alone(ctx, own[SocketOption])
}

// alone returns an api.HeldError if the tmux server names the socket of another sidecar and that
// sidecar answers.
func (cfg *Config) alone(ctx context.Context, named string) error {
	if named == "" || named == cfg.Paths.Socket {
		return nil
	}
	if err := (&api.Client{Socket: named}).Ping(ctx); err == nil {
		return &api.HeldError{Lock: named}
	}
	return nil
}

// serve runs the parts until one of them ends or ctx is done, then ends the others. The API and the
// panes end first; the panes complete the current keystroke and type nothing more. The relay ends
// last; it stores everything that the others still report.
func (s *sidecar) serve(ctx context.Context, listener *api.Listener) error {
	relayCtx, endRelay := context.WithCancel(context.WithoutCancel(ctx))
	defer endRelay()
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	relayEnd, parts := make(chan error, 1), newParts()
	part := func(name string, run func(context.Context) error) { parts.start(inner, name, run) }
	go func() { relayEnd <- contain("relay", func() error { return s.relay.Run(relayCtx) }) }()
	if s.client != nil {
		part("doors", s.house.Run)
		part("panes", s.panes.Run)
	}
	if err := s.relay.Begun(ctx); err != nil {
		s.log.Warn("take over what was left", "err", err) // the end is on its way
	}
	var serverGone <-chan struct{}
	if s.client != nil {
		serverGone = s.client.Gone()
		part("launch", s.launcher.Run)
		s.takeUp(inner, parts.Go)
		s.launches.TakeUp(inner, parts.Go)
		part("attendance", (&service.Attendance{Relay: s.relay, Tmux: s.client, Log: s.log}).Run)
		part("face", s.face.Run)
		part("returns", s.returns.Run)
	}
	server := &api.Server{Logger: s.log.With("part", "api")}
	s.offer(server)
	if _, err := process.Start(os.Getpid()); !errors.Is(err, process.ErrUnsupported) {
		server.Started = process.Start
	}
	if s.client == nil {
		part("linger", func(ctx context.Context) error { return s.linger(ctx, server) })
	}
	part("repositories", s.repos.Run)
	part("teams", s.teams.Run)
	for _, one := range s.submitted {
		s.link.Submitted = append(s.link.Submitted, one.Delivery)
		if s.talkers != nil {
			s.talkers.Submitted = append(s.talkers.Submitted, one.Delivery)
		}
	}
	part("link", s.link.Run)
	keep := s.keepsGuard()
	keep() // every request that is answered may rely on the guard
	part("guard", func(ctx context.Context) error { return s.guard(ctx, listener, keep) })
	part("retention", s.retain)
	part("check", s.check)
	if s.ports != nil {
		part("talk", s.ports.Run)
		part("talkers", s.talkers.Run)
	}
	if s.policies.Set != nil {
		part("policies", s.policies.Set.Run)
		part("configuration", s.policies.Run)
	}
	part("api", func(ctx context.Context) error { return server.Serve(ctx, listener) })
	s.announce()
	var err error
	select {
	case <-ctx.Done():
	case <-serverGone:
		s.log.Info("the tmux server has ended")
		stop(service.ErrServerEnded)
	case err = <-parts.first:
	case err = <-relayEnd:
		relayEnd <- err
	}
	s.bell.Ring()
	s.down() // the deadline starts here, whatever ended us
	stop(nil)
	parts.Wait()
	endRelay()
	if relayErr := <-relayEnd; relayErr != nil && !errors.Is(err, relayErr) {
		err = errors.Join(err, relayErr)
	}
	s.unpublish()
	if errors.Is(err, errUnneeded) || errors.Is(err, context.Canceled) {
		err = nil
	}
	if err == nil {
		s.log.Info("ended")
	}
	return err
}

// EndWithin is how long an orderly end may take. In that time replies are sent, and the current
// keystroke is completed.
const EndWithin = 3500 * time.Millisecond

// deadline abandons the process if a life that should end does not. The returned function says that
// the life has ended.
func deadline(ctx context.Context, cfg Config) (ended func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		select {
		case <-over:
			return
		case <-time.After(EndWithin):
		}
		if cfg.Abandon == nil {
			return
		}
		cfg.Log.Error("shutdown took too long; ending the process now", "within", EndWithin, "stacks", stacks())
		cfg.Abandon()
	}()
	return func() { close(over) }
}

// stacks returns the stacks of all goroutines, as far as they fit, to show which of them hangs.
func stacks() string {
	text := make([]byte, 64<<10)
	return string(text[:runtime.Stack(text, true)])
}

// announce logs that the sidecar serves, and calls Ready.
func (s *sidecar) announce() {
	if s.client == nil {
		s.log.Info("serving without tmux", "pid", os.Getpid())
	} else {
		info := s.client.Info()
		s.log.Info("serving", "server", s.cfg.Paths.Server, "pid", os.Getpid(), "transport", info.Transport, "trigger", s.client.Trigger())
	}
	if s.cfg.Ready != nil {
		s.cfg.Ready()
	}
}

// guardEvery is how often a sidecar checks that it is still the only one.
const guardEvery = 2 * time.Second

// guard returns an error once this may no longer be the only sidecar of its server. Without the
// file of its lock a second sidecar could start beside it; and one that started at the same instant
// in another environment has written its own socket over this one's. A tmux server that does not
// answer proves neither.
func (s *sidecar) guard(ctx context.Context, listener *api.Listener, keep func()) error {
	ticker := time.NewTicker(guardEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		keep()
		if err := listener.Intact(); err != nil {
			return fmt.Errorf("place taken away: %w", err)
		}
		if !s.place.Intact() {
			return fmt.Errorf("the journal's lock file in %q was removed or replaced", s.cfg.Paths.State)
		}
		if err := s.journal.Intact(); err != nil { // later writes would be lost
			return fmt.Errorf("journal taken away: %w", err)
		}
		if s.client == nil {
			continue
		}
		named, err := s.client.ServerOption(ctx, SocketOption)
		if err == nil {
			err = s.cfg.alone(ctx, named)
		}
		switch {
		case errors.Is(err, api.ErrHeld):
			return err
		case err != nil && ctx.Err() == nil:
			s.log.Warn("ask tmux whether this is its only sidecar", "err", err)
		}
	}
}

// keepsGuard returns a function that ensures that somebody restarts this process. It logs the same
// trouble only once.
func (s *sidecar) keepsGuard() (keep func()) {
	unguarded := ""
	return func() {
		if s.cfg.Guard == nil {
			return
		}
		if err := s.cfg.Guard(); err == nil {
			unguarded = ""
		} else if err.Error() != unguarded {
			unguarded = err.Error()
			s.log.Warn("no guard restarts this sidecar if it dies", "err", err)
		}
	}
}

// errUnneeded ends a headless sidecar that has nothing left to serve.
var errUnneeded = errors.New("nothing left to serve")

// linger returns once nobody has requested anything of a headless sidecar for a while, and it
// serves nothing that belongs to the person.
func (s *sidecar) linger(ctx context.Context, server *api.Server) error {
	busy := time.Now() // the last time that it served something
	for {
		idle := min(server.Idle(), time.Since(busy))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(s.cfg.Linger-idle, 10*time.Millisecond)):
		}
		if s.owns() {
			busy = time.Now()
		} else if min(server.Idle(), time.Since(busy)) >= s.cfg.Linger {
			s.prune(ctx, retainSeldom) // most such lives are too short for the retention part
			if server.Idle() >= s.cfg.Linger {
				s.log.Info("nothing left to serve")
				return errUnneeded
			}
		}
	}
}

// owns reports whether the sidecar serves something of the person's that must be served whatever
// else runs.
func (s *sidecar) owns() bool {
	_, stays := s.repos.Served()
	return stays || s.ports != nil && len(s.ports.Serving()) > 0
}

// unpublish removes the option that the sidecar has set in the server, if the server still answers
// and the option still names this sidecar.
func (s *sidecar) unpublish() {
	if s.client == nil {
		return
	}
	select {
	case <-s.client.Gone():
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if named, err := s.client.ServerOption(ctx, SocketOption); err == nil && named == s.cfg.Paths.Socket {
		s.client.TakeBack(ctx, SocketOption)
	}
}

func stack() string { return string(debug.Stack()) }

// sink connects the relay to the panes. A headless sidecar has no panes, and no session to which
// anything could be delivered.
type sink struct{ *sidecar }

// Deliver hands deliveries to their panes.
func (s sink) Deliver(ds ...message.Delivery) {
	if s.panes == nil {
		return
	}
	if err := s.panes.Deliver(context.Background(), ds...); errors.Is(err, pane.ErrClosed) {
		return // ending: they are on disk, for the next life
	} else if err != nil {
		s.log.Warn("deliver", "msg", ds[0].Message.ID, "err", err)
	}
}

// Cancel takes deliveries back from their panes.
func (s sink) Cancel(ids []message.ID, _ message.Reason) {
	if s.panes == nil {
		return
	}
	if err := s.panes.Cancel(context.Background(), ids); err != nil {
		s.log.Warn("cancel", "err", err)
	}
}

// Forget ends reading from and typing into a session.
func (s sink) Forget(id message.ID) {
	if s.panes == nil {
		return
	}
	if err := s.panes.Forget(context.Background(), id); err != nil {
		s.log.Debug("forget", "session", id, "err", err)
	}
}
