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
}

// socketOption is the server option that tells where the sidecar's socket is, to clients
// whose environment differs from the tmux server's.
const socketOption = "@intercom-socket"

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
	s.panes = &pane.Panes{Client: client, Log: cfg.Log.With("part", "pane")}
	s.relay = &relay.Relay{
		Journal: book, Sink: sink{s}, Publish: func([]message.Event) { s.bell.ring() }, Log: cfg.Log.With("part", "relay"),
	}
	s.panes.Relay = desk{s.relay}
	if s.relay.Restored, err = s.restored(ctx); err != nil {
		return fmt.Errorf("start sidecar: %w", err)
	}
	return s.serve(ctx, listener)
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
	parts.Go(func() { ends <- server.Serve(inner, listener) })
	if err := s.client.SetServerOption(ctx, socketOption, s.cfg.Paths.Socket); err != nil {
		s.log.Warn("publish the socket", "err", err)
	}
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
			if lost := listener.Intact(); lost != nil {
				// Without its lock's file a second sidecar could start beside this one.
				err, running = fmt.Errorf("place taken away: %w", lost), false
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

// unpublish takes back what the sidecar had set in the server's options, if it still
// answers.
func (s *sidecar) unpublish() {
	select {
	case <-s.client.Gone():
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.client.SetServerOption(ctx, socketOption, ""); err != nil {
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

// Rebase does nothing: a chat's baseline is taken before the relay hears of the chat, so
// that nothing which is said after `chat start` returned is taken for old.
func (s sink) Rebase(message.ID) {}

// Forget ends the reading and typing for a session, and takes its marks off the pane.
func (s sink) Forget(id message.ID) {
	if err := s.panes.Forget(context.Background(), id); err != nil {
		s.log.Debug("forget", "session", id, "err", err)
	}
}

// desk is how the panes reach the relay: it says in the vocabulary's words why leave was
// refused.
type desk struct{ *relay.Relay }

// Report tells a step of a delivery, and asks for leave.
func (d desk) Report(ctx context.Context, r message.Receipt) error {
	err := d.Relay.Report(ctx, r)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, relay.ErrPaused), errors.Is(err, relay.ErrStopped):
		return fmt.Errorf("%w: %w", message.ErrPaused, err)
	case errors.Is(err, relay.ErrEnded):
		return fmt.Errorf("%w: %w", message.ErrEnded, err)
	case errors.Is(err, relay.ErrNotOurs):
		return fmt.Errorf("%w: %w", message.ErrUnknown, err)
	}
	return err
}
