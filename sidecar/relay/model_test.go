package relay

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Any events in any order: what the effects say, taken alone, keeps every promise.
func TestStep_model(t *testing.T) { rapid.Check(t, modelRun) }

func modelRun(t *rapid.T) {
	w := &world{
		t: t, s: NewState([32]byte{7}, message.Limits{Depth: 6, Rate: 12}), now: start,
		state: make(map[message.ID]message.ReceiptState), typed: make(map[message.ID]bool), made: make(map[message.ID]message.Delivery),
		index: make(map[message.ID]int), handed: make(map[string]int), pairs: make(map[string]bool),
		chats: make(map[message.ID]message.Chat), received: make(map[message.ID]message.Envelope), verdicts: make(map[message.ID]bool),
		reason: make(map[message.ID]message.Reason), gone: make(map[message.ID]bool),
	}
	for range rapid.IntRange(2, 4).Draw(t, "sessions") {
		w.adopt()
	}
	t.Repeat(map[string]func(*rapid.T){
		"adopt": func(t *rapid.T) {
			if len(w.sessions) >= 7 {
				t.Skip()
			}
			w.adopt()
		},
		"start": func(t *rapid.T) {
			q := StartChat{Turns: rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "turns")}
			if rapid.Bool().Draw(t, "say") {
				q.Say = "begin"
			}
			for range rapid.IntRange(1, 4).Draw(t, "members") {
				q.Sessions = append(q.Sessions, string(w.session(t)))
			}
			w.ask(q)
		},
		"speak": func(t *rapid.T) {
			turn := message.Turn{ID: w.id(), Session: w.session(t), Words: fmt.Sprint("words ", w.ids), Ended: w.now, Person: rapid.IntRange(0, 9).Draw(t, "person") == 0}
			turn.Answers = append(turn.Answers, w.some(t, func(d message.ID) bool { return w.state[d] == message.Submitted })...)
			if rapid.IntRange(0, 9).Draw(t, "again") == 0 && len(w.received) > 0 {
				turn.ID = w.order[rapid.IntRange(0, len(w.order)-1).Draw(t, "which")]
			}
			w.step(Spoke{Turn: turn})
		},
		"send": func(t *rapid.T) {
			q := Send{To: string(w.session(t)), Message: message.Envelope{Body: "single", Depth: -5}}
			if rapid.Bool().Draw(t, "agent") {
				q.By.Session = w.session(t)
			}
			if rapid.IntRange(0, 9).Draw(t, "again") == 0 && len(w.order) > 0 {
				q.Message.ID = w.order[rapid.IntRange(0, len(w.order)-1).Draw(t, "which")]
			}
			w.ask(q)
		},
		"say": func(t *rapid.T) { w.ask(Say{Chat: w.chat(t), Body: "person"}) },
		"decide": func(t *rapid.T) {
			if len(w.undecided) == 0 {
				t.Skip()
			}
			i := rapid.IntRange(0, len(w.undecided)-1).Draw(t, "which")
			w.decide(i, rapid.SampledFrom([]message.Verb{message.VerbDeliver, message.VerbDeliver, message.VerbDeliver, message.VerbHold, message.VerbDrop}).Draw(t, "verb"))
		},
		"report": func(t *rapid.T) {
			list := w.some(t, func(message.ID) bool { return true })
			if len(list) == 0 {
				t.Skip()
			}
			state := rapid.SampledFrom([]message.ReceiptState{
				message.Queued, message.Held, message.Typed, message.Typed, message.Typed, message.Submitted, message.Submitted,
				message.Answered, message.Failed, message.Expired, message.Uncertain, "",
			}).Draw(t, "state")
			for _, d := range list {
				w.report(d, state)
			}
		},
		"submit": func(t *rapid.T) {
			for _, d := range w.some(t, func(d message.ID) bool { return w.state[d] == message.Queued }) {
				w.report(d, message.Typed)
				w.report(d, message.Submitted)
			}
		},
		"pause":  func(t *rapid.T) { w.ask(PauseChat{Chat: w.chatOrAll(t)}) },
		"resume": func(t *rapid.T) { w.ask(ResumeChat{Chat: w.chatOrAll(t)}) },
		"stop": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				w.ask(StopChat{Chat: w.chatOrAll(t)})
			}
		},
		"leave": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
				t.Skip()
			}
			s := w.session(t)
			w.gone[s] = true
			if rapid.Bool().Draw(t, "released") {
				w.step(Released{Session: s})
			} else {
				w.step(Gone{Session: s, Reason: message.PaneMissing})
			}
		},
		"pass": func(t *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			w.step(Tick{})
		},
		"": func(t *rapid.T) { w.check() },
	})
	w.drain()
	w.replay()
}

// world drives a State and knows of it only what its effects said: test helper.
type world struct {
	t         *rapid.T
	s         *State
	now       time.Time
	ids       int
	token     Token
	sessions  []message.ID
	gone      map[message.ID]bool
	undecided []message.ID
	order     []message.ID // of received messages
	received  map[message.ID]message.Envelope
	verdicts  map[message.ID]bool // by message: deliver
	made      map[message.ID]message.Delivery
	all       []message.ID // of made deliveries
	index     map[message.ID]int
	pairs     map[string]bool // message and target of what did not fail as a duplicate
	state     map[message.ID]message.ReceiptState
	reason    map[message.ID]message.Reason
	typed     map[message.ID]bool
	handed    map[string]int // chat and target → index of the last delivery handed out first
	chats     map[message.ID]message.Chat
	chatIDs   []message.ID
	stopped   bool
	history   []past
}

type past struct {
	now     time.Time
	event   Event
	effects string
}

func (w *world) id() message.ID {
	w.ids++
	return message.ID(fmt.Sprintf("0198b2c1-2222-7000-8000-%012x", w.ids))
}

func (w *world) adopt() {
	w.token++
	s := message.Session{ID: w.id(), Pane: fmt.Sprintf("%%%d", w.ids), Name: "a"}
	w.step(Adopted{Token: w.token, Session: s})
	w.sessions = append(w.sessions, s.ID)
}

func (w *world) session(t *rapid.T) message.ID {
	return rapid.SampledFrom(w.sessions).Draw(t, "session")
}

func (w *world) chat(t *rapid.T) string {
	if len(w.chatIDs) == 0 {
		t.Skip()
	}
	return string(rapid.SampledFrom(w.chatIDs).Draw(t, "chat"))
}

func (w *world) chatOrAll(t *rapid.T) string {
	if rapid.IntRange(0, 4).Draw(t, "all") == 0 {
		return All
	}
	return w.chat(t)
}

// some are up to three of the made deliveries for which it holds.
func (w *world) some(t *rapid.T, holds func(message.ID) bool) []message.ID {
	var fit, out []message.ID
	for _, d := range w.all {
		if holds(d) {
			fit = append(fit, d)
		}
	}
	for range min(len(fit), rapid.IntRange(0, 3).Draw(t, "some")) {
		out = append(out, fit[rapid.IntRange(0, len(fit)-1).Draw(t, "of")])
	}
	return out
}

func (w *world) ask(q Request) {
	w.token++
	effects := w.step(Asked{Token: w.token, Request: q})
	var err error
	for _, e := range effects {
		if reply, ok := e.(Reply); ok && reply.Token == w.token {
			err = reply.Err
		}
	}
	if err != nil {
		return
	}
	switch r := q.(type) {
	case PauseChat:
		w.stopped = w.stopped || r.Chat == All
	case StopChat:
		w.stopped = w.stopped || r.Chat == All
	case ResumeChat:
		w.stopped = w.stopped && r.Chat != All
	}
}

func (w *world) decide(i int, verb message.Verb) {
	id := w.undecided[i]
	w.undecided = slices.Delete(w.undecided, i, i+1)
	w.verdicts[id] = verb == message.VerbDeliver
	w.step(Decided{message.Verdict{Message: id, Verb: verb, Reason: "policy"}})
}

// report has a sink report, and checks the answer against what is known outside.
func (w *world) report(d message.ID, state message.ReceiptState) {
	w.token++
	before, chat := w.state[d], w.chats[w.made[d].Chat]
	effects := w.step(Reported{Token: w.token, Receipt: message.Receipt{Delivery: d, State: state, Reason: "sink"}})
	var allow *Allow
	for _, e := range effects {
		if a, ok := e.(Allow); ok {
			allow = &a
		}
	}
	require.NotNil(w.t, allow, "whoever asks is answered")
	require.Equal(w.t, w.token, allow.Token)
	if allow.Err != nil {
		for _, e := range effects {
			_, committed := e.(Commit)
			require.False(w.t, committed, "what is refused leaves no trace")
		}
		return
	}
	require.True(w.t, before.May(state), "%s → %s was allowed", before, state)
	if state == message.Typed {
		require.False(w.t, w.stopped, "leave while everything is stopped")
		if w.made[d].Chat != "" {
			require.Equal(w.t, message.ChatOn, chat.State, "leave in a chat that is not on")
		}
	}
}

// step has an event happen and checks every effect as it comes.
func (w *world) step(e Event) []Effect {
	effects := w.s.Step(w.now, e)
	w.history = append(w.history, past{w.now, e, fmt.Sprintf("%#v", flat(effects))})
	for i, effect := range effects {
		switch f := effect.(type) {
		case Commit:
			require.Zero(w.t, i)
			require.False(w.t, f.Step.Empty())
			w.commit(f.Step)
		case Decide:
			require.Contains(w.t, w.received, f.Message.ID, "received before it is decided")
			w.undecided = append(w.undecided, f.Message.ID)
		case Deliver:
			w.deliver(f.Delivery)
		}
	}
	return effects
}

func (w *world) commit(s message.Step) {
	for _, c := range s.Chats {
		if _, known := w.chats[c.ID]; !known {
			w.chatIDs = append(w.chatIDs, c.ID)
		}
		w.chats[c.ID] = c
	}
	for _, m := range s.Received {
		require.NotContains(w.t, w.received, m.ID, "the same message twice")
		require.NoError(w.t, m.Validate())
		w.received[m.ID] = m
		w.order = append(w.order, m.ID)
	}
	for _, d := range s.Deliveries {
		require.NotContains(w.t, w.made, d.ID)
		require.NotEqual(w.t, d.Message.From.Session, d.Target, "a message to its author")
		require.Contains(w.t, w.received, d.Message.ID)
		w.made[d.ID], w.index[d.ID] = d, len(w.all)
		w.all = append(w.all, d.ID)
	}
	for _, r := range s.Receipts {
		before := w.state[r.Delivery]
		require.True(w.t, before.May(r.State), "receipt %s after %s", r.State, before)
		if w.typed[r.Delivery] {
			require.NotContains(w.t, []message.ReceiptState{message.Queued, message.Expired}, r.State)
		}
		w.state[r.Delivery], w.reason[r.Delivery] = r.State, r.Reason
		w.typed[r.Delivery] = w.typed[r.Delivery] || r.State == message.Typed
		if before == "" && r.Reason != message.Duplicate {
			pair := string(w.made[r.Delivery].Message.ID + w.made[r.Delivery].Target)
			require.False(w.t, w.pairs[pair], "two deliveries of one message to one session")
			w.pairs[pair] = true
		}
	}
}

func (w *world) deliver(d message.Delivery) {
	require.Contains(w.t, w.made, d.ID, "on disk before it is handed out")
	require.False(w.t, w.stopped && !w.resuming(), "handed out while everything is stopped")
	require.False(w.t, w.gone[d.Target], "handed to a pane that has gone")
	require.Equal(w.t, w.typed[d.ID], d.Typed, "the sink must know what may stand in the pane")
	if !d.Typed {
		require.Equal(w.t, message.Queued, w.state[d.ID])
	}
	if d.Chat == "" {
		return
	}
	require.Equal(w.t, message.ChatOn, w.chats[d.Chat].State)
	if d.Attempt == 1 {
		lane := string(d.Chat + d.Target)
		if last, ok := w.handed[lane]; ok {
			require.Greater(w.t, w.index[d.ID], last, "handed out of order")
		}
		w.handed[lane] = w.index[d.ID]
	}
}

// resuming reports whether the latest event is the one that resumes all.
func (w *world) resuming() bool {
	asked, ok := w.history[len(w.history)-1].event.(Asked)
	if !ok {
		return false
	}
	resume, ok := asked.Request.(ResumeChat)
	return ok && resume.Chat == All
}

// check compares what the State keeps with what it said.
func (w *world) check() {
	waiting := make(map[message.ID]int)
	for id, d := range w.s.under {
		require.Equal(w.t, w.state[id], d.state)
		require.False(w.t, d.state.Final(), "what is over leaves the State")
		if d.open() {
			waiting[d.Target]++
		}
	}
	for _, s := range w.s.sessions {
		if s.Ended != nil {
			continue
		}
		require.Equal(w.t, waiting[s.ID], s.waiting)
		require.GreaterOrEqual(w.t, s.bytes, 0)
	}
	for _, id := range w.all {
		d := w.state[id]
		if _, under := w.s.under[id]; !under && !d.Final() {
			require.True(w.t, w.gone[w.made[id].Target], "lost: %s %s", d, w.reason[id])
			require.Contains(w.t, []message.ReceiptState{message.Held, message.Submitted}, d)
		}
	}
	members := make(map[message.ID]bool)
	for _, c := range w.chats {
		if c.State == message.ChatOver {
			continue
		}
		for _, p := range c.Participants {
			if !p.Left {
				require.False(w.t, members[p.Session], "a session in two chats")
				members[p.Session] = true
			}
		}
	}
}

// drain lets everything go its way: then each delivery is final, submitted, or held for
// the policy or for an agent that has gone; and each message reached all whom it had to.
func (w *world) drain() {
	for len(w.undecided) > 0 {
		w.decide(0, message.VerbDeliver)
	}
	for range 50 {
		w.ask(ResumeChat{Chat: All})
		idle := true
		for _, id := range w.all {
			if d := w.s.under[id]; d != nil && d.atSink && d.open() {
				idle = false
				if !d.Typed {
					w.report(id, message.Typed)
				}
				w.report(id, message.Submitted)
			}
		}
		w.now = w.now.Add(2 * time.Hour)
		if idle {
			break
		}
	}
	for _, id := range w.all {
		switch state := w.state[id]; {
		case state.Final() || state == message.Submitted:
		case state == message.Held && w.gone[w.made[id].Target]:
		case state == message.Held && w.reason[id] == "policy":
		case w.typed[id] && w.chats[w.made[id].Chat].State == message.ChatOver:
			w.report(id, message.Uncertain) // its pane gives it up
			require.Equal(w.t, message.Uncertain, w.state[id])
		default:
			require.Fail(w.t, "neither done nor held", "%s %s", state, w.reason[id])
		}
	}
	for id, m := range w.received {
		if m.Type != message.KindTurn || !w.verdicts[id] {
			continue
		}
		for _, p := range w.chats[m.Thread].Participants {
			if p.Session != m.From.Session && !p.Left {
				require.True(w.t, w.pairs[string(id+p.Session)], "a turn that never set out for %s", p.Name)
			}
		}
	}
}

// replay has the same events happen to another State.
func (w *world) replay() {
	again := NewState([32]byte{7}, message.Limits{Depth: 6, Rate: 12})
	for i, p := range w.history {
		require.Equal(w.t, p.effects, fmt.Sprintf("%#v", flat(again.Step(p.now, p.event))), "event %d", i)
	}
}

// flat makes effects comparable as text: pointers and errors are followed.
func flat(effects []Effect) []any {
	var out []any
	for _, e := range effects {
		switch f := e.(type) {
		case Commit:
			for _, c := range f.Step.Chats {
				out = append(out, c.ID, c.State, c.Why, c.Participants, c.Ended == nil)
			}
			for _, s := range f.Step.Sessions {
				out = append(out, s.ID, s.Name, s.EndReason, s.Ended == nil)
			}
			out = append(out, f.Step.Received, f.Step.Verdicts, f.Step.Deliveries, f.Step.Receipts, f.Step.Notices)
		case Allow:
			out = append(out, f.Token, text2(f.Err))
		case Reply:
			out = append(out, f.Token, f.Answer.Message, f.Answer.Receipts, text2(f.Err))
		case Publish:
			for _, one := range f.Events {
				out = append(out, one.Kind, one.Chat, one.Notice)
			}
		default:
			out = append(out, e)
		}
	}
	return out
}

func text2(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []error{ErrPaused, ErrEnded, ErrStopped, ErrNotOurs, ErrImpossible} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}
