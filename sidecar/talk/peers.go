package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// Relay is what ports need from the relay.
type Relay interface {
	Join(ctx context.Context, peer message.Peer) (message.Peer, error)
	Receive(ctx context.Context, m message.Envelope) (fresh bool, err error)
	ReceiveAnswer(ctx context.Context, m message.Envelope, to message.ID) (fresh bool, err error)
	Report(ctx context.Context, r message.Receipt) error
	Gone(ctx context.Context, id message.ID, reason message.Reason) error
}

// Peers makes the ports on which somebody listens peers of the relay, whichever sidecar serves them. It is also
// their sink: a delivery to a port is sent to it as a message. The message comes from a port of this sidecar's
// own, the peer's gate. So the reader can answer as the document has it, to sender_port, and what comes to the
// gate is what that port's peer says. It goes to the peer's chat, or to whom policies route it. It is in the
// journal, not in an inbox, before it is acknowledged.
//
// The sender port of a message proves nothing. A gate takes what programs of this user say, whatever
// Config.Auth is, but only in the name of its own peer: a port that was written to cannot answer as another
// one. A program of this user can still read in an inbox which gate belongs to whom and speak in that peer's
// name. Therefore all of it is TrustLoopback.
//
// Run has a goroutine for each port, which sends the port's deliveries.
type Peers struct {
	Home
	Relay Relay        // required
	Log   *slog.Logger // required
	// Left returns the peers that an earlier life of the relay knew. If nobody listens on one of their ports
	// any more, the relay is told. nil: none.
	Left func() []message.Peer
	// Submitted is the deliveries that an earlier life sent and nobody has answered yet, in that order. The
	// first message from a port of Left answers the last of them that the port was given outside of chats.
	Submitted []message.Delivery
	// Places is shared with other servers of ports in this process; nil: with none.
	Places *Places

	// For tests; zero means the usual value.
	every time.Duration

	opening sync.Mutex // held while a gate is opened

	mu    sync.Mutex // guards what follows; never held for long, because the relay waits for it
	known map[int]*peer
	waits map[message.ID][]message.Delivery // deliveries to be sent, by session
	heard []heard                           // messages for policies, not handed in yet
	wake  chan struct{}
	look  chan chan<- struct{}
}

// peer is a port that is a peer of the relay.
type peer struct {
	number  int
	session message.ID
	gate    int                    // its gate's number; 0 while it is not open
	missed  int                    // ticks in a row without a listener
	name    atomic.Pointer[string] // its listener's; nil until that is known
	full    string                 // the state of its inbox when that was full; "": it was not; of the goroutine that sends
	end     context.CancelFunc     // of the goroutine that sends to it
	woken   chan struct{}

	// turn lets only one thing at a time be said to or by the port, since it may answer before the sender knows
	// that it has the question. It is taken before Peers.mu. Neither the relay nor the acknowledgement of a
	// message waits for it.
	turn  sync.Mutex
	asked *message.Delivery // guarded by turn: its last delivery outside of chats, if not answered yet
}

// heard is a message stored in the inbox of a port whose messages are also for policies.
type heard struct {
	port int
	Message
}

const (
	maxMissed = 4           // a port that changes hands is silent for two ticks at most
	maxHeard  = 1000        // messages that may wait for the relay; more stay only in the inbox
	firstGate = 9900        // gates are numbered from here on
	gates     = 1000        // how many; a port mostly gets the same one, so that it can answer after a restart
	sendPause = time.Second // before what could not be sent is tried again
)

func (p *Peers) init() {
	if p.known == nil {
		p.known, p.waits, p.wake = make(map[int]*peer), make(map[message.ID][]message.Delivery), make(chan struct{}, 1)
		p.look = make(chan chan<- struct{})
		p.Places = cmp.Or(p.Places, NewPlaces())
	}
}

// Deliver keeps deliveries for their ports, in their order.
func (p *Peers) Deliver(all ...message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.init()
	for _, one := range all {
		same := func(have message.Delivery) bool { return have.ID == one.ID }
		p.waits[one.Target] = append(slices.DeleteFunc(p.waits[one.Target], same), one)
	}
	for _, one := range p.known {
		wake(one.woken)
	}
}

// Cancel forgets deliveries that are not sent yet.
func (p *Peers) Cancel(ids []message.ID, _ message.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for session, waits := range p.waits {
		p.waits[session] = slices.DeleteFunc(waits, func(one message.Delivery) bool { return slices.Contains(ids, one.ID) })
	}
}

// Forget forgets a session and everything that waits for it.
func (p *Peers) Forget(session message.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waits, session)
	for number, one := range p.known {
		if one.session == session {
			one.end()
			delete(p.known, number)
		}
	}
}

// Heard takes a message from the inbox of a port, for policies to route.
func (p *Peers) Heard(w Wish, m Message) {
	if !w.Route || m.Type == TypeBinary {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.init()
	if len(p.heard) >= maxHeard {
		p.Log.Warn("message stays in the inbox alone: too many wait for policies", "port", w.Port)
		return
	}
	p.heard = append(p.heard, heard{w.Port, m})
	wake(p.wake)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Look makes Run look at once, and returns when it has. Every port with a listener is then a peer.
func (p *Peers) Look(ctx context.Context) error {
	p.mu.Lock()
	p.init()
	p.mu.Unlock()
	looked := make(chan struct{})
	select {
	case p.look <- looked:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-looked:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run keeps the ports that somebody listens on as peers until ctx ends.
func (p *Peers) Run(ctx context.Context) error {
	p.mu.Lock()
	p.init()
	p.mu.Unlock()
	var all sync.WaitGroup
	defer all.Wait()
	every := p.every
	if every == 0 {
		every = lookEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	if p.Left != nil {
		for _, one := range p.Left() {
			if number, err := strconv.Atoi(one.Key); err == nil && one.Kind == message.PeerPort {
				p.goOn(ctx, number, one, &all)
			}
		}
	}
	ticked := false
	for looked := (chan<- struct{})(nil); ; {
		if err := p.pass(ctx, ticked, &all); err != nil && ctx.Err() == nil {
			p.Log.Warn("ports as peers", "err", err)
		}
		p.route(ctx)
		if looked != nil {
			close(looked)
			looked = nil
		}
		ticked = false
		select {
		case <-ctx.Done():
			return nil
		case looked = <-p.look:
		case <-tick.C:
			ticked = true
		case <-p.wake:
		}
	}
}

// pass makes the ports join on which somebody listens, and ends those on which nobody has listened for some
// ticks. A port to which something is still to be sent stays: the delivery waits for the port to open again, or
// for its own end. A listener with another name is another peer, and ends the one whose place it takes.
func (p *Peers) pass(ctx context.Context, ticked bool, all *sync.WaitGroup) error {
	here := map[int]bool{}
	var failed error
	for _, l := range p.Discover() {
		here[l.Port] = true
		if one := p.peer(l.Port); one != nil {
			one.missed = 0
			if one.name.CompareAndSwap(nil, &l.Name) || *one.name.Load() == l.Name {
				continue
			}
			// Another one listens in its place. It gets nothing of what waits for this one, and joins after its end.
			if err := p.Relay.Gone(ctx, one.session, message.AgentGone); err != nil {
				failed = errors.Join(failed, fmt.Errorf("port %d: %w", l.Port, err))
				continue
			}
		}
		joined, err := p.Relay.Join(ctx, message.Peer{Kind: message.PeerPort, Key: strconv.Itoa(l.Port), Name: l.Name, Title: l.Name})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("port %d: %w", l.Port, err))
			continue
		}
		p.enter(ctx, l, joined.ID, all)
	}
	p.mu.Lock()
	var gone []*peer
	for number, one := range p.known {
		if ticked && !here[number] {
			if one.missed++; one.missed > maxMissed && len(p.waits[one.session]) == 0 {
				gone = append(gone, one)
			}
		}
	}
	p.mu.Unlock()
	for _, one := range gone { // unless the relay still has something for it, as while all is paused
		failed = errors.Join(failed, p.Relay.Gone(ctx, one.session, message.PortClosed))
	}
	return failed
}

// enter makes a port a peer.
func (p *Peers) enter(ctx context.Context, l Listening, session message.ID, all *sync.WaitGroup) {
	one, sending := p.know(ctx, l.Port, session, nil)
	one.name.Store(&l.Name)
	all.Go(func() { p.sendTo(sending, one, all) })
}

// goOn makes a port of an earlier life a peer. It opens the gate at once: the port may answer what it was sent
// from there, in a chat or not, before it is sent anything more, and its program knows nothing of us but the
// number of that gate. Its title is its listener's name, which the relay may have changed in its name.
func (p *Peers) goOn(ctx context.Context, number int, left message.Peer, all *sync.WaitGroup) {
	var asked *message.Delivery
	for _, d := range p.Submitted {
		if d.Target == left.ID && d.Chat == "" {
			asked = &d
		}
	}
	one, sending := p.know(ctx, number, left.ID, asked)
	if left.Title != "" { // "": an older version took it in
		one.name.Store(&left.Title)
	}
	all.Go(func() {
		if _, err := p.open(sending, one, all); err != nil && sending.Err() == nil {
			p.Log.Warn("gate of a port of an earlier life", "port", number, "err", err)
		}
		p.sendTo(sending, one, all)
	})
}

func (p *Peers) know(ctx context.Context, number int, session message.ID, asked *message.Delivery) (one *peer, sending context.Context) {
	sending, end := context.WithCancel(ctx)
	one = &peer{number: number, session: session, end: end, woken: make(chan struct{}, 1), asked: asked}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[number] = one
	return one, sending
}

func (p *Peers) peer(number int) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[number]
}

// route hands in the messages for policies that came to ports.
func (p *Peers) route(ctx context.Context) {
	for {
		p.mu.Lock()
		if len(p.heard) == 0 {
			p.mu.Unlock()
			return
		}
		next := p.heard[0]
		one := p.known[next.port]
		p.heard = p.heard[1:]
		p.mu.Unlock()
		if one == nil {
			continue // nobody listens there any more
		}
		if _, err := p.Relay.Receive(ctx, envelopeOf(one, next.port, next.Message)); err != nil && ctx.Err() == nil {
			p.Log.Warn("message stays in the inbox alone", "port", next.port, "err", err)
		}
	}
}

// envelopeOf returns a message that came to a port as one that a peer says.
func envelopeOf(from *peer, port int, m Message) message.Envelope {
	e := message.Envelope{
		From: message.Address{Peer: from.session}, Type: message.KindMessage, Body: m.Text,
		Meta: map[string]string{"port": strconv.Itoa(port), "sender_port": strconv.Itoa(m.Sender)},
	}
	if m.Thread != "" {
		e.Meta["thread"] = m.Thread
	}
	return e
}

// sendTo sends the deliveries of a port, in order, until ctx ends.
func (p *Peers) sendTo(ctx context.Context, one *peer, all *sync.WaitGroup) {
	for {
		d, ok := p.next(one.session)
		wait := time.Duration(0)
		if ok {
			again, err := p.give(ctx, one, d, all)
			if err != nil && ctx.Err() == nil {
				p.Log.Warn("delivery to a port", "port", one.number, "delivery", d.ID, "err", err)
			}
			if !again {
				p.done(d)
				continue
			}
			wait = sendPause
		}
		var pause <-chan time.Time
		if wait > 0 {
			pause = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-one.woken:
		case <-pause:
		}
	}
}

// next returns the next delivery of a port. It stays in the queue until it is done.
func (p *Peers) next(session message.ID) (d message.Delivery, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waits := p.waits[session]; len(waits) > 0 {
		return waits[0], true
	}
	return d, false
}

// done forgets a delivery with that attempt. If the relay has handed it over again since, that one stays.
func (p *Peers) done(d message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits[d.Target] = slices.DeleteFunc(p.waits[d.Target], func(have message.Delivery) bool {
		return have.ID == d.ID && have.Attempt == d.Attempt
	})
}

// give sends a delivery and reports what became of it. again says that nothing of it was sent and that it may
// be tried later.
func (p *Peers) give(ctx context.Context, one *peer, d message.Delivery, all *sync.WaitGroup) (again bool, err error) {
	tell := func(state message.ReceiptState, why message.Reason, says string) error {
		r := message.Receipt{Delivery: d.ID, State: state, Reason: why}
		if says != "" {
			r.Evidence = []message.Evidence{{Source: "port", Says: says, Weight: "exact", At: time.Now()}}
		}
		return p.Relay.Report(ctx, r)
	}
	if d.Typed {
		// An earlier run began to send it, and the answer was lost with that run.
		return false, tell(message.Uncertain, message.SidecarEnded, "")
	}
	gate, err := p.open(ctx, one, all)
	if err != nil {
		return true, err
	}
	port := p.Port(one.number)
	said, ours := port.advertised()
	name := one.name.Load()
	if !ours || port.another(name) {
		return true, tell(message.Held, message.PortClosed, "")
	}
	// Each try with permission is in the journal, so a full inbox is tried again only once it may have room.
	inbox := port.inboxState(said)
	if one.full == inbox {
		return true, tell(message.Held, message.PortFull, "")
	}
	one.full = ""
	if err := tell(message.Typed, "", ""); err != nil {
		// If it may go on, the relay hands it over again; if it could not be written down, it is tried later.
		_, unwritable := errors.AsType[*message.UnwritableError](err)
		return unwritable, err
	}
	s := Sending{
		To: one.number, From: gate, Body: []byte(render.Text(d.Form, d.Message)), TLS: said.Cert != nil, Thread: string(d.Message.Thread),
		listener: name,
	}
	one.turn.Lock() // until it is reported: an answer has to come after that
	defer one.turn.Unlock()
	_, err = p.Send(ctx, s)
	e, _ := errors.AsType[*Error](err)
	switch {
	case err == nil:
		if d.Chat == "" {
			one.asked = &d
		}
		return false, tell(message.Submitted, "", "acknowledged: it is in the inbox")
	case e == nil:
		return false, errors.Join(err, tell(message.Uncertain, message.NotTaken, ""))
	}
	switch e.Code {
	case ConnectionRefused:
		return true, tell(message.Held, message.PortClosed, "")
	case InboxFull:
		one.full = inbox
		return true, tell(message.Held, message.PortFull, "")
	case MessageTooLarge:
		return false, tell(message.Failed, message.BodyTooLong, "")
	case NotStored, InvalidMessage, NotSupported, TLSRequired:
		return false, errors.Join(e, tell(message.Failed, message.PortRefused, ""))
	}
	return false, errors.Join(e, tell(message.Uncertain, message.PortSilent, "")) // it may be in the inbox
}

// open opens the gate of a port if it is not open yet, and serves it until ctx ends.
func (p *Peers) open(ctx context.Context, one *peer, all *sync.WaitGroup) (number int, err error) {
	p.opening.Lock()
	defer p.opening.Unlock()
	p.mu.Lock()
	number = one.gate
	p.mu.Unlock()
	if number != 0 {
		return number, nil
	}
	config, err := p.Config()
	if err != nil {
		return 0, err
	}
	config.Auth = AuthPeer
	for i := range gates {
		number := firstGate + (one.number+i)%gates
		port := p.Port(number)
		if _, wanted := port.Wanted(); wanted == nil {
			continue
		}
		mine, err := claim.Take(port.claim())
		if err != nil {
			continue
		}
		l, err := listen(ctx, port, Wish{Port: number, MessageFile: port.Inbox(), Started: time.Now().Local().Format(startedLayout)}, config, p.Places, p.Log)
		if err != nil {
			_ = mine.Release()
			if e, ok := errors.AsType[*Error](err); ok && e.Code == PortInUse {
				continue
			}
			return 0, err
		}
		l.hand = func(m Message, id string) error { return p.said(ctx, one, number, m, id) }
		p.mu.Lock()
		one.gate = number
		p.mu.Unlock()
		all.Go(func() {
			defer mine.Release()
			if err := l.serve(ctx); err != nil {
				p.Log.Error("gate", "err", err)
			}
			p.mu.Lock()
			one.gate = 0
			p.mu.Unlock()
		})
		return number, nil
	}
	return 0, Errorf(PortInUse, firstGate, "No port from %d to %d is free", firstGate, firstGate+gates-1)
}

// said hands in a message that came to a gate as what its peer says.
func (p *Peers) said(ctx context.Context, one *peer, gate int, m Message, id string) error {
	if m.Sender != one.number {
		return fmt.Errorf("this port takes answers from port %d alone, not from %d", one.number, m.Sender)
	}
	if m.Type == TypeBinary {
		return errors.New("only text can be said here")
	}
	e := envelopeOf(one, gate, m)
	if id != "" { // a program may number its messages from 1 in each run: other words are another message
		e.ID = message.DerivedID(time.Unix(0, 0), "talk", strconv.Itoa(m.Sender), id, m.Thread, m.Text)
	}
	one.turn.Lock()
	defer one.turn.Unlock()
	asked, answers := one.asked, message.ID("")
	if asked != nil {
		e.InReplyTo, answers = asked.Message.ID, asked.ID
	}
	switch fresh, err := p.Relay.ReceiveAnswer(ctx, e, answers); {
	case err != nil:
		return err
	case asked == nil:
		return nil
	case !fresh: // it came before the current question, and answers nothing
		return fmt.Errorf("a message with id %q and the same words was received before and counts once: send the answer with a new id", id)
	}
	one.asked = nil
	return nil
}
