package pane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// world is what is around a core: a program with a composer that reads its terminal when it likes,
// a person at it, a tmux server that compares before it types, a relay that records everything, and
// an end of the sidecar at any moment.
type world struct {
	*rapid.T
	program
	c     *core
	edges map[string]bool
	now   time.Time

	order func() // an order of an earlier life that may still come

	book   map[message.ID]*entryOf
	ids    []message.ID
	lost   lost
	paused bool
	full   bool // the disk is full
	ends   bool // the sidecar may end between any two acts
	stray  bool // an order came so late that its delivery was taken back
}

// entryOf is what is known of a delivery.
type entryOf struct {
	d      message.Delivery
	typed  bool // the journal says that it may have been typed
	over   message.ReceiptState
	ended  bool // its chat has ended
	pastes int  // how often tmux has pasted it
	passes int  // how often it was handed over
	denied bool // its person said no
	taken  int  // how often its program took it
	shown  bool // in the composer
	left   bool // we entered it, and the composer was empty since
}

// crash is the end of the sidecar.
type crash struct{}

func newWorld(t *rapid.T, edges map[string]bool) *world {
	w := &world{T: t, edges: edges, now: noon, book: map[message.ID]*entryOf{}}
	w.tells, w.lies = rapid.Bool().Draw(t, "agent"), rapid.Bool().Draw(t, "lies")
	w.restart()
	return w
}

// restart begins another life, with what the journal says.
func (w *world) restart() {
	marked := readMark(w.mark).ids
	if w.stray && w.lost.text == "" { // Known gap: the sidecar ends again before that is found and recorded
		marked = nil
	}
	w.c = &core{name: "Ada (%1)", prof: profile.LinePaste(), compose: plainly, enclose: enclosed, lost: w.lost, marked: marked}
	w.told, w.expected = false, nil
	if w.lost.text != "" {
		w.expected = []string{w.lost.text}
	}
	for _, id := range w.ids {
		if e := w.book[id]; e.over == "" && !(e.ended && !e.typed) {
			e.d.Typed = e.typed
			if !e.typed {
				w.c.marked = slices.DeleteFunc(w.c.marked, func(named message.ID) bool { return named == id })
			}
			w.c.queue = append(w.c.queue, waiting{Delivery: e.d})
		}
	}
}

// read makes the program read one key.
func (w *world) read() {
	waits := len(w.unread) > 0 && !w.deaf
	k, taken := w.program.read(w.now)
	for _, e := range w.book {
		if strings.Contains(taken, textOf(e.d.ID)) {
			e.taken++
		}
		e.shown = e.shown || waits && strings.Contains(w.composer, textOf(e.d.ID))
		e.left = e.left || waits && w.composer == "" && k.text == "\r" && !k.person
	}
}

func textOf(id message.ID) string { return "text of " + string(id) }

// press is a key of the person.
func (w *world) press(text string) { w.program.press(w.now, text) }

// pass lets time pass. A person's keys are drawn by then.
func (w *world) pass(d time.Duration) {
	for w.unseen() {
		w.read()
	}
	w.now = w.now.Add(d)
}

// took reports whether its program took a delivery.
func (w *world) took(id message.ID) bool { return w.book[id].taken > 0 }

// found is what a look finds.
func (w *world) found() found { return w.program.found(w.now, w.c.batch(), w.took) }

// step hands an event to the core and does what follows, unless the sidecar ends in the midst of it.
func (w *world) step(e event) {
	from := nameOf(w.c.stage())
	acts := w.c.step(w.now, e)
	if to := nameOf(w.c.stage()); from != to && !w.edges[from+" → "+to] {
		w.Fatalf("%s leads from %s to %s, which the package comment does not have", nameOf(e), from, to)
	}
	for _, a := range acts {
		if w.ends && rapid.IntRange(0, 19).Draw(w.T, "end before "+said(a)) == 0 {
			w.leave(a)
			panic(crash{})
		}
		w.perform(a)
	}
}

// leave makes an order that was under way at the sidecar's end come later.
func (w *world) leave(a act) {
	if !rapid.Bool().Draw(w.T, "the order is under way") {
		return
	}
	switch a := a.(type) {
	case paste:
		w.order = func() { w.paste(a, true) }
	case press:
		w.order = func() { w.enter(a, true) }
	}
}

func (w *world) perform(a act) {
	switch a := a.(type) {
	case lay:
		w.step(filed{parts: a.parts})
	case ask:
		w.step(permitted{err: w.permit(a)})
	case listen:
		w.tell()
		f := w.found()
		w.step(heard{busy: f.busy})
	case paste:
		w.expected = append(w.expected, a.text)
		w.step(typed{w.outcome(w.same(a.found), func() { w.paste(a, false) })})
	case press:
		w.step(typed{w.outcome(w.same(a.found), func() { w.enter(a, false) })})
	case pass:
		w.step(handed{out: w.hand(a)})
	case retract:
		w.expected = slices.DeleteFunc(w.expected, func(s string) bool { return s == a.text })
	case recall:
		f := a.found
		w.inspect(&f, w.c.batch(), w.took)
		w.step(recalled{found: w.fate(&f, a), fate: w.fateOf(a)})
	case hold:
		e := w.book[a.delivery.ID]
		switch {
		case w.full:
			w.step(noted{a.delivery.ID, &message.UnwritableError{}})
		case e.over != "" || e.ended && !e.typed:
			w.step(noted{a.delivery.ID, message.ErrEnded})
		default:
			if a.why == message.TmuxRefused || a.why == message.Unwritable {
				e.typed, e.d.Door = false, ""
			}
			w.step(noted{id: a.delivery.ID})
		}
	case receipt:
		w.receive(a)
	case announce:
		w.lost = w.c.lost
	}
}

// permit returns what the relay answers.
func (w *world) permit(a ask) error {
	e := w.book[a.part.d.ID]
	switch {
	case w.full:
		return &message.UnwritableError{}
	case e.ended:
		return message.ErrEnded
	case w.paused:
		return message.ErrPaused
	}
	e.typed, e.d.Door = true, a.part.d.Door
	return nil
}

// hand hands a text over, or does not, and the sidecar may end before anybody knows.
func (w *world) hand(a pass) door.Outcome {
	e := w.book[a.parts[0].d.ID]
	if w.works || w.dialog {
		w.Fatalf("%s was handed over to an agent that does not rest", e.d.ID)
	}
	if !e.typed || e.ended || w.paused {
		w.Fatalf("%s was handed over without permission", e.d.ID)
	}
	do := func() {
		if e.passes++; e.passes > 1 || e.pastes > 0 {
			w.Fatalf("%s was handed over %d times, and pasted %d times", e.d.ID, e.passes, e.pastes)
		}
		if !w.lies || rapid.Bool().Draw(w.T, "it keeps it") {
			w.mail = append(w.mail, e.d)
		}
	}
	switch rapid.IntRange(0, 9).Draw(w.T, "door") {
	case 0:
		return door.Nothing
	case 1:
		e.passes++ // so that nothing else may be done with it
		return door.Unknown
	case 2:
		do()
		return door.Unknown
	case 3:
		do()
		panic(crash{})
	}
	do()
	return door.Handed
}

// open makes the program take what is in its inbox, or its person refuse that. Nothing on its screen
// needs to change for that.
func (w *world) open() {
	if len(w.mail) == 0 || w.works || w.dialog {
		return
	}
	d := w.mail[0]
	w.mail = w.mail[1:]
	e := w.book[d.ID]
	switch rapid.IntRange(0, 4).Draw(w.T, "its person") {
	case 0:
		e.denied = true
		w.step(reported{d.ID, door.Held})
		w.step(reported{d.ID, rapid.SampledFrom([]door.Status{door.Denied, door.Expired, door.Dropped, door.Refused}).Draw(w.T, "says")})
	case 1:
		w.step(reported{d.ID, door.Held})
		w.mail = append(w.mail, d)
	default:
		e.taken++
		w.program.open(w.now, d)
	}
}

// outcome returns what tmux answers. If it does not answer, it may have done what it was told.
func (w *world) outcome(same bool, do func()) tmux.Outcome {
	if !same {
		return tmux.Refused
	}
	switch rapid.IntRange(0, 9).Draw(w.T, "tmux") {
	case 0:
		return tmux.Refused
	case 1:
		return tmux.Unknown
	case 2:
		do()
		return tmux.Unknown
	}
	do()
	return tmux.Typed
}

// paste is the server's paste. A late order of an earlier life had permission, but its delivery may
// have been taken back since.
func (w *world) paste(a paste, late bool) {
	if !w.same(a.found) {
		return // an order that comes late
	}
	if w.composer != "" || len(w.unread) > 0 {
		w.Fatalf("pasted %q behind %q and %v", a.text, w.composer, w.unread)
	}
	w.unread = append(w.unread, key{text: a.text})
	w.mark = markOf(false, a.parts, a.found.look.Facts, a.typedAt)
	w.stray = late && !slices.ContainsFunc(a.parts, func(one part) bool { return w.c.waiting(one.d.ID) != nil })
	for _, one := range a.parts {
		e := w.book[one.d.ID]
		if e.pastes++; e.pastes > 1 || e.passes > 0 {
			w.Fatalf("%s was pasted %d times, and handed over %d times", one.d.ID, e.pastes, e.passes)
		}
		if !e.typed && !late {
			w.Fatalf("%s was pasted without permission", one.d.ID)
		}
	}
}

// enter is the server's Enter.
func (w *world) enter(a press, late bool) {
	if !w.same(a.found) {
		return
	}
	if w.composer != a.text || len(w.unread) > 0 {
		w.Fatalf("Enter pressed for %q, and the composer holds %q and %v", a.text, w.composer, w.unread)
	}
	for _, one := range a.parts {
		if e := w.book[one.d.ID]; !late && (e.ended || w.paused || e.over != "") {
			w.Fatalf("Enter pressed for %s without permission", one.d.ID)
		}
	}
	w.unread = append(w.unread, key{text: "\r"})
	w.mark = markOf(true, a.parts, a.found.look.Facts, w.now)
}

// fateOf returns what became of a text of an earlier life, as a look finds it.
func (w *world) fateOf(a recall) fate {
	e := w.book[a.parts[0].d.ID]
	whole := strings.Contains(w.composer, a.text)
	switch {
	case w.tells && e.taken > 0 && !whole:
		return answered
	case w.tells, a.was.entered, whole, !e.shown:
		return underway
	}
	return sent
}

func (w *world) fate(f *found, a recall) found {
	if e := w.book[a.parts[0].d.ID]; e.taken == 0 {
		w.expected = append(w.expected, a.text)
		f.echo = screen.Absent
	}
	return *f
}

// receive checks that a receipt says no more than is true.
func (w *world) receive(a receipt) {
	e := w.book[a.part.d.ID]
	if a.state == message.Held {
		return
	}
	if e.over != "" && (e.over != message.Uncertain || a.state != message.Submitted || !strings.HasPrefix(a.says, "late: ")) {
		w.Fatalf("%s is %s, and was %s", a.part.d.ID, a.state, e.over)
	}
	e.over = a.state
	switch {
	case a.state == message.Failed && e.pastes > 0:
		w.Fatalf("%s failed, and was typed", a.part.d.ID)
	case a.state == message.Failed && e.passes > 0 && !e.denied, a.state == message.Expired && !e.denied:
		w.Fatalf("%s is %s, and was handed over", a.part.d.ID, a.state)
	case a.state != message.Submitted:
	case strings.Contains(a.says, "emptied: "):
		if !e.left {
			w.Fatalf("%s: %s", a.part.d.ID, a.says)
		}
	case e.taken == 0:
		w.Fatalf("%s was not taken: %s", a.part.d.ID, a.says)
	case strings.Contains(a.says, "consumed: ") && !w.tells:
		w.Fatalf("nobody told: %s", a.says)
	}
}

// tell hands on what the agent has recorded.
func (w *world) tell() {
	w.told = true
	for w.tells && len(w.untold) > 0 {
		one := w.untold[0]
		w.untold = w.untold[1:]
		w.step(prompted{one, "transcript"})
	}
}

// look looks at the pane, as turnTo does.
func (w *world) look() {
	if text := w.c.lost.text; text != "" && (text == w.composer || !w.tells && text != unknownText && !slices.Contains(w.expected, text)) {
		w.step(surfaced{})
		w.lost = w.c.lost
	}
	f := w.found()
	f.settled = rapid.IntRange(0, 4).Draw(w.T, "settled") > 0
	if w.c.busy() {
		w.step(sighted{f})
	}
}

// Whatever happens, in whatever order, and even if the sidecar ends in the midst of it: nothing is
// typed twice, behind anything else, or without permission; Enter is pressed only when the composer
// holds our text and nothing else; no receipt says more than is true; and the core takes no edge that
// the package comment does not have.
func TestCore_whateverHappens(t *testing.T) {
	edges, count := tableOfEdges(t), tally{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, edges)
		w.happens()
		for _, e := range w.book {
			count.take(e)
		}
	})
	t.Logf("%+v", count)
	if !t.Failed() {
		count.check(t)
	}
}

// happens plays one life or several: much that goes well, among a few kinds of trouble. With all kinds
// at once, hardly anything would ever be typed.
func (w *world) happens() {
	w.deliver()
	then := w.names()
	for range rapid.IntRange(20, 120).Draw(w.T, "steps") {
		w.unlessWeEnd(happenings[rapid.SampledFrom(then).Draw(w.T, "then")].what)
	}
}

// tally counts what came of deliveries, so that a model in which nothing happens does not pass for a
// proof.
type tally struct{ deliveries, pasted, passed, submitted, emptied, uncertain, ended int }

func (n *tally) take(e *entryOf) {
	n.deliveries++
	n.pasted += e.pastes
	n.passed += e.passes
	for count, is := range map[*int]bool{
		&n.submitted: e.over == message.Submitted, &n.emptied: e.left, &n.uncertain: e.over == message.Uncertain, &n.ended: e.ended,
	} {
		if is {
			*count++
		}
	}
}

// check requires that a good part of all deliveries was typed, and a good part of these seen to be taken: half of the least
// that was seen in 180 runs, since the runs are drawn at random.
func (n *tally) check(t *testing.T) {
	t.Helper()
	for what, enough := range map[string]bool{
		"pasted": n.pasted*16 > n.deliveries, "handed over": n.passed*300 > n.deliveries, "submitted": n.submitted*11 > n.pasted,
		"emptied": n.emptied*6 > n.pasted, "uncertain": n.uncertain > 0,
	} {
		if !enough {
			t.Errorf("too few deliveries are %s for this to prove anything: %+v", what, n)
		}
	}
}

// unlessWeEnd does something. If the sidecar ends over it, another life begins.
func (w *world) unlessWeEnd(what func(*world)) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case crash:
			w.restart()
		default:
			panic(r)
		}
	}()
	what(w)
}

// happenings is what may happen, and how often. Each trouble comes in some runs only, together with what ends it.
var happenings = map[string]struct {
	often   int
	trouble string
	what    func(*world)
}{
	"we look": {10, "", func(w *world) { w.pass(20 * time.Millisecond); w.look() }},
	"it reads, and we look": {16, "", func(w *world) {
		w.read()
		w.pass(100 * time.Millisecond)
		w.look()
	}},
	"it reads":         {2, "", (*world).read},
	"it tells":         {5, "", (*world).tell},
	"its inbox":        {5, "", (*world).open},
	"it is done":       {6, "", func(w *world) { w.works = false; w.draw() }},
	"a delivery":       {3, "", (*world).deliver},
	"two seconds":      {3, "", func(w *world) { w.pass(2 * time.Second) }},
	"a long time":      {2, "late", func(w *world) { w.pass(20 * time.Second) }},
	"a key":            {4, "a person", func(w *world) { w.press("x") }},
	"a line goes":      {4, "a person", func(w *world) { w.press("\x15") }},
	"Enter":            {2, "a person", func(w *world) { w.press("\r") }},
	"a mode":           {3, "covered", func(w *world) { w.mode = true; w.draw() }},
	"a dialog":         {3, "covered", func(w *world) { w.dialog = true; w.draw() }},
	"neither":          {6, "covered", func(w *world) { w.mode, w.dialog = false, false; w.draw() }},
	"it is deaf":       {2, "deaf", func(w *world) { w.deaf = !w.unseen() }},
	"it hears":         {4, "deaf", func(w *world) { w.deaf = false }},
	"we end":           {3, "ends", func(*world) { panic(crash{}) }},
	"a late order":     {5, "ends", (*world).lateOrder},
	"the disk is full": {2, "full", func(w *world) { w.full = true }},
	"the disk is not":  {5, "full", func(w *world) { w.full = false }},
	"a pause":          {2, "paused", func(w *world) { w.paused = true }},
	"its end":          {5, "paused", (*world).resume},
	"a chat ends":      {3, "ended", (*world).end},
	"a line goes back": {2, "taken back", (*world).takenBack},
}

// names returns the names of what happens in this run, each as often as it happens.
func (w *world) names() (all []string) {
	in := map[string]bool{"": true}
	for _, name := range slices.Sorted(maps.Keys(happenings)) {
		h := happenings[name]
		if _, drawn := in[h.trouble]; !drawn {
			in[h.trouble] = rapid.IntRange(0, 2).Draw(w.T, h.trouble) == 0
		}
		if in[h.trouble] {
			all = append(all, slices.Repeat([]string{name}, h.often)...)
		}
	}
	w.ends = in["ends"]
	return all
}

// lateOrder makes an order of an earlier life come.
func (w *world) lateOrder() {
	if w.order != nil {
		w.order()
	}
	w.order = nil
}

// takenBack makes an agent put a prompt back into its composer, as some do if their person interrupts
// it at once.
func (w *world) takenBack() {
	if len(w.untold) > 0 && w.works && w.composer == "" && len(w.unread) == 0 {
		last := len(w.untold) - 1
		if w.untold[last].By == agent.BySystem {
			return
		}
		w.composer, w.works = w.untold[last].Text, false
		w.draw()
	}
}

// deliver makes the relay hand out a message, unless several wait.
func (w *world) deliver() {
	waits := 0
	for _, e := range w.book {
		if e.over == "" && !e.ended {
			waits++
		}
	}
	if waits > 2 {
		return
	}
	id := message.ID(fmt.Sprintf("d%02d", len(w.ids)))
	d := deliveryOf(string(id))
	if rapid.Bool().Draw(w.T, "by its door") {
		d = doored(string(id))
	}
	w.book[id], w.ids = &entryOf{d: d}, append(w.ids, id)
	w.step(delivered{[]message.Delivery{w.book[id].d}})
}

// resume ends a pause: deliveries that are not over are handed out once more.
func (w *world) resume() {
	w.paused = false
	for _, id := range w.ids {
		if e := w.book[id]; e.over == "" && !e.ended {
			w.step(delivered{[]message.Delivery{e.d}})
		}
	}
}

// end ends the chat of a delivery.
func (w *world) end() {
	id := rapid.SampledFrom(w.ids).Draw(w.T, "of")
	w.book[id].ended = true
	w.step(cancelled{[]message.ID{id}})
}
