package link

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The kinds of parcels.
const (
	parcelMessage = "message"
	parcelFate    = "fate"
)

// kinds says how each kind of parcel is handled. An error means that the parcel cannot be taken now and comes
// again. A parcel that is refused for good is done with once its sender is told.
var kinds = map[string]func(l *Link, ctx context.Context, lf *life, token string, p parcel) error{
	parcelMessage: (*Link).takeMessage,
	parcelFate:    (*Link).takeFate,
	parcelChat:    (*Link).takeChat,
	parcelLeft:    (*Link).takeLeft,
}

// intake takes in the parcels of other computers, one after the other. Each is in the journal before the server
// forgets it.
func (l *Link) intake(ctx context.Context, lf *life) {
	for ctx.Err() == nil {
		if err := l.read(ctx, lf); err != nil && ctx.Err() == nil {
			if errors.Is(err, context.Canceled) {
				continue // the connection has ended
			}
			if lf.conn.IsConnected() && l.trouble("its mail is not read: "+err.Error()) {
				l.Log.Warn("link", "err", err)
			}
			select {
			case <-ctx.Done():
			case <-lf.back:
			case <-time.After(l.timing.retry):
			}
		}
	}
}

func (l *Link) read(ctx context.Context, lf *life) error {
	if !lf.conn.IsConnected() {
		return errors.New("not connected")
	}
	box, err := EnsureMailbox(ctx, lf.js, lf.token)
	lf.hasAsked()
	if err != nil {
		return err
	}
	l.trouble("")
	t := newTurns(func(subject string) bool { return l.isKnown(from(subject)) })
	bell, err := lf.conn.Subscribe(bellSubject(lf.token, "*"), func(m *nats.Msg) { t.ring(toSubject(lf.token, from(m.Subject))) })
	if err != nil {
		return err
	}
	defer bell.Unsubscribe() //nolint:errcheck // the connection is gone
	every := l.timing.list
	if !box.rings() {
		every = l.timing.listUnrung
	}
	r := reader{l, lf, box, t, map[string]tried{}}
	for {
		line, end := lf.line.within(ctx)
		waiting, err := box.Waiting(line)
		end()
		if err != nil {
			return err
		}
		for _, subject := range waiting {
			t.ring(subject)
		}
		if err := r.until(ctx, time.Now().Add(every)); err != nil {
			return err
		}
	}
}

// hasAsked notes that the server was asked for the mailbox of this computer. Only the intake calls it.
func (lf *life) hasAsked() {
	select {
	case <-lf.boxed:
	default:
		close(lf.boxed)
	}
}

// reader reads a mailbox.
type reader struct {
	*Link
	life  *life
	box   *Mailbox
	turns *turns
	tries map[string]tried // of mail that cannot be taken yet, by subject
}

// tried is how often a message was tried.
type tried struct{ seq, times uint64 }

// until reads the mail that there is, until a time.
func (r *reader) until(ctx context.Context, end time.Time) error {
	for {
		for _, subject := range r.turns.round(time.Now()) {
			if err := r.one(ctx, subject); err != nil {
				return err
			}
		}
		if r.turns.drained() || !time.Now().Before(end) {
			return nil
		}
		if wait := time.Until(r.turns.next(end)); wait > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-r.life.back:
				return nil
			case <-r.turns.rung:
			case <-time.After(wait):
			}
		}
	}
}

// one reads the oldest message of a subject. If somebody managed to use "*" as a name, that subject matches the
// oldest mail of all, and the message belongs to whoever sent it.
func (r *reader) one(ctx context.Context, subject string) error {
	line, end := r.life.line.within(ctx)
	defer end()
	m, err := r.box.First(line, subject)
	if m == nil || err != nil {
		return err
	}
	try := r.tries[subject]
	if try.seq != m.Seq {
		try = tried{seq: m.Seq}
	}
	try.times++
	err = r.take(ctx, r.life, m, try.times)
	sender := from(m.Subject)
	if !r.isKnown(sender) {
		sender = ""
	}
	now := time.Now()
	next := r.life.costs.read(sender, len(m.Data), now)
	if errors.Is(err, errLater) {
		r.tries[subject] = try
		r.turns.again(subject, latest(next, now.Add(r.timing.later))) // nothing from that computer overtakes it meanwhile
		return nil
	}
	delete(r.tries, subject)
	if err != nil {
		return err
	}
	r.turns.again(subject, next)
	return r.box.Delete(line, m) // if this fails, it comes once more, and counts once
}

// take takes in one parcel. Mail that cannot be a parcel is dropped, since it is not known whom to tell.
func (l *Link) take(ctx context.Context, lf *life, m *Mail, tries uint64) error {
	token := from(m.Subject)
	var key string
	err := errElsewhere
	if m.Subject == toSubject(lf.token, token) {
		key, err = signer(m.Subject, m.Header, m.Data)
	}
	if err == nil {
		err = l.trusts(lf, token, key)
	}
	var p parcel
	if err == nil {
		err = json.Unmarshal(m.Data, &p)
	}
	if err == nil {
		p.ID, err = message.ParseID(string(p.ID))
	}
	p.tries = tries
	if err != nil {
		l.refusal(token, "mail", err)
		return nil
	}
	kind := kinds[p.Kind]
	if kind == nil {
		return l.refuse(ctx, lf, token, p, message.NotAllowedThere, fmt.Errorf("unknown parcel %q", p.Kind))
	}
	return kind(l, ctx, lf, token, p)
}

// errElsewhere is for mail that somebody made the server put in from another mailbox.
var errElsewhere = errors.New("it was sent to another computer")

// trusts checks that a computer signs with the key by which it is known, and notes the key of a new computer.
func (l *Link) trusts(lf *life, token, key string) error {
	if its, err := Token(token); err != nil || its != token {
		return fmt.Errorf("%q is the name of no computer", token) // nor could it be answered: a server passes on messages from "*", but not to it
	}
	if token == lf.token && key != lf.id.public {
		return &strangerError{token}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.known[token] == nil
	if err := l.known.trust(token, key, l.Pinned(token)); err != nil {
		return err
	}
	if fresh {
		l.Log.Info("a computer is seen for the first time", "computer", token, "key", key)
		l.news = true
	}
	return nil
}

// errBefore is for a message that somebody repeated, or that its sender sent once more.
var errBefore = errors.New("it has come before, and counts once")

// errLater says that something on which a parcel rests has not come yet, such as the chat in which it was said.
var errLater = errors.New("it is tried again in a moment")

// takeMessage takes in a message for a session of this computer.
func (l *Link) takeMessage(ctx context.Context, lf *life, token string, p parcel) error {
	if p.Message == nil {
		return l.refuse(ctx, lf, token, p, message.NotAllowedThere, errors.New("a parcel without its message"))
	}
	// A sender that was killed before it was told what became of the message sends it once more, and is told
	// now. The session may have ended since, and so may the sender's permission here.
	switch f, known, err := l.fateHere(ctx, token, p.ID); {
	case err != nil:
		return err
	case known && f.State.Final():
		return l.answerFate(ctx, lf, token, p, f)
	case known: // the sender is told what becomes of it, and asks
		l.refusal(token, "mail", errBefore, "message", p.ID)
		return nil
	}
	asked, reply := l.replyTo(ctx, token, p)
	if !l.May(token, "send") && !(reply && l.May(token, "answer")) {
		return l.refuse(ctx, lf, token, p, message.NotAllowedThere, errors.New("init.lua does not let it send"))
	}
	if reply && p.Room == nil && asked.Message.Origin == message.OriginHuman && asked.Message.From.Peer == "" {
		if p.Message.Type != message.KindNotice && !lf.seen.has(p.ID) { // the receipt shows a person that the turn has ended
			if !l.allows(lf, token, "replies", func(c *cost) *rate.Limiter { return c.tells }) {
				return l.refuse(ctx, lf, token, p, message.QueueFull, errors.New("too many replies"))
			}
			if err := l.Relay.Tell(ctx, asked.Target, "replies: "+shortReply(p.Message.Body)); err != nil {
				return err
			}
			lf.seen.add(p.ID, l.Now())
		}
		return l.answerFate(ctx, lf, token, p, fate{Delivery: p.ID, State: message.Submitted, At: l.Now()})
	}
	if lf.costs.fails(token, l.Now()) {
		return l.refuse(ctx, lf, token, p, message.QueueFull, errors.New("too many of its messages come to nothing"))
	}
	if !slices.ContainsFunc(l.Sessions(), func(s Session) bool { return s.ID == p.To }) {
		// Ports, repositories and the sessions of third computers are peers here too, but not for other
		// computers to write to.
		return l.refuse(ctx, lf, token, p, message.AgentGone, fmt.Errorf("%q is no session of this computer", p.To))
	}
	from, err := l.Enter(ctx, token, p.From)
	if err != nil {
		return l.unless(err, func() error { return l.refuse(ctx, lf, token, p, message.NotAllowedThere, err) })
	}
	said := p.Message
	m := message.Envelope{
		ID: p.ID, From: message.Address{Peer: from.ID}, To: []message.Address{{Peer: p.To}}, Origin: message.OriginRemote, Trust: message.TrustRemote,
		Type: word(said.Type, message.KindMessage), Priority: word(said.Priority, ""), Subject: said.Subject, Body: said.Body, RequiresResponse: said.RequiresResponse,
		Tags: said.Tags, Depth: min(said.Depth, mostDepth), Truncated: said.Truncated,
	}
	if m.Thread, err = message.ParseID(string(said.Thread)); err != nil {
		m.Thread = ""
	}
	if m.CopyOf, err = message.ParseID(string(said.Said)); err != nil {
		m.CopyOf = ""
	}
	if p.Room != nil {
		if m.Chat, err = l.enterChat(ctx, lf, token, *p.Room); errors.Is(err, errUnheard) || errors.Is(err, errNoChat) && p.Room.Home != lf.token {
			if l.waitsFor(lf, token, p) {
				return errLater
			}
		}
		if err != nil {
			return l.unless(err, func() error { return l.refuse(ctx, lf, token, p, message.NotInChatThere, err) })
		}
	}
	if reply {
		m.InReplyTo = asked.Message.ID
	}
	fresh, err := l.Relay.Receive(ctx, m)
	if err == nil && !fresh {
		l.refusal(token, "mail", errBefore, "message", p.ID)
	}
	return l.unless(err, func() error {
		why := message.NotAllowedThere
		if e, ok := errors.AsType[message.OfKind](err); ok {
			why = cmp.Or(refusals[e.ErrorKind()], why)
		}
		return l.refuse(ctx, lf, token, p, why, err)
	})
}

// unless calls refuse if an error is permanent, and returns a temporary error as it is.
func (l *Link) unless(err error, refuse func() error) error {
	_, unwritable := errors.AsType[*message.UnwritableError](err)
	switch {
	case err == nil:
		return nil
	case unwritable, errors.Is(err, context.Canceled), errors.Is(err, message.ErrDown):
		return err
	}
	return refuse()
}

// replyTo returns the delivery of this computer that a message answers, if the message goes to the author of
// that delivery. The journal tells whose session the delivery's target is, since that may have ended, and be no
// peer here any more, before its answer is read.
func (l *Link) replyTo(ctx context.Context, token string, p parcel) (d message.Delivery, ok bool) {
	if p.Message.InReplyTo == "" {
		return d, false
	}
	d, err := l.Journal.Delivery(ctx, p.Message.InReplyTo)
	if err != nil {
		return d, false
	}
	target, err := l.Journal.Session(ctx, d.Target)
	if err != nil || target.Kind != message.PeerRemote || target.EndReason == string(message.ComputerForgotten) {
		return d, false
	}
	return d, target.Computer == token && p.To == l.Author(d.Message.From).ID
}

// maxReply is how many bytes of a reply a person is told at once. The rest stays where it was said.
const maxReply = 16 << 10

func shortReply(text string) string {
	if cut := short(text, maxReply); len(text) > maxReply {
		return cut + " …"
	}
	return strings.ToValidUTF8(text, "")
}

// refuse tells a computer that its parcel is refused for good. It does so in a parcel, so that the news
// arrives.
func (l *Link) refuse(ctx context.Context, lf *life, token string, p parcel, why message.Reason, err error) error {
	l.refusal(token, "mail", err, "message", p.ID)
	if p.Kind != parcelMessage {
		return nil
	}
	return l.answerFate(ctx, lf, token, p, fate{Delivery: p.ID, State: message.Failed, Reason: why, At: l.Now()})
}

// refusals are the reasons that a computer is told if its message is not taken.
var refusals = map[message.ErrorKind]message.Reason{
	message.KindUnknown: message.AgentGone, message.KindGone: message.AgentGone, message.KindAtLimit: message.QueueFull,
}

// answerFate sends a computer what became of its parcel, if nothing here will remember it.
func (l *Link) answerFate(ctx context.Context, lf *life, token string, p parcel, f fate) error {
	id := message.DerivedID(time0, "fate", string(f.Delivery))
	return l.sendBack(ctx, lf, token, p, parcel{Kind: parcelFate, ID: id, Fate: &f})
}

// sendBack answers a parcel with another parcel. It must not hold up what others sent: a computer whose mailbox
// takes nothing has only itself to blame, and asks once more.
func (l *Link) sendBack(ctx context.Context, lf *life, token string, p, back parcel) error {
	data, err := json.Marshal(back)
	if err != nil {
		return err
	}
	if err = l.post(ctx, lf, token, back.ID, data, jetstream.WithRetryAttempts(0)); err == nil || !lf.conn.IsConnected() {
		return err
	}
	_, refused := errors.AsType[*jetstream.APIError](err)
	if refused || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrMaxPayload) {
		if l.waitsFor(lf, token, p) {
			return errLater
		}
		l.refusal(token, "to be told what became of its message", err, "message", p.ID)
		return nil
	}
	return err
}
