package link

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// publishWithin is how long the server has to answer.
const publishWithin = 5 * time.Second

// Deliver takes deliveries to sessions of other computers, in order.
func (l *Link) Deliver(all ...message.Delivery) {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range all {
		l.queue = append(slices.DeleteFunc(l.queue, func(have message.Delivery) bool { return have.ID == one.ID }), one)
	}
	wake(l.wake)
}

// Cancel forgets deliveries that were not sent yet. Those that were sent belong to the other computer.
func (l *Link) Cancel(ids []message.ID, _ message.Reason) {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(have message.Delivery) bool { return slices.Contains(ids, have.ID) })
}

// Forget forgets a session that is no longer a peer here.
func (l *Link) Forget(id message.ID) {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.in, id)
}

// outbox sends the queued deliveries. One that cannot be sent now keeps its place ahead of all others to the
// same computer.
func (l *Link) outbox(ctx context.Context, lf *life) {
	for ctx.Err() == nil {
		blocked := map[string]bool{}
		left := l.sendNotes(ctx, lf)
		for _, d := range l.queued() {
			token, ok := l.homeOf(d.Target)
			if ctx.Err() != nil || blocked[token] {
				continue
			}
			again := false
			if ok {
				again = l.leavesAlone(ctx, lf, token, d) || l.give(ctx, lf, token, d)
			}
			if again {
				blocked[token] = true
				continue
			}
			l.unqueue(d)
		}
		var pause <-chan time.Time
		if len(blocked) > 0 || left {
			pause = time.After(l.timing.retry)
		}
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-pause:
		}
	}
}

// holdQueue reports, while there is no link, why queued deliveries are not sent. It reports only the first
// delivery to each session; the others wait behind it.
func (l *Link) holdQueue(ctx context.Context) {
	var told []message.ID
	for _, d := range l.queued() {
		if !d.Typed && !slices.Contains(told, d.Target) {
			told = append(told, d.Target)
			_ = l.Relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Held, Reason: message.NotLinked})
		}
	}
}

func (l *Link) queued() []message.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.queue)
}

func (l *Link) unqueue(d message.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(have message.Delivery) bool { return have.ID == d.ID && have.Attempt == d.Attempt })
}

func (l *Link) computerOf(id message.ID) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	token, ok := l.in[id]
	return token, ok
}

// homeOf returns the computer of a delivery's session. Enter may not have recorded a new peer in l.in yet, so
// homeOf also searches the relay's peers: a peer is among them before anything for it comes, and has ended
// there before it is forgotten.
func (l *Link) homeOf(id message.ID) (string, bool) {
	if token, ok := l.computerOf(id); ok {
		return token, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.Peers() {
		if p.ID == id && p.Kind == message.PeerRemote && p.Ended == nil {
			l.in[id] = p.Computer
			return p.Computer, true
		}
	}
	return "", false
}

// rest is a time in which a mailbox is left alone, because it took nothing. Each try with permission is in the
// journal, so each rest is twice as long as the one before, up to mostRests doublings. A rest ends early when its
// computer comes, which empties its mailbox, and when there is a new connection.
type rest struct {
	tries int // in a row
	until time.Time
	why   message.Reason // told of what is not tried meanwhile; "": nothing
}

const mostRests = 9

// leavesAlone reports whether a computer's mailbox rests. Without a connection, give says what is wrong.
func (l *Link) leavesAlone(ctx context.Context, lf *life, token string, d message.Delivery) bool {
	l.mu.Lock()
	r, rests := l.rests[token]
	never := l.open[d.ID] == nil && !d.Typed
	l.mu.Unlock()
	if !rests || !l.Now().Before(r.until) || !lf.conn.IsConnected() {
		return false
	}
	if r.why != "" && never {
		_ = l.Relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Held, Reason: r.why, Door: message.DoorLink})
	}
	return true
}

// leaveAlone begins a rest if the error says that the mailbox took nothing, and ends it otherwise.
func (l *Link) leaveAlone(token string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rests[token]
	next := rest{tries: r.tries + 1, until: l.Now().Add(l.timing.retry << min(r.tries, mostRests))}
	switch {
	case isCode(err, streamFull):
		next.why = message.ComputerFull
		l.rests[token] = next
	case errors.Is(err, jetstream.ErrNoStreamResponse) && l.known[token] != nil: // what is for an unknown one fails, each time at once
		l.rests[token] = next
	default:
		delete(l.rests, token)
	}
}

// give hands a delivery to the server and reports it. again says that it was not handed over and is to be tried
// later.
func (l *Link) give(ctx context.Context, lf *life, token string, d message.Delivery) (again bool) {
	tell := func(state message.ReceiptState, why message.Reason, says string) error {
		r := message.Receipt{Delivery: d.ID, State: state, Reason: why, Door: message.DoorLink}
		if says != "" {
			r.Evidence = []message.Evidence{{Source: "link", Says: says, Weight: "exact", At: l.Now()}}
		}
		return l.Relay.Report(ctx, r)
	}
	if !lf.conn.IsConnected() {
		if !d.Typed {
			_ = tell(message.Held, message.NotLinked, "")
		}
		return true
	}
	data, err := json.Marshal(l.parcelOf(lf, d))
	if err != nil {
		l.Log.Error("message for another computer", "delivery", d.ID, "err", err)
		return false
	}
	if int64(len(data)) > lf.conn.MaxPayload()-signatureRoom {
		_ = tell(message.Failed, message.BodyTooLong, "")
		return false
	}
	if err := tell(message.Typed, "", ""); err != nil {
		// If it may go on, the relay hands it over again; if it could not be written down, it is tried later.
		if d.Typed && errors.Is(err, message.ErrEnded) && l.unheardOf(token, d) {
			_ = tell(message.Uncertain, message.ChatEnded, token+" knows nothing of it")
		}
		_, unwritable := errors.AsType[*message.UnwritableError](err)
		return unwritable
	}
	l.mu.Lock()
	one := &sent{token: token, target: d.Target, state: message.Typed, posted: l.Now()}
	before := l.open[d.ID]
	if before != nil {
		one.times = before.times + 1
	}
	l.open[d.ID] = one
	l.mu.Unlock()
	err = l.post(ctx, lf, token, d.ID, data)
	l.leaveAlone(token, err)
	switch {
	case err == nil:
		if l.present(token) {
			return false
		}
		_ = tell(message.Held, message.ComputerAway, "the server keeps it for "+token)
		return false
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		// No stream keeps messages for a computer of that name: it was never linked, or no server is there now.
		if lf.conn.IsConnected() && !l.isKnown(token) {
			_ = tell(message.Failed, message.NoComputer, "")
			return false
		}
	case errors.Is(err, nats.ErrMaxPayload), isCode(err, jetstream.JSErrCodeStreamMessageExceedsMaximum):
		_ = tell(message.Failed, message.BodyTooLong, "")
		return false
	case ctx.Err() != nil:
		return true
	}
	l.Log.Warn("message for another computer is not sent yet", "computer", token, "delivery", d.ID, "err", err)
	if isCode(err, streamFull) && before == nil && !d.Typed { // otherwise an earlier posting may lie there
		l.mu.Lock()
		delete(l.open, d.ID)
		l.mu.Unlock()
		_ = tell(message.Held, message.ComputerFull, "")
	}
	return true
}

// unheardOf handles a delivery that is not sent once more because its chat has ended. An earlier life may have
// sent it without learning what became of it, so its computer is asked. unheardOf reports whether that computer
// has been asked for long enough and knows nothing of it.
func (l *Link) unheardOf(token string, d message.Delivery) bool {
	lost := l.isLost(d.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.open[d.ID]
	if one == nil {
		l.open[d.ID] = &sent{token: token, target: d.Target, state: message.Typed, posted: l.Now()}
	} else if lost {
		one.state, one.doubted = message.Uncertain, l.Now() // it may still lie there: a late record would settle it
	}
	return lost
}

// signatureRoom is how many bytes the headers of a signed message take.
const signatureRoom = 1 << 10

// streamFull is the server's code for a stream that takes no more.
const streamFull jetstream.ErrorCode = 10077

func isCode(err error, code jetstream.ErrorCode) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && e.ErrorCode == code
}

// post hands a parcel to the server, and returns once the server keeps it.
func (l *Link) post(ctx context.Context, lf *life, token string, id message.ID, data []byte, opts ...jetstream.PublishOpt) error {
	m, err := lf.id.sign(toSubject(token, lf.token), data)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.timing.publish)
	defer cancel()
	ctx, end := lf.line.within(ctx)
	defer end()
	_, err = lf.js.PublishMsg(ctx, m, append(opts, jetstream.WithMsgID(string(id)))...)
	return err
}

// parcelOf returns a delivery in the form in which it goes to another computer: its content, without what
// concerns only this computer, and with whatever looks like a credential masked.
func (l *Link) parcelOf(lf *life, d message.Delivery) parcel {
	m := d.Message
	p := parcel{Kind: parcelMessage, ID: d.ID, From: l.Author(m.From), To: d.Target}
	p.Message = &letter{
		Thread: m.Thread, Type: m.Type, Priority: m.Priority, Subject: secret.Mask(m.Subject), Body: secret.Mask(m.Body),
		InReplyTo: m.InReplyTo, RequiresResponse: m.RequiresResponse, Tags: m.Tags, Depth: m.Depth, Created: m.Created, Truncated: m.Truncated,
	}
	if d.Chat == "" {
		return p
	}
	p.Message.Said = m.ID
	for _, c := range l.Chats() {
		if c.ID == d.Chat {
			l.mu.Lock()
			p.Room = l.roomOf(lf, c)
			l.mu.Unlock()
		}
	}
	return p
}

// Author returns the author of a message, for another computer. A person gets an id there, so that they can be
// answered. So does an author on a third computer: this computer passes the message on, and nobody may take it
// for one of the third computer.
func (l *Link) Author(who message.Address) Session {
	from := Session{ID: who.Peer, Name: who.Name}
	if _, remote := l.computerOf(who.Peer); remote || from.ID == "" || from.ID == message.Unverified {
		token, _ := Token(l.Config().Name)
		from.ID = message.DerivedID(time0, "link", token, from.Name, string(from.ID))
	}
	for _, s := range l.Sessions() {
		if s.ID == from.ID {
			from = s
		}
	}
	return from
}

func (l *Link) present(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.known[token]
	return k != nil && k.is(l.Now())
}

func (l *Link) isKnown(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[token] != nil
}
