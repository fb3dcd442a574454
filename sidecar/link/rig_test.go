package link_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// computer is one computer in this process: a relay with its journal and its link. In place of panes, something
// takes each delivery at once and answers nothing.
type computer struct {
	t       testing.TB
	name    string
	dir     string
	config  link.Config
	change  func(*link.Link)
	link    *link.Link
	relay   *relay.Relay
	journal *journal.Journal
	end     func()

	panesLive context.Context
	taking    sync.WaitGroup

	mu    sync.Mutex
	panes map[message.ID]*pane
	took  []message.Delivery
	told  func(message.Delivery) // called for each of those first, unless nil
	held  func(message.Delivery) // the same, before it is typed

	failed atomic.Int64 // deliveries that have failed
}

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

func waitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(late), "waited for %s", what)
	}
}

func newComputer(t testing.TB, name, url string, change func(*link.Link)) *computer {
	t.Helper()
	c := &computer{t: t, name: name, dir: t.TempDir(), config: link.Config{Name: name, NATS: url}, change: change}
	c.start()
	t.Cleanup(func() { c.end() })
	return c
}

// start begins a life, on the journal of the last one.
func (c *computer) start() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	c.journal, err = journal.Open(ctx, filepath.Join(c.dir, "state"))
	require.NoError(c.t, err)
	was, err := c.journal.Restore(ctx)
	require.NoError(c.t, err)
	log := slog.New(slog.NewTextHandler(output{c.t}, &slog.HandlerOptions{Level: slog.LevelWarn})).With("computer", c.name)
	r := &relay.Relay{Journal: c.journal, Sink: c, Log: log, Restored: restored(was)}
	l := &link.Link{
		Relay: r, Journal: c.journal, Config: func() link.Config { return c.config }, May: func(string, string) bool { return true }, Pinned: func(string) string { return "" },
		Sessions: func() (all []link.Session) {
			for _, p := range r.Snapshot().Peers() {
				if p.Kind == message.PeerPane {
					all = append(all, link.Session{ID: p.ID, Name: p.Name})
				}
			}
			return all
		},
		Peers: func() []message.Peer { return r.Snapshot().Peers() }, Chats: func() []message.Chat { return r.Snapshot().Chats() },
		Dir: filepath.Join(c.dir, "link"), Lock: filepath.Join(c.dir, "lock"), Log: log, Now: time.Now,
	}
	for _, one := range was.Submitted {
		l.Submitted = append(l.Submitted, one.Delivery)
	}
	if c.change != nil {
		c.change(l)
	}
	r.Sinks = map[message.PeerKind]relay.Sink{message.PeerRemote: l}
	r.Publish = func(events []message.Event) {
		for _, e := range events {
			if e.Receipt != nil && e.Receipt.State == message.Failed {
				c.failed.Add(1)
			}
		}
		l.Hear(events)
	}
	panesLive, endPanes := context.WithCancel(context.Background())
	c.relay, c.link, c.panesLive, c.panes = r, l, panesLive, map[message.ID]*pane{}
	var all sync.WaitGroup
	relayCtx, endRelay := context.WithCancel(context.Background())
	relayEnd := make(chan struct{})
	go func() {
		defer close(relayEnd)
		_ = r.Run(relayCtx)
	}()
	require.NoError(c.t, r.Begun(ctx))
	require.NoError(c.t, r.Limit(ctx, relay.LimitsChanged{Limits: message.Limits{Rate: 1 << 20, Bytes: 1 << 40, Depth: 1 << 20}, Own: route.Sends{Minute: 1 << 20, Hour: 1 << 20}}))
	all.Go(func() { _ = l.Run(ctx) })
	c.end = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		endPanes()
		c.taking.Wait()
		endRelay()
		<-relayEnd
		_ = c.journal.Close()
	})
}

func restored(was journal.Restored) *relay.Restored {
	r := &relay.Restored{Stopped: was.Stopped, Undecided: was.Undecided, Records: was.Records}
	for _, p := range was.Sessions {
		r.Peers = append(r.Peers, relay.SavedPeer{Peer: p, Last: was.Depths[p.ID].Last, Cause: was.Depths[p.ID].Cause})
	}
	for _, one := range was.Chats {
		r.Chats = append(r.Chats, relay.SavedChat{Chat: one, Taken: was.Taken[one.ID]})
	}
	for _, p := range was.Pending {
		r.Deliveries = append(r.Deliveries, relay.SavedDelivery(p))
	}
	for _, one := range was.Submitted {
		r.Submitted = append(r.Submitted, one.Delivery)
	}
	return r
}

// Deliver makes the pane of each delivery take it, in order.
func (c *computer) Deliver(ds ...message.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range ds {
		p := c.panes[d.Target]
		if p == nil {
			p = &pane{wake: make(chan struct{}, 1)}
			c.panes[d.Target] = p
			r, ctx := c.relay, c.panesLive
			c.taking.Go(func() { c.takes(ctx, p, r) })
		}
		p.queue = append(p.queue, d)
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// pane takes the deliveries to one session, concurrently with the others.
type pane struct {
	wake  chan struct{}
	queue []message.Delivery
}

func (c *computer) takes(ctx context.Context, p *pane, r *relay.Relay) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		c.mu.Lock()
		ds := p.queue
		p.queue = nil
		c.mu.Unlock()
		for _, d := range ds {
			if ctx.Err() != nil {
				return // the next life gets it again
			}
			if c.held != nil {
				c.held(d)
			}
			if d.Typed || r.Report(context.Background(), message.Receipt{Delivery: d.ID, State: message.Typed}) != nil {
				continue
			}
			if c.told != nil {
				c.told(d)
			}
			c.mu.Lock()
			c.took = append(c.took, d)
			c.mu.Unlock()
			_ = r.Report(context.Background(), message.Receipt{Delivery: d.ID, Target: d.Target, State: message.Submitted})
		}
	}
}

func (c *computer) Cancel([]message.ID, message.Reason) {}
func (c *computer) Forget(message.ID)                   {}

// bodies returns what its panes took, in order.
func (c *computer) bodies() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.took {
		all = append(all, d.Message.Body)
	}
	return all
}

// session adopts a session.
func (c *computer) session(name string) message.Peer {
	c.t.Helper()
	p, err := c.relay.Adopt(c.t.Context(), message.Peer{ID: message.NewID(), Name: name, PaneOf: message.PaneOf{Pane: "%" + name, Profile: "line"}})
	require.NoError(c.t, err)
	return p
}

// sees reports whether it knows a session of another computer now.
func (c *computer) sees(token string, p message.Peer) (there link.Session, ok bool) {
	for _, one := range c.link.Computers() {
		for _, s := range one.Sessions {
			if s.ID == p.ID {
				there, ok = s, one.Token == token
			}
		}
	}
	return there, ok
}

// knows waits until it knows a session of another computer, and makes it a peer here.
func (c *computer) knows(token string, p message.Peer) message.Peer {
	c.t.Helper()
	var there link.Session
	waitFor(c.t, c.name+" knows "+p.Name, func() (ok bool) {
		there, ok = c.sees(token, p)
		return ok
	})
	entered, err := c.link.Enter(c.t.Context(), token, there)
	require.NoError(c.t, err)
	return entered
}

// send sends a message of one of its sessions.
func (c *computer) send(from, to message.ID, body string) (relay.Answer, error) {
	return c.relay.Do(context.Background(), relay.Send{By: relay.By{Kind: relay.Agent, Peer: from}, To: string(to), Message: message.Envelope{Body: body}})
}

// says sends a message of its person.
func (c *computer) says(to message.ID, body string) error {
	_, err := c.relay.Do(context.Background(), relay.Send{By: relay.By{Kind: relay.Person, Name: "tester"}, To: string(to), Message: message.Envelope{Body: body}})
	return err
}

// last returns the last receipt of a message.
func (c *computer) last(id message.ID) message.Receipt {
	c.t.Helper()
	all, err := c.journal.Receipts(c.t.Context(), id)
	require.NoError(c.t, err)
	require.NotEmpty(c.t, all)
	return all[len(all)-1]
}

// output is a test's log.
type output struct{ t testing.TB }

func (o output) Write(text []byte) (int, error) {
	if _, measures := o.t.(*testing.B); !measures && o.t.Context().Err() == nil {
		o.t.Log(string(text))
	}
	return len(text), nil
}

// newServer starts a NATS server of the test's own.
func newServer(t testing.TB, change func(*server.Options)) *server.Server {
	t.Helper()
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	if change != nil {
		change(opts)
	}
	s, err := server.NewServer(opts)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(patience))
	return s
}

// has reports whether its panes took that lately.
func (c *computer) has(body string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.took) - 1; i >= max(0, len(c.took)-8); i-- {
		if c.took[i].Message.Body == body {
			return true
		}
	}
	return false
}

// line is a line between a computer and its server that can be cut, or hang: then it is open, but nothing comes
// through.
type line struct {
	hanging  sync.RWMutex
	hung     atomic.Bool
	listener net.Listener
	to       string
	mu       sync.Mutex
	open     []net.Conn
	cut      bool
}

func newLine(t testing.TB, to string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	out := &line{listener: l, to: to}
	go out.serve()
	t.Cleanup(func() { l.Close(); out.set(true) })
	return out
}

func (l *line) url() string { return fmt.Sprintf("nats://%s", l.listener.Addr()) }

func (l *line) serve() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", l.to)
		l.mu.Lock()
		if err != nil || l.cut {
			in.Close()
			if err == nil {
				out.Close()
			}
			l.mu.Unlock()
			continue
		}
		l.open = append(l.open, in, out)
		l.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(through{pair[0], l}, pair[1])
				pair[0].Close()
				pair[1].Close()
			}()
		}
	}
}

// through writes while the line does not hang.
type through struct {
	net.Conn
	l *line
}

func (w through) Write(text []byte) (int, error) {
	w.l.hanging.RLock()
	defer w.l.hanging.RUnlock()
	return w.Conn.Write(text)
}

// hang lets nothing come through, or lets all of it through again.
func (l *line) hang(hang bool) {
	switch {
	case l.hung.Swap(hang) == hang:
	case hang:
		l.hanging.Lock()
	default:
		l.hanging.Unlock()
	}
}

// set cuts the line, or mends it.
func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for _, c := range l.open {
		if cut {
			c.Close()
		}
	}
	if cut {
		l.open = nil
	}
}
