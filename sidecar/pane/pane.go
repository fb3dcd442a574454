package pane

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/thejerf/suture/v4"

	"github.com/tmux-intercom/tmux-intercom/sidecar/delta"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Relay is what a pane needs of the relay. All methods may block until the relay has recorded
// what it was told.
type Relay interface {
	// Report tells a step of a delivery. A receipt of state typed asks for permission to type:
	// any error means that nothing may be typed (message.ErrPaused and its neighbours say
	// what becomes of the delivery).
	Report(ctx context.Context, r message.Receipt) error
	// Spoke tells a turn of the pane's program.
	Spoke(ctx context.Context, t message.Turn) error
	// StateChanged tells what the pane's program is doing, and what it asks its person.
	StateChanged(ctx context.Context, session message.ID, state message.PaneState, why string, asks *message.Asking) error
	// Closed tells why nothing more is typed into the pane or, with no reason, that the pane is
	// open again. If the reason is a text of ours that was never seen, or that stands there without
	// Enter, lost is its delivery. If the reason is a person's line, draft is where it stands.
	Closed(ctx context.Context, session message.ID, why message.Reason, lost message.ID, draft *message.Place) error
	// Notify tells a person something about the session, once.
	Notify(ctx context.Context, session message.ID, text string) error
	// Replied hands in what the session's agent replies to the message to by a tool of its own: a new
	// message to that one's sender. It returns once the relay has decided.
	Replied(ctx context.Context, session message.ID, to message.Envelope, text string) error
	// Gone tells that the session has ended.
	Gone(ctx context.Context, session message.ID, why message.Reason) error
}

const (
	coalesce   = 200 * time.Millisecond // between looks while a program keeps writing
	deepPause  = time.Second            // the same, after a look for which 2,000 lines were not enough
	heldPoll   = 250 * time.Millisecond // between looks while something waits for its moment
	openPoll   = 2 * time.Second        // between looks at an open turn, for what no trigger tells
	restPoll   = time.Minute            // the same, at a program that rests at its prompt,
	restStep   = 5 * time.Second        // and at most so much sooner
	promptFor  = openPoll               // for so long a prompt must be back before it counts as there to stay
	drainFor   = time.Second            // how long the end, once asked for, waits for what is being said
	drainPoll  = 50 * time.Millisecond  // between looks then
	firstPoll  = 2 * time.Millisecond   // after a paste or Enter, doubled up to slowPoll
	agentPoll  = 16 * time.Millisecond  // the same at an agent: triggers tell what it draws, and looks would take the processor from it
	slowPoll   = 64 * time.Millisecond
	depthFirst = 60    // lines of history that an ordinary look brings along
	depthBase  = 2_000 // that a baseline remembers
)

// Pane is one adopted pane.
type Pane struct {
	session message.Peer
	reader  message.Process // of an agent that starts itself once more: the process that reads the keys now
	prof    profile.Profile
	prompt  screen.Prompt // of a line program
	client  Terminal
	relay   Relay
	clock   clock
	log     *slog.Logger

	inbox   chan letter   // from Panes; never closed
	edge    chan struct{} // capacity 1: something was written, or may have been
	errands chan struct{} // holds one value while an errand is under way
	hands   chan struct{} // holds one value while the pane is typing, or about to; see reach
	looks   atomic.Int64  // for statistics, read by anybody
	dozing  atomic.Bool   // see doze; read by Panes
	keyable atomic.Bool   // it is at a prompt where a key may show nothing: see pending; read by Panes
	silent  atomic.Bool   // its program is at work, and it is known where that left the cursor: see ahead; read by Panes
	gap     func(pane, moment string)
	door    Door // nil: messages are typed
	shut    *shutDoors

	life context.Context // of the run under way: once it is done, nothing new is begun

	// All below belongs to Serve.
	lookout
	core     core     // decides what is typed
	due      []act    // the acts that it has decided and that are not done yet, in order
	account  *account // what its agent tells of itself; nil: its program is no agent
	generic  *generic // of an unknown full-screen program; nil: it is another kind
	lines    lines    // what a line program says
	half     half     // a line that somebody began there
	pending  pending  // keys that somebody pressed there
	raw      bool     // its terminal gathered no lines at the last look
	ahead    ahead    // what somebody types there while it works
	offered  ahead    // where it left the cursor behind its prompt
	calls    calls    // before the look or, where they are not exact, by the last look
	ownLine  ownLine  // a text of ours that its terminal gathers
	ours     bool     // what stands in the composer is what the core left there
	strange  strange
	state    message.PaneState
	stateWhy string
	asks     *message.Asking

	answers   []asked      // submitted and not answered yet
	inherited []Submitted  // submitted by an earlier life, and not among answers yet
	struckAt  time.Time    // when we last pressed Enter
	handed    []handedOver // messages that went through its door: the agent may reply to them by a tool

	served   bool
	begun    time.Time // of Serve
	reached  bool      // the goroutine has the pane's hands
	blind    bool      // a look failed while the sidecar was ending
	littered bool      // there may be files of its session
	ended    bool
}

// lines is what a line program says, as its screen shows it.
type lines struct {
	tracker *delta.Tracker
	based   time.Time   // when the last baseline was taken
	stale   bool        // a baseline was asked for while the program's own screen could not be seen
	enter   enter       // how far our last one has come
	awaited string      // text of an earlier life that the tracker expects already
	late    []lateWords // said while no sidecar ran and not told yet
}

// lookout says when the pane was looked at, and when it is to be looked at again.
type lookout struct {
	pace      pace
	lastEdge  time.Time // of the newest trigger that was noticed
	firstEdge time.Time // of the oldest that no look has answered yet, or of a look that came before it was quiet; zero if none
	nextPoll  time.Time // a look is due then whatever the triggers say
	looked    time.Time // when the last look began
	shown     tmux.Look // facts and rows of it
	deep      bool      // it had to go far back
	moved     bool      // it showed more than a spinner's work since the one before
	dull      int       // looks in a row that found the program at work
}

// asked is a delivery that was submitted and not answered yet. text is what the agent took; if it is
// "", the next turn answers the delivery, whatever it says.
type asked struct {
	id   message.ID
	text string
	at   time.Time // when it was submitted

	typed time.Time // when an earlier life of ours typed it; zero: this one did
	taken bool      // its agent asked for it itself, in a turn of an earlier life: its record has no text of ours
}

// Serve is the pane's goroutine. It returns when ctx is done, or with
// suture.ErrDoNotRestart when the session has ended or was released. It finishes what is under way
// when ctx is done: no keystroke is cut in half. After a panic it is called again.
func (p *Pane) Serve(ctx context.Context) error {
	p.life = ctx
	ctx = context.WithoutCancel(ctx)
	if p.served {
		p.revive(ctx)
	}
	p.served, p.begun = true, p.clock.now()
	p.tellLate(ctx)
	if p.account == nil && !p.lines.stale && len(p.inherited) > 0 {
		p.disown(ctx)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	asked := p.life.Done()
	var latest time.Time // once the end was asked for: when it comes at the latest
	for !p.ended && (asked != nil || p.talking() && p.clock.now().Before(latest)) {
		pause := p.wait(p.clock.now())
		if asked == nil {
			pause = min(pause, drainPoll)
		}
		timer.Reset(pause)
		select {
		case <-asked:
			asked, latest = nil, p.clock.now().Add(drainFor)
		case l := <-p.inbox:
			p.read(ctx, l)
		case <-p.edge:
			if p.dozing.Load() {
				continue
			}
			p.noticed(p.clock.now())
			if p.core.batch() != nil && !p.core.heldUp() {
				p.turnTo(ctx) // what we wait for may be on the screen
			}
		case u := <-p.updates():
			p.hear(ctx, u)
		case <-p.setUp():
			p.learned(ctx, p.clock.now())
		case <-timer.C:
			p.pace.clocked(p.clock.now())
			p.turnTo(ctx)
		}
	}
	if p.ended {
		process.Unused(p.session.TTY)
		return suture.ErrDoNotRestart
	}
	return p.life.Err()
}

// ending reports whether the end was asked for, so that nothing new may be begun.
func (p *Pane) ending() bool { return p.life != nil && p.life.Err() != nil }

// talking reports whether something is about to be said that would be lost with us: an
// answer to what was typed, output that was not read yet, a text that is being taken.
func (p *Pane) talking() bool {
	return !p.blind && (p.awaits(p.clock.now()) || !p.firstEdge.IsZero() || p.core.leaving())
}

// awaits reports whether words may be on their way: an answer to something that was submitted a
// moment ago or, at an agent or an unknown program, to anything that is unanswered. A line program
// that has shown its prompt for a while may never say a word; if it does, it writes, and that is
// noticed.
func (p *Pane) awaits(now time.Time) bool {
	if len(p.answers) == 0 {
		return false
	}
	last := p.answers[len(p.answers)-1].at
	if p.lastEdge.After(last) {
		last = p.lastEdge
	}
	return p.account != nil || p.generic != nil || now.Sub(last) < promptFor
}

// read takes in one letter.
func (p *Pane) read(ctx context.Context, l letter) {
	if _, often := l.(listed); !often { // it comes about once a second in any case
		p.pace.news()
	}
	l.read(ctx, p)
}

// checkListed compares what the list of panes says with what was adopted.
func (p *Pane) checkListed(ctx context.Context, listed tmux.Facts) {
	switch {
	case !gate.Stands("pane:listed"):
	case listed.Dead || listed.PID == 0:
		p.gone(ctx, message.PaneDead)
	case listed.PID != p.session.PaneProc.PID:
		p.gone(ctx, message.PaneReplaced)
	case p.absent():
		p.goneOf(ctx, message.AgentGone)
	case listed.InMode != (p.state == message.History && p.stateWhy == string(message.CopyMode)):
		p.nextPoll = p.clock.now() // the state that we told is no longer true
	case p.account != nil && (p.account.blind(p.clock.now()) != "") != p.account.unseen:
		p.nextPoll = p.clock.now() // its own account has ceased to count, or counts again
	case p.handedOver(), !p.pending.read && p.readPending(), p.dozing.Load() && (p.rouses(listed, p.clock.now()) || p.echoed(listed, p.clock.now())):
		p.nextPoll = p.clock.now()
	case !p.dozing.Load() && !p.looked.IsZero() && facts(listed) != facts(p.shown.Facts):
		p.nextPoll = p.clock.now() // no trigger tells what a terminal echoes by itself
	}
}

// absent reports whether the adopted process has ended, or has become another program.
func (p *Pane) absent() bool {
	_, is := presenceOf(p.session.Foreground)
	return is == ended || is == became
}

// turnTo looks at the pane once and does what follows from it.
func (p *Pane) turnTo(ctx context.Context) {
	defer p.letGo()
	for range len(p.inbox) { // deliveries that are taken back or handed out come before what follows from a look
		if p.read(ctx, <-p.inbox); p.ended {
			return
		}
	}
	started := p.clock.now()
	p.tick(ctx, started)
	s, err := p.see(ctx)
	if err != nil {
		p.unseen(ctx, err)
		return
	}
	if p.ended {
		return
	}
	p.compare(s.look, started)
	ours, was := p.ours, p.half
	settled := p.observe(ctx, s, started)
	if _, gone := bar(s, p.session, p.prof); gone {
		return // observe has told that, or asks the server once more
	}
	busy := p.core.batch() != nil
	if !p.ended && p.core.busy() {
		p.decide(ctx, sighted{p.found(s, settled)})
		p.letGo()
	}
	p.entered(s)
	sent := was.begun != p.half.begun && p.session.Closed != "" // the next life must know of it
	if (settled || p.ours != ours || p.half.ahead != was.ahead || sent) && !p.ended {
		p.tellClosed(ctx)
	}
	if settled && !p.ended {
		p.clear(s)
	}
	p.wonder(ctx, s, started)
	p.suspect(ctx, s, started)
	p.schedule(s)
	if busy && p.core.batch() == nil {
		p.nextPoll = p.clock.now().Add(p.prof.Quiet) // what was said meanwhile is not told yet
	}
}

// compare takes a change that no trigger told of, such as what a terminal echoes by itself, for
// something that was written now: a turn must not end while such changes go on, nor be dated back
// to the last trigger.
func (p *Pane) compare(look tmux.Look, started time.Time) {
	told := p.lastEdge.After(p.looked)
	if !told && !p.looked.IsZero() && (look.Facts != p.shown.Facts || !sameRows(look.Rows, p.shown.Rows)) {
		p.noticed(started)
	}
	p.moved = moved(p.shown.Facts, look.Facts)
	p.looked, p.shown = started, tmux.Look{Facts: look.Facts, Rows: look.Rows}
}

// see looks at the pane and at the programs in the foreground of its terminal, and feeds what is
// new on its screen to the tracker.
func (p *Pane) see(ctx context.Context) (sight, error) {
	if p.account != nil {
		before := p.readSoFar()
		look, err := p.client.Look(ctx, p.session.Pane, -1)
		if err != nil {
			return sight{}, err
		}
		p.looks.Add(1)
		s := p.sightOf(look)
		s.reads = reads{before, p.readSoFar()}
		return s, nil
	}
	p.callsBefore()
	before := uint64(0)
	if p.generic != nil {
		before = p.readSoFar()
	}
	depth := depthFirst
	if b := p.core.batch(); b != nil {
		depth = max(depth, b.tall()) // its composer may begin far above the screen
	}
	if p.lines.stale {
		depth = depthBase
	}
	for {
		look, err := p.client.Look(ctx, p.session.Pane, depth)
		if err != nil {
			return sight{}, err
		}
		p.looks.Add(1)
		s := p.sightOf(look)
		if p.generic != nil {
			s.reads = reads{before, p.readSoFar()}
		}
		if p.generic != nil || look.Facts.Alternate || look.Facts.Dead {
			return s, nil // what is shown there is not what the program says on its own screen
		}
		if p.lines.stale {
			p.asOld(captureOf(look))
			p.lines.stale = false
			p.hark(look, !p.core.busy())
			p.tellLate(ctx)
			p.disown(ctx)
			return s, nil
		}
		need := p.lines.tracker.Feed(captureOf(look))
		if need <= depth {
			p.deep = depth > depthBase
			return s, nil
		}
		depth = need
	}
}

// captureOf converts a look into the capture from which the tracker tells what is new. At the limit
// of a history, tmux drops a tenth of it at a time.
func captureOf(look tmux.Look) delta.Capture {
	f := look.Facts
	c := delta.Capture{Lines: look.Lines, Rows: f.HistorySize + f.Height, Width: f.Width}
	if tenth := f.HistoryLimit / 10; f.HistorySize >= f.HistoryLimit-tenth-1 {
		c.Cut = max(1, tenth)
	}
	c.Complete = look.Complete && c.Cut == 0
	return c
}

// before returns the capture of a look with these lines in place of its own. Their rows are not
// counted.
func before(look tmux.Look, lines []string) delta.Capture {
	return delta.Capture{Lines: lines, Complete: captureOf(look).Complete}
}

// sightOf adds to a look what the system tells of the processes, and reads the screen.
func (p *Pane) sightOf(look tmux.Look) sight {
	s := sight{look: look, below: below(p.session.PaneProc)}
	s.self, s.is = presenceOf(p.session.Foreground)
	who := process.FrontLeader
	if p.core.busy() {
		who = process.Front // there is something to type: all who read the keyboard count
	}
	front, err := who(p.session.TTY, p.session.PaneProc.PID)
	switch {
	case err == nil:
		s.front, s.frontOK = front, true
	case errors.Is(err, process.ErrUnsupported):
	default: // somebody is in front, and we cannot tell who: not the agent
		s.frontOK = true
	}
	if p.account != nil && s.is == present && s.front.Leader.PID != 0 {
		s.is = p.reads(s.front, p.core.busy())
	}
	if p.account == nil && p.core.busy() {
		s.ear = earOf(s.front, p.session)
	}
	s.reading = p.judge(look)
	return s
}

// unseen handles a look that failed: the pane has gone, or tmux does not answer.
func (p *Pane) unseen(ctx context.Context, err error) {
	if errors.Is(err, tmux.ErrNoPane) {
		p.gone(ctx, message.PaneMissing)
		return
	}
	if p.ending() {
		p.blind = true
	} else {
		p.log.Warn("look", "pane", p.session.Pane, "err", err)
	}
	p.firstEdge, p.nextPoll = time.Time{}, p.clock.now().Add(heldPoll) // that look will do for all edges until then
}

// observe tells the relay what the pane's program is doing and what it said, and reports
// whether it has settled: its prompt is back and nothing was written for the quiet time.
func (p *Pane) observe(ctx context.Context, s sight, started time.Time) bool {
	if why, gone := bar(s, p.session, p.prof); gone {
		p.goneOf(ctx, why)
		return false
	}
	state, why := p.stateOf(s)
	p.ours = why == string(message.OursInComposer) && p.core.unsent() == nil
	if asks := p.asking(s, state, why); state != p.state || why != p.stateWhy || !asks.Same(p.asks) {
		p.state, p.stateWhy, p.asks = state, why, asks
		if err := p.relay.StateChanged(ctx, p.session.ID, state, why, asks); err != nil {
			p.log.Warn("tell state", "pane", p.session.Pane, "err", err)
		}
	}
	select {
	case <-p.edge: // written while we looked
		p.noticed(p.clock.now())
	default:
	}
	quiet := p.answered(started)
	if p.account != nil {
		return p.attend(ctx, s, started)
	}
	if p.core.unsent() == nil {
		p.watchHalf(s)
	} else { // what stands there is ours, or judged with it
		p.watchOwn(s)
	}
	if p.generic != nil && p.core.batch() == nil {
		p.generic.vigil.see(s.reading, p.generic.view(s.look), s.look.Facts, quiet, len(p.answers) > 0, started)
	}
	p.resurface(ctx, s)
	back := s.reading.State == message.Idle || s.reading.State == message.Draft
	if p.dull++; back || p.core.batch() != nil {
		p.dull = 0
	}
	if p.doze() || !back || !quiet || s.look.Facts.Alternate && p.generic == nil {
		return false
	}
	switch {
	case p.core.batch() != nil, p.lines.awaited != "" && p.core.doubtful(): // what it took is found out first
	case p.generic != nil:
		p.reply(ctx, s.look)
	default:
		p.speak(ctx, s.look)
	}
	return true
}

// answered notes that a look has answered the triggers from before it started, and reports whether
// nothing had been written for the quiet time by then. If something had, another look is due when
// the program has been quiet, and no sooner than looks follow each other while a program writes.
func (p *Pane) answered(started time.Time) bool {
	quiet := started.Sub(p.lastEdge) >= p.prof.Quiet
	switch {
	case quiet:
		p.firstEdge = time.Time{}
	case !p.firstEdge.IsZero():
		p.firstEdge = started
	}
	return quiet
}

// attend is the part of observe for an agent.
func (p *Pane) attend(ctx context.Context, s sight, started time.Time) bool {
	p.resurface(ctx, s)
	p.account.rest(s.look, started)
	p.show(s.look, s.reading.State, started)
	if p.dull++; s.reading.State != message.Working || !p.account.rests.IsZero() || p.core.batch() != nil || !p.account.atWork() {
		p.dull = 0 // only its screen tells when it is ready
	}
	p.doze()
	ready := p.account.settled(s.reading.MayType, started, p.lastEdge, p.prof.Quiet)
	p.overhear(ctx, s, ready, started)
	return ready
}

// speak ends the turn: what is new on the screen are its words.
func (p *Pane) speak(ctx context.Context, look tmux.Look) {
	t, ok := p.lines.tracker.Turn(true)
	switch {
	case t.Echoes > 0 && p.lines.enter == enterPressed && !p.followsOurs():
		p.half = half{} // our own Enter sent whatever stood there
	case p.half.begun && (t.Person || t.Echoes > 0 && p.lines.enter == enterBehind):
		p.half.sent(look, p.readsAlone(), p.readByName()) // the tracker takes a person's line behind our echo for words
	case p.half.hidden: // a bare Enter that sends the line looks like words of the program
		if reads := p.readsAlone(); p.half.readSince(reads) {
			p.half.sent(look, reads, false)
		}
	}
	if t.Echoes > 0 {
		p.lines.enter = enterSeen
	}
	turn := message.Turn{
		ID: message.NewID(), Peer: p.session.ID, Words: chromeless(t.Words, p.prof.Chrome),
		Person: t.Person, Source: "screen", Skipped: t.Skipped, Truncated: t.Truncated, Ended: p.wrote(),
	}
	switch {
	case turn.Words != "":
		turn.Answers, p.answers = ids(p.answers), nil
	case !ok || !turn.Person:
		// A prompt alone is no answer: some programs show it before they have thought. What was
		// submitted stays submitted until words come.
		return
	}
	p.tell(ctx, turn)
}

// wrote returns when the new text on the screen was written. A trigger from before the baseline
// belongs to something older; the trigger of the new text is late.
func (p *Pane) wrote() time.Time {
	if p.lastEdge.Before(p.lines.based) {
		return p.lines.based
	}
	return p.lastEdge
}

func ids(all []asked) (out []message.ID) {
	for _, one := range all {
		out = append(out, one.id)
	}
	return out
}

// rebase takes what the pane shows now as old: only what comes after that is a turn.
func (p *Pane) rebase(ctx context.Context) (tmux.Look, error) {
	if p.account != nil || p.generic != nil {
		return p.client.Look(ctx, p.session.Pane, -1) // what is old is known otherwise
	}
	look, err := p.client.Look(ctx, p.session.Pane, depthBase)
	if err != nil {
		return look, err
	}
	p.looks.Add(1)
	if p.lines.stale = look.Facts.Alternate; !p.lines.stale {
		p.asOld(captureOf(look))
	}
	return look, nil
}

// asOld takes what a look shows as old.
func (p *Pane) asOld(shown delta.Capture) {
	p.lines.tracker.Baseline(shown)
	p.lines.based = p.clock.now()
}

// goneOf is gone for an end that was seen in the pane's processes. Those end with the tmux server,
// too, so goneOf first asks whether the server is still there. If it is not, the sidecar ends as
// well, and the next one says that the server has ended. A server that does not answer is asked
// again.
func (p *Pane) goneOf(ctx context.Context, why message.Reason) {
	if _, err := p.client.Look(ctx, p.session.Pane, 0); err != nil && !errors.Is(err, tmux.ErrNoPane) {
		p.nextPoll = p.clock.now().Add(heldPoll)
		return
	}
	p.gone(ctx, why)
}

// gone ends the session. The relay decides what becomes of the deliveries that waited.
func (p *Pane) gone(ctx context.Context, why message.Reason) {
	if p.ended {
		return
	}
	p.ended = true
	if p.account != nil {
		p.drain(ctx) // it may have taken our text, and answered, before it ended
		p.sweep()
	}
	p.decide(ctx, gone{why})
	if err := p.relay.Gone(ctx, p.session.ID, why); err != nil {
		p.log.Warn("tell end", "pane", p.session.Pane, "err", err)
	}
}

// below tells what has become of the process that tmux had started in a pane. Its start time tells it
// from a later process with the same number.
func below(proc message.Process) presence {
	start, err := process.Start(proc.PID)
	switch {
	case errors.Is(err, process.ErrNoProcess):
		return ended
	case err == nil && start != proc.Start:
		return became
	}
	return present // the pane list tells, as far as it can, where the system does not
}

// screenOf translates what tmux gave into what package screen reads.
func screenOf(l tmux.Look) screen.Screen {
	f := l.Facts
	return screen.Screen{
		Rows: l.Rows, Lines: l.Lines, CursorX: f.CursorX, CursorY: f.CursorY, Width: f.Width, Height: f.Height, HistorySize: f.HistorySize,
		CursorVisible: f.CursorVisible, Alternate: f.Alternate, InMode: f.InMode,
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
