package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Relay is what the link needs from the relay.
type Relay interface {
	Join(ctx context.Context, peer message.Peer) (message.Peer, error)
	Receive(ctx context.Context, m message.Envelope) (fresh bool, err error)
	Report(ctx context.Context, r message.Receipt) error
	Gone(ctx context.Context, id message.ID, reason message.Reason) error
	Tell(ctx context.Context, about message.ID, text string) error
	Mirror(ctx context.Context, c message.Chat, consent bool) (message.Chat, error)
	MirrorLeft(ctx context.Context, chat message.ID, from string, peers []message.ID, why string) error
}

// Journal is what the link reads from the journal.
type Journal interface {
	// Receipts returns the receipts of all deliveries of a message, oldest first.
	Receipts(ctx context.Context, id message.ID) ([]message.Receipt, error)
	Delivery(ctx context.Context, id message.ID) (message.Delivery, error)
	// Session returns a peer, present or ended.
	Session(ctx context.Context, id message.ID) (message.Peer, error)
}

// Config is what a person configures for this computer. The zero value means no link.
type Config struct {
	Name     string // of this computer
	NATS     string // URLs of the servers, separated by commas: nats://, tls:// or unix:///PATH
	Creds    string // path of its credentials; "" for none
	Insecure bool   // allows plain text or no credentials beyond loopback
}

// Answerer answers a question of another computer. from is the session there that asks, as a peer here; its ID
// is "" if the computer itself asks.
type Answerer func(ctx context.Context, computer string, from message.Peer, body []byte) (any, error)

// Link is the connection with other computers, and the sink for their sessions.
type Link struct {
	Relay   Relay   // required
	Journal Journal // required
	// Config is called again and again: a change by the person takes effect without a restart.
	Config func() Config
	// May reports what another computer may do here: send, answer, chat, start, read.
	May func(computer, what string) bool
	// Pinned returns the public key that a person has set for a computer; "" accepts the first key that comes.
	Pinned func(computer string) string
	// Sessions returns the sessions of this computer that others may know of.
	Sessions func() []Session
	// Peers returns all peers that the relay knows, so that those of an earlier life are known again.
	Peers func() []message.Peer
	// Chats returns all chats that go on here, and some that have ended.
	Chats func() []message.Chat
	// Submitted is the deliveries of an earlier life that another computer has taken and not answered.
	Submitted []message.Delivery
	Dir       string // for its key, and what it knows of others
	Lock      string // the claim: one sidecar of a computer has the link
	Key       string // identifies this sidecar among those of its computer, also after a restart
	Spare     bool   // it has no sessions, and has the link only while no sidecar that may have some wants it
	Log       *slog.Logger
	Now       func() time.Time

	once    sync.Once
	saving  sync.Mutex // held while known is saved; taken before mu
	pace    pace       // of the mail
	rooms   int        // the most sessions of one computer that may be peers here
	timing  timing
	answers map[string]Answerer
	yielded time.Time // when a spare last saw that another wants the link; Run's own
	left    time.Time // when another sidecar that had it last was last seen with it, or first looked for; Run's own

	mu    sync.Mutex // guards what follows; never held for long, because the relay waits for it
	life  *life      // nil: not linked
	why   string     // why it is not linked or not connected; "" if it is, or if nobody wants it
	known directory
	told  map[message.ID]string // which computer of known has told of a session
	news  bool                  // known differs from the file
	stale bool                  // the sessions in known differ from the file
	queue []message.Delivery    // to be sent, oldest first
	notes []note                // to be sent about chats, oldest first
	open  map[message.ID]*sent
	rests map[string]rest       // of computers whose mailboxes take nothing
	in    map[message.ID]string // the computers of the sessions that are peers here
	wake  chan struct{}         // of the outbox

	refusals unlogged
}

// sent is a delivery that is with another computer and whose final state that computer has not told yet.
type sent struct {
	token   string
	target  message.ID
	state   message.ReceiptState
	posted  time.Time // zero: in an earlier life
	times   int       // how often it was posted again
	doubted time.Time // since when it is uncertain, if it is
}

// waits reports whether the other computer has not said yet whether it took the delivery.
func (s *sent) waits() bool { return s.state != message.Submitted && s.state != message.Uncertain }

// life is one connection, with everything that belongs to it.
type life struct {
	config Config
	token  string
	boot   string
	id     identity
	conn   *nats.Conn
	js     jetstream.JetStream
	began  time.Time
	line   unbroken
	seen   seen
	costs  costs
	waits  waits
	asking sync.WaitGroup // questions that are being answered
	fates  chan told      // not told yet
	turns  chan struct{}  // of questions to computers whose answers nobody waits for
	beat   chan struct{}  // say at once that this computer is here
	back   chan struct{}  // the connection is back: mail that came meanwhile rang for nobody
	boxed  chan struct{}  // closed once the server keeps mail for this computer, or refuses to

	flooded chan struct{} // another computer has become too loud
}

// ErrNotLinked says that this computer cannot reach others.
var ErrNotLinked = errors.New("this computer is not linked with others")

func (l *Link) init() {
	l.once.Do(func() {
		l.open, l.in, l.wake = map[message.ID]*sent{}, map[message.ID]string{}, make(chan struct{}, 1)
		l.answers, l.rests = map[string]Answerer{}, map[string]rest{}
		l.known = directory{}
		l.pace, l.timing, l.rooms = cmp.Or(l.pace, pace{mailRate, mailBurst}), l.timing.orUsual(), cmp.Or(l.rooms, mostSessions)
		for op, f := range builtin {
			l.answers[op] = func(ctx context.Context, computer string, from message.Peer, body []byte) (any, error) {
				return f(l, ctx, computer, body)
			}
		}
	})
}

// Answer sets who answers questions of that name. It is called before Run.
func (l *Link) Answer(op string, f Answerer) {
	l.init()
	l.answers[op] = f
}

const (
	lookEvery  = time.Second     // at the person's configuration
	tellWithin = 2 * time.Second // for the last words when it ends
)

// Run keeps the link for as long as a person wants it, until ctx ends.
func (l *Link) Run(ctx context.Context) error {
	l.init()
	l.adopt()
	var wish *claim.Claim
	for ctx.Err() == nil {
		config := l.Config()
		wish = l.wish(wish, config.NATS != "")
		if config.NATS == "" {
			l.trouble("")
			l.holdQueue(ctx)
			sleep(ctx, lookEvery)
			continue
		}
		if err := l.hold(ctx, config); err != nil && ctx.Err() == nil {
			if l.trouble(err.Error()) {
				l.Log.Warn("link", "err", err)
			}
			l.holdQueue(ctx)
			sleep(ctx, l.timing.retry)
		}
	}
	l.wish(wish, false)
	return nil
}

// adopt takes up what an earlier life left.
func (l *Link) adopt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.Peers() {
		if p.Kind == message.PeerRemote && p.Ended == nil {
			l.in[p.ID] = p.Computer
		}
	}
	for _, d := range l.Submitted {
		if token, ok := l.in[d.Target]; ok {
			l.open[d.ID] = &sent{token: token, target: d.Target, state: message.Submitted}
		}
	}
}

// trouble notes why there is no link, and reports whether that is new.
func (l *Link) trouble(why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.why != why
	l.why = why
	return is
}

// hold has the link while the configuration stays the same.
func (l *Link) hold(ctx context.Context, config Config) error {
	if l.yields() {
		return errHeld
	}
	if l.waitsForLast() {
		return errLast
	}
	mine, err := claim.Take(l.Lock)
	if errors.Is(err, claim.ErrHeld) {
		return errHeld
	}
	if err != nil {
		return err
	}
	defer mine.Release()
	l.isLast()
	lf, err := l.begin(config)
	if err != nil {
		return err
	}
	defer lf.conn.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	l.mu.Lock()
	l.life = lf
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.life = nil
		l.mu.Unlock()
	}()
	heard, err := l.listen(ctx, lf)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { l.intake(ctx, lf) })
	all.Go(func() { l.presence(ctx, lf) })
	all.Go(func() { l.outbox(ctx, lf) })
	all.Go(func() { l.reconcile(ctx, lf) })
	all.Go(func() { l.teller(ctx, lf) })
	all.Go(func() { l.remember(ctx) })
	for ctx.Err() == nil && l.Config() == config && mine.Intact() && !l.yields() {
		select {
		case <-ctx.Done():
		case <-lf.flooded:
		case <-time.After(lookEvery):
		}
		if err := heard.of(l.speakers(lf)); err != nil && ctx.Err() == nil {
			l.Log.Warn("link", "err", err)
		}
	}
	_ = heard.of(nobody)
	end()
	all.Wait()
	lf.asking.Wait()
	return nil
}

// begin connects. If a server is not there yet, it is tried until it is.
func (l *Link) begin(config Config) (*life, error) {
	token, err := Token(config.Name)
	if err != nil {
		return nil, err
	}
	lf := &life{config: config, token: token, began: l.Now(), boot: string(message.NewID()), beat: make(chan struct{}, 1), back: make(chan struct{}, 1), flooded: make(chan struct{}, 1), costs: costs{pace: l.pace, timing: l.timing}, boxed: make(chan struct{}), turns: make(chan struct{}, turnsAtOnce), fates: make(chan told, untoldMost)}
	if lf.id, err = loadIdentity(l.Dir); err != nil {
		return nil, err
	}
	if err := l.recall(); err != nil {
		return nil, err
	}
	var creds Credentials
	if config.Creds != "" {
		text, err := own.Read(config.Creds, 1<<20)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		if creds, err = ParseCredentials(text); err != nil {
			return nil, fmt.Errorf("credentials in %q: %w", config.Creds, err)
		}
	}
	urls, options, err := dial(config)
	if err != nil {
		return nil, err
	}
	shown, err := creds.options()
	if err != nil {
		return nil, fmt.Errorf("credentials in %q: %w", config.Creds, err)
	}
	options = append(append(options, shown...),
		nats.Name("intercom "+token), nats.CustomInboxPrefix(inbox(token)),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(l.timing.reconnect), nats.ReconnectJitter(l.timing.reconnect/2, l.timing.reconnect/2),
		nats.IgnoreAuthErrorAbort(),                                    // a key may be granted later
		nats.ReconnectBufSize(-1),                                      // the connection buffers nothing: what is unsent stays with us, written down
		nats.PingInterval(10*time.Second), nats.MaxPingsOutstanding(2), // notices a dead line
		nats.ConnectHandler(func(*nats.Conn) { l.connected() }),
		nats.ReconnectHandler(func(*nats.Conn) { l.connected() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { l.disconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.disconnected(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { l.Log.Warn("link", "err", err) }),
	)
	if lf.conn, err = nats.Connect(urls, options...); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.shown(), err)
	}
	if lf.js, err = jetstream.New(lf.conn, jetstream.WithDefaultTimeout(publishWithin)); err != nil {
		lf.conn.Close()
		return nil, err
	}
	if lf.conn.IsConnected() {
		l.trouble("")
	} else {
		l.trouble("connecting to " + config.shown())
	}
	return lf, nil
}

// connected is called each time that the connection is made.
func (l *Link) connected() {
	if l.trouble("") {
		l.Log.Info("linked with other computers")
	}
	l.mu.Lock()
	lf := l.life
	clear(l.rests) // it may be another server
	l.mu.Unlock()
	if lf != nil {
		wake(lf.beat)
		wake(lf.back)
	}
	wake(l.wake)
}

func (l *Link) disconnected(err error) {
	why := "not connected"
	if err != nil {
		why += ": " + err.Error()
	}
	if l.trouble(why) {
		l.Log.Warn("link", "err", why)
	}
	if lf := l.current(); lf != nil {
		lf.line.broken()
	}
}

// InsecureError says that a server would be reached in plain text, or without credentials.
type InsecureError struct{ URL, What string }

const plainText, noCredentials = "plain text", "no credentials"

func (e *InsecureError) Error() string {
	instead := "use tls://"
	if e.What == noCredentials {
		instead = "name their file in creds"
	}
	return fmt.Sprintf("%s: %s beyond this computer: %s, or set insecure = true", e.URL, e.What, instead)
}

// shown returns the servers in a form that anybody may see: any agent may list the computers, and a URL may
// have a password or token.
func (c Config) shown() string {
	if c.NATS == "" {
		return ""
	}
	all := strings.Split(c.NATS, ",")
	for i, one := range all {
		all[i] = redacted(strings.TrimSpace(one))
	}
	return strings.Join(all, ",")
}

// redacted returns the parts of a URL that are no secret: its scheme and where it leads.
func redacted(one string) string {
	u, err := url.Parse(one)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return "(no URL)"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host}
	if u.Scheme == "unix" {
		shown.Path = u.Path
	}
	if u.User != nil {
		shown.User = url.User("xxxxx")
	}
	return shown.String()
}

// Check returns an error, for a person, if the configuration cannot work.
func (c Config) Check() error {
	if c.NATS == "" {
		return nil
	}
	if _, err := Token(c.Name); err != nil {
		return err
	}
	_, _, err := dial(c)
	return err
}

// dial returns how the servers of a configuration are reached. Plain text and missing credentials are only for
// this computer, or for a person who allows them.
func dial(config Config) (urls string, options []nats.Option, err error) {
	var all []string
	plain := false
	for one := range strings.SplitSeq(config.NATS, ",") {
		one = strings.TrimSpace(one)
		u, err := url.Parse(one)
		if err != nil || u.Scheme == "" || u.Opaque != "" {
			return "", nil, errors.New("not the URL of a NATS server: nats://HOST:PORT, tls://HOST:PORT or unix:///PATH") // not quoted: it may have a password
		}
		switch u.Scheme {
		case "unix":
			if strings.Contains(config.NATS, ",") || !filepath.IsAbs(u.Path) || u.Host != "" {
				return "", nil, fmt.Errorf("%q: unix:// names one absolute path, and no other server", redacted(one))
			}
			// Whoever forwards the socket is trusted to know the other end, as ssh does.
			options = append(options, nats.SetCustomDialer(socket(u.Path)))
			all = append(all, "nats://localhost")
			continue
		case "nats", "tls":
		default:
			return "", nil, fmt.Errorf("%q: a NATS server is reached by nats://, tls:// or unix://", redacted(one))
		}
		plain = plain || u.Scheme != "tls"
		if !loopback(u.Hostname()) && !config.Insecure {
			if u.Scheme != "tls" {
				return "", nil, &InsecureError{redacted(one), plainText}
			}
			if config.Creds == "" && u.User == nil {
				return "", nil, &InsecureError{redacted(one), noCredentials}
			}
		}
		all = append(all, one)
	}
	if plain && !config.Insecure {
		options = append(options, nats.IgnoreDiscoveredServers()) // it may name others, which would be reached in plain text
	}
	return strings.Join(all, ","), options, nil
}

// socket dials a unix socket, whatever address it is given.
type socket string

func (s socket) Dial(string, string) (net.Conn, error) {
	return net.DialTimeout("unix", string(s), 5*time.Second)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// State describes the link.
type State struct {
	Wanted    bool   // a person has configured it
	Token     string // of this computer
	Server    string
	Connected bool
	Why       string // why it is not connected
}

// State returns the state of the link.
func (l *Link) State() State {
	l.init()
	config := l.Config()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{Wanted: config.NATS != "", Server: config.shown(), Why: l.why}
	s.Token, _ = Token(cmp.Or(config.Name, message.LocalComputer))
	s.Connected = l.life != nil && l.life.conn.IsConnected()
	return s
}

// Computers returns the other computers that are known.
func (l *Link) Computers() []Computer {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := map[string]int{}
	for _, one := range l.open {
		if one.waits() {
			waiting[one.token]++
		}
	}
	for _, d := range l.queue {
		if l.open[d.ID] == nil {
			waiting[l.in[d.Target]]++
		}
	}
	all := l.known.list(l.Now())
	for i := range all {
		all[i].Waiting = waiting[all[i].Token]
	}
	return all
}

// current returns the current life, nil if there is none.
func (l *Link) current() *life {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life
}

// Find returns the session of another computer that ref means: COMPUTER/SESSION, the session's name followed by
// a dot and its computer, or its id.
func (l *Link) Find(ref string) (token string, s Session, err error) {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	computer, name, both := strings.Cut(ref, "/")
	if !both {
		return l.known.find("", ref)
	}
	if token, err = Token(computer); err != nil {
		return "", s, err
	}
	return l.known.find(token, name)
}

// Enter makes a session of another computer a peer here, and returns it.
func (l *Link) Enter(ctx context.Context, token string, s Session) (message.Peer, error) {
	l.init()
	if s.ID != "" && !l.hasRoom(token, s.ID) {
		return message.Peer{}, fmt.Errorf("session %s of computer %q: %w", s.ID, token, errTooMany)
	}
	if registry.CheckName(s.Agent) != nil {
		s.Agent = ""
	}
	s.Title = shortTitle(s.Title)
	p, err := l.Relay.Join(ctx, message.Peer{
		ID: s.ID, Kind: message.PeerRemote, Key: token + "/" + string(s.ID), Name: s.Name + "." + token, Title: s.Title, Computer: token,
		PaneOf: message.PaneOf{Profile: s.Agent},
	})
	if err != nil {
		return p, fmt.Errorf("session %s of computer %q: %w", s.ID, token, err)
	}
	l.mu.Lock()
	l.in[p.ID] = token
	l.mu.Unlock()
	return p, nil
}

// errTooMany says that a computer has more sessions here than it may, or that a session is another computer's.
var errTooMany = errors.New("too many sessions of that computer are peers here, or the session belongs to another computer")

// hasRoom reports whether a session of a computer may be one more peer here.
func (l *Link) hasRoom(token string, id message.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, is := l.in[id]; is && have == token {
		return true
	}
	n := 0
	for _, one := range l.in {
		if one == token {
			n++
		}
	}
	by := l.told[id]
	return n < l.rooms && (by == "" || by == token)
}

// hasTold reports whether a computer has told of a session, or has it as a peer here.
func (l *Link) hasTold(token string, id message.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	have, is := l.in[id]
	by, told := l.told[id]
	return is && have == token || told && by == token
}

// Hear handles what has happened here, and does not block. Other computers are told of receipts of their
// messages, of changes in the chats of their sessions, and of sessions here that came or went.
func (l *Link) Hear(events []message.Event) {
	l.init()
	lf := l.current()
	if lf == nil {
		return
	}
	for _, e := range events {
		switch {
		case e.Peer != nil && e.Peer.Kind == message.PeerPane:
			wake(lf.beat)
		case e.Change != nil:
			l.chatChanged(lf, *e.Change)
		case e.Receipt != nil && e.Receipt.Superseded(): // its replacement is told of
		case e.Receipt != nil && e.Delivery != nil && e.Delivery.Message.Trust == message.TrustRemote:
			if token, ok := l.computerOf(e.Delivery.Message.From.Peer); ok {
				if e.Receipt.State == message.Failed {
					lf.costs.failed(token, l.Now())
				}
				l.tell(lf, token, fateOf(*e.Receipt))
			}
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// seen has the questions of the last minutes, and the replies of which a person was told. If one comes twice,
// it is handled once. Those of one computer push out none of another's.
type seen struct {
	sync.Mutex
	ids   map[message.ID]time.Time
	swept time.Time
}

// has reports whether an id was added in the last minutes.
func (s *seen) has(id message.ID) bool {
	s.Lock()
	defer s.Unlock()
	_, ok := s.ids[id]
	return ok
}

// add adds an id, and reports whether it was new.
func (s *seen) add(id message.ID, now time.Time) bool {
	s.Lock()
	defer s.Unlock()
	if s.ids == nil {
		s.ids = map[message.ID]time.Time{}
	}
	if now.Sub(s.swept) > stale {
		maps.DeleteFunc(s.ids, func(_ message.ID, at time.Time) bool { return now.Sub(at) > 2*stale })
		s.swept = now
	}
	if _, ok := s.ids[id]; ok {
		return false
	}
	s.ids[id] = now
	return true
}
