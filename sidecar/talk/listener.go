package talk

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// times are the times that a listener gives a connection.
type times struct {
	first time.Duration // for the first frame to begin
	head  time.Duration // for the rest of a length
	body  time.Duration // for the content of a frame
	idle  time.Duration // between two frames
	reply time.Duration // to take an acknowledgement
}

var usual = times{first: 5 * time.Second, head: 5 * time.Second, body: 30 * time.Second, idle: 30 * time.Second, reply: 5 * time.Second}

// Limits on what connections may cost, whatever they do.
const (
	maxConnections = 512       // open at once, per port
	smallFrame     = 16 << 10  // a frame above it is large
	largeAtOnce    = 16        // large frames per port that are read and stored at once; others wait
	readAhead      = 16 << 10  // bytes of a connection's buffer
	batchBytes     = 256 << 10 // of messages stored together
	storeQueue     = 64        // batches that may wait for the file
)

// listener serves one port. The caller holds the claim.
type listener struct {
	port     Port
	wish     Wish
	settings atomic.Pointer[settings]
	log      *slog.Logger
	times    times
	heard    func(Message) // is called for each stored message; must not block; may be nil
	// hand takes messages in place of the inbox, each with the id that its sender gave it. If nil, they go to
	// the inbox.
	hand func(m Message, id string) error

	key    string
	said   server      // what server.json is to say
	secret *tls.Config // nil: the port is not encrypted
	socket net.Listener
	file   appender
	batch  chan batch
	large  chan struct{}
	places *Places
	bucket bucket
	counts counts

	asks   func() asker      // replaces newAsker in tests
	mu     sync.Mutex        // guards joined
	joined map[net.Conn]bool // connections that are open
}

// settings are what a port follows until the person changes them. A connection follows the settings of the
// moment when it came, but one that would no longer be admitted is closed.
type settings struct {
	Config
	peer asker // checks who connects; nil: anybody may
}

// apply makes a configuration hold from now on.
func (l *listener) apply(c Config) {
	if now := l.settings.Load(); now != nil && reflect.DeepEqual(now.Config, c) {
		return
	}
	s := settings{Config: c}
	if c.Auth == AuthPeer {
		s.peer = newAsker()
		if l.asks != nil {
			s.peer = l.asks()
		}
	}
	before := l.settings.Swap(&s)
	if s.peer == nil || before == nil || before.peer != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.joined {
		if err := s.peer.same(c); err != nil || !s.peer.knows() {
			delete(l.joined, c)
			l.refuse(c, "peer")
			l.log.Debug("peer refused", "err", err)
		}
	}
}

// join registers a connection, so that a change of the settings finds it. leave removes it again, and returns
// false if the connection was refused and closed meanwhile.
func (l *listener) join(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.joined[c] = true
}

func (l *listener) leave(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := l.joined[c]
	delete(l.joined, c)
	return open
}

// batch is messages of one connection, to be stored in their order.
type batch struct {
	all  []Message
	ids  []string // "" for a message without one
	done chan<- stored
}

// stored says how many messages of a batch are in the inbox, and why not all.
type stored struct {
	n   int
	err error
}

// listen binds the port and prepares its files. The error is an *Error.
func listen(ctx context.Context, p Port, w Wish, c Config, places *Places, log *slog.Logger) (*listener, error) {
	l := &listener{
		port: p, wish: w, log: log.With("port", p.Number), key: newKey(), times: usual,
		file:  appender{path: w.MessageFile, callback: p.Callback(), sync: c.syncs(), elsewhere: func() []string { return p.earlier(w.MessageFile) }},
		batch: make(chan batch, storeQueue), large: make(chan struct{}, largeAtOnce), places: places, joined: map[net.Conn]bool{},
	}
	l.apply(c)
	if err := p.make(); err != nil {
		return nil, err
	}
	l.said = server{Started: w.Started, Key: l.key, Name: w.Name, File: w.MessageFile, Keeps: c.MaxInbox}
	if w.TLS {
		pair, err := p.certificate()
		if err != nil {
			return nil, Errorf(FileError, p.Number, "certificate: %w", err)
		}
		l.secret = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
		l.said.Cert = pair.Certificate[0]
	}
	var err error
	if l.socket, err = bind(ctx, p.Number); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, inUse(p.Number)
		}
		return nil, Errorf(NotStarted, p.Number, "%w", err)
	}
	if err = l.file.open(); err == nil {
		err = p.announce(l.said)
	}
	if err != nil {
		l.socket.Close()
		l.file.close()
		return nil, Errorf(FileError, p.Number, "%w", err)
	}
	return l, nil
}

// A child process that this one is just starting has its parent's sockets until it runs its own program. A
// socket that was closed meanwhile holds its port for that moment.
const (
	bindTries = 6
	bindPause = 20 * time.Millisecond
)

// bind listens on a port.
func bind(ctx context.Context, port int) (s net.Listener, err error) {
	for range bindTries {
		if s, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", address(port)); !errors.Is(err, syscall.EADDRINUSE) {
			return s, err
		}
		time.Sleep(bindPause)
	}
	return nil, err
}

// address returns the address of a port: on this computer, and nowhere else.
func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func inUse(port int) *Error {
	return Errorf(PortInUse, port, "Port %d is already in use by another process", port)
}

// free returns an error if a port cannot be listened on.
func free(port int) error {
	s, err := bind(context.Background(), port)
	switch {
	case err == nil:
		return s.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return inUse(port)
	}
	return Errorf(NotStarted, port, "%w", err)
}

// serve takes connections until ctx ends or the socket fails. Messages that were read by then are stored and
// acknowledged.
func (l *listener) serve(ctx context.Context) error {
	defer l.port.withdraw()
	stop := context.AfterFunc(ctx, func() { l.socket.Close() })
	defer stop()
	writer := make(chan struct{})
	go func() {
		defer close(writer)
		l.write()
	}()
	err := l.accept(ctx)
	l.socket.Close()
	close(l.batch)
	<-writer
	l.file.close()
	return err
}

// accept serves each connection with a goroutine of its own, and returns when all have ended.
func (l *listener) accept(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	open := make(chan struct{}, maxConnections)
	for {
		c, err := l.socket.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			if n := l.counts.add("accept"); n&(n-1) == 0 {
				l.log.Warn("accept", "err", err, "so_far", n)
			}
			time.Sleep(10 * time.Millisecond) // others have to close first
			continue
		case err != nil:
			return fmt.Errorf("port %d: %w", l.port.Number, err)
		}
		l.join(c) // before its user is asked for: no change of the settings comes between
		if why := l.admit(c, open); why != "" {
			if l.leave(c) {
				l.refuse(c, why)
			}
			continue
		}
		all.Go(func() {
			defer func() { <-open; l.places.leave() }()
			end := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
			defer end()
			switch why := l.converse(c, ctx.Done()); {
			case !l.leave(c):
			case why != "":
				l.refuse(c, why)
			default:
				c.Close()
			}
		})
	}
}

// refuse ends a connection with a reset, so that the other side notices.
func (l *listener) refuse(c net.Conn, why string) {
	if n := l.counts.add(why); n&(n-1) == 0 { // the 1st, 2nd, 4th, 8th: a flood does not fill the log
		l.log.Info("connection refused", "why", why, "so_far", n)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
}

// admit decides about a connection before anything is read. It returns why the connection is refused; "" means
// that it is admitted and has a place among the open ones. A peer that may not connect at all is refused first,
// so it takes no capacity from others, however often it tries.
func (l *listener) admit(c net.Conn, open chan struct{}) (why string) {
	now := l.settings.Load()
	if now.peer != nil {
		if err := now.peer.same(c); err != nil {
			l.log.Debug("peer refused", "err", err)
			return "peer"
		}
	}
	if l.bucket.most, l.bucket.rate = now.Burst, now.Rate; !l.bucket.take(time.Now()) {
		return "rate"
	}
	select {
	case open <- struct{}{}:
	default:
		return "connections"
	}
	if !l.places.enter() {
		<-open
		return "connections"
	}
	return ""
}

// conversation is one connection.
type conversation struct {
	*listener
	net.Conn
	frames frames
	acks   bool            // it has said hello, so envelopes follow
	large  bool            // it holds one of the places for large frames
	ending <-chan struct{} // closed once nothing more is to be read
}

// converse reads messages until the connection ends, and stores them. At the first violation it stops reading
// and returns why the connection is refused; otherwise it returns "".
func (l *listener) converse(plain net.Conn, ending <-chan struct{}) (why string) {
	c := &conversation{listener: l, Conn: plain, ending: ending}
	c.patient(c.times.first)
	if l.secret != nil {
		secret := tls.Server(plain, l.secret)
		if err := secret.Handshake(); err != nil {
			return "tls"
		}
		defer func() {
			if why == "" {
				_ = secret.CloseWrite()
			}
		}()
		c.Conn = secret
	}
	c.frames = frames{r: bufio.NewReaderSize(c.Conn, readAhead), begun: c.begun}
	defer c.free()
	limit, peer := MaxMessage, l.settings.Load().peer
	for first := true; ; first = false {
		if !first {
			c.patient(c.times.idle)
		}
		if _, err := c.frames.r.Peek(1); err != nil {
			return c.ended(err)
		}
		c.patient(c.times.head)
		frame, err := c.frames.next(limit)
		if err != nil {
			return c.ended(err)
		}
		if first {
			switch {
			case isHello(frame, l.key):
				c.acks, limit = true, maxEnvelope // a hello is small
				continue
			case looksHello(frame): // to an earlier listener: its envelopes would be taken for text
				return "hello"
			case peer != nil && !peer.knows():
				return "peer"
			}
		}
		if why := c.take(frame, limit); why != "" {
			return why
		}
	}
}

// patient makes the next read wait no longer than d, and not at all once the listener ends.
func (c *conversation) patient(d time.Duration) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	select {
	case <-c.ending:
		_ = c.SetReadDeadline(time.Now())
	default:
	}
}

// ended returns why a connection that has ended is refused; "" if it ended properly.
func (c *conversation) ended(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return ""
	case errors.Is(err, ErrCrossProtocol):
		return "cross_protocol"
	case errors.Is(err, ErrTooLarge):
		return "too_large"
	case errors.Is(err, ErrMalformed), errors.Is(err, ErrCut):
		return "malformed"
	}
	return "silent" // too slow, or reset
}

// begun waits until a large frame may be read, so that many at once do not fill the memory. The connection
// keeps that place until free.
func (c *conversation) begun(length int) error {
	c.patient(c.times.body)
	if length <= smallFrame || c.large {
		return nil
	}
	wait := time.NewTimer(c.times.body)
	defer wait.Stop()
	take := func(from chan struct{}) error {
		select {
		case from <- struct{}{}:
			return nil
		case <-wait.C:
			return syscall.ETIMEDOUT
		case <-c.ending:
			return os.ErrDeadlineExceeded
		}
	}
	if err := take(c.listener.large); err != nil {
		return err
	}
	if err := take(c.places.large); err != nil {
		<-c.listener.large
		return err
	}
	c.large = true
	c.patient(c.times.body)
	return nil
}

// free gives back the place of a large frame, and its memory, once the frame is no longer needed.
func (c *conversation) free() {
	if c.large {
		c.frames.body = bytes.Buffer{}
		<-c.places.large
		<-c.listener.large
		c.large = false
	}
}

// take stores a message together with those that have already arrived behind it, and acknowledges them.
func (c *conversation) take(frame []byte, limit int) (why string) {
	var all []Message
	var ids []string
	for size := 0; ; {
		m, id, err := c.message(frame)
		if err != nil {
			why = "malformed"
			break
		}
		all, ids, size = append(all, m), append(ids, id), size+len(frame)
		if size > batchBytes || !c.frames.ready() {
			break
		}
		if frame, err = c.frames.next(limit); err != nil {
			why = c.ended(err)
			break
		}
	}
	n, err := c.store(all, ids)
	c.free()
	if err != nil && !errors.Is(err, errFull) {
		c.log.Error("store", "err", err)
	}
	if !c.acks {
		if err != nil && why == "" {
			why = "full"
		}
		return why
	}
	if !c.acknowledge(ids, n, err) && why == "" {
		why = "silent"
	}
	return why
}

// message returns what a frame says.
func (c *conversation) message(frame []byte) (m Message, id string, err error) {
	now := Stamp(time.Now())
	if !c.acks {
		if !utf8.Valid(frame) {
			return m, "", ErrMalformed
		}
		return Message{Timestamp: now, Text: string(frame)}, "", nil
	}
	e, err := parseEnvelope(frame)
	if err != nil {
		return m, "", err
	}
	return e.stored(now), e.ID, nil
}

// store returns once the messages are stored, or cannot be.
func (c *conversation) store(all []Message, ids []string) (int, error) {
	if len(all) == 0 {
		return 0, nil
	}
	done := make(chan stored, 1)
	c.batch <- batch{all, ids, done}
	s := <-done
	return s.n, s.err
}

// acknowledge answers envelopes, of which the first n are stored. It reports whether the answers could be
// written.
func (c *conversation) acknowledge(ids []string, n int, err error) bool {
	var out []byte
	for i, id := range ids {
		a := ack{ID: id}
		switch {
		case i < n:
		case errors.Is(err, errFull):
			a.Code, a.Text = InboxFull, fmt.Sprintf("Inbox of port %d is full: it keeps %d messages until they are taken with intercom talk check --port %[1]d --clear", c.port.Number, c.settings.Load().MaxInbox)
		default:
			a.Code, a.Text = NotStored, fmt.Sprintf("Listener on port %d could not store the message: %v", c.port.Number, err)
		}
		out = AppendFrame(out, marshal(a))
	}
	_ = c.SetWriteDeadline(time.Now().Add(c.times.reply))
	_, err = c.Write(out)
	return err == nil
}

// write stores batches until there are no more. Batches that wait at the same time are stored with one write
// and one sync.
func (l *listener) write() {
	for first := range l.batch {
		waiting := []batch{first}
		for size := 0; size < batchBytes && len(l.batch) > 0; {
			next, ok := <-l.batch
			if !ok {
				break
			}
			waiting = append(waiting, next)
			for _, m := range next.all {
				size += len(m.Text)
			}
		}
		if l.hand != nil {
			for _, b := range waiting {
				b.done <- l.handIn(b)
			}
			continue
		}
		var lines [][]byte
		for _, b := range waiting {
			for _, m := range b.all {
				lines = append(lines, m.appendLine(nil))
			}
		}
		now := l.settings.Load()
		l.file.most, l.file.sync = now.MaxInbox, now.syncs()
		n, err := l.file.append(lines)
		for _, b := range waiting {
			mine := min(n, len(b.all))
			n -= mine
			if l.heard != nil {
				for _, m := range b.all[:mine] {
					l.heard(m)
				}
			}
			s := stored{n: mine}
			if mine < len(b.all) {
				s.err = err
			}
			b.done <- s
		}
	}
}

// handIn passes a batch to hand, which takes messages in place of the inbox.
func (l *listener) handIn(b batch) (s stored) {
	for i, m := range b.all {
		if s.err = l.hand(m, b.ids[i]); s.err != nil {
			return s
		}
		s.n++
	}
	return s
}

// bucket limits how many connections are taken: most at once, and then rate a second.
type bucket struct {
	most, rate int
	have       float64
	last       time.Time
}

func (b *bucket) take(now time.Time) bool {
	if b.last.IsZero() {
		b.have = float64(b.most)
	} else {
		b.have = min(float64(b.most), b.have+now.Sub(b.last).Seconds()*float64(b.rate))
	}
	b.last = now
	if b.have < 1 {
		return false
	}
	b.have--
	return true
}

// counts says how often connections were refused, by reason.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(why string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[string]int)
	}
	c.of[why]++
	return c.of[why]
}

// ListenOnce serves a port in this process until ctx ends. It is for a program that waits for a message where
// no listener runs, as for a person without a sidecar. It also ends once another message file is wanted,
// because messages would then lie where no check looks. An error that wraps claim.ErrHeld says that a listener
// runs.
func (p Port) ListenOnce(ctx context.Context, log *slog.Logger) (serve func() error, err error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	mine, err := claim.Take(p.claim())
	if err != nil {
		return nil, err
	}
	w := p.once()
	l, err := listen(ctx, p, w, config, NewPlaces(), log)
	if err != nil {
		_ = mine.Release()
		return nil, err
	}
	return func() error {
		defer mine.Release()
		serving, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			tick := time.NewTicker(onceLooks)
			defer tick.Stop()
			for now := w; now.MessageFile == w.MessageFile && now.TLS == w.TLS; now = p.once() {
				select {
				case <-serving.Done():
					return
				case <-tick.C:
				}
			}
			stop()
		}()
		return l.serve(serving)
	}, nil
}

// onceLooks is how often ListenOnce looks for what is wanted. A program that wants something else waits that
// long.
const onceLooks = 100 * time.Millisecond

// once returns how to serve a port that nobody serves: as it is wanted, otherwise for its own inbox.
func (p Port) once() Wish {
	if w, err := p.Wanted(); err == nil {
		return w
	}
	return Wish{Port: p.Number, MessageFile: p.Inbox(), Started: time.Now().Local().Format(startedLayout)}
}
