package pane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// write puts steps on the disk, and checks all that must be true of what is recorded.
func (s *simulation) write(step message.Step) {
	for _, m := range step.Received {
		if s.known[m.ID] {
			s.fail("message %s was taken in twice", m.ID)
		}
		s.known[m.ID] = true
		s.say("on disk: message %s (%s %s, depth %d) of %s in %q to %v", m.ID, m.Type, m.Origin, m.Depth, m.From.Peer, m.Chat, m.To)
		if at, ok := s.depths[m.ID]; ok && m.Type == message.KindTurn {
			s.say("depth %d, at least %d", m.Depth, at.least)
			if m.Depth < at.least {
				s.fail("message %s has depth %d, and lies at %d", m.ID, m.Depth, at.least)
			}
		}
	}
	for _, d := range step.Deliveries {
		f := s.facts[d.ID]
		if f == nil {
			f = &fact{n: len(s.order)}
			s.facts[d.ID], s.order = f, append(s.order, d.ID)
			if !s.known[d.Message.ID] {
				s.fail("a delivery of %s, which was never taken in", d.Message.ID)
			}
		}
		f.d = d
		s.say("on disk: delivery %s of %s (%s, depth %d) from %s in %q to %s", d.ID, d.Message.ID, d.Message.Origin, d.Message.Depth, d.Message.From.Peer, d.Chat, d.Target)
	}
	for _, v := range step.Verdicts {
		s.say("on disk: verdict %s on %s: %s", v.Verb, v.Message, v.Reason)
	}
	for _, r := range step.Receipts {
		s.say("on disk: %s %s %s %s", r.Delivery, r.State, r.Reason, r.Hold)
		s.receipt(s.facts[r.Delivery], r)
	}
	for _, id := range step.Freed {
		s.say("on disk: %s is freed", id)
		s.free(id)
	}
	for _, one := range step.Spoke {
		s.say("on disk: %s has spoken at depth %d, cause %d", one.Peer, one.Depth, one.Cause)
	}
	if step.Stopped != nil && !*step.Stopped {
		s.stopped = false
		for _, r := range s.rooms {
			r.quiet = false
		}
	}
	if s.bugs.noSync || s.keeps {
		s.unsure = append(s.unsure, step)
	}
	s.disk.Commit(step)
}

// free notes that a person's word has come to a session: its answers lie at depth 0 from now on, even to deliveries under
// way.
func (s *simulation) free(id message.ID) {
	for _, f := range s.facts {
		f.given = f.given || f.d.Target == id && f.typed
	}
	maps.DeleteFunc(s.depths, func(turn message.ID, at depth) bool { return at.of == id && !s.known[turn] })
}

// replayed returns what a disk has that lost the last step.
func replayed(steps []message.Step) *journaltest.Book {
	b := journaltest.NewBook()
	for _, step := range steps[:max(0, len(steps)-1)] {
		b.Commit(step)
	}
	return b
}

// receipt checks that a receipt says no more than is true.
func (s *simulation) receipt(f *fact, r message.Receipt) {
	if !f.state.May(r.State) {
		s.fail("%s is %s, and was %s", r.Delivery, r.State, f.state)
	}
	was := f.state
	f.state = r.State
	f.typed = f.typed || r.State == message.Typed
	if r.State == message.Uncertain && f.d.Message.Origin == message.OriginHuman { // it may have been taken
		s.free(f.d.Target)
	}
	if r.State == message.Answered {
		s.met["answered "+s.inWhat(f.d.Chat)]++
	}
	says := ""
	for _, one := range r.Evidence {
		says += one.Says
	}
	switch {
	case r.State == message.Held:
		f.freed = f.freed || r.Hold != "" && r.Hold != message.HoldPause || r.Reason == message.AgentGone
	case f.late: // its paste came after another life had said that there was none
	case r.State == message.Failed && was != message.Submitted && f.pastes > 0:
		s.fail("%s failed (%s), and was typed", r.Delivery, r.Reason)
	case r.State == message.Expired && f.pastes > 0:
		s.fail("%s expired, and was typed", r.Delivery)
	case r.State == message.Failed && was != message.Submitted && f.passes > 0 && !f.denied, r.State == message.Expired && f.passes > 0 && !f.denied:
		s.fail("%s is %s, and was handed over", r.Delivery, r.State)
	case r.State == message.Answered && f.taken == 0 && !f.left:
		s.fail("%s is answered, and was not taken", r.Delivery)
	case r.State != message.Submitted:
	case strings.Contains(says, "emptied: "):
		if !f.left {
			s.fail("%s was not taken: %s", r.Delivery, says)
		}
	case f.taken == 0:
		s.fail("%s was not taken: %s", r.Delivery, says)
	}
}

// inWhat says what kind of chat that is.
func (s *simulation) inWhat(chat message.ID) string {
	for _, c := range s.disk.Chats {
		if c.ID == chat && c.Aside {
			return "to a question"
		}
	}
	if chat == "" {
		return "singly"
	}
	return "in a chat"
}

// happening is something that may happen, and how often.
type happening struct {
	often int
	what  func(*simulation)
}

// The simulation's happenings. Trouble does not happen once all is calm.
var (
	routine = []happening{
		{300, (*simulation).work},
		{380, func(s *simulation) { s.serve(s.room()) }},
		{70, func(s *simulation) { s.obey(s.room()) }},
		{120, func(s *simulation) { s.drawKey(s.room()) }},
		{30, func(s *simulation) {
			if r := s.room(); r.desk != nil && len(r.desk.acts) == 0 && !r.desk.waits && r.desk.order == nil {
				r.program.told = true
				if r.tells && len(r.untold) > 0 {
					s.tell(r)
				}
			}
		}},
		{30, func(s *simulation) { s.openMail(s.room()) }},
		{60, func(s *simulation) { s.finish(s.room()) }},
		{60, (*simulation).judge},
		{4, func(s *simulation) { s.tick(time.Second) }},
	}
	people = []happening{
		{14, (*simulation).sendOne},
		{10, (*simulation).startChat},
		{8, (*simulation).sayOne},
		{6, (*simulation).askOne},
		{3, (*simulation).change},
		{6, (*simulation).decideHeld},
		{12, func(s *simulation) { s.finishSpontaneously(s.room()) }},
		{8, (*simulation).file},
		{2, func(s *simulation) { s.ask(relay.PauseChat{By: s.person(), Chat: s.chat()}, nil) }},
		{5, func(s *simulation) {
			s.ask(relay.ResumeChat{By: s.person(), Chat: s.chat(), Sure: s.chance(1, 8)}, nil)
		}},
		{2, func(s *simulation) { s.ask(relay.StopChat{By: s.person(), Chat: s.chat()}, nil) }},
		{1, (*simulation).stopAll},
		{8, (*simulation).resumeAll},
	}
	trouble = []happening{
		{8, func(s *simulation) { s.key(s.room(), "x") }},
		{12, func(s *simulation) { s.key(s.room(), "\x15") }},
		{4, func(s *simulation) { s.key(s.room(), "\r") }},
		{4, func(s *simulation) { r := s.room(); r.mode = true; r.draw() }},
		{5, func(s *simulation) { r := s.room(); r.dialog = true; r.draw() }},
		{30, func(s *simulation) { r := s.room(); r.mode, r.dialog = false, false; r.draw() }},
		{8, func(s *simulation) { r := s.room(); r.deaf = !r.unseen() }},
		{12, func(s *simulation) {
			if r := s.room(); !s.sullen || s.chance(1, 6) {
				r.deaf = false
			}
		}},
		{8, func(s *simulation) { s.pass(2 * time.Second) }},
		{6, func(s *simulation) { s.tick(20 * time.Second) }},
		{1, func(s *simulation) { s.tick(3 * time.Minute) }},
		{5, (*simulation).end},
		{2, func(s *simulation) { s.full = true }},
		{25, func(s *simulation) { s.full = false }},
		{5, func(s *simulation) { s.lateOrder(s.room()) }},
		{2, func(s *simulation) { s.breakDown(s.room()) }},
		{2, func(s *simulation) { s.leave(s.room()) }},
		{1, (*simulation).clockJumps},
		{1, func(s *simulation) {
			if s.chance(1, 6) {
				s.serverEnds()
			}
		}},
	}
	// Much trouble at once keeps everything from happening, so some days have less of it.
	weathers = []weighted{total(routine, people, trouble), total(times(4, routine), times(2, people), trouble), total(times(12, routine), times(6, people), trouble)}
	calmDays = total(routine)
)

type weighted struct {
	sum int
	all []happening
}

func times(n int, list []happening) (out []happening) {
	for _, h := range list {
		out = append(out, happening{n * h.often, h.what})
	}
	return out
}

func total(lists ...[]happening) (w weighted) {
	for _, list := range lists {
		w.all = append(w.all, list...)
	}
	for _, h := range w.all {
		w.sum += h.often
	}
	return w
}

func (s *simulation) step(from weighted) {
	s.steps++
	n := s.IntN(from.sum)
	for _, h := range from.all {
		if n -= h.often; n < 0 {
			h.what(s)
			break
		}
	}
	if s.stopped {
		for _, r := range s.rooms {
			d := r.desk
			r.quiet = r.quiet || d == nil || d.order == nil && !d.reaching()
		}
	}
}

func (s *simulation) room() *room { return s.rooms[s.IntN(len(s.rooms))] }

func (s *simulation) person() relay.By { return relay.By{Kind: relay.Person, Name: "ada"} }

// agent is a session that is there, or was.
func (s *simulation) agent() message.ID { return s.room().session }

func (s *simulation) peer() message.ID {
	if len(s.ports) > 0 && s.chance(1, 12) {
		return s.ports[s.IntN(len(s.ports))]
	}
	return s.agent()
}

// chat returns a chat that has begun, mostly one that goes on.
func (s *simulation) chat() string {
	var on []message.ID
	for _, c := range s.disk.Chats {
		if c.State != message.ChatOver {
			on = append(on, c.ID)
		}
	}
	if len(on) == 0 {
		return "none"
	}
	return string(on[s.IntN(len(on))])
}

func (s *simulation) ask(q relay.Request, then func(relay.Answer, error)) {
	s.say("asked: %T", q)
	s.hub.post(relay.Requested{Request: q}, func(a relay.Answer, err error) {
		if a.Message != "" && err == nil {
			s.accepted[a.Message] = fmt.Sprintf("%T", q)
		}
		if then != nil {
			then(a, err)
		}
	})
}

func (s *simulation) sendOne() {
	q := relay.Send{By: s.person(), To: string(s.peer()), Message: message.Envelope{Body: "single"}}
	if s.chance(1, 2) {
		q.By = relay.By{Kind: relay.Agent, Peer: s.agent()}
	}
	if q.To == "" || q.By.Kind == relay.Agent && q.By.Peer == "" {
		return
	}
	if s.chance(1, 3) {
		q.Message.ID = s.id()
		if s.chance(1, 4) && len(s.disk.Received) > 0 {
			q.Message.ID = s.disk.Received[s.IntN(len(s.disk.Received))].ID
		}
	}
	s.ask(q, nil)
}

func (s *simulation) startChat() {
	q := relay.StartChat{By: s.person(), Turns: []int{0, 0, 0, 2, 9}[s.IntN(5)], OneWay: s.chance(1, 5)}
	for _, r := range s.rooms {
		if r.session != "" && s.chance(2, 3) {
			q.Peers = append(q.Peers, string(r.session))
		}
	}
	if s.chance(1, 2) {
		q.Say = "begin"
	}
	if s.chance(1, 8) {
		q.Limits.Approve = message.ApproveAll
	}
	s.ask(q, nil)
}

// askOne is an ask: one agent's question to another, beside the chats that both are in.
func (s *simulation) askOne() {
	q := relay.StartChat{By: s.person(), Peers: []string{string(s.agent()), string(s.agent())}, Question: true, OneWay: true, Turns: 1 + s.IntN(2), Say: "a question"}
	if q.Peers[0] != "" && q.Peers[1] != "" {
		s.ask(q, nil)
	}
}

// change makes a person change who is in a chat.
func (s *simulation) change() {
	chat, who := s.chat(), string(s.agent())
	switch s.IntN(4) {
	case 0:
		s.ask(relay.AddMember{By: s.person(), Chat: chat, Peer: who}, nil)
	case 1:
		s.ask(relay.RemoveMember{By: s.person(), Chat: chat, Peer: who}, func(_ relay.Answer, err error) {
			if err == nil {
				s.met["a member is removed"]++
			}
		})
	default:
		s.ask(relay.MuteMember{By: s.person(), Chat: chat, Peer: who, Off: s.chance(1, 2)}, nil)
	}
}

func (s *simulation) sayOne() {
	s.ask(relay.Say{By: s.person(), Chat: s.chat(), Body: "a person's word"}, nil)
}

// decideHeld is a person's decision about something that waits for one.
func (s *simulation) decideHeld() {
	var held []message.ID
	for _, id := range s.order {
		if last := s.disk.Last[id]; last.State == message.Held && (last.Awaits() || s.chance(1, 20)) {
			held = append(held, s.facts[id].d.Message.ID)
		}
	}
	if len(held) == 0 {
		return
	}
	q := relay.DecideHeld{By: s.person(), Who: message.Person{Name: "ada"}, Message: held[s.IntN(len(held))], Verb: message.VerbDeliver}
	if !s.calm && s.chance(1, 4) {
		q.Verb = message.VerbDrop
	}
	if q.Verb == message.VerbDeliver && s.chance(1, 4) {
		body := "edited"
		q.Body = &body
	}
	s.ask(q, nil)
}

// judge makes a policy decide, or its worker die over that.
func (s *simulation) judge() {
	h := s.hub
	if len(h.asked) == 0 {
		return
	}
	i := s.IntN(len(h.asked))
	v := message.Verdict{Message: h.asked[i], Decision: message.Decision{Verb: message.VerbDeliver, Reason: "policy"}, At: s.now}
	h.asked = slices.Delete(h.asked, i, i+1)
	if !s.calm {
		switch s.IntN(30) {
		case 0:
			v.Verb = message.VerbHold
		case 1:
			v.Verb = message.VerbAsk
		case 2:
			v.Verb = message.VerbBounce
		case 3:
			v.Verb = message.VerbDrop
		case 4: // its worker died
			v.Verb, v.Unfiltered = message.VerbHold, true
		}
	}
	if s.bugs.verdictLost && s.chance(1, 20) {
		return
	}
	if v.Verb == message.VerbHold {
		s.met["a policy holds"]++
	}
	h.post(relay.Decided{Verdict: v}, nil)
	if s.chance(1, 12) { // policies are edited: what was held for a dead worker is asked about again
		var again []message.Envelope
		for _, id := range s.order {
			if s.disk.Last[id].Hold == message.HoldFilter {
				again = append(again, s.received(s.facts[id].d.Message.ID))
			}
		}
		if len(again) > 0 {
			h.post(relay.Reconsider{Messages: again}, nil)
		}
	}
}

func (s *simulation) received(id message.ID) message.Envelope {
	i := slices.IndexFunc(s.disk.Received, func(m message.Envelope) bool { return m.ID == id })
	return s.disk.Received[i]
}

// obey makes tmux, or a door, do what it was told.
func (s *simulation) obey(r *room) {
	if r.desk != nil && r.desk.order != nil {
		r.desk.order()
	}
}

// lateOrder makes an order of an earlier life come.
func (s *simulation) lateOrder(r *room) {
	if len(r.late) > 0 {
		do := r.late[0]
		r.late = r.late[1:]
		do()
	}
}

// openMail makes a program take what is in its inbox, or its person refuse that.
func (s *simulation) openMail(r *room) {
	if len(r.program.mail) == 0 || r.works || r.dialog {
		return
	}
	d := r.program.mail[0]
	r.program.mail = r.program.mail[1:]
	f := s.facts[d.ID]
	if f.taken++; f.taken > 1 {
		s.fail("%s was taken twice", d.ID)
	}
	r.open(s.now, d)
}

// finish ends a program's turn, in which it may have said something.
func (s *simulation) finish(r *room) {
	if r.works {
		r.works = false
		r.draw()
		s.turn(r, !s.calm && s.chance(5, 6))
	}
}

// finishSpontaneously makes a program say something that nobody asked for.
func (s *simulation) finishSpontaneously(r *room) {
	if !r.works && r.session != "" {
		s.turn(r, true)
	}
}

func (s *simulation) turn(r *room, words bool) {
	if r.session == "" {
		return
	}
	t := message.Turn{ID: s.id(), Peer: r.session, Ended: s.now}
	if words {
		t.Words = "words of " + string(t.ID)
	}
	if !s.calm && s.chance(1, 15) {
		t.Cut = message.Interrupted
	}
	r.said = append(r.said, t)
}

// key is one of a person.
func (s *simulation) key(r *room, text string) {
	r.program.press(s.now, text)
	r.keyAt = s.now
	s.say("a person presses %q in %s", text, r.pane)
}

func (s *simulation) tick(d time.Duration) {
	s.pass(d)
	s.hub.post(relay.Tick{Awake: d}, nil)
	if s.chance(1, 3) {
		s.hub.post(relay.UserActive{}, nil)
	}
}

func (s *simulation) clockJumps() {
	for _, r := range s.rooms {
		for r.unseen() {
			s.drawKey(r)
		}
	}
	s.now = s.now.Add([]time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 3 * time.Second}[s.IntN(5)])
	s.say("the clock jumps")
	s.met["the clock jumps"]++
}

// stopAll is a person's word that nothing is to be typed any more. It holds once it is answered and no
// pane is in the midst of typing.
func (s *simulation) stopAll() {
	var q relay.Request = relay.PauseChat{By: s.person(), Chat: relay.All}
	if s.chance(1, 3) {
		q = relay.StopChat{By: s.person(), Chat: relay.All}
	}
	s.ask(q, func(_ relay.Answer, err error) {
		if s.stopped = err == nil && s.disk.Stopped; s.stopped {
			s.met["all is stopped"]++
		}
	})
}

func (s *simulation) resumeAll() {
	s.ask(relay.ResumeChat{By: s.person(), Chat: relay.All, Sure: s.calm || s.chance(1, 8)}, nil)
}

// breakDown makes a pane's goroutine panic and begin anew: what its core has decided is still told.
func (s *simulation) breakDown(r *room) {
	d := r.desk
	if d == nil || d.order != nil || d.waits || d.ended {
		return
	}
	s.say("the goroutine of %s breaks down", r.pane)
	r.expected = nil
	d.acts = slices.DeleteFunc(d.acts, func(a act) bool { return !tells(a) })
	if d.core.lost.text != "" {
		r.expected = []string{d.core.lost.text}
	}
	d.revive()
	d.marked = readMark(r.mark).ids
}

// leave makes a program end, and another one begin there.
func (s *simulation) leave(r *room) {
	if r.session == "" || r.desk == nil || len(r.desk.acts) > 0 || r.desk.waits || r.desk.order != nil {
		return
	}
	s.say("the program in %s ends", r.pane)
	s.happens(r, gone{message.AgentGone})
	r.desk.ended = true
	session, d := r.session, r.desk
	for len(d.acts) > 0 { // its goroutine is at its end
		a := d.acts[0]
		d.acts = d.acts[1:]
		if a, ok := a.(receipt); ok {
			one := message.Receipt{Delivery: a.part.d.ID, Message: a.part.d.Message.ID, Target: a.part.d.Target, State: a.state, Reason: a.why, Door: a.part.d.Door, At: s.now}
			s.hub.post(relay.Reported{Receipt: one}, nil)
		}
	}
	s.hub.post(relay.Gone{Peer: session, Reason: message.AgentGone}, nil)
	r.desk, r.session, r.adopts, r.late = nil, "", "", nil
	s.enter(r)
}

// serverEnds is the end of the tmux server, with all that is in it. The sidecar ends with it.
func (s *simulation) serverEnds() {
	s.say("the tmux server ends")
	s.met["the server ends"]++
	s.server++
	for _, r := range s.rooms {
		r.session, r.adopts, r.late, r.mark, r.desk = "", "", nil, "", nil
		r.program = program{}
		r.stray = false
	}
	s.begin()
	for _, r := range s.rooms {
		s.enter(r)
	}
}

// file makes a peer that lives in no pane say something, now and then twice.
func (s *simulation) file() {
	if len(s.ports) == 0 || s.chance(1, 30) {
		s.hub.post(relay.Joined{Peer: message.Peer{Kind: message.PeerPort, Key: "9001", Name: "port"}}, func(a relay.Answer, err error) {
			if err == nil && !slices.Contains(s.ports, a.Peer.ID) {
				s.ports = append(s.ports, a.Peer.ID)
			}
		})
		return
	}
	m := message.Envelope{ID: s.id(), From: message.Address{Peer: s.ports[0]}, To: []message.Address{{Peer: s.agent()}}, Body: "of a port", Depth: s.IntN(9)}
	if len(s.files) > 0 && s.chance(1, 3) {
		m = s.files[s.IntN(len(s.files))]
	}
	s.files = append(s.files, m)
	if m.To[0].Peer == "" {
		return
	}
	s.hub.post(relay.Received{Message: m}, func(a relay.Answer, err error) {
		if err == nil && a.Message != "" {
			s.accepted[a.Message] = "of a port"
		}
	})
}
