package link

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// time0 is the time of ids that are derived only from other ids.
var time0 = time.Unix(0, 0)

// doubtedFor is how long a late record may still settle an uncertain delivery.
const doubtedFor = time.Hour

// askAtOnce is the number of messages in one question, askMost the number about which a computer is asked in a
// row.
const (
	askAtOnce = 500
	askMost   = 5000
)

// fatesWithin is how long a computer has to tell so many fates. Nobody waits for them, and fates that come
// later would be asked for again.
const fatesWithin = 15 * time.Second

// told is a fate on its way to the computer that it concerns.
type told struct {
	token string
	fate  fate
}

// untoldMost is how many fates may wait to be told. Those beyond it are asked for.
const untoldMost = 1024

// tell queues a fate for the computer from which the message came.
func (l *Link) tell(lf *life, token string, f fate) {
	select {
	case lf.fates <- told{token, f}:
	default:
	}
}

// teller sends the queued fates.
func (l *Link) teller(ctx context.Context, lf *life) {
	for {
		var next told
		select {
		case <-ctx.Done():
			return
		case next = <-lf.fates:
		}
		if next.fate.State == message.Failed {
			if all, err := l.Journal.Receipts(ctx, next.fate.Delivery); err == nil && len(all) > 0 {
				next.fate.Taken = taken(all, all[len(all)-1].Delivery)
			}
		}
		body, err := json.Marshal(next.fate)
		if err == nil {
			err = l.publish(lf, askSubject(next.token, lf.token), question{ID: message.NewID(), Op: opFate, Sent: l.Now(), Body: body})
		}
		if err != nil {
			l.Log.Debug("tell another computer", "computer", next.token, "err", err)
		}
	}
}

// fateOf returns a receipt in the form in which the message's computer is told of it.
func fateOf(r message.Receipt) fate {
	return fate{Delivery: r.Message, State: r.State, Reason: r.Reason, Words: secret.Mask(r.Words), At: r.At}
}

// taken reports whether a delivery was submitted, whatever came afterwards.
func taken(receipts []message.Receipt, delivery message.ID) bool {
	return slices.ContainsFunc(receipts, func(r message.Receipt) bool {
		return r.Delivery == delivery && r.State == message.Submitted
	})
}

// takeFate handles a parcel that says what became of a message there.
func (l *Link) takeFate(ctx context.Context, _ *life, token string, p parcel) error {
	if p.Fate == nil {
		return nil
	}
	return l.learn(ctx, token, *p.Fate)
}

// learn tells the relay what became of a delivery on another computer. Fates of deliveries to other computers
// are dropped.
func (l *Link) learn(ctx context.Context, token string, f fate) error {
	l.mu.Lock()
	one := l.open[f.Delivery]
	if one == nil || one.token != token {
		l.mu.Unlock()
		return nil
	}
	was := one.state
	l.mu.Unlock()
	f.Reason, f.Words = message.Reason(short(string(f.Reason), maxTitle)), short(f.Words, message.MaxBody)
	proves := f.State == message.Submitted || f.State == message.Answered || f.State == message.Failed && f.Taken
	if was == message.Submitted && f.State == was || was == message.Uncertain && !proves {
		return nil
	}
	r := message.Receipt{
		Delivery: f.Delivery, Target: one.target, State: f.State, Reason: f.Reason, Words: f.Words, Door: message.DoorLink,
		Evidence: []message.Evidence{{Source: "link", Says: token + " says: " + string(f.State), Weight: "exact", At: l.Now()}},
	}
	switch f.State {
	case message.Queued, message.Typed:
		// It has arrived there and nothing has come of it yet. That it was sent is known already.
		if was != message.Held {
			return nil
		}
		r.State, r.Reason = message.Typed, ""
	case message.Held:
		r.Reason = message.HeldThere
		if f.Reason != "" {
			r.Evidence[0].Says += ": " + string(f.Reason)
			r.Reason += ": " + f.Reason
		}
	case message.Answered, message.Submitted, message.Failed, message.Expired, message.Uncertain:
	default:
		return nil
	}
	if was != message.Submitted && (f.State == message.Answered || f.State == message.Failed && f.Taken) {
		submitted := r
		submitted.State, submitted.Reason, submitted.Words = message.Submitted, "", ""
		if err := l.report(ctx, submitted); err != nil {
			return err
		}
	}
	if err := l.report(ctx, r); err != nil {
		return err
	}
	l.mu.Lock()
	if waiting := (&sent{state: r.State}).waits(); one.waits() || !waiting { // fates are handled concurrently
		one.state, one.doubted = r.State, l.Now()
	}
	if r.State.Final() && r.State != message.Uncertain { // a late record may still settle an uncertain one
		delete(l.open, f.Delivery)
	}
	l.mu.Unlock()
	if r.State.Final() {
		l.sweep(ctx, token)
	}
	return nil
}

// report hands a receipt to the relay. A receipt that the relay does not take is old, and the relay already
// knows better.
func (l *Link) report(ctx context.Context, r message.Receipt) error {
	err := l.Relay.Report(ctx, r)
	return l.unless(err, func() error {
		l.Log.Debug("receipt of another computer", "delivery", r.Delivery, "state", r.State, "err", err)
		return nil
	})
}

// reconcile asks the present computers what became of the messages sent to them, and now and then which chats
// go on.
func (l *Link) reconcile(ctx context.Context, lf *life) {
	whole := time.Time{}
	for ctx.Err() == nil {
		all := l.Now().Sub(whole) >= l.timing.reconcile
		if all {
			whole = l.Now()
		}
		for _, c := range l.Computers() {
			if c.Present && c.Token != lf.token && (all || c.Waiting > 0) {
				if err := l.askFates(ctx, c.Token, all); err != nil && ctx.Err() == nil {
					l.Log.Debug("ask what became of messages", "computer", c.Token, "err", err)
				}
			}
			if c.Present && c.Token != lf.token && all {
				l.askChats(ctx, c.Token)
			}
		}
		sleep(ctx, l.timing.confirm)
	}
}

// askFates asks a computer about the messages that it was sent and has not confirmed; with all, also about
// those that it has taken and may have answered since.
func (l *Link) askFates(ctx context.Context, token string, all bool) error {
	var ids []message.ID
	l.mu.Lock()
	for id, one := range l.open {
		if one.state == message.Uncertain && l.Now().Sub(one.doubted) > doubtedFor {
			delete(l.open, id)
			continue
		}
		if one.token == token && (all || one.waits()) && len(ids) < askMost {
			ids = append(ids, id)
		}
	}
	l.mu.Unlock()
	slices.Sort(ids) // in the order in which they were sent
	for part := range slices.Chunk(ids, askAtOnce) {
		fates, err := l.fatesOf(ctx, token, part)
		if err != nil {
			return err
		}
		for _, f := range fates {
			if err := l.learn(ctx, token, f); err != nil {
				return err
			}
		}
		for _, id := range part {
			if !slices.ContainsFunc(fates, func(f fate) bool { return f.Delivery == id }) && l.isLost(id) {
				l.again(ctx, token, id)
			}
		}
	}
	return nil
}

// fatesOf asks a computer what became of messages that it was sent.
func (l *Link) fatesOf(ctx context.Context, token string, ids []message.ID) ([]fate, error) {
	ctx, cancel := context.WithTimeout(ctx, fatesWithin)
	defer cancel()
	var fates few[fate]
	err := l.Ask(ctx, token, opFates, Session{}, ids, &fates)
	return fates, err
}

const mostAgain = 6 // doublings

// isLost reports whether a delivery has to be sent once more: a computer that is here has known nothing of it
// for too long, though the server confirmed it. A server that is lost loses what it has confirmed. A long
// mailbox may be another reason, so the wait doubles each time.
func (l *Link) isLost(id message.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.open[id]
	return one != nil && one.waits() && !one.posted.IsZero() && l.Now().Sub(one.posted) >= l.timing.lost<<min(one.times, mostAgain)
}

// again has a delivery sent once more. If it has arrived meanwhile, its id shows that.
func (l *Link) again(ctx context.Context, token string, id message.ID) {
	d, err := l.Journal.Delivery(ctx, id)
	if err != nil {
		l.Log.Warn("send once more", "computer", token, "delivery", id, "err", err)
		return
	}
	l.Log.Warn("another computer knows nothing of a message that was sent: it is sent once more", "computer", token, "delivery", id)
	d.Typed = true
	l.Deliver(d)
}

// fates returns what became of messages that a computer sent. Messages that are not here yet are left out.
func (l *Link) fates(ctx context.Context, computer string, body []byte) (any, error) {
	var ids few[message.ID]
	if err := json.Unmarshal(body, &ids); err != nil {
		return nil, err
	}
	all := []fate{}
	for _, id := range ids[:min(len(ids), askAtOnce)] {
		f, known, err := l.fateHere(ctx, computer, id)
		if err != nil {
			return nil, err
		}
		if known {
			all = append(all, f)
		}
	}
	return all, nil
}

// fateHere returns what became here of a message that a computer sent; known says whether the message has come.
func (l *Link) fateHere(ctx context.Context, computer string, id message.ID) (f fate, known bool, err error) {
	receipts, err := l.Journal.Receipts(ctx, id)
	if err != nil || len(receipts) == 0 {
		return f, false, err
	}
	last := receipts[len(receipts)-1]
	d, err := l.Journal.Delivery(ctx, last.Delivery)
	if err != nil || d.Message.Trust != message.TrustRemote || d.Message.From.Computer != computer {
		return f, false, err
	}
	f = fateOf(last)
	f.Taken = taken(receipts, last.Delivery)
	if f.State != message.Submitted {
		return f, true, nil
	}
	// A message in a chat gets no receipt when its session ends. Nobody will answer it, and its sender would
	// ask for ever.
	if s, err := l.Journal.Session(ctx, last.Target); err != nil || s.Ended == nil {
		return f, true, nil //nolint:nilerr // it is asked again
	}
	if receipts, err = l.Journal.Receipts(ctx, id); err == nil && receipts[len(receipts)-1].State == message.Submitted { // not answered meanwhile
		f.State, f.Reason = message.Failed, message.AgentGone
	}
	return f, true, err
}

// hearFate handles a fate that another computer tells unasked.
func (l *Link) hearFate(ctx context.Context, computer string, body []byte) (any, error) {
	var f fate
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, err
	}
	return nil, l.learn(ctx, computer, f)
}
