package talk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// acked is a connection of ours on which envelopes are acknowledged.
type acked struct {
	c net.Conn
	f frames
}

func newAcked(c net.Conn, said server) acked {
	_, _ = c.Write(AppendFrame(nil, hello(said.Key)))
	return acked{c, frames{r: bufio.NewReader(c)}}
}

// exchange writes envelopes and reads as many answers. It returns how many were stored, and whether there was
// no room for more.
func (a *acked) exchange(t testing.TB, out []byte, n int) (stored int, full bool) {
	_ = a.c.SetDeadline(time.Now().Add(patience))
	if _, err := a.c.Write(out); !assert.NoError(t, err) {
		return 0, false
	}
	for range n {
		answer, err := a.f.next(maxSmallFile)
		if !assert.NoError(t, err) {
			return 0, false
		}
		var one ack
		assert.NoError(t, json.Unmarshal(answer, &one))
		switch {
		case one.Code == InboxFull:
			full = true
		case assert.Empty(t, one.Code) && assert.False(t, full, "stored behind one that was not"):
			stored++
		}
	}
	return stored, full
}

func TestK16_K17_K19_send(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	big := strings.Repeat("line\n", MaxMessage/5)
	for _, text := range []string{"Hello from the other AI!", "", big} {
		sent, err := p.Send(t.Context(), Sending{To: p.Number, From: 9001, Body: []byte(text)})
		require.NoError(t, err)
		assert.True(t, sent.Stored)
		assert.WithinDuration(t, time.Now(), sent.At, patience)
	}
	all := p.unread(t, CheckOptions{})
	assert.Equal(t, []string{"Hello from the other AI!", "", big}, texts(all))
	assert.Equal(t, 9001, all[0].Sender)
	assert.Equal(t, 25, len("Hello from the other AI!")+1, "the document counts one too many")
}

func TestK41_refused(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	number := freePort(t)
	err := who.Port(number).say(t, 9001, "x")
	assert.Equal(t, ConnectionRefused, codeOf(err))
	assert.EqualError(t, err, fmt.Sprintf("Could not connect to port %d: Connection refused", number))
	e := err.(*Error)
	assert.Equal(t, map[string]any{"port": number, "timeout": 10}, e.Details)
}

// A port whose queue of connections is full answers nothing at all.
func TestK18_K42_timeout(t *testing.T) {
	t.Parallel()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 0))
	at, err := unix.Getsockname(fd)
	require.NoError(t, err)
	number := at.(*unix.SockaddrInet4).Port
	for full := false; !full; {
		c, err := net.DialTimeout("tcp4", address(number), 200*time.Millisecond)
		if full = err != nil; !full {
			defer c.Close()
		}
	}
	who := newPerson(t)
	began := time.Now()
	_, err = who.Send(t.Context(), Sending{To: number, From: 9001, Body: []byte("x"), Timeout: 500 * time.Millisecond})
	assert.Equal(t, ConnectionTimeout, codeOf(err))
	assert.EqualError(t, err, fmt.Sprintf("Could not connect to port %d: Connection timed out", number))
	assert.Equal(t, 0.5, err.(*Error).Details["timeout"])
	assert.GreaterOrEqual(t, time.Since(began), 500*time.Millisecond)

	began = time.Now()
	_, err = who.Send(t.Context(), Sending{To: number, From: 9001, Body: []byte("x")})
	assert.Equal(t, ConnectionTimeout, codeOf(err))
	assert.EqualValues(t, 10, err.(*Error).Details["timeout"], "where nobody says otherwise")
	assert.GreaterOrEqual(t, time.Since(began), 10*time.Second)
}

func TestK35_K43_ports(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"1024", "80", "0", "-1", "70000", "65536", "abc", "", "9001x", "9e3", "99999999999999999999"} {
		_, err := ParsePort(bad)
		assert.Equal(t, InvalidPort, codeOf(err), bad)
	}
	for text, want := range map[string]int{"1025": 1025, "65535": 65535, "9001": 9001} {
		got, err := ParsePort(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	who := newPerson(t)
	for _, s := range []Sending{{To: 80, From: 9001}, {To: 9001, From: 80}, {To: 9001}} {
		_, err := who.Send(t.Context(), s)
		assert.Equal(t, InvalidPort, codeOf(err))
	}
}

// The listener is killed at any moment: no message that the sender was told is stored is missing.
func TestK48_killedAtAnyMoment(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	number := freePort(t)
	require.NoError(t, who.want(number, Wish{}))
	p := who.Port(number)
	told := map[string]bool{}
	seen := map[string]int{}
	for round := range 6 {
		other := who.another()
		until(t, func() bool { _, ok := p.Listening(); return ok }, "served")
		time.AfterFunc(time.Duration(round*3)*time.Millisecond, func() { _ = other.Process.Kill() })
		for i := 0; ; i++ {
			text := fmt.Sprint(round, "/", i)
			err := p.say(t, 9001, text)
			if err == nil {
				told[text] = true
				continue
			}
			if codeOf(err) == InboxFull {
				for _, m := range p.unread(t, CheckOptions{Clear: true}) {
					seen[m.Text]++
				}
				continue
			}
			assert.Contains(t, []Code{ConnectionClosed, ConnectionRefused}, codeOf(err), "%v", err)
			break
		}
		other.kill()
		_, ok := p.Listening()
		assert.False(t, ok, "what was killed is not listed")
	}
	for _, m := range p.unread(t, CheckOptions{Clear: true}) {
		seen[m.Text]++
	}
	for text := range told {
		assert.Equal(t, 1, seen[text], "told that %s is stored", text)
	}
}

// Listeners of other programs take what is in the document and nothing else.
func TestSend_aListenerOfTheDocument(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	s, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer s.Close()
	number := s.Addr().(*net.TCPAddr).Port
	require.NoError(t, who.Port(number).make())
	require.NoError(t, who.Port(number).announce(server{Key: "left by one that was killed"}))
	got := make(chan string, 1)
	serve := func(end func(net.Conn)) {
		go func() {
			c, err := s.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(c)
			end(c)
			got <- string(text)
		}()
	}
	serve(func(c net.Conn) { c.Close() })
	sent, err := who.Send(t.Context(), Sending{To: number, From: 9001, Body: []byte("Hello, World!")})
	require.NoError(t, err)
	assert.False(t, sent.Stored)
	assert.Equal(t, "13:Hello, World!", <-got)
	serve(func(c net.Conn) {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	})
	assert.Equal(t, ConnectionClosed, codeOf(who.Port(number).say(t, 9001, "refused")))
	<-got
	for _, want := range []Code{NotSupported, ConnectionRefused} {
		for _, more := range []Sending{{Thread: "t"}, {Receipt: true}, {Type: TypeBinary}, {Type: TypeJSON, Body: []byte("{}")}, {TLS: true}} {
			more.To, more.From = number, 9001
			_, err := who.Send(t.Context(), more)
			assert.Equal(t, want, codeOf(err), "%+v", more)
		}
		s.Close() // without a listener, that is the only error
	}
}

// A message for a listener with one name goes to no other one that has the port by now.
func TestSend_toThatListenerAlone(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{Name: "beta"})
	alpha, beta := "alpha", "beta"
	s := Sending{To: p.Number, From: 9001, Body: []byte("x"), listener: &alpha}
	_, err := p.Send(t.Context(), s)
	assert.Equal(t, ConnectionRefused, codeOf(err))
	assert.Empty(t, p.unread(t, CheckOptions{}))
	s.listener = &beta
	_, err = p.Send(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []string{"x"}, texts(p.unread(t, CheckOptions{})))
}

// A listener of ours that does not say what it understands, because somebody removed its file, is still ours:
// nothing counts as sent that it has not acknowledged.
func TestK48_oursWithoutItsFile(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	for _, path := range []string{p.server(), p.PIDFile()} {
		require.NoError(t, os.Remove(path))
		time.AfterFunc(10*time.Millisecond, func() { _, _ = who.Keeper.Look(t.Context()) }) // as it does each second
		sent, err := p.Send(t.Context(), Sending{To: p.Number, From: 9001, Body: []byte(path)})
		require.NoError(t, err)
		assert.True(t, sent.Stored)
		until(t, func() bool { _, ok := p.Listening(); return ok }, "the keeper has said it again")
	}
	assert.Equal(t, []string{p.server(), p.PIDFile()}, texts(p.unread(t, CheckOptions{})))

	s, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer s.Close()
	silent := who.Port(s.Addr().(*net.TCPAddr).Port)
	mine, err := claim.Take(silent.claim())
	require.NoError(t, err)
	_, err = who.Send(t.Context(), Sending{To: silent.Number, From: 9001, Body: []byte("x"), Timeout: 100 * time.Millisecond})
	assert.Equal(t, ConnectionTimeout, codeOf(err), "%v", err)
	assert.Equal(t, map[string]any{"port": silent.Number, "timeout": 0.1}, err.(*Error).Details)
	require.NoError(t, mine.Release())
	sent, err := who.Send(t.Context(), Sending{To: silent.Number, From: 9001, Body: []byte("x"), Timeout: 100 * time.Millisecond})
	require.NoError(t, err, "it is none of ours any more")
	assert.False(t, sent.Stored)
}

func TestK31_outbox(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	at := time.Date(2026, 1, 16, 10, 32, 15, 456789000, time.Local)
	require.NoError(t, who.LogSent(Sending{To: 9002, From: 9001, Body: []byte("one\ntwo")}, at))
	require.NoError(t, who.LogSent(Sending{To: 9003, From: 9001, Body: []byte{0xff}, Type: TypeBinary, Thread: "t"}, at))
	all := lines(t, who.Port(9001).Outbox())
	assert.Equal(t, []map[string]any{
		{"timestamp": "2026-01-16T10:32:15.456789", "to_port": 9002.0, "message": "one\ntwo"},
		{"timestamp": "2026-01-16T10:32:15.456789", "to_port": 9003.0, "message": "/w==", "type": "binary", "thread": "t"},
	}, all)
}

func TestF1_encrypted(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p, plain := who.start(Wish{TLS: true}), who.start(Wish{})
	send := func(to Port, secret bool) error {
		_, err := who.Send(t.Context(), Sending{To: to.Number, From: 9001, Body: []byte("secret words"), TLS: secret})
		return err
	}
	require.NoError(t, send(p, true))
	assert.Equal(t, TLSRequired, codeOf(send(p, false)))
	assert.Equal(t, NotSupported, codeOf(send(plain, true)))
	require.NoError(t, send(plain, false))
	assert.Error(t, p.raw(t, "5:plain"), "a plain sender is refused")
	assert.Equal(t, []string{"secret words"}, texts(p.unread(t, CheckOptions{})))

	// The words are not readable on the wire.
	tap, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer tap.Close()
	var seen bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := tap.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		back, err := net.Dial("tcp4", address(p.Number))
		if err != nil {
			return
		}
		defer back.Close()
		go func() { _, _ = io.Copy(c, back) }()
		_, _ = io.Copy(io.MultiWriter(back, &seen), c)
	}()
	said, _ := p.advertised()
	s := Sending{To: tap.Addr().(*net.TCPAddr).Port, From: 9001, Body: []byte("secret words"), TLS: true, Timeout: patience}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = s.send(ctx, said, true)
	require.NoError(t, err)
	<-done
	assert.NotEmpty(t, seen.Bytes())
	assert.NotContains(t, seen.String(), "secret words")
	assert.NotContains(t, seen.String(), said.Key)

	// Another port's certificate is not accepted.
	other := who.start(Wish{TLS: true})
	theirs, _ := other.advertised()
	s.To, s.Timeout = p.Number, patience
	_, err = s.send(ctx, theirs, true)
	assert.Equal(t, ConnectionFailed, codeOf(err))
}

func TestF2_types(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	send := func(kind string, body []byte) error {
		_, err := p.Send(t.Context(), Sending{To: p.Number, From: 9001, Body: body, Type: kind})
		return err
	}
	binary := []byte{0, 255, '\n', 0xfe, 'x'}
	require.NoError(t, send(TypeText, []byte("plain")))
	require.NoError(t, send(TypeJSON, []byte(`{"a": [1, 2]}`)))
	require.NoError(t, send(TypeBinary, binary))
	require.NoError(t, send(TypeBinary, bytes.Repeat([]byte{255}, MaxMessage)))
	for kind, bad := range map[string]string{TypeJSON: "{", TypeText: "\xff", "": "\xff", "xml": "<a/>"} {
		assert.Equal(t, InvalidMessage, codeOf(send(kind, []byte(bad))), kind)
	}
	all := p.unread(t, CheckOptions{})
	require.Len(t, all, 4)
	assert.Equal(t, []string{"", TypeJSON, TypeBinary}, []string{all[0].Type, all[1].Type, all[2].Type})
	assert.Equal(t, `{"a": [1, 2]}`, all[1].Text)
	assert.Equal(t, "AP8K/ng=", all[2].Text)
	assert.Equal(t, binary, all[2].Raw())
	assert.Len(t, all[3].Raw(), MaxMessage)
}

func TestF3_threads(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	for i, thread := range []string{"a", "", "b", "a"} {
		_, err := p.Send(t.Context(), Sending{To: p.Number, From: 9001, Body: []byte(fmt.Sprint(i)), Thread: thread})
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"0", "3"}, texts(p.unread(t, CheckOptions{Thread: "a"})))
	assert.Equal(t, "a", p.unread(t, CheckOptions{Thread: "a", Clear: true, Limit: 1})[0].Thread)
	assert.Equal(t, []string{"1", "2", "3"}, texts(p.unread(t, CheckOptions{})))
	assert.Equal(t, []string{"3"}, texts(p.unread(t, CheckOptions{Thread: "a", Clear: true})))
	assert.Empty(t, p.unread(t, CheckOptions{Thread: "a"}))
	assert.Equal(t, []string{"1", "2"}, texts(p.unread(t, CheckOptions{Clear: true})))
}

func TestF4_receipts(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	sent, err := who.Send(t.Context(), Sending{To: p.Number, From: 9001, Body: []byte("x"), Receipt: true})
	require.NoError(t, err)
	require.NoError(t, p.say(t, 9001, "without"))
	assert.True(t, sent.Stored)
	sender := who.Port(9001)
	all, err := sender.Receipts()
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, Receipt{ID: sent.ID, To: p.Number, Stored: Stamp(sent.At)}, all[0])

	assert.Empty(t, p.unread(t, CheckOptions{})[0].Receipt, "it is not printed")
	all, _ = sender.Receipts()
	assert.Empty(t, all[0].Read, "a look that promises no receipt gives none")
	p.unread(t, CheckOptions{Receipt: true})
	all, _ = sender.Receipts()
	require.Len(t, all, 1)
	assert.NotEmpty(t, all[0].Read)
	read := all[0].Read
	p.unread(t, CheckOptions{Receipt: true, Clear: true})
	all, _ = sender.Receipts()
	assert.Equal(t, read, all[0].Read, "the first time counts")

	// A program that only claims to be the sender cannot have receipts written.
	p.wasRead([]Message{{Sender: 9001, Receipt: "forged"}, {Sender: 9009, Receipt: sent.ID}, {Sender: 80, Receipt: sent.ID}})
	all, _ = sender.Receipts()
	assert.Len(t, all, 1)
	assert.NoFileExists(t, who.Port(9009).receipts())
	for i := range 3000 {
		require.NoError(t, sender.note(receiptLine{fmt.Sprint(i), 9002, "stored", read}))
		if i%500 == 0 {
			_, err := sender.Receipts()
			require.NoError(t, err)
		}
	}
	all, err = sender.Receipts()
	require.NoError(t, err)
	assert.Equal(t, "2999", all[len(all)-1].ID)
}

func TestF5_broadcast(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	a, b, own := who.start(Wish{}), who.start(Wish{}), who.start(Wish{})
	nobody := freePort(t)
	results := who.SendAll(t.Context(), Sending{From: own.Number, Body: []byte("all")}, []int{b.Number, a.Number, nobody, own.Number, a.Number})
	require.Len(t, results, 3)
	for _, r := range results {
		if r.To == nobody {
			assert.Equal(t, ConnectionRefused, codeOf(r.Err))
			continue
		}
		require.NoError(t, r.Err)
		assert.True(t, r.Stored)
	}
	for _, p := range []Port{a, b} {
		assert.Equal(t, []string{"all"}, texts(p.unread(t, CheckOptions{})))
	}
	assert.Empty(t, own.unread(t, CheckOptions{}))
}
