package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

const (
	listenPatience = 5 * time.Second        // for a port to be served, or not to be any more
	listenPause    = 5 * time.Millisecond   // between checks of its files
	lookPause      = 250 * time.Millisecond // between questions to the sidecar
)

func (a *app) talkListen() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "listen",
		Short:   "Start, stop or show a listener",
		Example: `  intercom talk listen start --port 9001`,
		Args:    a.onlyCommands,
		RunE:    showHelp,
	}
	cmd.AddCommand(a.talkListenStart(), a.talkListenStop(), a.talkListenStatus())
	return cmd
}

// listening is what `listen start`, `listen stop` and `listen status` print of a listener.
type listening struct {
	Status      string `json:"status"`
	Port        int    `json:"port"`
	PID         int    `json:"pid,omitempty"`
	MessageFile string `json:"message_file,omitempty"`
	Name        string `json:"name,omitempty"`
	TLS         bool   `json:"tls,omitempty"`
	Started     string `json:"started,omitempty"`
	Problem     string `json:"problem,omitempty"` // what is wrong with the settings
}

func (a *app) talkListenStart() *cobra.Command {
	var port, file string
	var wish talk.Wish
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Listen on a port, from now on",
		Long: `Listen on a port of 127.0.0.1, and append what comes to its inbox. Returns at
once; the sidecar listens until talk listen stop. If that sidecar ends, another
takes the port over within two seconds, and so does the next one that starts.

Without --port the first free port from 9001 on is taken.`,
		Example: `  intercom talk listen start --port 9001
  intercom talk listen start --name beta`,
		Args: between(0, 0, "no arguments"),
	}
	a.portFlag(cmd, &port, "port", "the `PORT`: 1025 to 65535")
	cmd.Flags().StringVar(&file, "message-file", "", "append messages to `PATH`; else to the port's own inbox")
	cmd.Flags().StringVar(&wish.Name, "name", "", "a `NAME` by which others may send to it: a-z, 0-9, -")
	cmd.Flags().BoolVar(&wish.TLS, "tls", false, "take encrypted connections only (send --tls)")
	cmd.Flags().BoolVar(&wish.Route, "route", false, "also hand what comes to your policies, which may route it")
	cmd.RunE = a.talks(func(ctx context.Context, h talk.Home) (any, error) {
		number := 0
		if cmd.Flags().Changed("port") {
			var err error
			if number, err = aPort(cmd.CommandPath(), "port", port); err != nil {
				return nil, err
			}
		}
		for _, flag := range []string{"message-file", "name"} {
			if err := checkWord(cmd, flag); err != nil {
				return nil, err
			}
		}
		if file != "" {
			var err error
			if wish.MessageFile, err = filepath.Abs(file); err != nil {
				return nil, err
			}
		}
		l, err := a.startListening(ctx, h, number, wish)
		if err != nil {
			return nil, err
		}
		return listening{Status: "started", Port: l.Port, PID: l.PID, MessageFile: l.MessageFile, Name: l.Name, TLS: l.TLS}, nil
	})
	return cmd
}

// startListening writes the wish down, and waits until a sidecar serves the port. It writes the wish first: a sidecar
// that is started for it would otherwise take up an older wish that still stands.
func (a *app) startListening(ctx context.Context, h talk.Home, number int, w talk.Wish) (l talk.Listening, err error) {
	starting, err := h.Starting(2 * listenPatience)
	if err != nil {
		return l, talk.Errorf(talk.NotStarted, number, "%w", err)
	}
	defer starting.Release()
	if number == 0 {
		if number, err = h.Vacant(); err != nil {
			return l, err
		}
	}
	p := h.Port(number)
	if err := p.Want(w); err != nil {
		return l, err
	}
	c, err := a.client(ctx)
	if err != nil {
		err = portNotStarted(number, err)
	} else {
		l, err = a.awaitListening(ctx, c, p)
	}
	if err != nil {
		_, _ = p.Unwant()
	}
	return l, err
}

// portNotStarted returns the error that no sidecar serves a port, with the next step if the sidecar gives one.
func portNotStarted(number int, err error) error {
	failed := talk.Errorf(talk.NotStarted, number, "%w", err)
	if of, ok := errors.AsType[*api.Error](err); ok && of.Hint != "" {
		return failed.With("hint", of.Hint)
	}
	return failed
}

// awaitListening waits until a port that is wanted is served.
func (a *app) awaitListening(ctx context.Context, c *api.Client, p talk.Port) (l talk.Listening, err error) {
	end := time.Now().Add(listenPatience)
	for asked := (time.Time{}); ; {
		if time.Since(asked) >= lookPause {
			asked = time.Now()
			refused, err := quickly(ctx, c, api.LookAtPorts, api.PortsRequest{Home: p.Dir})
			if err != nil {
				return l, portNotStarted(p.Number, err)
			}
			if i := slices.IndexFunc(refused, func(r api.PortRefused) bool { return r.Port == p.Number }); i >= 0 {
				return l, talk.Errorf(talk.Code(refused[i].Code), p.Number, "%s", refused[i].Text)
			}
		}
		if l, ok := p.Listening(); ok {
			return l, nil
		}
		if time.Now().After(end) {
			return l, talk.Errorf(talk.NotStarted, p.Number, "No sidecar has begun to listen on port %d within %v", p.Number, listenPatience)
		}
		if err := pause(ctx, listenPause); err != nil {
			return l, err
		}
	}
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (a *app) talkListenStop() *cobra.Command {
	var port string
	cmd := &cobra.Command{
		Use:     "stop",
		Short:   "Stop listening on a port",
		Long:    "Stop listening on a port. What has come stays in its inbox, or its message\nfile, and talk check finds it there.",
		Example: `  intercom talk listen stop --port 9001`,
		Args:    between(0, 0, "no arguments"),
	}
	a.portFlag(cmd, &port, "port", "the `PORT`")
	cmd.RunE = a.talks(func(ctx context.Context, h talk.Home) (any, error) {
		number, err := aPort(cmd.CommandPath(), "port", port)
		if err != nil {
			return nil, err
		}
		return a.stopListening(ctx, h.Port(number))
	})
	return cmd
}

// stopListening takes the wish back, and waits until nobody serves the port.
func (a *app) stopListening(ctx context.Context, p talk.Port) (any, error) {
	starting, err := p.Starting(2 * listenPatience)
	if err != nil {
		return nil, talk.Errorf(talk.NotStarted, p.Number, "%w", err)
	}
	defer starting.Release()
	l, _ := p.Listening()
	was, err := p.Unwant()
	if err != nil {
		return nil, talk.Errorf(talk.FileError, p.Number, "%w", err)
	}
	if !was {
		return nil, talk.Errorf(talk.ListenerNotRunning, p.Number, "No listener found for port %d", p.Number)
	}
	c, _, running, err := a.running(ctx)
	if err == nil && running {
		// No sidecar is started for this: the one that serves the port notices by itself, within a second.
		_, _ = quickly(ctx, c, api.LookAtPorts, api.PortsRequest{Home: p.Dir})
	}
	for end := time.Now().Add(listenPatience); p.Served(); {
		if time.Now().After(end) {
			return nil, talk.Errorf(talk.PortInUse, p.Number, "Listener on port %d (pid %d) has not ended within %v", p.Number, l.PID, listenPatience).With("pid", l.PID)
		}
		if err := pause(ctx, listenPause); err != nil {
			return nil, err
		}
	}
	return listening{Status: "stopped", Port: p.Number, PID: l.PID, MessageFile: l.MessageFile}, nil
}

func (a *app) talkListenStatus() *cobra.Command {
	var port string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether a listener runs on a port",
		Long: `Show whether a listener runs on a port: "status" is running or not_running.
"problem" says what is wrong with ~/.ai-talk/config.json; a listener that runs
then keeps the settings that it had.`,
		Example: `  intercom talk listen status --port 9001`,
		Args:    between(0, 0, "no arguments"),
	}
	a.portFlag(cmd, &port, "port", "the `PORT`")
	cmd.RunE = a.talks(func(_ context.Context, h talk.Home) (any, error) {
		number, err := aPort(cmd.CommandPath(), "port", port)
		if err != nil {
			return nil, err
		}
		l, ok := h.Port(number).Listening()
		if !ok {
			return listening{Status: "not_running", Port: number}, nil
		}
		s := listening{"running", number, l.PID, l.MessageFile, l.Name, l.TLS, l.Started, ""}
		if _, err := h.Config(); err != nil {
			s.Problem = err.Error() + ": what it said before holds"
		}
		return s, nil
	})
	return cmd
}

func (a *app) talkListenOnce() *cobra.Command {
	var port string
	var timeout float64
	cmd := &cobra.Command{
		Use:   "listen-once",
		Short: "Wait for one message",
		Long: `Wait for one message, take it out of the inbox, and print it as talk check does.
If none comes in time, "message_count" is 0 and "status" is "no message". If no
listener runs on the port, this command listens itself for that long.`,
		Example: `  intercom talk listen-once --port 9001 --timeout 5`,
		Args:    between(0, 0, "no arguments"),
	}
	a.portFlag(cmd, &port, "port", "the `PORT`")
	cmd.Flags().Float64Var(&timeout, "timeout", 5, "wait up to `SECONDS`")
	cmd.RunE = a.talks(func(ctx context.Context, h talk.Home) (any, error) {
		number, err := aPort(cmd.CommandPath(), "port", port)
		if err != nil {
			return nil, err
		}
		patience, err := secondsFlag("timeout", timeout)
		if err != nil {
			return nil, err
		}
		return nil, a.listenOnce(ctx, h.Port(number), patience)
	})
	return cmd
}

// listenOnce takes and prints the oldest unread message, once there is one.
func (a *app) listenOnce(ctx context.Context, p talk.Port, patience time.Duration) error {
	end := time.Now().Add(patience)
	took := false
	take := func() error {
		return p.Check(talk.CheckOptions{Clear: true, Limit: 1, Receipt: true}, func(all []talk.Message) error {
			if took = len(all) > 0; !took {
				return nil
			}
			return a.printJSON(checked{Port: p.Number, Count: 1, Messages: all})
		})
	}
	var ended chan error
	stop := func() {}
	defer func() {
		if stop(); ended == nil {
			return
		}
		<-ended
		if _, err := p.Wanted(); err != nil {
			return
		}
		if c, _, running, err := a.running(ctx); err == nil && running { // it serves the port from now on, and not only from its next check
			_, _ = quickly(ctx, c, api.LookAtPorts, api.PortsRequest{Home: p.Dir})
		}
	}()
	listen := func() error {
		if _, runs := p.Listening(); runs {
			return nil
		}
		serving, end := context.WithCancel(ctx)
		serve, err := p.ListenOnce(serving, unlogged)
		if err != nil {
			end()
			if errors.Is(err, claim.ErrHeld) { // another process has begun to listen
				return nil
			}
			return err
		}
		ended, stop = make(chan error, 1), end
		go func() { ended <- serve() }()
		return nil
	}
	if err := listen(); err != nil {
		return err
	}
	for {
		select {
		case <-ended: // the wish has changed: a sidecar is about to listen, or nobody wants the port any more
			stop()
			ended = nil
			if _, err := p.Wanted(); err != nil {
				if err := listen(); err != nil {
					return err
				}
			}
		default:
		}
		if p.Unread() || time.Now().After(end) {
			if err := take(); err != nil || took {
				return err
			}
		}
		left := time.Until(end)
		if left <= 0 {
			return a.printJSON(checked{Port: p.Number, Messages: []talk.Message{}, Status: "no message"})
		}
		if err := pause(ctx, min(listenPause, left)); err != nil {
			return err
		}
	}
}
