package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
)

// serving holds what a person asks for.
type serving struct {
	listen          string
	hosts           []string
	plain, insecure bool
}

// lookEvery is how often the hub checks whether its addresses have changed, and whether its certificate is good for
// long enough.
const lookEvery = time.Hour

// check refuses options that are invalid or unsafe.
func (s serving) check() error {
	host, port, err := net.SplitHostPort(s.listen)
	if err != nil {
		return refuse(2, "for example --listen 0.0.0.0:4222", "--listen %q: not an address and a port", s.listen)
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n > 65535 {
		return refuse(2, "for example --listen 0.0.0.0:4222", "--listen %q: %q is not a port", s.listen, port)
	}
	if host != "" && !hub.ValidHost(host) {
		return refuse(2, "for example --listen 0.0.0.0:4222", "--listen %q: %q is not an address", s.listen, host)
	}
	for _, h := range s.hosts {
		if !hub.ValidHost(h) {
			return refuse(2, "for example --host desk.example.org", "--host %q: not the name of a host or an address", h)
		}
	}
	if s.plain && !s.insecure && !hub.Loopback(s.listen) {
		return refuse(2, "leave out --plain; or, where nobody can listen in, add --insecure", "--plain on %s: what is sent could be read and changed on the way", s.listen)
	}
	if s.insecure && !s.plain {
		return refuse(2, "leave it out", "--insecure does nothing without --plain")
	}
	return nil
}

// serve runs the hub until the context ends.
func (a *app) serve(ctx context.Context, s serving) error {
	if err := s.check(); err != nil {
		return err
	}
	h, err := a.open()
	if err != nil {
		return err
	}
	claim, err := h.Begin(ctx)
	if err != nil {
		return err
	}
	defer claim.Release()
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watch.Close()
	if err := watch.Add(h.Dir()); err != nil {
		return err
	}
	e, err := begin(h, s, &natsLog{a.Stderr})
	if err != nil {
		return err
	}
	defer e.end()
	if err := e.apply(ctx); err != nil {
		return err
	}
	if err := a.ready(h, e); err != nil {
		return err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	again := time.NewTimer(0)
	again.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-e.ended():
			return errors.New("the server has ended by itself")
		case event, ok := <-watch.Events:
			if !ok {
				return errors.New("the directory can no longer be watched")
			}
			if !hub.Watched(event.Name) {
				continue
			}
			err = e.apply(ctx)
		case err = <-watch.Errors: // events were lost
			err = errors.Join(err, e.apply(ctx))
		case <-look.C:
			err = e.apply(ctx)
		case <-again.C:
			err = e.apply(ctx)
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(a.Stderr, "intercom-hub: warning: %v; trying again\n", err)
			again.Reset(time.Second)
		}
	}
}

// readyReply is what a hub prints with --json once it serves.
type readyReply struct {
	URL       string `json:"url"`
	Listen    string `json:"listen"`
	Dir       string `json:"dir"`
	Computers int    `json:"computers"`
}

// ready prints in one line what is served.
func (a *app) ready(h hub.Hub, e *engine) error {
	s, _, err := h.Serving()
	if err != nil {
		return err
	}
	book, err := h.Book()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(readyReply{URL: s.URL(), Listen: s.Listen, Dir: h.Dir(), Computers: len(book.Computers)})
	}
	who := fmt.Sprintf("%d computers", len(book.Computers))
	if len(book.Computers) == 1 {
		who = "1 computer"
	}
	fmt.Fprintf(a.Stdout, "intercom-hub: ready: %s, %s, keys and messages in %s\n", s.URL(), who, h.Dir())
	if !s.Reachable() {
		fmt.Fprintln(a.Stdout, "intercom-hub: only this machine can connect; for others: --listen 0.0.0.0:4222")
	}
	return nil
}

// natsLog prints the complaints of the server.
type natsLog struct{ to io.Writer }

func (l *natsLog) Noticef(string, ...any)            {}
func (l *natsLog) Debugf(string, ...any)             {}
func (l *natsLog) Tracef(string, ...any)             {}
func (l *natsLog) Warnf(format string, args ...any)  { l.say("warning", format, args) }
func (l *natsLog) Errorf(format string, args ...any) { l.say("warning", format, args) }
func (l *natsLog) Fatalf(format string, args ...any) { l.say("error", format, args) }

func (l *natsLog) say(how, format string, args []any) {
	fmt.Fprintf(l.to, "intercom-hub: %s: %s\n", how, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

var _ server.Logger = (*natsLog)(nil)
