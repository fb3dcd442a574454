package talk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestK2_K3_K7_K8_K15_K33_C18_storedAsItCame(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	sent := []string{"Hello, World!", "", "é", "9:inside:5", "line\nline\x00\x1b[31m\u2028<&>", "last"}
	require.NoError(t, p.raw(t, framed(sent[0])))
	require.NoError(t, p.raw(t, framed(sent[1:3]...)))
	require.NoError(t, p.raw(t, strings.Split(framed(sent[3:]...), "")...))
	all := p.unread(t, CheckOptions{})
	assert.Equal(t, sent, texts(all))
	for _, line := range lines(t, filepath.Join(p.Dir, fmt.Sprint(p.Number), "inbox.jsonl")) {
		assert.Equal(t, []string{"message", "sender_port", "timestamp"}, keys(line))
		assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$`, line["timestamp"])
		assert.Equal(t, 0.0, line["sender_port"], "a bare frame does not say who sends")
	}
}

// The first violation ends a connection, by a reset. What came before it is kept; what comes after it never is,
// however much it looks like a frame.
func TestK34_H20_H67_H68_H69_closedAtTheFirstViolation(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	for _, bad := range []string{
		"abc:x", "-1:x", "99999999999:x", "007:1234567", "1048577:x", "4:日本語", "1:\xff",
		"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01", "SSH-2.0-OpenSSH_9.9\r\n", "GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
	} {
		other := who.refused(p, "cross_protocol")
		assert.Error(t, p.raw(t, bad+"5:after"), "%q", bad)
		assert.Error(t, p.raw(t, "6:before"+bad+"5:after"), "%q", bad)
		assert.Equal(t, []string{"before"}, texts(p.unread(t, CheckOptions{Clear: true})), "%q", bad)
		if bad[0] < '0' || bad[0] > '9' {
			assert.Equal(t, other+2, who.refused(p, "cross_protocol"), "%q", bad)
		}
	}
	_ = p.raw(t, "9:truncate")
	assert.Empty(t, p.unread(t, CheckOptions{}))
	require.NoError(t, p.raw(t, "2:ok"), "it goes on")
}

func TestK36_oneMebibyte(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	most := strings.Repeat("é", MaxMessage/2)
	require.NoError(t, p.raw(t, framed(most)))
	require.NoError(t, p.say(t, 9001, most))
	require.NoError(t, p.say(t, 9001, strings.Repeat("\x01", MaxMessage)), "every byte is escaped")
	assert.Error(t, p.raw(t, fmt.Sprintf("%d:x", MaxMessage+1)))
	err := p.say(t, 9001, strings.Repeat("x", MaxMessage+1))
	assert.Equal(t, MessageTooLarge, codeOf(err))
	nowhere := p.Port(freePort(t))
	assert.Equal(t, MessageTooLarge, codeOf(nowhere.say(t, 9001, strings.Repeat("x", MaxMessage+1))), "before connecting")
	all := p.unread(t, CheckOptions{})
	require.Len(t, all, 3)
	assert.Equal(t, most, all[0].Text)
	assert.Equal(t, most, all[1].Text)
}

func TestK37_C27_fullInbox(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	for _, text := range numbered(100) {
		require.NoError(t, p.say(t, 9001, text))
	}
	refused := p.say(t, 9001, "101st")
	assert.Equal(t, InboxFull, codeOf(refused))
	assert.ErrorContains(t, refused, "--clear")
	assert.Error(t, p.raw(t, "5:101st"), "a bare sender sees that the connection is broken off")
	assert.Len(t, p.unread(t, CheckOptions{}), 100)
	p.unread(t, CheckOptions{Clear: true, Limit: 1})
	require.NoError(t, p.say(t, 9001, "fits"))
	assert.Equal(t, InboxFull, codeOf(p.say(t, 9001, "does not")))
	all := p.unread(t, CheckOptions{Clear: true})
	assert.Equal(t, append(numbered(100)[1:], "fits"), texts(all))
	require.NoError(t, p.say(t, 9001, "again"))
}

// As much of a stream is stored as there is room for, and the sender sees that not all was.
func TestK37_streamMeetsTheLimit(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	assert.Error(t, p.raw(t, framed(numbered(150)...)))
	assert.Equal(t, numbered(100), texts(p.unread(t, CheckOptions{})))
}

func TestK38_H70_connectionsAreLimited(t *testing.T) {
	t.Parallel()
	who := newPerson(t).configure(Config{Rate: 5, Burst: 20}).keep()
	p := who.start(Wish{})
	const all = 400
	for range all {
		c, err := net.Dial("tcp4", address(p.Number))
		if errors.Is(err, syscall.ECONNRESET) {
			continue // refused before it was seen to be made
		}
		require.NoError(t, err)
		defer c.Close() // only at the end, so that none makes way for another
	}
	until(t, func() bool { return who.refused(p, "rate") > all/2 }, "the limit is hit")
	until(t, func() bool { return p.say(t, 9001, "legitimate") == nil }, "an honest sender succeeds afterwards")
	assert.Equal(t, []string{"legitimate"}, texts(p.unread(t, CheckOptions{})))
}

// By default 200 connections come at once, and then 100 per second. A long silence does not raise that limit.
func TestK38_asManyAsIsUsual(t *testing.T) {
	t.Parallel()
	config, err := newPerson(t).Config()
	require.NoError(t, err)
	b := bucket{most: config.Burst, rate: config.Rate}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	takes := func() (n int) {
		for b.take(now) {
			n++
		}
		return n
	}
	assert.Equal(t, 200, takes())
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {time.Second / 128, 0}, {time.Second / 128, 1}, {time.Second, 100}, {time.Second, 100}, {time.Hour, 200}} {
		now = now.Add(c.after)
		assert.Equal(t, c.want, takes(), "after %v", c.after)
	}
}

// All ports of a sidecar share the limits on connections and large frames. What exceeds them is refused, or
// waits, whichever port it is for.
func TestH70_allPortsTogether(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	who.Keeper.init()
	places := newPlaces(3, 1)
	who.Keeper.Places = places
	p, q := who.start(Wish{}), who.start(Wish{})
	var held []net.Conn
	for _, port := range []Port{p, p, q} {
		held = append(held, port.dial(t))
	}
	until(t, func() bool { return len(places.open) == 3 }, "all places are taken")
	for _, port := range []Port{p, q} {
		c, err := net.Dial("tcp4", address(port.Number))
		if err == nil { // it may be reset before that returns
			_, err = c.Read(make([]byte, 1))
			_ = c.Close()
		}
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.Equal(t, 1, who.refused(port, "connections"))
	}
	require.NoError(t, held[0].Close())
	require.NoError(t, held[1].Close())
	until(t, func() bool { return len(places.open) == 1 }, "there is room again")

	places.large <- struct{}{} // a frame to another port
	large := make(chan error, 1)
	text := strings.Repeat("x", MaxMessage)
	go func() { large <- p.say(t, 9001, text) }()
	until(t, func() bool { return len(who.listener(p).large) == 1 }, "it waits")
	require.NoError(t, q.say(t, 9001, "small"))
	assert.Empty(t, p.unread(t, CheckOptions{}))
	<-places.large
	require.NoError(t, <-large)
	assert.Equal(t, []string{text}, texts(p.unread(t, CheckOptions{})))
	assert.Equal(t, []string{"small"}, texts(q.unread(t, CheckOptions{})))
	require.NoError(t, held[2].Close())
	until(t, func() bool { return len(places.open)+len(places.large) == 0 }, "nothing is kept")
}

// A peer that is silent, or stops within a frame, holds nothing for long, and meanwhile delays nobody.
func TestH70_silentPeersAreLetGo(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	// Long enough that this test itself is never late with its first frame on a busy machine.
	who.Keeper.times = times{first: time.Second, head: time.Second, body: time.Second, idle: time.Second, reply: time.Second}
	p := who.start(Wish{})
	var all sync.WaitGroup
	for _, begun := range []string{"", "5", "1048576:xx", "2:ok", "2:ok5:he", "reset"} {
		c := p.dial(t)
		if begun == "reset" {
			_, err := io.WriteString(c, "5:he")
			require.NoError(t, err)
			require.NoError(t, c.(*net.TCPConn).SetLinger(0))
			c.Close()
			continue
		}
		_, err := io.WriteString(c, begun)
		require.NoError(t, err)
		all.Go(func() {
			_, err := c.Read(make([]byte, 1))
			assert.ErrorContains(t, err, "reset", "%q", begun)
		})
	}
	require.NoError(t, p.say(t, 9001, "meanwhile"))
	all.Wait()
	assert.ElementsMatch(t, []string{"ok", "ok", "meanwhile"}, texts(p.unread(t, CheckOptions{})))
}

// Two thousand connections say nothing: those beyond the limit are refused at once, the others after a while,
// and nothing is left of them. An honest sender waits no longer than that.
func TestH70_twoThousandConnections(t *testing.T) {
	t.Parallel()
	who := newPerson(t).configure(Config{Rate: 100_000, Burst: 100_000}).keep()
	who.Keeper.times = times{first: 300 * time.Millisecond, head: time.Second, body: time.Second, idle: time.Second, reply: time.Second}
	p := who.start(Wish{})
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Cur < 4000 {
		t.Skipf("%d files may be open here, and both sides of 2000 connections take more: raise the limit (ulimit -n)", limit.Cur)
	}
	var all []net.Conn
	for range 2000 {
		c, err := net.Dial("tcp4", address(p.Number))
		if errors.Is(err, syscall.ECONNRESET) {
			continue // refused before it was seen to be made
		}
		require.NoError(t, err)
		defer c.Close()
		all = append(all, c)
	}
	until(t, func() bool { return p.say(t, 9001, "honest") == nil }, "there is room again")
	for _, c := range all {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		_, err := c.Read(make([]byte, 1))
		require.ErrorContains(t, err, "reset", "refused")
	}
	l := who.listener(p)
	until(t, func() bool { return len(who.Keeper.Places.open) == 0 }, "their goroutines are gone")
	l.mu.Lock()
	assert.Empty(t, l.joined, "and their connections are closed")
	l.mu.Unlock()
	assert.GreaterOrEqual(t, who.refused(p, "connections")+who.refused(p, "silent"), 2000, "each was refused for what it did")
	assert.Equal(t, []string{"honest"}, texts(p.unread(t, CheckOptions{})))
}

// A large frame keeps its place until it is stored, however long that takes, and its connection keeps nothing
// of it.
func TestK36_largeFramesWaitInTheirPlaces(t *testing.T) {
	t.Parallel()
	p := newPerson(t).Port(freePort(t))
	ctx, stop := testContext(t)
	l, err := listen(ctx, p, Wish{Port: p.Number, MessageFile: p.Inbox()}, Config{Rate: 1000, Burst: 1000}, NewPlaces(), discard)
	require.NoError(t, err)
	storing := make(chan struct{})
	l.hand = func(Message, string) error {
		<-storing
		assert.NotEmpty(t, l.large, "the frame has its place")
		return nil
	}
	var run sync.WaitGroup
	run.Go(func() { assert.NoError(t, l.serve(ctx)) })
	var senders sync.WaitGroup
	for range 2 * largeAtOnce {
		c := p.dial(t)
		senders.Go(func() {
			_, err := io.WriteString(c, framed(strings.Repeat("x", MaxMessage)))
			assert.NoError(t, err)
			assert.NoError(t, c.(*net.TCPConn).CloseWrite())
			_, err = c.Read(make([]byte, 1))
			assert.ErrorIs(t, err, io.EOF, "it is stored")
		})
	}
	until(t, func() bool { return len(l.large) == largeAtOnce }, "all places are taken")
	close(storing)
	senders.Wait()
	stop()
	run.Wait()
	assert.Empty(t, l.large)
}

// A listener that ends does not wait for peers that could say more.
func TestK5_endsWhateverPeersDo(t *testing.T) {
	t.Parallel()
	p := newPerson(t).Port(freePort(t))
	ctx, stop := testContext(t)
	l, err := listen(ctx, p, Wish{Port: p.Number, MessageFile: p.Inbox()}, Config{Rate: 1000, Burst: 1000}, NewPlaces(), discard)
	require.NoError(t, err)
	l.times = times{first: time.Hour, head: time.Hour, body: time.Hour, idle: time.Hour, reply: time.Second}
	began, proceed := make(chan struct{}, 1), make(chan struct{})
	l.hand = func(Message, string) error {
		began <- struct{}{}
		<-proceed
		return nil
	}
	ended := make(chan error, 1)
	go func() { ended <- l.serve(ctx) }()
	for range largeAtOnce {
		l.large <- struct{}{}
	}
	large, storing := p.dial(t), p.dial(t)
	_, err = io.WriteString(large, fmt.Sprintf("%d:x", MaxMessage))
	require.NoError(t, err)
	_, err = io.WriteString(storing, "2:ok")
	require.NoError(t, err)
	<-began
	stop()
	until(t, func() bool {
		c, err := net.Dial("tcp4", address(p.Number))
		if err == nil {
			c.Close()
		}
		return err != nil
	}, "it takes no more")
	close(proceed)
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(patience):
		large.Close()
		storing.Close()
		t.Error("it waits for its peers")
		for range largeAtOnce {
			<-l.large
		}
		<-ended
	}
}

func TestK32_C8_loopbackOnly(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	reach := func(host string) error {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(host, fmt.Sprint(p.Number)), time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}
	require.NoError(t, reach("127.0.0.1"))
	assert.Error(t, reach("::1"))
	assert.Error(t, reach("127.0.0.2"))
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			assert.Error(t, reach(ip.IP.String()))
		}
	}
}

func TestK40_somebodyElsesPort(t *testing.T) {
	t.Parallel()
	s, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer s.Close()
	who := newPerson(t).keep()
	number := s.Addr().(*net.TCPAddr).Port
	err = who.want(number, Wish{})
	assert.Equal(t, PortInUse, codeOf(err))
	assert.EqualError(t, err, fmt.Sprintf("Port %d is already in use by another process", number))
	_, err = who.Port(number).Wanted()
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Without a hello an envelope is text, and nothing is answered. A wrong key is no hello, and ends the
// connection.
func TestC35_envelopesNeedAHello(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	e := `{"id":"1","from":9001,"message":"inner"}`
	require.NoError(t, p.raw(t, framed(e)))
	all := p.unread(t, CheckOptions{Clear: true})
	require.Len(t, all, 1)
	assert.Equal(t, e, all[0].Text)
	assert.Zero(t, all[0].Sender)
	assert.Error(t, p.raw(t, framed(string(hello(newKey())), e)))
	require.NoError(t, p.raw(t, framed("hello there", "hello v=1 ack=1 key=")))
	assert.Equal(t, []string{"hello there", "hello v=1 ack=1 key="}, texts(p.unread(t, CheckOptions{Clear: true})))

	said, ours := p.advertised()
	require.True(t, ours)
	c := p.dial(t)
	_, err := io.WriteString(c, framed(string(hello(said.Key)), e, `{"id":"2","from":9002,"message":"two"}`))
	require.NoError(t, err)
	f := frames{r: bufio.NewReader(c)}
	for _, id := range []string{"1", "2"} {
		answer, err := f.next(maxSmallFile)
		require.NoError(t, err)
		var a ack
		require.NoError(t, json.Unmarshal(answer, &a))
		assert.Equal(t, ack{ID: id}, a)
	}
	all = p.unread(t, CheckOptions{Clear: true})
	require.Len(t, all, 2)
	assert.Equal(t, []int{9001, 9002}, []int{all[0].Sender, all[1].Sender})
	for _, bad := range []string{`{"id":"","from":1}`, `[]`, `{`, `{"id":"1","from":80,"message":"x"}`, `{"id":"1","message":"x","type":"json"}`, `{"id":"1","message":"!","type":"binary"}`} {
		c := p.dial(t)
		_, err := io.WriteString(c, framed(string(hello(said.Key)), bad, e))
		require.NoError(t, err)
		_, err = io.ReadAll(c)
		assert.Error(t, err, bad)
	}
	assert.Empty(t, p.unread(t, CheckOptions{}))
}

// A listener whose sidecar ends while it writes leaves part of a line. The next listener takes that part away,
// and nothing else.
func TestK48_partOfALine(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	require.NoError(t, p.say(t, 9001, "whole"))
	who.end()
	f, err := os.OpenFile(p.Inbox(), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"timestamp":"2026-01-16T10:30:45.123456","sender_port":9002,"mess`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Remove(p.Callback()), "as if the power had gone")
	assert.Equal(t, []string{"whole"}, texts(p.unread(t, CheckOptions{})))

	who.keep()
	_, err = who.Keeper.Look(t.Context())
	require.NoError(t, err)
	assert.True(t, p.Unread(), "the callback is made again")
	require.NoError(t, p.say(t, 9001, "next"))
	assert.Equal(t, []string{"whole", "next"}, texts(p.unread(t, CheckOptions{})))
}

// Directories and files in which others may write are not used.
func TestPrivate_notOurPlace(t *testing.T) {
	t.Parallel()
	for _, bad := range []func(t *testing.T, h Home){
		func(t *testing.T, h Home) { require.NoError(t, os.Symlink(t.TempDir(), h.Dir)) },
		func(t *testing.T, h Home) {
			require.NoError(t, os.Mkdir(h.Dir, 0o700))
			require.NoError(t, os.Chmod(h.Dir, 0o770))
		},
		func(t *testing.T, h Home) { require.NoError(t, os.WriteFile(h.Dir, nil, 0o600)) },
	} {
		who := newPerson(t).keep()
		bad(t, who.Home)
		assert.Equal(t, FileError, codeOf(who.want(freePort(t), Wish{})))
	}
}

// However often others try, a peer that may connect does.
func TestListener_othersTakeNoConnections(t *testing.T) {
	t.Parallel()
	var socket queue
	for range 1000 {
		c, far := net.Pipe()
		t.Cleanup(func() { far.Close() })
		socket.waiting = append(socket.waiting, c)
	}
	friend, far := net.Pipe()
	socket.waiting = append(socket.waiting, friend)
	far.Close()
	l := &listener{log: discard, times: usual, socket: &socket, places: NewPlaces(), joined: map[net.Conn]bool{}}
	l.settings.Store(&settings{Config{Rate: 1, Burst: 1}, friendly{of: friend}})
	assert.ErrorIs(t, l.accept(t.Context()), net.ErrClosed)
	assert.Equal(t, map[string]int{"peer": 1000}, l.counts.of)
	assert.Empty(t, l.joined)
}

// queue is a socket at which connections wait.
type queue struct{ waiting []net.Conn }

func (q *queue) Accept() (net.Conn, error) {
	if len(q.waiting) == 0 {
		return nil, net.ErrClosed
	}
	c := q.waiting[0]
	q.waiting = q.waiting[1:]
	return c, nil
}

func (*queue) Close() error   { return nil }
func (*queue) Addr() net.Addr { return nil }

// friendly knows one peer.
type friendly struct {
	stranger
	of net.Conn
}

func (f friendly) same(c net.Conn) error {
	if c == f.of {
		return nil
	}
	return f.stranger.same(c)
}

// stranger knows nobody.
type stranger struct{}

func (stranger) same(net.Conn) error { return errUnknownPeer }
func (stranger) knows() bool         { return true }

// A connection that changed settings would no longer admit is closed: what it says from then on is not stored.
func TestListener_settingsCloseWhatTheyRefuse(t *testing.T) {
	t.Parallel()
	p := newPerson(t).Port(freePort(t))
	ctx, stop := testContext(t)
	open := Config{Auth: AuthNone, Rate: 1000, Burst: 1000, MaxInbox: 10}
	l, err := listen(ctx, p, Wish{Port: p.Number, MessageFile: p.Inbox()}, open, NewPlaces(), discard)
	require.NoError(t, err)
	l.asks = func() asker { return stranger{} }
	var run sync.WaitGroup
	run.Go(func() { assert.NoError(t, l.serve(ctx)) })
	c := p.dial(t)
	_, err = io.WriteString(c, framed("one"))
	require.NoError(t, err)
	until(t, func() bool { return len(texts(p.unread(t, CheckOptions{}))) == 1 }, "it is stored")
	same := open
	same.MaxInbox = 50
	l.apply(same)
	_, err = io.WriteString(c, framed("two"))
	require.NoError(t, err)
	until(t, func() bool { return len(texts(p.unread(t, CheckOptions{}))) == 2 }, "other settings close nothing")

	shut := open
	shut.Auth = AuthPeer
	l.apply(shut)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err = c.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET, "the other side sees that it was refused")
	stop()
	run.Wait()
	assert.Empty(t, l.joined)
}
