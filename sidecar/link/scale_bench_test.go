package link_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// simulated is a computer of which only the link is real.
type simulated struct {
	link     *link.Link
	sessions []link.Session

	mu    sync.Mutex
	came  map[message.ID]time.Time
	fated map[message.ID]time.Time
}

func (s *simulated) Join(_ context.Context, p message.Peer) (message.Peer, error) { return p, nil }
func (s *simulated) Gone(context.Context, message.ID, message.Reason) error       { return nil }
func (s *simulated) Tell(context.Context, message.ID, string) error               { return nil }
func (s *simulated) Mirror(context.Context, message.Chat, bool) (c message.Chat, err error) {
	return c, nil
}

func (s *simulated) MirrorLeft(context.Context, message.ID, string, []message.ID, string) error {
	return nil
}

func (s *simulated) Receive(_ context.Context, m message.Envelope) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came[m.ID] = time.Now()
	return true, nil
}

func (s *simulated) Report(_ context.Context, r message.Receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.State == message.Submitted {
		s.fated[r.Delivery] = time.Now()
	}
	return nil
}

func (s *simulated) Receipts(_ context.Context, id message.ID) ([]message.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.came[id]; !ok {
		return nil, nil
	}
	return []message.Receipt{{Message: id, Delivery: id, State: message.Submitted}}, nil
}

func (s *simulated) Delivery(context.Context, message.ID) (d message.Delivery, err error) {
	return d, journal.ErrNotFound
}

func (s *simulated) Session(context.Context, message.ID) (p message.Peer, err error) {
	return p, journal.ErrNotFound
}

func (s *simulated) at(of map[message.ID]time.Time, id message.ID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return of[id]
}

// fleet is many of them on one server.
func fleet(b *testing.B, srv *server.Server, computers, sessions int) (all []*simulated, end func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	dir := b.TempDir()
	for i := range computers {
		s := &simulated{came: map[message.ID]time.Time{}, fated: map[message.ID]time.Time{}}
		name := fmt.Sprint("c", i)
		for j := range sessions {
			s.sessions = append(s.sessions, link.Session{ID: message.NewID(), Name: fmt.Sprint("session-", j), Agent: "claude"})
		}
		s.link = &link.Link{
			Relay: s, Journal: s, Config: func() link.Config { return link.Config{Name: name, NATS: srv.ClientURL()} },
			May: func(string, string) bool { return true }, Pinned: func(string) string { return "" }, Sessions: func() []link.Session { return s.sessions },
			Peers: func() []message.Peer { return nil }, Chats: func() []message.Chat { return nil },
			Dir: filepath.Join(dir, name), Lock: filepath.Join(dir, name+".lock"), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
		}
		all = append(all, s)
		running.Go(func() { _ = s.link.Run(ctx) })
		time.Sleep(100 * time.Millisecond) // nobody turns on a hundred at once
	}
	return all, func() { cancel(); running.Wait() }
}

func (s *simulated) knows() (computers, sessions int) {
	for _, c := range s.link.Computers() {
		if c.Present {
			computers, sessions = computers+1, sessions+len(c.Sessions)
		}
	}
	return computers, sessions
}

func cpu() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// N8: what many computers cost at rest, and how long a message takes among them. All of them, and their server,
// are in this process.
func BenchmarkN8_Fleet(b *testing.B) {
	for _, computers := range []int{10, 30, 100} {
		b.Run(fmt.Sprint(computers, " computers of 100 sessions"), func(b *testing.B) {
			const sessions = 100
			for range b.N {
				srv := newServer(b, func(o *server.Options) { o.JetStreamMaxStore = 1 << 50 }) // as intercom-hub has it
				before, began, used := heap(), time.Now(), cpu()
				all, end := fleet(b, srv, computers, sessions)
				for _, s := range all {
					for late := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
						if n, m := s.knows(); n == computers-1 && m == (computers-1)*sessions {
							break
						}
						require.True(b, time.Now().Before(late), "all know all")
					}
				}
				b.ReportMetric(time.Since(began).Seconds(), "s-until-all-know-all")
				b.ReportMetric((cpu() - used).Seconds(), "cpu-s-until-then")
				time.Sleep(time.Second)
				b.ReportMetric(float64(heap()-before)/float64(computers)/1e6, "MB/computer")

				const rest = 20 * time.Second
				in, out, bytes := traffic(b, srv)
				used = cpu()
				time.Sleep(rest)
				in2, out2, bytes2 := traffic(b, srv)
				b.ReportMetric(float64(in2-in)/rest.Seconds(), "msg-in/s")
				b.ReportMetric(float64(out2-out)/rest.Seconds(), "msg-out/s")
				b.ReportMetric(float64(bytes2-bytes)/rest.Seconds()/1e3, "kB-out/s")
				b.ReportMetric((cpu()-used).Seconds()/rest.Seconds()/float64(computers)*100, "%cpu/computer")

				var came, fated []time.Duration
				for i := range 200 {
					from, to := all[i%computers], all[(i*7+1)%computers]
					if from == to {
						continue
					}
					token := fmt.Sprint("c", (i*7+1)%computers)
					p, err := from.link.Enter(b.Context(), token, to.sessions[i%sessions])
					require.NoError(b, err)
					d := message.Delivery{ID: message.NewID(), Target: p.ID, Message: message.Envelope{Type: message.KindMessage, Body: "a message of some words, as agents send them", From: message.Address{Peer: from.sessions[0].ID}}}
					sent := time.Now()
					from.link.Deliver(d)
					waitFor(b, "it", func() bool { return !to.at(to.came, d.ID).IsZero() })
					came = append(came, to.at(to.came, d.ID).Sub(sent))
					to.link.Hear([]message.Event{{
						Receipt:  &message.Receipt{Message: d.ID, Delivery: d.ID, State: message.Submitted},
						Delivery: &message.Delivery{ID: d.ID, Message: message.Envelope{Trust: message.TrustRemote, From: message.Address{Peer: from.sessions[0].ID}}},
					}})
					waitFor(b, "its receipt", func() bool { return !from.at(from.fated, d.ID).IsZero() })
					fated = append(fated, from.at(from.fated, d.ID).Sub(sent))
				}
				report(b, came, "to-journal")
				report(b, fated, "to-receipt")

				// One session more on one computer: what that costs all.
				_, _, bytes = traffic(b, srv)
				changed := time.Now()
				all[0].sessions = append(slices.Clone(all[0].sessions), link.Session{ID: message.NewID(), Name: "one-more"})
				all[0].link.Hear([]message.Event{{Peer: &message.Peer{Kind: message.PeerPane}}})
				for _, s := range all[1:] {
					waitFor(b, "all know it", func() bool { _, n := s.knows(); return n == (computers-1)*sessions+1 })
				}
				b.ReportMetric(time.Since(changed).Seconds(), "s-until-a-new-session-is-known")
				_, _, bytes2 = traffic(b, srv)
				b.ReportMetric(float64(bytes2-bytes)/1e3, "kB-for-it")
				end()
				srv.Shutdown()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func traffic(b *testing.B, srv *server.Server) (in, out, bytes int64) {
	b.Helper()
	v, err := srv.Varz(nil)
	require.NoError(b, err)
	return v.InMsgs, v.OutMsgs, v.OutBytes
}

func report(b *testing.B, all []time.Duration, what string) {
	b.Helper()
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1e3, "ms-p50-"+what)
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1e3, "ms-p99-"+what)
}

// N7: while the link is down, or its server answers nothing, local messages go on, and those for other
// computers wait.
func TestN7_LocalGoesOn(t *testing.T) {
	t.Parallel()
	srv := newServer(t, nil)
	for _, hangs := range []bool{false, true} {
		cable := newLine(t, hostOf(t, srv))
		name := fmt.Sprint("c-", hangs)
		c := newComputer(t, name, cable.url(), link.RetryEvery(50*time.Millisecond))
		from, to := c.session("from"), c.session("to")
		other := newComputer(t, "other-"+name, srv.ClientURL(), nil)
		there := other.session("there")
		far := c.knows("other-"+name, there)
		cable.hang(hangs)
		cable.set(!hangs)
		const all = 100
		var last message.ID
		for i := range all {
			answer, err := c.send(from.ID, far.ID, fmt.Sprint("far ", i))
			require.NoError(t, err)
			last = answer.Message
			_, err = c.send(from.ID, to.ID, fmt.Sprint("near ", i))
			require.NoError(t, err)
		}
		waitFor(t, "what is local", func() bool { return len(c.bodies()) == all })
		require.Empty(t, other.bodies(), "nothing local has waited for it")
		require.NotEqual(t, message.Submitted, c.last(last).State)
		cable.hang(false)
		cable.set(false)
		waitFor(t, "what is not", func() bool { return len(other.bodies()) == all })
		for i, body := range other.bodies() {
			require.Equal(t, fmt.Sprint("far ", i), body)
		}
	}
}
