package relay

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // memory is there, processors are not
	goleak.VerifyTestMain(m)
}

// rig steps a State and records the effects: test helper.
type rig struct {
	t        require.TestingT
	s        *State
	now      time.Time
	tokens   Token
	ids      int
	commits  []message.Step
	out      []message.Delivery // deliveries handed to sinks
	cancel   []Cancel
	forgot   []message.ID
	last     []Effect     // of the last event
	pending  []message.ID // messages that await a verdict
	receipts map[message.ID][]message.Receipt
	made     map[message.ID]message.Delivery
	notices  []string
	async    bool // verdicts are given by hand
	book     *journaltest.Book
	life     byte
}

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// usual are the default limits on what agents may send.
var usual = route.Sends{}.WithDefaults()

func newRig(t require.TestingT) *rig {
	return &rig{
		t: t, s: NewState([32]byte{1}, message.Limits{}), now: start, book: journaltest.NewBook(),
		receipts: make(map[message.ID][]message.Receipt), made: make(map[message.ID]message.Delivery),
	}
}

// step makes an event happen, with everything that the policy would answer.
func (r *rig) step(e Event) (Answer, error) {
	var answer Answer
	var err error
	r.last = nil
	for events := []Event{e}; len(events) > 0; events = events[1:] {
		effects := r.s.Step(r.now, events[0])
		r.last = append(r.last, effects...)
		for i, effect := range effects {
			switch f := effect.(type) {
			case Commit:
				require.Zero(r.t, i, "a commit comes first, and once")
				r.commit(f.Step)
			case Decide:
				if r.async {
					r.pending = append(r.pending, f.Message.ID)
				} else {
					events = append(events, Decided{message.Verdict{Message: f.Message.ID, Decision: message.Decision{Verb: message.VerbDeliver}}})
				}
			case Deliver:
				r.out = append(r.out, f.Delivery)
			case Cancel:
				r.cancel = append(r.cancel, f)
			case Forget:
				r.forgot = append(r.forgot, f.Peer)
			case Allow:
				err = f.Err
			case Reply:
				answer, err = f.Answer, f.Err
			}
		}
	}
	return answer, err
}

func (r *rig) commit(s message.Step) {
	r.commits = append(r.commits, s)
	r.book.Commit(s)
	for _, d := range s.Deliveries {
		r.made[d.ID] = d
	}
	for _, one := range s.Receipts {
		r.receipts[one.Delivery] = append(r.receipts[one.Delivery], one)
	}
	for _, n := range s.Notices {
		r.notices = append(r.notices, n.Text)
	}
}

// restart discards the State and makes another one from what was written down, at the tmux server
// with that number.
func (r *rig) restart(server int) Restored {
	r.life++
	r.s = NewState([32]byte{1, r.life}, message.Limits{})
	r.out, r.cancel, r.pending = nil, nil, nil
	restored := restored(r.book, message.Process{PID: server})
	_, _ = r.step(restored)
	return restored
}

// pass lets awake time pass, second by second.
func (r *rig) pass(d time.Duration) {
	for ; d > 0; d -= time.Second {
		r.now = r.now.Add(time.Second)
		_, _ = r.step(Tick{Awake: time.Second})
	}
}

// shows returns the chat as the State has it.
func (r *rig) shows(id message.ID) message.Chat {
	c, ok := r.s.Snapshot().Chat(id)
	require.True(r.t, ok)
	return c
}

// ask makes a request: a person's, unless it names its caller.
func (r *rig) ask(q Request) (Answer, error) {
	r.tokens++
	return r.step(Requested{Token: r.tokens, Request: asPerson(q)})
}

// asPerson returns the request with a person as its caller, if it names nobody.
func asPerson(q Request) Request {
	if q.by() != (By{}) {
		return q
	}
	return withBy(q, By{Kind: Person})
}

// withBy returns the request with another caller.
func withBy(q Request, by By) Request {
	one := reflect.New(reflect.TypeOf(q)).Elem()
	one.Set(reflect.ValueOf(q))
	one.FieldByName("By").Set(reflect.ValueOf(by))
	return one.Interface().(Request)
}

// must is ask for a request that has to succeed.
func (r *rig) must(q Request) Answer {
	a, err := r.ask(q)
	require.NoError(r.t, err)
	return a
}

// id returns an id that is the same in every run.
func (r *rig) id() message.ID {
	r.ids++
	return message.ID(fmt.Sprintf("0198b2c1-1111-7000-8000-%012x", r.ids))
}

// adopt takes in sessions of those names.
func (r *rig) adopt(names ...string) []message.Peer {
	var out []message.Peer
	for _, name := range names {
		r.tokens++
		a, err := r.step(Adopted{Token: r.tokens, Peer: message.Peer{
			ID: r.id(), Name: name, PaneOf: message.PaneOf{Pane: fmt.Sprintf("%%%d", r.ids), Profile: "line"},
		}})
		require.NoError(r.t, err)
		out = append(out, a.Peer)
	}
	return out
}

// chat starts a chat of the named sessions with those limits.
func (r *rig) chat(l message.Limits, names ...string) message.Chat {
	return r.must(StartChat{Peers: names, Limits: l}).Chats[0]
}

// say makes a session end a turn, and returns what was handed out because of it.
func (r *rig) say(s message.Peer, words string, answers ...message.ID) []message.Delivery {
	r.now = r.now.Add(time.Second)
	before := len(r.out)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Words: words, Answers: answers, Ended: r.now}})
	return r.out[before:]
}

// report makes a sink report.
func (r *rig) report(d message.ID, state message.ReceiptState, reason message.Reason) error {
	r.tokens++
	_, err := r.step(Reported{Token: r.tokens, Receipt: message.Receipt{Delivery: d, State: state, Reason: reason}})
	return err
}

// submit brings deliveries as far as submitted.
func (r *rig) submit(list ...message.Delivery) {
	for _, d := range list {
		if !d.Typed {
			require.NoError(r.t, r.report(d.ID, message.Typed, ""))
		}
		require.NoError(r.t, r.report(d.ID, message.Typed, ""))
		require.NoError(r.t, r.report(d.ID, message.Submitted, ""))
	}
}

// states returns the states that a delivery went through.
func (r *rig) states(d message.ID) (out []string) {
	for _, one := range r.receipts[d] {
		text := string(one.State)
		if one.Reason != "" {
			text += ": " + string(one.Reason)
		}
		out = append(out, text)
	}
	return out
}

func text(d message.Delivery) string { return render.Text(d.Form, d.Message) }

func handedIDs(list []message.Delivery) (out []message.ID) {
	for _, d := range list {
		out = append(out, d.ID)
	}
	return out
}

// testing.T is a require.TestingT.
var _ require.TestingT = (*testing.T)(nil)
