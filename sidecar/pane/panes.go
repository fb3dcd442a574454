package pane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/thejerf/suture/v4"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/delta"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// listEvery is how often the list of panes is read, and glanceEvery how often while a pane dozes or
// its program is silent at work.
const (
	listEvery   = time.Second
	glanceEvery = 400 * time.Millisecond
)

// inboxSize is how many letters may wait in the inbox of one pane. Letters beyond that wait in the
// overflow of the pane's entry; the relay's limits keep it small.
const inboxSize = 64

// Panes is the set of the adopted panes of one tmux server, and the relay's sink for them.
// All methods may be called from any goroutine.
type Panes struct {
	Client Server       // required
	Relay  Relay        // required
	Log    *slog.Logger // required

	// Gap is called when a pane is about to type, between the look and the typing: before the
	// processes are checked again ("paste unchecked", "enter unchecked"), after that ("paste",
	// "enter"), and when tmux has answered ("pasted", "entered"). It is nil except in tests.
	Gap func(pane, moment string)

	// Door is how messages get into agents that offer more than their terminal; nil: all are typed.
	Door Door

	// Amend returns a profile with what a person has set otherwise in it; nil: nothing. It is called
	// when a pane begins to be served.
	Amend func(profile.Profile) profile.Profile

	// Now is the clock; nil is time.Now.
	Now clock

	shut     shutDoors
	bell     *agent.Bell // nil: followers look once a second
	bindings bindings

	once  sync.Once
	calls chan func(*set) // to Run, which owns the set
	done  chan struct{}   // closed when Run has ended
}

// ErrClosed says that Run has ended: no pane is left that could do anything.
var ErrClosed = errors.New("the panes are no longer served")

// ErrProgram says that a session is of a kind of program that this version does not know.
var ErrProgram = errors.New("unknown kind of program")

// set is what Run owns.
type set struct {
	ctx     context.Context
	running sync.WaitGroup
	panes   *suture.Supervisor
	byID    map[message.ID]*entry
	byPane  map[string]*entry
	early   map[message.ID][]toDeliver // deliveries for sessions that the relay knows and that start in a moment
	awaited map[message.ID]bool        // those among them whose program has not shown itself yet
	parted  []parted                   // agents that may still reply, the latest last

	beginning map[string]chan struct{} // panes that are about to be served; closed when that is over
	forgotten []message.ID             // sessions that ended and had no pane here, the latest last
}

// entry is one running pane, with the letters that did not fit its inbox yet.
type entry struct {
	*Pane
	done     chan struct{}
	follower suture.ServiceToken // of an agent
	setup    suture.ServiceToken // of one that has a setup
	since    time.Time           // when it began: a list of panes that was asked for earlier does not know it
	overflow []letter

	told   tmux.Facts // what the list of panes said when the pane was last told
	toldAt time.Time  // when that list was asked for
}

func (ps *Panes) init() {
	ps.once.Do(func() {
		ps.calls, ps.done = make(chan func(*set)), make(chan struct{})
		bell, err := agent.NewBell()
		if err != nil {
			ps.Log.Warn("transcripts are looked at once a second", "err", err)
			return
		}
		ps.bell = bell
	})
}

// Run hands triggers on to the panes and reads the list of panes once a second. It
// returns when ctx is done and every pane's goroutine has ended.
func (ps *Panes) Run(ctx context.Context) error {
	ps.init()
	s := &set{
		ctx: ctx, panes: suture.New("panes", suture.Spec{
			EventHook: ps.hear, FailureThreshold: crashes, FailureDecay: crashDecay.Seconds(), FailureBackoff: crashPause, Timeout: endPatience,
		}),
		byID: map[message.ID]*entry{}, byPane: map[string]*entry{}, early: map[message.ID][]toDeliver{}, awaited: map[message.ID]bool{},
		beginning: map[string]chan struct{}{},
	}
	s.running.Go(func() { _ = s.panes.Serve(ctx) })
	defer s.running.Wait()
	if ps.bell != nil {
		s.running.Go(func() { _ = ps.bell.Serve(ctx) })
	}
	defer close(ps.done)
	tick, glance := time.NewTicker(listEvery), time.NewTicker(glanceEvery)
	defer tick.Stop()
	defer glance.Stop()
	lists := make(chan listing, 1)
	underway, rested := false, time.Time{}
	list := func() {
		if underway || len(s.byID) == 0 || time.Now().Before(rested) {
			return
		}
		underway = true
		asked := ps.Now.now()
		began := time.Now()
		s.running.Go(func() {
			panes, err := ps.Client.Glance(ctx)
			if err != nil && ctx.Err() == nil {
				ps.Log.Warn("list panes", "err", err)
			}
			if err != nil {
				panes = nil
			}
			lists <- listing{asked, panes, time.Since(began)}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case call := <-ps.calls:
			call(s)
		case e := <-ps.Client.Edges():
			switch {
			case e.Kind == tmux.Lost: // of one pane or of all: look everywhere
				for _, en := range s.byID {
					en.poke()
				}
				list()
			default:
				if en := s.byPane[e.Pane]; en != nil {
					en.poke()
				}
				if e.Kind == tmux.Gone {
					list()
				}
			}
		case <-tick.C:
			for _, en := range s.byID {
				en.flush()
			}
			if !s.hurries() {
				list()
			}
		case <-glance.C:
			if s.hurries() {
				list()
			}
		case l := <-lists:
			// The next list waits for as long as this one took, a second at most: where tmux or a
			// process is slow, lists do not follow each other without a break.
			underway, rested = false, time.Now().Add(min(l.took, listEvery))
			if l.panes != nil {
				s.compare(l)
			}
		}
	}
}

// A pane whose goroutine panics begins anew at once, unless it does so again and again. These are
// the limits for that.
const (
	crashes     = 5
	crashDecay  = time.Minute
	crashPause  = 15 * time.Second
	endPatience = 15 * time.Second // at the end; longer than tmux may take for a look; a typing that takes longer is given up
)

// hear logs what the supervisor tells of panes.
func (ps *Panes) hear(e suture.Event) {
	switch e := e.(type) {
	case suture.EventServicePanic:
		ps.Log.Error("a pane's goroutine panicked and begins anew", "pane", e.ServiceName, "panic", e.PanicMsg, "stack", e.Stacktrace)
	case suture.EventServiceTerminate: // the end of a session, or ours
	default:
		ps.Log.Warn("supervisor of panes", "event", e.String())
	}
}

// listing is a list of panes, nil if tmux gave none, and when it was asked for.
type listing struct {
	asked time.Time
	panes map[string]tmux.Facts
	took  time.Duration
}

// hurries reports whether the list is to be read more often, for any pane.
func (s *set) hurries() bool {
	for _, en := range s.byID {
		if en.Pane.dozing.Load() || en.Pane.silent.Load() {
			return true
		}
	}
	return false
}

// compare tells each pane what the list says of it.
func (s *set) compare(l listing) {
	for id, en := range s.byPane {
		if en.since.After(l.asked) {
			continue
		}
		switch p, ok := l.panes[id]; {
		case !ok:
			en.send(unlisted{})
		case !en.knows(p, l.asked):
			en.offer(listed(p))
			en.told, en.toldAt = facts(p), l.asked
		}
	}
}

// knows reports whether a pane need not be told of a list that says the same as the last one. So a pane where nothing
// moves asks the system about its program only at every other list: with many panes at rest, that is most of what they
// cost.
func (en *entry) knows(now tmux.Facts, asked time.Time) bool {
	often := en.dozing.Load() || en.silent.Load() || en.keyable.Load()
	since := asked.Sub(en.toldAt)
	return !often && facts(now) == en.told && since >= 0 && since < listEvery*3/2
}

// do runs a function in Run's goroutine and waits for it.
func (ps *Panes) do(ctx context.Context, f func(*set)) error {
	ps.init()
	done := make(chan struct{})
	select {
	case ps.calls <- func(s *set) { f(s); close(done) }:
	case <-ps.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	<-done
	return nil
}

// Past is what an earlier life of the sidecar left in a pane. Its zero value is nothing.
type Past struct {
	Lost      *message.Delivery  // the delivery that the session names as lost, if it is still known
	Typed     []message.Delivery // those that it may have typed; Deliver hands them over, too
	Submitted []Submitted        // those that it saw taken, oldest first, and whose answers are still to come
	Unwatched bool               // time has passed since its last look
}

// Start begins to read and serve the pane of an adopted session. The baseline is what the pane shows
// by then, without our own text in its composer. Start returns ErrEnded for a session that was
// forgotten meanwhile.
func (ps *Panes) Start(ctx context.Context, session message.Peer, past Past) error {
	p := &Pane{
		session: session, reader: session.Reader, client: ps.Client, clock: ps.Now, relay: ps.Relay,
		log: ps.Log.With("session", session.Name), gap: ps.Gap, inbox: make(chan letter, inboxSize), edge: make(chan struct{}, 1), hands: make(chan struct{}, 1),
		errands: make(chan struct{}, 1), door: ps.Door, shut: &ps.shut,
		state: session.State,
	}
	if err := ps.furnish(p); err != nil {
		return fmt.Errorf("start session %s: %w: %w", session.ID, ErrProgram, err)
	}
	p.core = core{name: called(session.Name, session.Pane), prof: p.prof, compose: p.compose, command: p.commanded}
	if p.door != nil && p.account != nil {
		p.core.enclose = p.enclose
	}
	if p.generic != nil && past.Unwatched {
		p.generic.vigil.since = screen.Unseen
	}
	leave, err := ps.vacate(ctx, session)
	if err != nil {
		return fmt.Errorf("start session %s: %w", session.ID, err)
	}
	defer leave()
	if err := ps.Client.Watch(session.Pane, session.TTY); err != nil {
		return fmt.Errorf("watch pane %s: %w", session.Pane, err)
	}
	p.inherited = past.Submitted
	if p.account != nil {
		p.account.since = past.since()
	}
	look, err := p.rebase(ctx)
	if err != nil {
		ps.Client.Forget(session.Pane)
		return fmt.Errorf("look at pane %s: %w", session.Pane, err)
	}
	// The deliveries that may have been typed are looked at as a whole, before Deliver hands them over.
	p.core.accept(past.Typed)
	if !slices.ContainsFunc(past.Typed, func(d message.Delivery) bool { return d.ID == session.Lost }) {
		p.reopen(past.Lost)
	}
	p.hark(look, len(past.Typed) == 0)
	p.recall(look, past.Typed)
	ended := false
	err = ps.do(ctx, func(s *set) {
		if ended = slices.Contains(s.forgotten, session.ID); ended {
			return
		}
		en := &entry{Pane: p, done: make(chan struct{}), since: ps.Now.now()}
		s.byID[session.ID], s.byPane[session.Pane] = en, en
		for _, l := range s.early[session.ID] {
			en.send(l)
		}
		delete(s.early, session.ID)
		delete(s.awaited, session.ID)
		p.poke()
		if p.account != nil {
			en.follower = s.panes.Add(following{p.account.follower, session.Pane})
			if p.account.setup != nil {
				en.setup = s.panes.Add(p.account.setup)
			}
		}
		s.panes.Add(service{en, func() { ps.ended(s, en) }})
	})
	if ended {
		err = fmt.Errorf("start session %s: %w", session.ID, ErrEnded)
	}
	if err != nil {
		ps.Client.Forget(session.Pane)
	}
	return err
}

// furnish gives a pane what its kind of program needs.
func (ps *Panes) furnish(p *Pane) error {
	if prof, ok := profile.AgentByName(p.session.Profile); ok {
		ps.init()
		p.prof = ps.amended(prof.Profile)
		p.account = newAccount(prof, recognise(p.session), ps.bell, p.session.ID, &ps.bindings, ps.Door, ps.Now)
		p.littered = true // an earlier life may have left files
		return nil
	}
	prof, ok := profile.ByName(p.session.Profile)
	if !ok {
		return fmt.Errorf("no profile %q", p.session.Profile)
	}
	prof = ps.amended(prof)
	prompt, err := promptOf(p.session, prof)
	if isTUI(prof) {
		p.generic, prompt, err = newGeneric(p.session)
	}
	if err != nil {
		return err
	}
	p.prof, p.prompt, p.lines.tracker = prof, prompt, delta.New(prompt, prof.Continuations...)
	return nil
}

func (ps *Panes) amended(p profile.Profile) profile.Profile {
	if ps.Amend == nil {
		return p
	}
	return ps.Amend(p)
}

// following is an agent's follower as its supervisor sees it.
type following struct {
	*agent.Follower
	pane string
}

// Serve runs the follower. It ends for good when the agent's process has ended.
func (f following) Serve(ctx context.Context) error {
	err := f.Follower.Serve(ctx)
	if errors.Is(err, agent.ErrGone) {
		return suture.ErrDoNotRestart
	}
	return err
}

// String names it in the log.
func (f following) String() string { return "transcript of " + f.pane }

// service is an entry as its supervisor sees it.
type service struct {
	*entry
	after func() // once it has ended for good
}

// Serve runs the pane's goroutine, and takes the pane out of the set once that has ended.
func (s service) Serve(ctx context.Context) error {
	err := s.Pane.Serve(ctx)
	s.after()
	return err
}

// String names it in the log.
func (s service) String() string { return s.session.Pane }

// ended takes a pane out of the set when its session has ended, or when the sidecar ends.
func (ps *Panes) ended(s *set, en *entry) {
	defer close(en.done) // once nothing of it is left that a later session could trip over
	if en.Pane.ended {
		ctx, cancel := context.WithTimeout(s.ctx, time.Second)
		defer cancel()
		if err := ps.Client.Unmark(ctx, en.session.Pane); err != nil && ctx.Err() == nil {
			ps.Log.Debug("unmark", "pane", en.session.Pane, "err", err)
		}
	}
	if en.account != nil {
		_ = s.panes.Remove(en.follower)
		if en.account.setup != nil {
			_ = s.panes.Remove(en.setup)
		}
		ps.bindings.let(en.session.ID)
	}
	_ = ps.do(s.ctx, func(s *set) {
		if s.byPane[en.session.Pane] == en { // and not that of a new session in the same pane
			ps.Client.Forget(en.session.Pane)
			delete(s.byPane, en.session.Pane)
		}
		delete(s.byID, en.session.ID)
		s.part(en.Pane)
	})
}

// Forget ends the reading and typing for a session, even if its pane is only about to be served.
func (ps *Panes) Forget(ctx context.Context, session message.ID) error {
	return ps.do(ctx, func(s *set) {
		delete(s.early, session)
		delete(s.awaited, session)
		if en := s.byID[session]; en != nil {
			en.send(forgotten{})
			return
		}
		s.missed(session)
	})
}

// Rename changes the name by which a session is called in all that is told of it from now on.
func (ps *Panes) Rename(ctx context.Context, session message.ID, name string) error {
	return ps.do(ctx, func(s *set) {
		if en := s.byID[session]; en != nil {
			en.send(renamed(name))
		}
	})
}

// called returns the name of a session and its pane as they stand in a sentence.
func called(session, pane string) string { return session + " (" + pane + ")" }

// Rebase takes what the session's pane shows now as old: nothing of it will be words. It
// returns when the new baseline stands.
func (ps *Panes) Rebase(ctx context.Context, session message.ID) error {
	_, _, err := answerOf(ctx, ps, session, func(ctx context.Context, p *Pane) (tmux.Look, error) { return p.rebase(ctx) })
	return err
}

// Hook hands on what an agent's hook tells, and does not wait. If the hook's processes do not tell
// whose it is (session is ""), it counts for the agents that are known to be in the conversation
// that it names.
func (ps *Panes) Hook(ctx context.Context, session message.ID, h message.Hook) error {
	return ps.do(ctx, func(s *set) {
		for id, en := range s.byID {
			if en.account != nil && (id == session || session == "") {
				en.send(told{h, id == session})
			}
		}
	})
}

// Deliver hands deliveries to their sessions' panes, those of one pane all at once. For a session
// that is not here they are kept until Start or Forget. The relay knows which sessions have ended: it
// was told so.
func (ps *Panes) Deliver(ctx context.Context, ds ...message.Delivery) error {
	var targets []message.ID
	messages := map[message.ID]toDeliver{}
	for _, d := range ds {
		if _, ok := messages[d.Target]; !ok {
			targets = append(targets, d.Target)
		}
		messages[d.Target] = append(messages[d.Target], d)
	}
	return ps.do(ctx, func(s *set) {
		for _, target := range targets {
			if en := s.byID[target]; en != nil {
				en.send(messages[target])
				continue
			}
			s.early[target] = append(s.early[target], messages[target])
			if s.awaited[target] {
				ps.tellAwaited(s, messages[target])
			}
		}
	})
}

// Await says that the program of a session is starting: all that is delivered to the session, before or after this, is
// held until Start.
func (ps *Panes) Await(ctx context.Context, session message.ID) error {
	return ps.do(ctx, func(s *set) {
		if s.awaited[session] {
			return
		}
		s.awaited[session] = true
		for _, one := range s.early[session] {
			ps.tellAwaited(s, one)
		}
	})
}

// tellAwaited reports that deliveries wait for a program that is starting. It does not wait for the relay.
func (ps *Panes) tellAwaited(s *set, ds []message.Delivery) {
	if len(ds) == 0 {
		return
	}
	ds = slices.Clone(ds)
	s.running.Go(func() { ps.reportAwaited(s.ctx, ds) })
}

func (ps *Panes) reportAwaited(ctx context.Context, ds []message.Delivery) {
	for _, d := range ds {
		r := message.Receipt{Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: message.Held, Reason: message.AgentStarting, At: ps.Now.now()}
		if err := ps.Relay.Report(ctx, r); err != nil && ctx.Err() == nil {
			ps.Log.Debug("report a delivery that waits", "delivery", d.ID, "err", err)
		}
	}
}

// Cancel takes back deliveries of which nothing was typed yet.
func (ps *Panes) Cancel(ctx context.Context, ids []message.ID) error {
	return ps.do(ctx, func(s *set) {
		for _, en := range s.byID {
			en.send(toCancel(ids))
		}
		for _, messages := range s.early {
			for i := range messages {
				messages[i] = messages[i].without(ids)
			}
		}
	})
}

// Still waits until no pane is between a permission and the end of its typing. A caller that has taken
// permission away knows, once Still has returned, that nothing more is typed.
func (ps *Panes) Still(ctx context.Context) error {
	var all []*entry
	err := ps.do(ctx, func(s *set) {
		for _, en := range s.byID {
			all = append(all, en)
		}
	})
	for _, en := range all {
		select {
		case en.hands <- struct{}{}:
			<-en.hands
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// Captures returns how many looks were taken at the session's pane, 0 if it is not here.
func (ps *Panes) Captures(ctx context.Context, session message.ID) (n int) {
	_ = ps.do(ctx, func(s *set) {
		if en := s.byID[session]; en != nil {
			n = int(en.looks.Load())
		}
	})
	return n
}

// poke tells the pane that something was written.
func (p *Pane) poke() {
	select {
	case p.edge <- struct{}{}:
	default: // it has not noticed the last one yet
	}
}

// offer puts a letter into the inbox if there is room; another like it follows soon.
func (en *entry) offer(l letter) {
	select {
	case en.inbox <- l:
	default:
	}
}

// send puts a letter into the inbox, behind those that did not fit yet.
func (en *entry) send(l letter) {
	en.overflow = append(en.overflow, l)
	en.flush()
}

// flush moves letters from the overflow into the inbox while there is room.
func (en *entry) flush() {
	for len(en.overflow) > 0 {
		select {
		case en.inbox <- en.overflow[0]:
			en.overflow = en.overflow[1:]
		default:
			return
		}
	}
}

// promptOf returns the session's prompt, with what its composer may show before further lines.
func promptOf(session message.Peer, prof profile.Profile) (screen.Prompt, error) {
	prompt, err := screen.Literal(session.Prompt)
	if session.PromptIsRE {
		prompt, err = screen.Pattern(session.Prompt)
	}
	return prompt.With(prof.Continuations), err
}
