// Package daemon puts the sidecar together from its parts, by struct literals, and ends
// it in order. It owns the process's lifetime: Run starts one goroutine for each part and
// returns when all of them have ended. Beyond that it owns nothing but the bell that wakes
// those who watch the journal.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Config says which server a sidecar is for, and where its things are.
type Config struct {
	Paths     api.Paths // required; from api.Places
	Tmux      string    // the tmux program; "" is tmux from PATH
	Transport string    // auto (or ""), process, control
	Trigger   string    // auto (or ""), inotify, polling, output
	Version   string    // of this program
	Person    string    // how a person's own words are signed; "" is "person"
	Log       *slog.Logger
	// Ready is called once the sidecar serves. It may be nil.
	Ready func()
	// Gap is called between a look at a pane and the typing into it; see pane.Panes. nil but
	// in tests.
	Gap func(pane string, enter, checked bool)
}

const (
	// SocketOption is the tmux option that tells where the sidecar's socket is, to programs
	// whose environment differs from the sidecar's.
	SocketOption = "@intercom-socket"
	// transportOption is how the person chooses a transport: auto, process or control.
	transportOption = "@intercom-transport"
)

// sidecar is the running whole: what the operations of the API work on.
type sidecar struct {
	cfg     Config
	client  *tmux.Client
	journal *journal.Journal
	relay   *relay.Relay
	panes   *pane.Panes
	bell    *bell
	started time.Time
	down    context.CancelFunc
	log     *slog.Logger
}

// Run serves one tmux server until ctx is done, somebody asks it to end, or the server
// ends: then it returns nil. It returns an error wrapping api.ErrHeld if another sidecar
// serves that server already, and tmux.ErrNoServer if there is none.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Person == "" {
		cfg.Person = "person"
	}
	listener, err := api.Listen(cfg.Paths.Runtime, cfg.Paths.Key)
	if err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	defer listener.Release()
	if err := cfg.consult(ctx); err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	client, err := tmux.Open(ctx, tmux.Options{
		Socket: cfg.Paths.Server, Bin: cfg.Tmux, Transport: cfg.Transport, Trigger: cfg.Trigger, Logger: cfg.Log,
	})
	if err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	defer client.Close()
	book, err := journal.Open(ctx, cfg.Paths.State)
	if err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	defer book.Close()

	ctx, down := context.WithCancel(ctx)
	defer down()
	s := &sidecar{
		cfg: cfg, client: client, journal: book, bell: newBell(), started: time.Now(), down: down, log: cfg.Log,
	}
	s.panes = &pane.Panes{Client: client, Log: cfg.Log.With("part", "pane"), Gap: cfg.Gap}
	s.relay = &relay.Relay{
		Journal: book, Sink: sink{s}, Publish: func([]message.Event) { s.bell.ring() }, Log: cfg.Log.With("part", "relay"),
	}
	s.panes.Relay = s.relay
	if err := client.SetServerOption(ctx, SocketOption, cfg.Paths.Socket); err != nil {
		return fmt.Errorf("start sidecar: publish its socket: %w", err)
	}
	if s.relay.Restored, err = s.restored(ctx); err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	return s.serve(ctx, listener)
}

// consult asks the tmux server what its options say: which transport the person wants, and
// whether a sidecar that was started in another environment, with other places and so
// another lock, serves it already. Two would type twice.
func (cfg *Config) consult(ctx context.Context) error {
	options, err := tmux.Ask(ctx, tmux.Options{Socket: cfg.Paths.Server, Bin: cfg.Tmux}, SocketOption, transportOption)
	if err != nil {
		return err
	}
	if cfg.Transport == "" {
		cfg.Transport = options[transportOption]
	}
	other := options[SocketOption]
	if other == "" || other == cfg.Paths.Socket {
		return nil
	}
	if err := (&api.Client{Socket: other}).Ping(ctx); err == nil {
		return &api.HeldError{Lock: other}
	}
	return nil
}

// serve runs the parts until one of them ends or ctx is done, then ends the others: first
// the door for requests and the panes, which then type nothing more, last the relay, which
// writes down what they still have to say.
func (s *sidecar) serve(ctx context.Context, listener *api.Listener) error {
	relayCtx, endRelay := context.WithCancel(context.WithoutCancel(ctx))
	defer endRelay()
	var (
		relayEnd = make(chan error, 1)
		parts    sync.WaitGroup
		ends     = make(chan error, 2)
	)
	go func() { relayEnd <- s.relay.Run(relayCtx) }()
	inner, stop := context.WithCancel(ctx)
	defer stop()
	server := &api.Server{Backend: s, Logger: s.log.With("part", "api")}
	parts.Go(func() { ends <- s.panes.Run(inner) })
	s.takeUp(ctx)
	parts.Go(func() { ends <- server.Serve(inner, listener) })
	s.log.Info("serving", "server", s.cfg.Paths.Server, "pid", os.Getpid(), "transport", s.client.Info().Transport, "trigger", s.client.Trigger())
	if s.cfg.Ready != nil {
		s.cfg.Ready()
	}
	var err error
	guard := time.NewTicker(guardEvery)
	defer guard.Stop()
	for running := true; running; {
		select {
		case <-ctx.Done():
			running = false
		case <-s.client.Gone():
			s.log.Info("the tmux server has ended")
			running = false
		case err = <-ends:
			running = false
		case err = <-relayEnd:
			relayEnd <- err
			running = false
		case <-guard.C:
			if lost := s.alone(ctx, listener); lost != nil {
				err, running = lost, false
			}
		}
	}
	s.bell.ring()
	stop()
	parts.Wait()
	endRelay()
	if relayErr := <-relayEnd; relayErr != nil && !errors.Is(relayErr, context.Canceled) {
		err = errors.Join(err, relayErr)
	}
	s.unpublish()
	if err != nil {
		s.log.Error("ended", "err", err)
	} else {
		s.log.Info("ended")
	}
	return err
}

// alone reports what is wrong if this may no longer be the only sidecar of its server:
// without its lock's file a second one could start beside it, and one that started in the
// same instant in another environment has written its own socket over this one's.
func (s *sidecar) alone(ctx context.Context, listener *api.Listener) error {
	if err := listener.Intact(); err != nil {
		return fmt.Errorf("place taken away: %w", err)
	}
	return s.cfg.consult(ctx)
}

// guardEvery is how often a sidecar makes sure that it still is the only one.
const guardEvery = 2 * time.Second

// restored is what an earlier run left: what was open then ends, and nothing is typed.
func (s *sidecar) restored(ctx context.Context) (*relay.Restored, error) {
	left, err := s.journal.Restore(ctx)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	r := &relay.Restored{Sessions: left.Sessions, Chats: left.Chats}
	for _, p := range left.Pending {
		r.Deliveries = append(r.Deliveries, relay.Left{Delivery: p.Delivery, State: p.Last.State, Reason: p.Last.Reason})
	}
	return r, nil
}

// takeUp serves the panes again whose sessions an earlier run left: a person's word that a
// pane may be read and typed into outlives the sidecar. What cannot be served has ended;
// whether the same program still runs there is looked at before each keystroke anyway.
func (s *sidecar) takeUp(ctx context.Context) {
	for _, session := range s.relay.Restored.Sessions {
		err := s.panes.Start(ctx, session)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return // ending already: the next one takes them up
		}
		s.log.Info("session not taken up again", "session", session.Name, "pane", session.Pane, "err", err)
		if err := s.relay.Gone(ctx, session.ID, message.PaneMissing); err != nil {
			s.log.Warn("end session", "session", session.Name, "err", err)
		}
	}
}

// unpublish takes back what the sidecar had set in the server's options, if it still
// answers and still names this sidecar.
func (s *sidecar) unpublish() {
	select {
	case <-s.client.Gone():
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if named, err := s.client.ServerOption(ctx, SocketOption); err != nil || named != s.cfg.Paths.Socket {
		return
	}
	if err := s.client.SetServerOption(ctx, SocketOption, ""); err != nil {
		s.log.Debug("unpublish the socket", "err", err)
	}
}

// OpenLog opens the sidecar's log, for appending, in a directory that nobody else can
// look into. The caller closes it.
func OpenLog(paths api.Paths) (*os.File, error) {
	if err := api.Private(filepath.Dir(paths.Log)); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return os.OpenFile(paths.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// sink is how the relay reaches the panes.
type sink struct{ *sidecar }

// Deliver hands a delivery to its pane.
func (s sink) Deliver(d message.Delivery) {
	if err := s.panes.Deliver(context.Background(), d); err != nil {
		s.log.Warn("deliver", "msg", d.Message.ID, "err", err)
	}
}

// Cancel takes deliveries back from their panes.
func (s sink) Cancel(ids []message.ID, _ message.Reason) {
	if err := s.panes.Cancel(context.Background(), ids); err != nil {
		s.log.Warn("cancel", "err", err)
	}
}

// Forget ends the reading and typing for a session.
func (s sink) Forget(id message.ID) {
	if err := s.panes.Forget(context.Background(), id); err != nil {
		s.log.Debug("forget", "session", id, "err", err)
	}
}
