package link_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/porttest"
)

func hostOf(t testing.TB, s *server.Server) string {
	t.Helper()
	u, err := url.Parse(s.ClientURL())
	require.NoError(t, err)
	return u.Host
}

// N3: the line of each side is cut ten times while two hundred messages go each way (five thousand in a long
// run). Every message arrives once, and in the order of its sender.
func TestN3_CutTenTimes(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	lines := []*line{newLine(t, hostOf(t, s)), newLine(t, hostOf(t, s))}
	fast := link.All(link.Paced(1000, 1000), link.RetryEvery(50*time.Millisecond), link.AskEvery(200*time.Millisecond)) // everything that waits is read as it comes
	a, b := newComputer(t, "a", lines[0].url(), fast), newComputer(t, "b", lines[1].url(), fast)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.knows("a", inA)
	messages := 200 // from each of the two
	if os.Getenv("INTERCOM_LONG") != "" {
		messages = 5000
	}
	var all sync.WaitGroup
	send := func(c *computer, from, to message.ID) {
		for i := 0; i < messages; {
			answer, err := c.send(from, to, fmt.Sprint(c.name, " ", i))
			if !assert.NoError(t, err) || !assert.NotEmpty(t, answer.Receipts) {
				return
			}
			switch r := answer.Receipts[0]; {
			case r.State != message.Failed:
				i++
			case assert.Equal(t, message.QueueFull, r.Reason): // a thousand wait: the sender was told, and repeats it
				waitFor(t, "room", func() bool { return c.link.Computers()[0].Waiting < 500 })
			default:
				return
			}
		}
	}
	all.Go(func() { send(a, inA.ID, inB.ID) })
	all.Go(func() { send(b, inB.ID, inA.ID) })
	for i := range 10 {
		waitFor(t, "it goes on", func() bool { return len(a.bodies())+len(b.bodies()) >= (i+1)*2*messages/12 })
		lines[i%2].set(true)
		lines[i%2].set(false)
	}
	all.Wait()
	for _, one := range []struct {
		c    *computer
		from string
	}{{a, "b"}, {b, "a"}} {
		waitFor(t, "all of it at "+one.c.name, func() bool { return len(one.c.bodies()) >= messages })
		for i, body := range one.c.bodies() {
			require.Equal(t, fmt.Sprint(one.from, " ", i), body)
		}
		assert.Len(t, one.c.bodies(), messages)
	}
	for _, c := range []*computer{a, b} {
		waitFor(t, c.name+" is told of all", func() bool { return c.link.Computers()[0].Waiting == 0 })
	}
}

// N3: a request that was under way when the line was cut is repeated as soon as there is a line again, not only
// after the server's time to answer.
func TestLink_CutWhileTheServerIsTold(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	cable := newLine(t, hostOf(t, s))
	a, b := newComputer(t, "a", cable.url(), link.PublishWithin(time.Hour)), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	cable.hang(true)
	answer, err := a.send(inA.ID, inB.ID, "into the void")
	require.NoError(t, err)
	waitFor(t, "it is told", func() bool { return a.last(answer.Message).State == message.Typed })
	cable.set(true)
	cable.hang(false)
	cable.set(false)
	waitFor(t, "it arrives", func() bool { return b.has("into the void") })
}

// N1, N3: a computer that hears that another one is here can send to it: the server has a mailbox for it,
// though it was never here before.
func TestLink_WhoIsHereHasAMailbox(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	m := newMallory(t, s)
	kept := make(chan error, 1000)
	_, err := m.conn.Subscribe("intercom.v1.here.*", func(here *nats.Msg) {
		token := here.Subject[strings.LastIndexByte(here.Subject, '.')+1:]
		_, err := m.js.Publish(t.Context(), link.ToSubject(token, "mallory"), nil, jetstream.WithRetryAttempts(0))
		kept <- err
	})
	require.NoError(t, err)
	require.NoError(t, m.conn.Flush())
	for i := range 8 {
		newComputer(t, fmt.Sprint("c", i), s.ClientURL(), nil)
		require.NoError(t, <-kept)
	}
}

// N3: what was sent is in the journal, whoever ends: the sender before it was confirmed, or the receiver before
// it was taken.
func TestN3_EndedInTheMidst(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	const messages = 200
	var ids []message.ID
	for i := range messages {
		answer, err := a.send(inA.ID, inB.ID, fmt.Sprint("a ", i))
		require.NoError(t, err)
		ids = append(ids, answer.Message)
		switch i {
		case 50, 120:
			a.end()
			a.start()
		case 80, 150:
			b.end()
			b.start()
		}
	}
	defer func() {
		if t.Failed() {
			got := b.bodies()
			for i, id := range ids {
				if !slices.Contains(got, fmt.Sprint("a ", i)) {
					last := a.last(id)
					there, err := b.journal.Receipts(context.Background(), last.Delivery)
					t.Logf("a %d is missing: %+v; there: %+v %v", i, last, there, err)
				}
			}
		}
	}()
	waitFor(t, "all of it", func() bool { return len(b.bodies()) >= messages })
	waitFor(t, "a is told of all", func() bool {
		for _, id := range ids {
			if a.last(id).State != message.Submitted {
				return false
			}
		}
		return true
	})
	assert.Len(t, b.bodies(), messages)
	for i, body := range b.bodies() {
		require.Equal(t, fmt.Sprint("a ", i), body)
	}
}

// N4: three servers in a cluster keep what is sent when one of them is lost.
func TestN4_OneOfThreeIsLost(t *testing.T) {
	t.Parallel()
	servers := newCluster(t)
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	all := strings.Join(urls, ",")
	a, b := newComputer(t, "a", all, nil), newComputer(t, "b", all, nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	const messages = 60
	for i := range messages {
		_, err := a.send(inA.ID, inB.ID, fmt.Sprint("a ", i))
		require.NoError(t, err)
		if i == messages/2 {
			servers[0].Shutdown()
			servers[0].WaitForShutdown()
		}
	}
	waitFor(t, "all of it", func() bool { return len(b.bodies()) >= messages })
	for i, body := range b.bodies() {
		require.Equal(t, fmt.Sprint("a ", i), body)
	}
}

// N4: in a cluster the server with a computer's connection is not the one with its mailbox. New mail rings all
// the same, before the second one is killed and after, and is not only found when the mailbox is listed.
func TestN4_N3_AClusterRings(t *testing.T) {
	t.Parallel()
	seldom := link.ListEvery(time.Hour)
	servers := newCluster(t)
	// Each has its own connection, and b's is to a server that will not be killed.
	a, b := newComputer(t, "a", servers[0].ClientURL()+","+servers[1].ClientURL()+","+servers[2].ClientURL(), seldom), newComputer(t, "b", servers[2].ClientURL(), seldom)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	conn, err := nats.Connect(servers[2].ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	leader := func() string {
		stream, err := js.Stream(t.Context(), link.StreamOf("b"))
		if err != nil {
			return ""
		}
		return stream.CachedInfo().Cluster.Leader
	}
	// The mailbox of b is led by another server than b's.
	waitFor(t, "another server has its mailbox", func() bool {
		switch leader() {
		case "":
			return false
		case servers[2].Name():
			_, _ = conn.Request("$JS.API.STREAM.LEADER.STEPDOWN."+link.StreamOf("b"), nil, 5*time.Second)
			return false
		}
		return true
	})
	one := func(i int) {
		t.Helper()
		_, err := a.send(inA.ID, inB.ID, fmt.Sprint("a ", i))
		require.NoError(t, err)
		waitFor(t, "what rings", func() bool { return b.has(fmt.Sprint("a ", i)) })
	}
	for i := range 10 {
		one(i)
	}
	had := leader()
	i := slices.IndexFunc(servers, func(s *server.Server) bool { return s.Name() == had })
	require.Contains(t, []int{0, 1}, i)
	servers[i].Shutdown()
	servers[i].WaitForShutdown()
	for i := range 10 {
		one(10 + i)
	}
	for i, body := range b.bodies() {
		assert.Equal(t, fmt.Sprint("a ", i), body)
	}
	assert.Len(t, b.bodies(), 20)
}

// newCluster is three servers that know each other.
func newCluster(t testing.TB) (all []*server.Server) {
	t.Helper()
	var ports []int
	var routes []*url.URL
	for range 3 {
		port := porttest.Free(t)
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	for i, port := range ports {
		all = append(all, newServer(t, func(o *server.Options) {
			o.ServerName = fmt.Sprint("n", i)
			o.Cluster = server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: port}
			o.Routes = routes
		}))
	}
	waitFor(t, "the cluster has a leader", func() bool {
		for _, s := range all {
			if s.JetStreamIsLeader() {
				return true
			}
		}
		return false
	})
	return all
}

// A body that is too long for the server fails at once, and what follows goes on. The longest that it takes
// arrives.
func TestLink_TooLong(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(o *server.Options) { o.MaxPayload = 4 << 20 })
	small := newServer(t, nil)
	for _, one := range []struct {
		s    *server.Server
		size int
		want message.ReceiptState
	}{{s, message.MaxBody, message.Submitted}, {small, message.MaxBody, message.Failed}} {
		a, b := newComputer(t, "a", one.s.ClientURL(), nil), newComputer(t, "b", one.s.ClientURL(), nil)
		inA, inB := a.session("inA"), b.session("inB")
		a.knows("b", inB)
		answer, err := a.send(inA.ID, inB.ID, strings.Repeat("x", one.size))
		require.NoError(t, err)
		waitFor(t, "its end", func() bool { return a.last(answer.Message).State == one.want })
		_, err = a.send(inA.ID, inB.ID, strings.Repeat("x", one.size+1))
		require.Error(t, err)
		_, err = a.send(inA.ID, inB.ID, "and this")
		require.NoError(t, err)
		waitFor(t, "what follows", func() bool { got := b.bodies(); return len(got) > 0 && got[len(got)-1] == "and this" })
	}
}

// N3: what was sent while the line of an idle computer was cut is read once the line is there again.
func TestN3_CutWhileIdle(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	cable := newLine(t, hostOf(t, s))
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", cable.url(), link.ListEvery(24*time.Hour))
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	_, err := a.send(inA.ID, inB.ID, "before")
	require.NoError(t, err)
	waitFor(t, "what came before", func() bool { return b.has("before") })
	cable.set(true)
	waitFor(t, "the line is cut", func() bool { return !b.link.State().Connected })
	answer, err := a.send(inA.ID, inB.ID, "meanwhile")
	require.NoError(t, err)
	waitFor(t, "the server has it", func() bool { r := a.last(answer.Message); return r.State != message.Queued })
	cable.set(false)
	waitFor(t, "what came meanwhile", func() bool { return b.has("meanwhile") })
}

// N1: a computer that ends says so, so that nobody believes it to be here until it is missed.
func TestN1_ItSaysThatItGoes(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	heard, err := conn.SubscribeSync("intercom.v1.here.b")
	require.NoError(t, err)
	b := newComputer(t, "b", s.ClientURL(), nil)
	last := func() string {
		m, err := heard.NextMsg(patience)
		require.NoError(t, err)
		return string(m.Data)
	}
	assert.NotContains(t, last(), `"bye":true`)
	b.end()
	for !strings.Contains(last(), `"bye":true`) {
	}
}

// T30: a question to a computer that is connected and answers nothing, or to a missing one, fails within the
// promised time.
func TestT30_AComputerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a := newComputer(t, "a", s.ClientURL(), nil)
	inA := a.session("inA")
	m := newMallory(t, s)
	_, err := m.conn.SubscribeSync(link.AskSubject("mallory", "*"))
	require.NoError(t, err)
	require.NoError(t, m.conn.Flush())
	waitFor(t, "a is linked", func() bool { return a.link.State().Connected })
	require.Less(t, link.AskWithin, 5*time.Second, "T30 says so")
	for _, name := range []string{"mallory", "mars"} {
		err := a.link.Ask(t.Context(), name, "start", link.Session{ID: inA.ID, Name: "inA"}, nil, nil)
		var away *link.AwayError
		require.ErrorAs(t, err, &away, name)
		assert.Equal(t, name == "mallory", away.Asked, "nobody heard it on mars; on mallory it may have been done")
	}
}

// A message was taken, and its reader has gone since. The computer from which it came learns both, however
// late.
func TestN3_takenAndThenGone(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	cable := newLine(t, hostOf(t, s))
	a, b := newComputer(t, "a", cable.url(), nil), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.end()
	answer, err := a.send(inA.ID, inB.ID, "for you")
	require.NoError(t, err)
	box, err := newMallory(t, s).js.Stream(t.Context(), link.StreamOf("b"))
	require.NoError(t, err)
	waitFor(t, "the server has it", func() bool {
		info, err := box.Info(t.Context())
		return err == nil && info.State.Msgs > 0
	})
	cable.set(true)
	waitFor(t, "the line is cut", func() bool { return !a.link.State().Connected })
	b.start()
	waitFor(t, "it is taken", func() bool { return b.has("for you") })
	require.NoError(t, b.relay.Gone(t.Context(), inB.ID, message.AgentGone))
	cable.set(false)
	waitFor(t, "what became of it", func() bool { return a.last(answer.Message).State == message.Failed })
	all, err := a.journal.Receipts(t.Context(), answer.Message)
	require.NoError(t, err)
	assert.Equal(t, message.Submitted, all[len(all)-2].State, "%v", all)
}

// G8: a delivery that was uncertain there, and that a late record settles, is settled here too: at once, or
// once the computer from which it came is back.
func TestG8_N2_aLateRecordOnAnotherComputer(t *testing.T) {
	t.Parallel()
	for _, isThere := range []bool{true, false} {
		t.Run(fmt.Sprint("linked ", isThere), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			cable := newLine(t, hostOf(t, s))
			a, b := newComputer(t, "a", cable.url(), link.AskEvery(100*time.Millisecond)), newComputer(t, "b", s.ClientURL(), nil)
			inA, inB := a.session("inA"), b.session("inB")
			a.knows("b", inB)
			known := make(chan struct{})
			b.told = func(d message.Delivery) {
				assert.NoError(t, b.relay.Report(context.Background(), message.Receipt{Delivery: d.ID, State: message.Uncertain}))
				<-known
			}
			answer, err := a.send(inA.ID, inB.ID, "for you")
			require.NoError(t, err)
			waitFor(t, "nobody can tell", func() bool { return a.last(answer.Message).State == message.Uncertain })
			waitFor(t, "nothing is confirmed that could be", func() bool { return a.link.Computers()[0].Waiting == 0 }) // the journal has it first
			if !isThere {
				cable.set(true)
				waitFor(t, "the line is cut", func() bool { return !a.link.State().Connected })
			}
			close(known)
			waitFor(t, "it is proven there", func() bool { return b.has("for you") })
			if !isThere {
				cable.set(false)
			}
			waitFor(t, "it is proven here", func() bool { return a.last(answer.Message).State == message.Submitted })
			assert.Equal(t, []string{"for you"}, b.bodies())
		})
	}
}

// N3: what one computer sends does not queue behind what another one has sent before, however much that is, nor
// behind mail under unknown names, even if there are more of them than are remembered.
func TestN3_NobodyIsBehindWhoSendsMuch(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	before := make(chan uint64, 1)
	var box jetstream.Stream
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), link.All(link.Paced(1000, 2000), func(l *link.Link) {
		l.Relay = receiving{l.Relay, func(m message.Envelope) {
			if m.Body == "quiet 2" { // the next message is not read yet
				info, err := box.Info(context.Background())
				if assert.NoError(t, err) {
					before <- info.State.Msgs
				}
			}
		}}
	}))
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.knows("a", inA)
	m := newMallory(t, s)
	_, err := link.EnsureMailbox(t.Context(), m.js, "mallory")
	require.NoError(t, err)
	own := doc{"id": message.NewID(), "name": "Own"}
	m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text("good day")})
	waitFor(t, "who mallory is", func() bool { return slices.Contains(b.bodies(), "good day") })
	b.end()
	const much, names = 300, 1500
	for i := range much {
		m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text(fmt.Sprint("loud ", i))})
	}
	for i := range names {
		m.say(link.ToSubject("b", fmt.Sprint("invented", i)), doc{})
	}
	require.NoError(t, m.conn.Flush())
	for i := range 3 {
		_, err = a.send(inA.ID, inB.ID, fmt.Sprint("quiet ", i))
		require.NoError(t, err)
	}
	const all = much + names + 3
	box, err = m.js.Stream(t.Context(), link.StreamOf("b"))
	require.NoError(t, err)
	waitFor(t, "all of it waits for b", func() bool {
		info, err := box.Info(t.Context())
		return err == nil && info.State.Msgs == all
	})
	b.start()
	select {
	case left := <-before:
		assert.Less(t, int(all-left), 3*3, "messages were read before it: three of each of three, but for itself")
	case <-time.After(patience):
		t.Fatal("quiet 2 was not read")
	}
	var loud, quiet []string
	waitFor(t, "all of it", func() bool {
		loud, quiet = nil, nil
		for _, body := range b.bodies() {
			if strings.HasPrefix(body, "loud") {
				loud = append(loud, body)
			} else if strings.HasPrefix(body, "quiet") {
				quiet = append(quiet, body)
			}
		}
		return len(loud) >= much
	})
	require.Len(t, quiet, 3)
	for i, body := range quiet {
		assert.Equal(t, fmt.Sprint("quiet ", i), body)
	}
	require.Len(t, loud, much)
	for i, body := range loud {
		require.Equal(t, fmt.Sprint("loud ", i), body)
	}
}

// receiving reports each message before the relay takes it in, while nothing else is read.
type receiving struct {
	link.Relay
	tell func(message.Envelope)
}

func (r receiving) Receive(ctx context.Context, m message.Envelope) (bool, error) {
	r.tell(m)
	return r.Relay.Receive(ctx, m)
}

// B2: agents of three computers pass something on in a ring by messages of their own. Each is one deeper, so
// that it reaches the limit.
func TestB2_B4_DepthGrowsOverThreeComputers(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	names := []string{"a", "b", "c"}
	var ring []*computer
	var sessions []message.Peer
	for _, name := range names {
		c := newComputer(t, name, s.ClientURL(), nil)
		ring, sessions = append(ring, c), append(sessions, c.session("in-"+name))
	}
	for i, c := range ring {
		c.knows(names[(i+1)%3], sessions[(i+1)%3])
	}
	deepest := 0
	for hop := range 7 {
		from, to := hop%3, (hop+1)%3
		body := fmt.Sprint("hop ", hop)
		_, err := ring[from].send(sessions[from].ID, sessions[to].ID, body)
		require.NoError(t, err)
		waitFor(t, body, func() bool { return ring[to].has(body) })
		ring[to].mu.Lock()
		depth := ring[to].took[len(ring[to].took)-1].Message.Depth
		ring[to].mu.Unlock()
		require.Greater(t, depth, deepest, "%s", body)
		deepest = depth
	}
}
