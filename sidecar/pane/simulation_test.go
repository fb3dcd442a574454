package pane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// simulation is a whole sidecar that decides as it does on a real computer: the relay's State and a core
// for each pane. All around it is made up: the journal's disk, a tmux server, the programs in its panes,
// their person, policies, a clock. One seed says what happens, and when. At each step one of these does
// the least thing that it can do, so that anything, even an end of the sidecar, may come between any two
// steps of the others. Violations are looked for where they would be seen: at the terminal, and on the
// disk.
type simulation struct {
	*rand.Rand
	bugs   bugs
	now    time.Time
	newest time.Time // the latest time that it ever was
	steps  int
	trace  []string // what happened, if anybody wants to know
	loud   bool
	edges  map[string]bool
	met    map[string]int // how often it came to what

	disk   *journaltest.Book
	full   bool
	unsure []message.Step // all that was written down, where that is wanted: what a disk that does not sync would lose
	keeps  bool
	server int
	rooms  []*room
	ports  []message.ID // peers that live in no pane
	files  []message.Envelope

	// The sidecar of the day.
	life   byte
	hub    *hub
	calm   bool // nothing goes wrong any more
	sullen bool // programs do not read for long
	named  int

	facts    map[message.ID]*fact
	order    []message.ID
	lanes    map[string]int // the last delivery pasted there
	accepted map[message.ID]string
	depths   map[message.ID]depth // of turns that the relay was told of
	stopped  bool                 // a person was told that everything is stopped
	known    map[message.ID]bool
	back     map[message.ID]bool // taken back in this life, while it waited in its pane and might not be typed
}

// depth is the least depth at which a turn of a session must lie.
type depth struct {
	of    message.ID
	least int
}

// fact is what is known of a delivery.
type fact struct {
	entryOf
	n     int  // in the order of their making
	given bool // a person's word came when it was on its way: it counts for no depth
	late  bool // an order of an earlier life pasted it
	freed bool // it has waited by itself for a person, a policy or a limit
	state message.ReceiptState
}

// room is a pane with its program and the goroutine that serves it.
type room struct {
	program
	prof    profile.Profile
	pane    string
	session message.ID // that lives there; "": none
	adopts  message.ID // the one that a person has asked for; "": none
	desk    *desk      // nil: it is not taken up yet
	early   []toDeliver
	late    []func() // orders of earlier lives that may still come
	stray   bool     // one came after its delivery was taken back
	quiet   bool     // nothing is typed any more: a person was told so
	keyAt   time.Time
	said    []message.Turn // that the sidecar has not heard
	taking  []message.ID   // what was pasted there, or handed over
}

// desk is a pane's goroutine: a core, and what it is doing.
type desk struct {
	*core
	session message.ID
	acts    []act // to be done, the next one first
	mail    []letter
	waits   bool   // for the relay
	order   func() // that tmux, or the door, has
	answers []message.ID
	closed  message.Reason
	lost    message.ID
	ended   bool
}

// hearing is listen on its way.
type hearing struct{}

// violation is something that must never happen.
type violation struct{ error }

func (s *simulation) fail(format string, args ...any) {
	panic(violation{fmt.Errorf(format, args...)})
}

func (s *simulation) say(format string, args ...any) {
	if s.loud {
		s.trace = append(s.trace, fmt.Sprintf("%5d %s  ", s.steps, s.now.Format("02 15:04:05.000"))+fmt.Sprintf(format, args...))
	}
}

func (s *simulation) chance(one, of int) bool { return s.IntN(of) < one }

func newSimulation(seed uint64, edges map[string]bool, b bugs) *simulation {
	s := &simulation{
		Rand: rand.New(rand.NewPCG(seed, 0)), bugs: b, now: noon, edges: edges, disk: journaltest.NewBook(), server: 1, met: map[string]int{},
		facts: map[message.ID]*fact{}, lanes: map[string]int{}, accepted: map[message.ID]string{}, depths: map[message.ID]depth{}, known: map[message.ID]bool{},
	}
	s.sullen = s.chance(1, 3)
	for i := range 2 + s.IntN(3) {
		s.rooms = append(s.rooms, &room{pane: fmt.Sprintf("%%%d", i)})
	}
	s.begin()
	for _, r := range s.rooms {
		s.enter(r)
	}
	return s
}

// id returns a new id, for something outside.
func (s *simulation) id() message.ID {
	s.named++
	return message.ID(fmt.Sprintf("0198b2c1-3333-7000-8000-%012x", s.named))
}

// begin begins a life of the sidecar, with what the disk has.
func (s *simulation) begin() {
	s.life++
	s.hub, s.back = newHub(s.life), map[message.ID]bool{}
	was := s.disk.Restored()
	s.say("life %d begins: %d deliveries under way", s.life, len(was.Pending))
	s.hub.queue = append(s.hub.queue, queued{event: s.restored()})
	for _, r := range s.rooms {
		r.desk, r.early, r.program.told, r.expected = nil, nil, false, nil
		for _, one := range was.Sessions {
			if one.ID == r.adopts {
				r.session = one.ID
			}
		}
		r.adopts = ""
	}
	for _, one := range was.Sessions {
		if one.Kind == message.PeerPane && one.Server.PID == s.server && s.at(one.ID) == nil { // another program runs there
			s.hub.post(relay.Gone{Peer: one.ID, Reason: message.AgentGone}, nil)
		}
	}
}

// restored returns what the relay is told of the life before.
func (s *simulation) restored() relay.Restored {
	was := s.disk.Restored()
	e := relay.Restored{Server: message.Process{PID: s.server}, Stopped: was.Stopped, Undecided: was.Undecided, Records: was.Records}
	for _, one := range was.Sessions {
		s.say("restored: %s at depth %+v", one.ID, was.Depths[one.ID])
		e.Peers = append(e.Peers, relay.SavedPeer{Peer: one, Last: was.Depths[one.ID].Last, Cause: was.Depths[one.ID].Cause})
	}
	if s.bugs.depthsForgotten {
		for i := range e.Peers {
			e.Peers[i].Last, e.Peers[i].Cause = 1, -1
		}
	}
	for _, one := range was.Chats {
		e.Chats = append(e.Chats, relay.SavedChat{Chat: one, Taken: was.Taken[one.ID]})
	}
	for _, one := range s.disk.Ended(was) {
		e.Chats = append(e.Chats, relay.SavedChat{Chat: one})
	}
	for _, one := range was.Pending {
		e.Deliveries = append(e.Deliveries, relay.SavedDelivery(one))
	}
	for _, one := range was.Submitted {
		e.Submitted = append(e.Submitted, one.Delivery)
	}
	if s.bugs.undecidedForgotten {
		e.Undecided = nil
	}
	return e
}

// end ends the sidecar. Orders that tmux had may still come.
func (s *simulation) end() {
	s.say("the sidecar is killed")
	s.met["a life ends"]++
	for _, r := range s.rooms {
		if r.desk != nil && r.desk.order != nil && s.chance(1, 2) {
			r.late = append(r.late, r.desk.order)
		}
	}
	if s.bugs.noSync {
		s.disk = replayed(s.unsure)
	}
	s.begin()
}

// enter makes a program begin in a pane, and a person adopt it.
func (s *simulation) enter(r *room) {
	mark, keyed, drawn := r.mark, r.keyed, r.drawn
	r.program = program{tells: s.chance(1, 2), lies: s.chance(1, 2), mark: mark, keyed: keyed, drawn: drawn + 1}
	r.said, r.taking, r.early, r.stray = nil, nil, nil, false
	r.prof = readers[s.IntN(len(readers))]
	s.adopt(r)
}

// readers are the ways in which programs read: a paste with all that waits in it, one line and no more, or
// a paste of one line.
var readers = []profile.Profile{profile.LinePaste(), profile.LinePaste(), profile.Line(), profile.TUI()}

// adopt makes a person adopt what runs in a pane.
func (s *simulation) adopt(r *room) {
	id := s.id()
	r.adopts = id
	peer := message.Peer{ID: id, Name: "agent", PaneOf: message.PaneOf{Pane: r.pane, Profile: r.prof.Name, Server: message.Process{PID: s.server}}}
	s.hub.post(relay.Adopted{Peer: peer}, func(_ relay.Answer, err error) {
		s.say("%s is adopted: %v", r.pane, err)
		if r.adopts == id {
			r.adopts = ""
		}
		if err == nil {
			r.session = id
		}
	})
}

// takeUp begins to serve a pane.
func (s *simulation) takeUp(r *room) {
	var session message.Peer
	for _, one := range s.disk.Sessions {
		if one.ID == r.session {
			session = one
		}
	}
	if session.ID == "" || session.Ended != nil {
		return
	}
	marked := readMark(r.mark).ids
	// Known gap, as in the core's model: a new life takes what the mark names as known. The gap needs two ends: an order
	// of the first life comes after its delivery was ended, and the second life ends before it has looked. Then the third
	// life may type behind that paste, if its program has not read it by then. The journal would have to tell which of the
	// mark's deliveries came to an end without having been typed. (500 seeds without this found nothing.)
	if r.stray && session.Lost == "" {
		marked = nil
	}
	d := &desk{session: session.ID, core: &core{name: "Ada", prof: r.prof, compose: plainly, marked: marked}, closed: session.Closed, lost: session.Lost}
	if r.tells {
		d.enclose = enclosed
	}
	was := s.disk.Restored()
	for _, one := range was.Pending {
		if one.Delivery.Target == r.session && one.Delivery.Typed {
			d.accept([]message.Delivery{one.Delivery})
		}
	}
	for _, one := range was.Submitted {
		if one.Delivery.Target == r.session {
			d.answers = append(d.answers, one.Delivery.ID)
		}
	}
	r.expected = nil
	if session.Lost != "" && d.waiting(session.Lost) == nil {
		d.core.lost = lost{text: unknownText, id: session.Lost}
		if f := s.facts[session.Lost]; f != nil && !s.chance(1, 4) {
			d.core.lost.text = textOf(session.Lost)
			r.expected = []string{d.core.lost.text}
		}
	}
	for _, l := range r.early {
		d.mail = append(d.mail, l)
	}
	r.early = nil
	r.desk = d
	s.say("%s is taken up", r.pane)
}

// at returns the room of a session.
func (s *simulation) at(session message.ID) *room {
	for _, r := range s.rooms {
		if r.session == session {
			return r
		}
	}
	return nil
}

// serve makes a pane's goroutine do one thing.
func (s *simulation) serve(r *room) {
	d := r.desk
	switch {
	case r.session == "":
	case d == nil:
		s.takeUp(r)
	case d.waits: // and so something else happens
		s.work()
	case d.order != nil:
		if s.chance(1, 2) {
			s.obey(r)
		} else {
			s.drawKey(r)
		}
	case len(d.acts) > 0:
		a := d.acts[0]
		d.acts = d.acts[1:]
		s.perform(r, a)
	case d.ended:
		r.desk, r.session = nil, ""
	case len(d.mail) > 0: // before it looks, as turnTo
		l := d.mail[0]
		d.mail = d.mail[1:]
		s.read(r, l)
	case len(r.said) > 0 && !(r.tells && len(r.untold) > 0) && s.chance(1, 2): // it is told in order
		s.hear(r)
	default:
		s.pass(time.Duration(s.IntN(60)) * time.Millisecond)
		s.look(r)
	}
}

func (s *simulation) read(r *room, l letter) {
	s.say("%s has a letter: %T %v", r.pane, l, l)
	switch l := l.(type) {
	case toDeliver:
		s.happens(r, delivered{l})
	case toCancel:
		for _, id := range l {
			if w := r.desk.waiting(id); r.desk.isAt(id) || w != nil && w.Typed { // that is looked at all the same
				delete(s.back, id)
			}
		}
		s.happens(r, cancelled{l})
	case forgotten:
		r.desk.ended = true
		s.happens(r, released{})
	}
}

// look looks at the pane, as turnTo does.
func (s *simulation) look(r *room) {
	d := r.desk
	if text := d.core.lost.text; text != "" && (text == r.composer || !r.tells && text != unknownText && !slices.Contains(r.expected, text)) {
		s.happens(r, surfaced{})
		if len(d.acts) > 0 {
			return
		}
	}
	f := r.found(s.now, d.batch(), s.took)
	f.settled = len(r.said) == 0 && (s.calm || s.chance(4, 5)) // its words come first
	if d.busy() {
		s.happens(r, sighted{f})
	}
	if f.settled {
		d.acts = append(d.acts, announce{})
	}
}

func (s *simulation) took(id message.ID) bool { f := s.facts[id]; return f != nil && f.taken > 0 }

// happens hands an event to a pane's core; what follows comes before all else that it is to do.
func (s *simulation) happens(r *room, e event) {
	d := r.desk
	from := nameOf(d.stage())
	acts := d.step(s.now, e)
	to := nameOf(d.stage())
	if from != to && !s.edges[from+" → "+to] {
		s.fail("%s leads from %s to %s, which the package comment does not have", nameOf(e), from, to)
	}
	if s.loud && (len(acts) > 0 || from != to) {
		var all []string
		for _, a := range acts {
			all = append(all, said(a))
		}
		s.say("%s %s: %s → %s | %s", r.pane, nameOf(e), from, to, strings.Join(all, " | "))
	}
	d.acts = append(slices.Clone(acts), d.acts...)
}

// perform does one act. Its answer comes when it comes.
func (s *simulation) perform(r *room, a act) {
	d := r.desk
	switch a := a.(type) {
	case lay:
		if !s.calm && s.chance(1, 40) {
			s.happens(r, filed{err: errors.New("no space left on device")})
			return
		}
		s.happens(r, filed{parts: a.parts})
	case ask:
		if s.back[a.part.d.ID] && len(d.mail) == 0 {
			s.fail("%s wants to type %s, and was told that it is taken back", r.pane, a.part.d.ID)
		}
		s.report(r, receipt{a.part, message.Typed, "", a.says}, func(err error) { s.happens(r, permitted{err: err}) })
	case listen:
		r.program.told = true
		d.acts = append([]act{hearing{}}, d.acts...)
	case hearing:
		if r.tells && len(r.untold) > 0 {
			d.acts = append([]act{hearing{}}, d.acts...)
			s.tell(r)
			return
		}
		f := r.found(s.now, d.batch(), s.took)
		s.happens(r, heard{busy: f.busy})
	case paste:
		r.expected = append(r.expected, a.text)
		s.typeNow(r, func(late bool) bool { return s.paste(r, a, late) })
	case press:
		s.typeNow(r, func(late bool) bool { return s.press(r, a, late) })
	case pass:
		s.hand(r, a)
	case retract:
		r.expected = slices.DeleteFunc(r.expected, func(t string) bool { return t == a.text })
	case recall:
		f := a.found
		r.inspect(&f, d.batch(), s.took)
		fact := s.facts[a.parts[0].d.ID]
		fate := s.fateOf(r, a)
		if fact.taken == 0 {
			r.expected = append(r.expected, a.text)
			f.echo = screen.Absent
		}
		s.happens(r, recalled{found: f, fate: fate})
	case hold:
		s.report(r, receipt{part{d: a.delivery}, message.Held, a.why, a.says}, func(err error) { s.happens(r, noted{a.delivery.ID, err}) })
	case receipt:
		s.report(r, a, func(error) {})
	case await:
		for _, one := range a.parts {
			d.answers = append(d.answers, one.d.ID)
		}
	case announce:
		why, lost := message.Reason(""), message.ID("")
		if d.core.lost.text != "" {
			why, lost = message.OursInComposer, d.core.lost.id
		}
		if why != d.closed || lost != d.lost {
			d.closed, d.lost = why, lost
			s.hub.post(relay.PaneLocked{Peer: d.session, Why: why, Lost: lost}, nil)
		}
	}
}

// fateOf returns what became of a text of an earlier life.
func (s *simulation) fateOf(r *room, a recall) fate {
	f := s.facts[a.parts[0].d.ID]
	whole := strings.Contains(r.composer, a.text)
	switch {
	case r.tells && f.taken > 0 && !whole:
		return answered
	case r.tells, a.was.entered, whole, !f.shown:
		return underway
	}
	return sent
}

// report hands a receipt to the relay, and makes the pane wait for the answer.
func (s *simulation) report(r *room, a receipt, then func(error)) {
	d := r.desk
	d.waits = true
	one := message.Receipt{Delivery: a.part.d.ID, Message: a.part.d.Message.ID, Target: a.part.d.Target, State: a.state, Reason: a.why, Door: a.part.d.Door, At: s.now}
	if a.says != "" {
		one.Evidence = []message.Evidence{{Source: "screen", Says: a.says, At: s.now}}
	}
	s.hub.post(relay.Reported{Receipt: one}, func(_ relay.Answer, err error) {
		d.waits = false
		s.say("%s %s of %s: %v", r.pane, a.state, a.part.d.ID, err)
		then(err)
	})
}

// typeNow gives tmux an order. tmux may do it or refuse it, and nobody may ever know which.
func (s *simulation) typeNow(r *room, do func(late bool) bool) {
	d := r.desk
	d.order = func() {
		if r.desk != d { // of an earlier life
			do(true)
			return
		}
		d.order = nil
		out := tmux.Refused
		switch n := s.IntN(10); {
		case n == 0 && !s.calm:
		case n == 1 && !s.calm:
			out = tmux.Unknown
		case do(false):
			if out = tmux.Typed; n == 2 && !s.calm {
				out = tmux.Unknown
			}
		}
		s.happens(r, typed{out})
	}
}

// paste is a paste by the server, which compares first.
func (s *simulation) paste(r *room, a paste, late bool) bool {
	if !r.same(a.found) && !(s.bugs.notCompared && !late) {
		return false
	}
	s.say("%s is pasted %q", r.pane, a.text)
	if r.composer != "" || len(r.unread) > 0 {
		s.fail("pasted %q behind %q and %v", a.text, r.composer, r.unread)
	}
	s.typing(r, a.parts, late, "pasted")
	r.unread = append(r.unread, key{text: a.text})
	r.mark = markOf(false, a.parts, a.found.look.Facts, a.typedAt)
	r.stray = late && !slices.ContainsFunc(a.parts, func(one part) bool { return r.desk != nil && r.desk.waiting(one.d.ID) != nil })
	for _, one := range a.parts {
		f := s.facts[one.d.ID]
		f.late = f.late || late
		if f.pastes++; f.pastes > 1 || f.passes > 0 {
			s.fail("%s was pasted %d times, and handed over %d times", one.d.ID, f.pastes, f.passes)
		}
		if !f.typed && !late {
			s.fail("%s was pasted without permission on disk", one.d.ID)
		}
		r.taking = append(r.taking, one.d.ID)
		s.inTurn(f)
	}
	return true
}

// press is Enter, pressed by the server, which compares first.
func (s *simulation) press(r *room, a press, late bool) bool {
	if !r.same(a.found) && !(s.bugs.notCompared && !late) {
		return false
	}
	s.say("%s gets Enter", r.pane)
	s.met["typed into "+r.prof.Name]++
	if r.composer != a.text || len(r.unread) > 0 {
		s.fail("Enter pressed for %q, and the composer holds %q and %v", a.text, r.composer, r.unread)
	}
	s.typing(r, a.parts, late, "Enter pressed for")
	r.unread = append(r.unread, key{text: "\r"})
	r.mark = markOf(true, a.parts, a.found.look.Facts, s.now)
	return true
}

// typing is about to happen.
func (s *simulation) typing(r *room, parts []part, late bool, what string) {
	for _, one := range parts {
		f := s.facts[one.d.ID]
		switch {
		case f == nil:
			s.fail("%s %s, which is not on disk", what, one.d.ID)
		case late:
		case r.quiet:
			s.fail("%s %s after a person was told that everything is stopped", what, one.d.ID)
		case f.state == message.Uncertain && what == "pasted": // its chat has ended since it was permitted, and nobody knew
		case f.state.Final():
			s.fail("%s %s, which is %s", what, one.d.ID, f.state)
		case f.d.Message.Depth > limits.Depth && !f.freed:
			s.fail("%s %s, of depth %d", what, one.d.ID, f.d.Message.Depth)
		}
	}
}

// inTurn checks that the messages of one sender in one chat reach a pane in their order.
func (s *simulation) inTurn(f *fact) {
	if f.freed {
		return
	}
	lane := string(f.d.Message.From.Peer + " " + f.d.Chat + " " + f.d.Target)
	if f.n < s.lanes[lane] {
		s.fail("%s reaches its pane behind a later one of the same sender", f.d.ID)
	}
	s.lanes[lane] = f.n
}

// hand hands a text to the agent's own door.
func (s *simulation) hand(r *room, a pass) {
	d, f := r.desk, s.facts[a.parts[0].d.ID]
	do := func() {
		if f.passes++; f.passes > 1 || f.pastes > 0 {
			s.fail("%s was handed over %d times, and pasted %d times", f.d.ID, f.passes, f.pastes)
		}
		if !f.typed {
			s.fail("%s was handed over without permission on disk", f.d.ID)
		}
		s.met["handed over"]++
		r.taking = append(r.taking, f.d.ID)
		s.inTurn(f)
		if !r.lies || s.chance(1, 2) {
			r.program.mail = append(r.program.mail, f.d)
		}
	}
	d.order = func() {
		if r.desk != d {
			return // it was never written
		}
		s.typing(r, a.parts, false, "handed over")
		d.order = nil
		out := door.Handed
		switch n := s.IntN(10); {
		case n == 0 || r.works || r.dialog || len(r.untold) > 0: // looked at anew
			out = door.Nothing
		case n == 1:
			out = door.Unknown
		case n == 2:
			out = door.Unknown
			do()
		default:
			do()
		}
		s.say("%s is handed %s: %v", r.pane, f.d.ID, out)
		s.happens(r, handed{out: out})
	}
}

// tell hands on what an agent has recorded.
func (s *simulation) tell(r *room) {
	one := r.untold[0]
	r.untold = r.untold[1:]
	s.happens(r, prompted{one, "transcript"})
	if !s.calm && s.chance(1, 10) {
		r.untold = append(r.untold, one) // told of twice
	}
}

// hear tells the relay what was said.
func (s *simulation) hear(r *room) {
	d, turn := r.desk, r.said[0]
	r.said = r.said[1:]
	turn.Answers, d.answers = d.answers, nil
	s.depths[turn.ID] = depth{r.session, s.least(turn)}
	s.hub.post(relay.Spoke{Turn: turn}, nil)
	if s.chance(1, 20) && r.tells {
		s.hub.post(relay.Spoke{Turn: turn}, nil) // told of twice
	}
}

// least returns the least depth of a turn by what it answers: 0 unless only agents wrote that, and no person's word came since.
func (s *simulation) least(t message.Turn) (depth int) {
	for _, id := range t.Answers {
		f := s.facts[id]
		if f.given || f.d.Message.Origin != message.OriginAgent {
			return 0
		}
		depth = max(depth, f.d.Message.Depth+1)
	}
	return depth
}

// pass lets time pass. A person's keys are drawn within a second.
func (s *simulation) pass(d time.Duration) {
	for _, r := range s.rooms {
		for r.unseen() && s.now.Add(d).Sub(r.keyAt) > 900*time.Millisecond {
			s.drawKey(r)
		}
	}
	if s.now = s.now.Add(d); s.now.After(s.newest) {
		s.newest = s.now
	}
}

// drawKey makes a program read a key.
func (s *simulation) drawKey(r *room) {
	if len(r.unread) == 0 || r.deaf {
		return
	}
	k, taken := r.read(s.now)
	for _, id := range r.taking {
		f := s.facts[id]
		text := textOf(id)
		if strings.Contains(taken, text) {
			if f.taken++; f.taken > 1 {
				s.fail("%s was taken twice", id)
			}
		}
		f.shown = f.shown || strings.Contains(r.composer, text)
		f.left = f.left || r.composer == "" && k.text == "\r" && !k.person
	}
	s.say("%s reads %q, and shows %q", r.pane, k.text, r.composer)
}
