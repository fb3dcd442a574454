package relay

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Any events in any order, and at any moment another State made only from what was written down:
// judged by the effects alone, every promise is kept.
func TestStep_model(t *testing.T) { rapid.Check(t, func(t *rapid.T) { modelRun(t).replay() }) }

func modelRun(t *rapid.T) *world {
	w := &world{
		t: t, s: modelState(0), now: start, book: journaltest.NewBook(), server: 1,
		taken: make(map[message.ID]bool), members: make(map[message.ID][]message.ID),
		state: make(map[message.ID]message.ReceiptState), typed: make(map[message.ID]bool), made: make(map[message.ID]message.Delivery),
		index: make(map[message.ID]int), handed: make(map[string]int), pairs: make(map[string]bool),
		chats: make(map[message.ID]message.Chat), received: make(map[message.ID]message.Envelope), verdicts: make(map[message.ID]bool),
		reason: make(map[message.ID]message.Reason), hold: make(map[message.ID]message.Hold), gone: make(map[message.ID]bool), kinds: make(map[message.ID]message.PeerKind),
		told: make(map[message.ID]bool), letGo: make(map[message.ID]bool), approved: make(map[message.ID]bool), barred: make(map[message.ID]bool),
	}
	for range rapid.IntRange(2, 4).Draw(t, "sessions") {
		w.adopt()
	}
	t.Repeat(map[string]func(*rapid.T){
		"adopt": func(t *rapid.T) {
			if len(w.sessions)-len(w.gone) >= 7 || len(w.sessions) >= 20 {
				t.Skip()
			}
			w.adopt()
		},
		"start": func(t *rapid.T) {
			q := StartChat{Turns: rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "turns")}
			q.Limits.Expire = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "expire")
			q.Limits.Away = rapid.SampledFrom([]time.Duration{0, 0, 2 * time.Minute}).Draw(t, "away")
			q.Limits.Words = rapid.SampledFrom([]string{"", "last", "all"}).Draw(t, "words")
			q.Limits.Person = rapid.Bool().Draw(t, "person")
			q.Muted = []bool{rapid.IntRange(0, 5).Draw(t, "muted") == 0}
			if rapid.Bool().Draw(t, "say") {
				q.Say = "begin"
			}
			q.OneWay = rapid.IntRange(0, 2).Draw(t, "one way") == 0
			if q.IncludeLast = rapid.IntRange(0, 2).Draw(t, "last") == 0; q.IncludeLast && rapid.Bool().Draw(t, "told") {
				q.Last = message.Turn{Words: "from its own account", Ended: w.now}
			}
			for range rapid.IntRange(1, 4).Draw(t, "members") {
				if s := string(w.session(t)); !slices.Contains(q.Peers, s) || rapid.IntRange(0, 5).Draw(t, "twice") == 0 {
					q.Peers = append(q.Peers, s)
				}
			}
			q.Limits.Approve = rapid.SampledFrom(append([]string{"", "", message.ApproveAll, message.ApproveAll}, q.Peers...)).Draw(t, "approve")
			if rapid.IntRange(0, 3).Draw(t, "agent") == 0 {
				q.By = By{Kind: Agent, Peer: message.ID(rapid.SampledFrom(append([]string{string(w.session(t))}, q.Peers...)).Draw(t, "whose"))}
				q.Limits, q.Muted = message.Limits{}, nil
			}
			w.ask(q)
		},
		"speak": func(t *rapid.T) {
			turn := message.Turn{ID: w.id(), Peer: w.session(t), Words: fmt.Sprint("words ", w.ids), Ended: w.now, Person: rapid.IntRange(0, 9).Draw(t, "person") == 0}
			turn.Answers = append(turn.Answers, w.some(t, func(d message.ID) bool { return w.state[d] == message.Submitted })...)
			if rapid.IntRange(0, 9).Draw(t, "again") == 0 && len(w.received) > 0 {
				turn.ID = w.order[rapid.IntRange(0, len(w.order)-1).Draw(t, "which")]
			}
			if rapid.IntRange(0, 4).Draw(t, "silent") == 0 {
				turn.Words = ""
			}
			if rapid.IntRange(0, 2).Draw(t, "more") == 0 {
				turn.All = fmt.Sprint("all of it ", w.ids)
			}
			if rapid.IntRange(0, 3).Draw(t, "prompted") == 0 {
				turn.Prompt, turn.Person = fmt.Sprint("prompt ", w.ids), true
			}
			turn.Cut = rapid.SampledFrom([]message.Reason{"", "", message.Interrupted, message.ServiceFailed}).Draw(t, "cut")
			w.tell(turn)
		},
		"exchange": func(t *rapid.T) { // one session says something, it is typed, and its target's turn is cut short
			if s := w.session(t); rapid.Bool().Draw(t, "single") {
				w.ask(Send{By: By{Kind: Agent, Peer: s}, To: string(w.session(t)), Message: message.Envelope{Body: "single"}})
			} else {
				w.tell(message.Turn{ID: w.id(), Peer: s, Words: fmt.Sprint("words ", w.ids), Ended: w.now})
			}
			for len(w.undecided) > 0 {
				w.decide(0, message.VerbDeliver)
			}
			for _, d := range w.all {
				if w.state[d] == message.Queued {
					w.report(d, message.Typed)
					w.report(d, message.Submitted)
				}
			}
			turn := message.Turn{ID: w.id(), Peer: w.session(t), Cut: message.Interrupted, Ended: w.now}
			for _, d := range w.all {
				if w.state[d] == message.Submitted && w.made[d].Target == turn.Peer {
					turn.Answers = append(turn.Answers, d)
				}
			}
			w.tell(turn)
		},
		"tell again": func(t *rapid.T) {
			if len(w.turns) == 0 {
				t.Skip()
			}
			w.tell(rapid.SampledFrom(w.turns).Draw(t, "turn"))
		},
		"send": func(t *rapid.T) {
			q := Send{To: string(w.session(t)), Message: message.Envelope{Body: "single", Depth: -5}}
			if rapid.Bool().Draw(t, "agent") {
				q.By = By{Kind: Agent, Peer: w.session(t)}
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
			w.decide(i, rapid.SampledFrom([]message.Verb{message.VerbDeliver, message.VerbDeliver, message.VerbDeliver, message.VerbHold, message.VerbAsk, message.VerbBounce, message.VerbDrop}).Draw(t, "verb"))
		},
		"decide held": func(t *rapid.T) { // mostly one that waits
			any := rapid.IntRange(0, 9).Draw(t, "any") == 0
			list := w.some(t, func(d message.ID) bool { return any || w.state[d] == message.Held && w.awaited(d) })
			if len(list) == 0 {
				t.Skip()
			}
			q := DecideHeld{Who: message.Person{Name: "ada"}, Message: w.made[list[0]].Message.ID, Verb: rapid.SampledFrom([]message.Verb{message.VerbDeliver, message.VerbDrop, message.VerbBounce}).Draw(t, "verb")}
			if q.Verb != message.VerbDeliver && rapid.Bool().Draw(t, "say") {
				q.Say = "not that"
			} else if edited := "edited"; rapid.Bool().Draw(t, "edit") {
				q.Body = &edited
			}
			if rapid.IntRange(0, 9).Draw(t, "agent") == 0 {
				q.By = By{Kind: Agent, Peer: w.session(t)}
			}
			w.ask(q)
		},
		"report": func(t *rapid.T) {
			over := rapid.IntRange(0, 9).Draw(t, "over") == 0
			list := w.some(t, func(d message.ID) bool { return over || !w.state[d].Final() && w.state[d] != message.Submitted })
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
		"refuse": func(t *rapid.T) {
			for _, d := range w.some(t, func(d message.ID) bool {
				return w.book.Typed[d] && !w.state[d].Final() && w.state[d] != message.Submitted
			}) {
				w.sinkSays(d, message.Held, message.TmuxRefused)
			}
		},
		"take": func(t *rapid.T) { w.ask(Take{By: By{Kind: Agent, Peer: w.session(t)}}) },
		"told": func(t *rapid.T) {
			state := rapid.SampledFrom([]message.ReceiptState{message.Submitted, message.Submitted, message.Held, message.Uncertain}).Draw(t, "became")
			for _, d := range w.some(t, func(d message.ID) bool { return w.made[d].Door == message.DoorMCP }) {
				w.ask(Told{By: By{Kind: Agent, Peer: w.made[d].Target}, Deliveries: []message.ID{d}, State: state})
			}
		},
		"member": func(t *rapid.T) {
			q := AddMember{Chat: w.chat(t), Peer: string(w.session(t))}
			by := By{Kind: Person}
			if rapid.IntRange(0, 3).Draw(t, "agent") == 0 {
				by = By{Kind: Agent, Peer: message.ID(q.Peer)}
			}
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				w.ask(RemoveMember{By: by, Chat: q.Chat, Peer: q.Peer})
			case 1:
				w.ask(MuteMember{By: by, Chat: q.Chat, Peer: q.Peer, Off: rapid.Bool().Draw(t, "off")})
			default:
				w.ask(q)
			}
		},
		"join": func(t *rapid.T) {
			if len(w.sessions) < 20 {
				w.join(rapid.SampledFrom(others).Draw(t, "kind"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "key"))
			}
		},
		"receive": func(t *rapid.T) {
			m := message.Envelope{
				ID: w.id(), From: message.Address{Peer: w.session(t)}, Body: fmt.Sprint("words ", w.ids), Depth: rapid.IntRange(-1, 7).Draw(t, "depth"),
				Type:   rapid.SampledFrom([]string{"", "task", message.KindTurn, message.KindNotice}).Draw(t, "type"),
				Origin: rapid.SampledFrom([]message.Origin{"", message.OriginHuman, message.OriginSystem}).Draw(t, "origin"),
				Trust:  rapid.SampledFrom([]message.Trust{"", message.TrustPerson, message.TrustVerified, message.TrustRegister}).Draw(t, "trust"),
			}
			for range rapid.IntRange(0, 2).Draw(t, "targets") {
				m.To = append(m.To, message.Address{Peer: w.session(t)})
			}
			if rapid.IntRange(0, 5).Draw(t, "again") == 0 && len(w.order) > 0 {
				m.ID = rapid.SampledFrom(w.order).Draw(t, "which")
			}
			w.receive(m)
		},
		"closed": func(t *rapid.T) {
			why := rapid.SampledFrom([]message.Reason{"", message.OursInComposer}).Draw(t, "why")
			w.step(PaneLocked{Peer: w.session(t), Why: why, Lost: "lost"})
		},
		"attended": func(*rapid.T) { w.step(UserActive{}) },
		"restart": func(t *rapid.T) {
			for _, d := range w.restart(rapid.IntRange(0, 9).Draw(t, "server") == 0) {
				switch rapid.IntRange(0, 5).Draw(t, "found") {
				case 0:
					w.sinkSays(d, message.Held, message.TmuxRefused)
				case 1:
					w.report(d, message.Submitted)
				case 2:
					w.report(d, message.Uncertain)
				case 3:
					w.report(d, message.Typed)
				}
			}
		},
		"paste": func(t *rapid.T) {
			for _, d := range w.some(t, func(d message.ID) bool { return w.state[d] == message.Queued }) {
				w.report(d, message.Typed)
			}
		},
		"submit": func(t *rapid.T) {
			for _, d := range w.some(t, func(d message.ID) bool { return w.state[d] == message.Queued }) {
				w.report(d, message.Typed)
				w.report(d, message.Submitted)
			}
		},
		"pause":  func(t *rapid.T) { w.ask(PauseChat{Chat: w.chatOrAll(t)}) },
		"resume": func(t *rapid.T) { w.ask(ResumeChat{Chat: w.chatOrAll(t), Sure: true}) },
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
				w.step(Released{Peer: s})
			} else {
				w.step(Gone{Peer: s, Reason: message.PaneMissing})
			}
		},
		"pass": func(t *rapid.T) {
			passed := time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second
			w.now = w.now.Add(passed)
			w.step(Tick{Awake: rapid.SampledFrom([]time.Duration{passed, passed, 0}).Draw(t, "awake")})
		},
		"": func(t *rapid.T) { w.check() },
	})
	w.drain()
	return w
}

// world drives a State and knows only what its effects said: test helper.
type world struct {
	t         *rapid.T
	s         *State
	now       time.Time
	ids       int
	token     Token
	sessions  []message.ID
	gone      map[message.ID]bool
	kinds     map[message.ID]message.PeerKind
	undecided []message.ID
	order     []message.ID // of received messages
	received  map[message.ID]message.Envelope
	verdicts  map[message.ID]bool // by message: deliver
	made      map[message.ID]message.Delivery
	all       []message.ID // of made deliveries
	index     map[message.ID]int
	pairs     map[string]bool // message and target of deliveries that did not fail as a duplicate
	state     map[message.ID]message.ReceiptState
	reason    map[message.ID]message.Reason
	hold      map[message.ID]message.Hold
	typed     map[message.ID]bool
	handed    map[string]int // chat and target → index of the last delivery handed out first
	chats     map[message.ID]message.Chat
	chatIDs   []message.ID
	stopped   bool
	history   []past
	book      *journaltest.Book // what another run would read
	life      byte
	older     int // how many messages earlier runs received
	server    int
	taken     map[message.ID]bool         // submitted before the last restart
	members   map[message.ID][]message.ID // the members of its chat when a message was received
	turns     []message.Turn
	told      map[message.ID]bool // turns that this run took in
	letGo     map[message.ID]bool // deliveries that a person let go, or that nobody said no to in time
	approved  map[message.ID]bool // deliveries that a person said yes to
	barred    map[message.ID]bool // chats that somebody has paused, or that were paused at a restart: not by a limit alone
}

// lapses reports whether a delivery goes on if nobody decides in time.
func (w *world) lapses(d message.ID) bool {
	return w.book.Decided[w.made[d].Message.ID].Otherwise == message.VerbDeliver || w.book.Decided[w.made[d].Message.ID].Reason == "no decision in time"
}

// modelState returns the State of that run: its ids differ from those of any other.
func modelState(life byte) *State {
	s := NewState([32]byte{7, life}, message.Limits{Depth: 6, Rate: 12})
	s.person = "ada"
	return s
}

// restart discards the State, and makes another one from what was written down, at the same tmux
// server or at another one. It returns what the sinks have to look at.
func (w *world) restart(elsewhere bool) (look []message.ID) {
	if elsewhere {
		w.server++
		for _, s := range w.sessions {
			w.gone[s] = w.gone[s] || w.kinds[s] == message.PeerPane
		}
	}
	for id, state := range w.state {
		if state == message.Submitted {
			w.taken[id] = true
		}
	}
	w.life++
	w.s = modelState(w.life)
	w.undecided = nil
	clear(w.handed)
	clear(w.told)
	w.older = len(w.order)
	event := restored(w.book, message.Process{PID: w.server})
	for _, e := range w.step(event) {
		if d, ok := e.(Deliver); ok && d.Delivery.Typed {
			look = append(look, d.Delivery.ID)
		}
	}
	require.Len(w.t, w.undecided, len(event.Undecided), "all of them are decided now")
	w.bar(func(message.ID) bool { return true })
	return look
}

// known reports whether only the journal can know the message, because another run received it.
func (w *world) known(id message.ID) bool { return slices.Contains(w.order[:w.older], id) }

// in reports whether the session is in the chat, according to what was written down.
func (w *world) in(chat, session message.ID) bool {
	for _, p := range w.chats[chat].Participants {
		if p.Peer == session && !p.Left {
			return true
		}
	}
	return false
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
	s := message.Peer{ID: w.id(), PaneOf: message.PaneOf{Pane: fmt.Sprintf("%%%d", w.ids), Server: message.Process{PID: w.server}}, Name: "a"}
	w.step(Adopted{Token: w.token, Peer: s})
	w.sessions = append(w.sessions, s.ID)
}

// session returns a present session, if there is one; now and then it returns another.
func (w *world) session(t *rapid.T) message.ID {
	var present []message.ID
	for _, s := range w.sessions {
		if !w.gone[s] {
			present = append(present, s)
		}
	}
	if len(present) == 0 || rapid.IntRange(0, 9).Draw(t, "any") == 0 {
		present = w.sessions
	}
	return rapid.SampledFrom(present).Draw(t, "session")
}

// chat returns an open chat, if there is one; now and then it returns another.
func (w *world) chat(t *rapid.T) string {
	var open []message.ID
	for _, id := range w.chatIDs {
		if w.chats[id].State != message.ChatOver {
			open = append(open, id)
		}
	}
	if len(open) == 0 || rapid.IntRange(0, 9).Draw(t, "any") == 0 {
		open = w.chatIDs
	}
	if len(open) == 0 {
		t.Skip()
	}
	return string(rapid.SampledFrom(open).Draw(t, "chat"))
}

func (w *world) chatOrAll(t *rapid.T) string {
	if rapid.IntRange(0, 4).Draw(t, "all") == 0 {
		return All
	}
	return w.chat(t)
}

// some returns up to three of the matching deliveries.
func (w *world) some(t *rapid.T, holds func(message.ID) bool) []message.ID {
	var fit, out []message.ID
	for _, d := range w.all {
		if holds(d) {
			fit = append(fit, d)
		}
	}
	for range min(len(fit), rapid.IntRange(1, 3).Draw(t, "some")) {
		out = append(out, fit[rapid.IntRange(0, len(fit)-1).Draw(t, "of")])
	}
	return out
}

func (w *world) ask(q Request) {
	w.token++
	asked := Requested{Token: w.token, Request: asPerson(q)}
	if send, ok := q.(Send); ok {
		asked.Seen = w.known(send.Message.ID)
	}
	effects := w.step(asked)
	var err error
	for _, e := range effects {
		if reply, ok := e.(Reply); ok && reply.Token == w.token {
			err = reply.Err
		}
	}
	if decision, ok := asked.Request.(DecideHeld); ok && !decision.By.Person() {
		require.ErrorIs(w.t, err, ErrPersonOnly)
	}
	if err != nil {
		return
	}
	switch r := q.(type) {
	case PauseChat:
		w.stopped = w.stopped || r.Chat == All
		w.bar(func(c message.ID) bool { return r.Chat == All || r.Chat == string(c) })
	case StopChat:
		w.stopped = w.stopped || r.Chat == All
	case ResumeChat:
		w.stopped = w.stopped && r.Chat != All
		maps.DeleteFunc(w.barred, func(c message.ID, _ bool) bool { return w.chats[c].State == message.ChatOn })
	}
}

// bar notes the paused chats that are paused by more than a limit.
func (w *world) bar(which func(message.ID) bool) {
	for id, c := range w.chats {
		if c.State == message.ChatPaused && which(id) {
			w.barred[id] = true
		}
	}
}

func (w *world) decide(i int, verb message.Verb) {
	id := w.undecided[i]
	w.undecided = slices.Delete(w.undecided, i, i+1)
	v := message.Verdict{Message: id, Decision: message.Decision{Verb: verb, Reason: "policy"}}
	if w.order[len(w.order)-1] == id { // now and then the wait has an end
		v.Expires, v.Otherwise = time.Minute, []message.Verb{message.VerbDeliver, message.VerbBounce, message.VerbDrop}[len(w.order)%3]
	}
	w.step(Decided{v})
}

func (w *world) report(d message.ID, state message.ReceiptState) {
	w.sinkSays(d, state, "a reason of its own")
}

// sinkSays makes a sink report, and checks the answer against what is known outside.
func (w *world) sinkSays(d message.ID, state message.ReceiptState, why message.Reason) {
	w.token++
	before, typed, chat := w.state[d], w.typed[d], w.chats[w.made[d].Chat]
	effects := w.step(Reported{Token: w.token, Receipt: message.Receipt{Delivery: d, State: state, Reason: why}})
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
			if !typed || w.barred[chat.ID] || chat.State == message.ChatOver { // else a limit caught it between its paste and its Enter
				require.Equal(w.t, message.ChatOn, chat.State, "leave in a chat that is not on")
			}
			require.True(w.t, w.in(chat.ID, w.made[d].Target), "leave for one that is not in the chat")
		}
	}
}

// step makes an event happen, and checks every effect as it comes.
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
	w.book.Commit(s)
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
		for _, p := range w.chats[m.Chat].Participants {
			if !p.Left {
				w.members[m.ID] = append(w.members[m.ID], p.Peer)
			}
		}
		w.order = append(w.order, m.ID)
	}
	for _, v := range s.Verdicts {
		require.Contains(w.t, w.received, v.Message)
		if v.Person.Name != "" || v.Reason == "no decision in time" {
			require.Contains(w.t, w.verdicts, v.Message)
			continue
		}
		require.NotContains(w.t, w.verdicts, v.Message, "decided twice")
		w.verdicts[v.Message] = v.Verb == message.VerbDeliver
	}
	for _, d := range s.Deliveries {
		if before, again := w.made[d.ID]; again { // it has changed
			require.False(w.t, w.state[d.ID].Final(), "changed after its end")
			require.Equal(w.t, before.Target, d.Target)
			require.Equal(w.t, before.Message.ID, d.Message.ID)
			w.made[d.ID] = d
			continue
		}
		require.NotEqual(w.t, d.Message.From.Peer, d.Target, "a message to its author")
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
		why := w.hold[r.Delivery]
		if before == message.Held && r.State == message.Queued && (w.awaited(r.Delivery) || why == message.HoldPause || why == message.HoldLimit) {
			now := w.history[len(w.history)-1].event
			asked, _ := now.(Requested)
			if _, tick := now.(Tick); tick || w.awaited(r.Delivery) {
				require.True(w.t, w.awaited(r.Delivery), "nobody said that it may go on")
				require.True(w.t, tick && w.lapses(r.Delivery) || asked.Request != nil && asked.Request.by().Person())
				w.letGo[r.Delivery] = true
				decision, _ := asked.Request.(DecideHeld)
				w.approved[r.Delivery] = decision.Verb == message.VerbDeliver
			}
			if !w.letGo[r.Delivery] || !w.awaited(r.Delivery) {
				require.IsType(w.t, ResumeChat{}, asked.Request, "let go without a person's word")
			} else if !w.lapses(r.Delivery) {
				require.IsType(w.t, DecideHeld{}, asked.Request, "let go without a person's yes")
			}
		}
		w.state[r.Delivery], w.reason[r.Delivery], w.hold[r.Delivery] = r.State, r.Reason, r.Hold
		w.holds(r)
		w.typed[r.Delivery] = r.State == message.Typed || w.typed[r.Delivery] && r.Reason != message.TmuxRefused && r.Reason != message.NotRead
		if before == "" && r.Reason != message.Duplicate {
			pair := string(w.made[r.Delivery].Message.ID + w.made[r.Delivery].Target)
			require.False(w.t, w.pairs[pair], "two deliveries of one message to one session")
			w.pairs[pair] = true
		}
	}
}

func (w *world) deliver(d message.Delivery) {
	require.Contains(w.t, w.made, d.ID, "on disk before it is handed out")
	require.False(w.t, w.gone[d.Target], "handed to a pane that has gone")
	require.False(w.t, w.state[d.ID].Final() || w.state[d.ID] == message.Submitted, "handed out though it is over")
	if w.typed[d.ID] {
		require.True(w.t, d.Typed, "the sink must know what may stand in the pane")
	}
	if d.Typed {
		require.True(w.t, w.book.Typed[d.ID])
		if _, restart := w.history[len(w.history)-1].event.(Restored); restart {
			return // its sink looks at it, whatever the state of its chat
		}
	}
	require.False(w.t, w.stopped && !w.resuming(), "handed out while everything is stopped")
	if !d.Typed {
		require.Equal(w.t, message.Queued, w.state[d.ID])
	}
	if d.Chat == "" {
		return
	}
	require.Equal(w.t, message.ChatOn, w.chats[d.Chat].State)
	require.True(w.t, w.in(d.Chat, d.Target), "handed to one that is not in the chat")
	if w.chats[d.Chat].Limits.Approve == message.ApproveAll && d.Message.Type == message.KindTurn {
		require.True(w.t, w.approved[d.ID], "what an agent says goes on without a person's yes")
	}
	if d.Attempt == 1 && !w.letGo[d.ID] {
		lane := string(d.Chat + d.Target)
		if last, ok := w.handed[lane]; ok {
			require.Greater(w.t, w.index[d.ID], last, "handed out of order")
		}
		w.handed[lane] = w.index[d.ID]
	}
}

// resuming reports whether the latest event is the one that resumes all.
func (w *world) resuming() bool {
	asked, ok := w.history[len(w.history)-1].event.(Requested)
	if !ok {
		return false
	}
	resume, ok := asked.Request.(ResumeChat)
	return ok && resume.Chat == All
}
