package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// The questions that every link answers.
const (
	opPing     = "ping"
	opSessions = "sessions"
	opFate     = "fate"  // tells one fate; nobody waits for the answer
	opFates    = "fates" // asks for the fates of many
	opChats    = "chats" // asks which chats go on
)

var builtin = map[string]func(l *Link, ctx context.Context, computer string, body []byte) (any, error){
	opPing: func(*Link, context.Context, string, []byte) (any, error) { return struct{}{}, nil },
	opSessions: func(l *Link, _ context.Context, _ string, _ []byte) (any, error) {
		all := l.Sessions()
		return all[:min(len(all), mostSessions)], nil
	},
	opFate:  (*Link).hearFate,
	opFates: (*Link).fates,
	opChats: (*Link).openChats,
}

const (
	askWithin = 4 * time.Second // an answer that takes longer does not count
	// stale is the greatest age of a question. An older one was recorded and repeated, or a clock is wrong.
	stale = 2 * time.Minute
)

// AwayError says that a computer does not answer now.
type AwayError struct {
	Computer string
	Seen     time.Time // when it was last here; zero: never
	Asked    bool      // the question may have reached it and been carried out
	Here     bool      // it says that it is here: it is slow, or has just gone
	Err      error
}

func (e *AwayError) Error() string {
	if e.Here && e.Asked {
		return fmt.Sprintf("computer %q does not answer in time", e.Computer)
	}
	if e.Seen.IsZero() {
		return fmt.Sprintf("computer %q does not answer", e.Computer)
	}
	return fmt.Sprintf("computer %q is away since %s", e.Computer, e.Seen.Local().Format(time.DateTime))
}

// Unwrap returns the error of the connection.
func (e *AwayError) Unwrap() error { return e.Err }

// Ask asks another computer a question on behalf of a session here, and reads the answer into out. Errors:
// ErrNotLinked, AwayError, RemoteError, nats.ErrMaxPayload, those of ctx.
func (l *Link) Ask(ctx context.Context, token, op string, from Session, body, out any) error {
	l.init()
	lf := l.current()
	if lf == nil || !lf.conn.IsConnected() {
		return ErrNotLinked
	}
	q := question{ID: message.NewID(), Op: op, From: from, Sent: l.Now()}
	var err error
	if q.Body, err = json.Marshal(body); err != nil {
		return err
	}
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	m, err := lf.id.sign(askSubject(token, lf.token), data)
	if err != nil {
		return err
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askWithin)
		defer cancel()
	}
	back := lf.waits.add(q.ID, token)
	defer lf.waits.remove(q.ID)
	m.Reply = unheard(lf.token, q.ID)
	err = lf.conn.PublishMsg(m)
	if errors.Is(err, nats.ErrMaxPayload) { // nothing was sent, and the computer may well be here
		return fmt.Errorf("the question to computer %q is too large for the server between the computers: %w", token, err)
	}
	var answered []byte
	asked := false
	if err == nil {
		select {
		case got := <-back:
			answered, err = got.data, got.err
		case <-ctx.Done():
			err, asked = context.Cause(ctx), true
		}
	}
	if err != nil {
		away := &AwayError{Computer: token, Asked: asked, Err: err}
		l.mu.Lock()
		if k := l.known[token]; k != nil {
			away.Seen, away.Here = k.Seen, k.is(l.Now())
		}
		l.mu.Unlock()
		return away
	}
	var r reply
	if err := json.Unmarshal(answered, &r); err != nil {
		return fmt.Errorf("answer of computer %q: %w", token, err)
	}
	if e := r.Error; e != nil {
		return &RemoteError{Computer: token, Code: word(e.Code, ""), Text: short(e.Text, maxError), Hint: short(e.Hint, maxError)}
	}
	if out == nil {
		return nil
	}
	if err = within(op, r.Body); err == nil {
		err = json.Unmarshal(r.Body, out)
	}
	if err != nil {
		return fmt.Errorf("answer of computer %q: %w", token, err)
	}
	return nil
}

// within returns an error if a question or an answer of an operation exceeds the bounds. The link's own
// operations need no check: their lists are of type few, which bounds them.
func within(op string, body []byte) error {
	if builtin[op] != nil {
		return nil
	}
	return bound(body)
}

// RoundTrip returns how long a computer takes to answer.
func (l *Link) RoundTrip(ctx context.Context, token string) (time.Duration, error) {
	began := l.Now()
	err := l.Ask(ctx, token, opPing, Session{}, nil, nil)
	return l.Now().Sub(began), err
}

// listen subscribes to questions, answers and the presence of other computers.
func (l *Link) listen(ctx context.Context, lf *life) (*hearing, error) {
	_, err := lf.conn.Subscribe(unheard(lf.token, "*"), func(m *nats.Msg) {
		if m.Header.Get("Status") == noResponders {
			lf.waits.answer(message.ID(from(m.Subject)), "", nil, nats.ErrNoResponders)
		}
	})
	if err != nil {
		return nil, err
	}
	h := &hearing{conn: lf.conn, open: map[string]*nats.Subscription{}, parts: []part{
		{kindAsk, func(from string) string { return askSubject(lf.token, from) }, func(m *nats.Msg) { l.asked(ctx, lf, m) }},
		{kindAnswer, func(from string) string { return answerSubject(lf.token, "*", from) }, func(m *nats.Msg) { l.answered(lf, m) }},
		{kindHere, hereSubject, func(m *nats.Msg) { l.heard(ctx, lf, m) }},
	}}
	return h, h.of(everybody)
}

// asked handles an incoming question.
func (l *Link) asked(ctx context.Context, lf *life, m *nats.Msg) {
	payer := l.payer(kindAsk, m)
	if !l.allows(lf, payer, "questions", func(c *cost) *rate.Limiter { return c.asks }) {
		return
	}
	end, ok := lf.costs.begin(payer)
	if !ok {
		l.refusal(payer, "a question", errors.New("too many at once"))
		return
	}
	lf.asking.Go(func() {
		defer end()
		l.answer(ctx, lf, m)
	})
}

// answer answers one question.
func (l *Link) answer(ctx context.Context, lf *life, m *nats.Msg) {
	token := from(m.Subject)
	var r reply
	id, op, out, err := l.carryOut(ctx, lf, token, m)
	if err == nil {
		r.Body, err = json.Marshal(out)
	}
	if err != nil {
		r = reply{Error: &RemoteError{Text: err.Error()}}
		if e, ok := errors.AsType[*RemoteError](err); ok {
			r.Error = e
		}
		l.refusal(token, "a question", err)
	}
	if id == "" || op == opFate {
		return // nobody waits for an answer
	}
	subject := answerSubject(token, string(id), lf.token)
	err = l.publish(lf, subject, r)
	if errors.Is(err, nats.ErrMaxPayload) {
		l.refusal(token, "an answer to its question", err)
		r = reply{Error: &RemoteError{Text: "the answer is too large for the server between the computers", Hint: "ask for less"}}
		err = l.publish(lf, subject, r)
	}
	if err != nil {
		l.refusal(token, "an answer to its question", err)
	}
}

// carryOut does what a question asks. Without an id it is not known whom to answer.
func (l *Link) carryOut(ctx context.Context, lf *life, token string, m *nats.Msg) (id message.ID, op string, out any, err error) {
	key, err := signer(m.Subject, m.Header, m.Data)
	if err == nil {
		err = l.trusts(lf, token, key)
	}
	if err != nil {
		return "", "", nil, err
	}
	var q question
	if err = json.Unmarshal(m.Data, &q); err == nil {
		id, err = message.ParseID(string(q.ID)) // it becomes part of a subject
	}
	if err != nil || len(q.Op) > registry.MaxName {
		return "", "", nil, errors.New("not a question")
	}
	if off := l.Now().Sub(q.Sent); off > stale || off < -stale {
		return id, q.Op, nil, &RemoteError{Text: fmt.Sprintf("the clocks of the two computers differ by %s", off.Abs().Round(time.Second)), Hint: "set them by NTP"}
	}
	if _, harmless := builtin[q.Op]; !harmless && q.Sent.Before(lf.began) {
		// An earlier life may have carried it out.
		return id, q.Op, nil, &RemoteError{Text: "it has just started: ask again"}
	}
	if q.Op != opFate && !l.allows(lf, token, "questions", func(c *cost) *rate.Limiter { return c.work }) {
		return id, q.Op, nil, &RemoteError{Text: "too many questions"}
	}
	if q.Op != opFate && !lf.seen.add(id, l.Now()) { // to be told a fate twice does no harm
		return "", "", nil, errors.New("that was asked before")
	}
	answer := l.answers[q.Op]
	if answer == nil {
		return id, q.Op, nil, &RemoteError{Text: fmt.Sprintf("it does not know %q", q.Op), Hint: "update intercom there"}
	}
	if err := within(q.Op, q.Body); err != nil {
		return id, q.Op, nil, &RemoteError{Text: err.Error()}
	}
	var from message.Peer
	if q.From.ID != "" {
		if from, err = l.Enter(ctx, token, q.From); err != nil {
			return id, q.Op, nil, err
		}
	}
	out, err = answer(ctx, token, from, q.Body)
	return id, q.Op, out, err
}

// answered handles an answer to a question of this computer.
func (l *Link) answered(lf *life, m *nats.Msg) {
	parts := strings.Split(m.Subject, ".")
	token, id := parts[len(parts)-1], message.ID(parts[len(parts)-2])
	if !lf.waits.has(id, token) { // too late, or nobody asked
		l.allows(lf, l.payer(kindAnswer, m), "answers", func(c *cost) *rate.Limiter { return c.asks })
		return
	}
	key, err := signer(m.Subject, m.Header, m.Data)
	if err == nil {
		err = l.trusts(lf, token, key)
	}
	if err != nil {
		l.refusal(token, "an answer", err)
		return
	}
	lf.waits.answer(id, token, m.Data, nil)
}

// noResponders is the status by which a server says that nobody listens.
const noResponders = "503"

// unheard returns the subject on which the server says that nobody heard a question.
func unheard(token string, id message.ID) string { return inbox(token) + ".unheard." + string(id) }

// waits is the set of questions that are not answered yet.
type waits struct {
	mu  sync.Mutex
	all map[message.ID]waiting
}

type waiting struct {
	token string
	back  chan answer
}

type answer struct {
	data []byte
	err  error
}

func (w *waits) add(id message.ID, token string) <-chan answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[message.ID]waiting{}
	}
	back := make(chan answer, 1)
	w.all[id] = waiting{token, back}
	return back
}

func (w *waits) remove(id message.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, id)
}

// has reports whether somebody waits for an answer from that computer.
func (w *waits) has(id message.ID, token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[id].token == token
}

// answer passes an answer to the question that waits for it from that computer; token "" is the server itself.
func (w *waits) answer(id message.ID, token string, data []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, ok := w.all[id]
	if !ok || token != "" && token != one.token {
		return
	}
	select {
	case one.back <- answer{data, err}:
	default:
	}
}

// publish sends a signed message that nobody answers.
func (l *Link) publish(lf *life, subject string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	m, err := lf.id.sign(subject, data)
	if err != nil {
		return err
	}
	return lf.conn.PublishMsg(m)
}
