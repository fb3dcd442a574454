package pane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// account is what an agent itself tells of what it does: by its transcript, its status file and
// its hooks. It belongs to the pane's goroutine; the follower that feeds it has its own.
//
// If the account tells whether a turn is open, the composer must have been live and empty for the
// quiet time before something is typed, since the account is a little behind the screen. Otherwise
// it must have been so in every look for as long as unsure says.
type account struct {
	prof     profile.Agent
	clock    clock
	who      agent.Agent
	follower *agent.Follower
	bindings *bindings // of all agents
	id       message.ID
	active   sanitise.Options
	setup    *setup // nil: only its own account and its screen tell how it takes a text

	machine agent.Machine
	told    bool              // the follower has said what it found
	bound   *agent.Transcript // nil: none is read
	trouble error             // why none is read
	status  agent.Status
	hook    hooked
	vim     bool         // its composer has vim keys
	mode    moded        // the mode in which it says that it works
	unseen  bool         // by the last judgement its account could not be relied upon
	idle    time.Time    // since when every look found it ready; zero: the last did not
	rests   time.Time    // since when no look has shown it at work, if it may not record the end of a turn
	rested  []agent.Turn // turns that ended that way, not told yet
	last    []took       // prompts that it took before we came, the latest last
	taken   []string     // ids of the messages that it took through a door, the latest last
	began   origins      // where the prompts came from that hooks have told since its last words
	spoken  []secondhand // turns that its transcript has not told
	worked  bool         // its screen has shown work since its last words
	begun   time.Time    // when a look first found its composer empty with a message for it; zero: none has
	started bool         // a look has found it asleep there, or it has had the time to start
	since   time.Time    // when the oldest of what an earlier life left was typed; zero: it left nothing
	old     []agent.Turn // those that ended after that, before we came, and were not told
	shown   showing
}

// took is a prompt that the agent took before we came.
type took struct {
	text string
	id   string // what its sender calls it, where it came through a door
	at   time.Time
}

// tookID reports whether the agent took a message that it was handed, in this life of ours or before.
func (a *account) tookID(id message.ID) bool { return slices.Contains(a.taken, string(id)) }

// moded is how an agent asks before it acts, in its own word, and the conversation that says so.
type moded struct{ name, thread string }

const (
	// unsure is how long a composer must have been ready if the agent itself tells nothing.
	unsure = 500 * time.Millisecond
	// steadyPoll is the time between looks meanwhile.
	steadyPoll = 100 * time.Millisecond
	// transcriptGrace is how long the transcript may be behind a hook that tells of the same turn.
	transcriptGrace = 2 * time.Second
	// seekAfter is how long after Enter other transcripts are searched for a text that the
	// followed one does not show.
	seekAfter = time.Second
	// shaken is how long a screen may be unknown while our text is on its way before the text is
	// held for that.
	shaken = 500 * time.Millisecond
	// skillsEvery is how old the list of the agent's skills may be when something is typed. An
	// agent that starts lays down its own first skills only then.
	skillsEvery = time.Second
	// clockGrain is how much earlier a prompt may be dated than we typed it.
	clockGrain = 50 * time.Millisecond
	// hookGrace is how long a hook's word holds while the agent has not recorded what it told.
	hookGrace = 5 * time.Second
	// settingsEvery is how old our reading of an agent's settings may be when something is typed,
	// and settingsMax how many bytes each file of them may have.
	settingsEvery = 2 * time.Second
	settingsMax   = 4 << 20
	// sightPatience is how long the follower may fail to see all of an agent's own account before
	// that counts for nothing. A follower that is well looks once a second.
	sightPatience = 5 * time.Second
	// unanswered is how long an agent that was not seen at work is given to begin.
	unanswered = 3 * time.Second
	// pastKept is how many prompts from before we came are remembered.
	pastKept = 64
)

// newAccount begins to follow an agent.
func newAccount(prof profile.Agent, who agent.Agent, bell *agent.Bell, id message.ID, all *bindings, door Door, clock clock) *account {
	a := &account{prof: prof, who: who, follower: agent.NewFollower(who, bell, clock.now), id: id, bindings: all, setup: newSetup(prof, who, door, clock), clock: clock}
	a.follower.Taken = func(path string) bool { return all.taken(id, path) }
	a.follower.Own = func(text string) bool { return all.tells(id, text, a.clock.now()) }
	a.active = sanitise.Options{
		At: prof.Active.At, Closes: prof.Active.Closes, Pictures: prof.Active.Pictures, Keywords: prof.Active.Keywords,
	}
	return a
}

// live returns what the agent would take for more than words. Skills come and go.
func (a *account) live(now time.Time) sanitise.Options {
	if h := a.setup.now(now); h != nil {
		a.active.Skills = h.skills
	}
	return a.active
}

// learned takes in that the files of the agent's setup were read: waiting deliveries may be typed now.
func (p *Pane) learned(ctx context.Context, now time.Time) {
	if p.account.told {
		p.claim(now, false)
		p.catchUp(ctx)
	}
	if h := p.account.setup.now(now); len(p.core.queue) > 0 || h != nil && h.says && h.vim != p.account.vim {
		p.stir(now)
	}
}

// setUp returns the channel that tells when the files of an agent's setup were read; nil for another program.
func (p *Pane) setUp() <-chan struct{} {
	if p.account == nil {
		return nil
	}
	return p.account.setup.changes()
}

// updates returns the follower's updates; nil for a program that is no agent.
func (p *Pane) updates() <-chan agent.Update {
	if p.account == nil {
		return nil
	}
	return p.account.follower.Updates()
}

// signals returns the account as it stands.
func (a *account) signals() signals {
	s := signals{read: a.told && a.bound != nil && a.trouble == nil, status: a.status, hook: a.hook, now: a.clock.now()}
	if a.trouble != nil {
		s.trouble = a.trouble.Error()
	}
	if why := a.blind(s.now); why != "" {
		s.lost, s.trouble = true, why
	}
	if a.contested() {
		s.read, s.trouble = false, "another agent that is adopted writes into the same conversation"
	}
	if began, calls, open := a.machine.Open(); open && s.read {
		s.turn = &agent.Turn{Open: true, Began: began, OpenTools: calls}
	}
	if t, ok := a.machine.Last(); ok {
		s.ended = t.Ended
	}
	return s
}

// blind says why the account must not be relied upon at that time, "" if it may: its follower has not
// seen all of it for too long.
func (a *account) blind(now time.Time) string {
	if a.follower == nil || !gate.Stands("pane:age") {
		return ""
	}
	seen := a.follower.Sight()
	if !seen.Lost(now, sightPatience) {
		return ""
	}
	if seen.Why != nil {
		return seen.Why.Error()
	}
	if seen.At.IsZero() {
		return fmt.Sprintf("what it writes down has not been read in %d s", int(now.Sub(seen.Began).Seconds()))
	}
	return fmt.Sprintf("what it writes down was last read %d s ago", int(now.Sub(seen.At).Seconds()))
}

// contested reports whether another adopted agent writes into the same conversation.
func (a *account) contested() bool { return a.bound != nil && a.bindings.taken(a.id, a.bound.Path) }

// judge reads the screen of an agent.
func (a *account) judge(look tmux.Look) screen.Reading {
	v := screen.Judge(a.view(look), a.prof)
	a.vim = a.vim || v.Vim
	s := a.signals()
	a.unseen = s.lost
	return fuse(v, s)
}

// rest lets looks that show no work end a turn whose end was not recorded: Gemini CLI records
// none, opencode leaves some out. Only the screen counts, since by its transcript the agent works
// for as long as nothing says otherwise. What stands in the composer meanwhile does not matter: it
// is no part of the turn.
func (a *account) rest(look tmux.Look, now time.Time) {
	witness := a.machine.Witness(a.who.Kind)
	if witness == nil {
		return
	}
	switch state := screen.Judge(a.view(look), a.prof).State; {
	case state != message.Idle && state != message.Draft:
		a.rests = time.Time{}
	case a.rests.IsZero():
		a.rests = now
	}
	a.rested = append(a.rested, witness(a.rests, now).Ended...)
}

func (a *account) view(look tmux.Look) screen.View {
	if h := a.setup.now(a.clock.now()); h != nil && h.says { // otherwise what the screen has shown once stays true
		a.vim = h.vim
	}
	return screen.View{Screen: screenOf(look), Title: look.Facts.Title, Vim: a.vim}
}

// settled takes in what a look found, and reports whether the agent has been ready for long enough
// to be typed into. wrote is when something was written to its terminal last: if the agent itself
// tells nothing, anything drawn between two looks counts as not ready.
func (a *account) settled(ready bool, at, wrote time.Time, quiet time.Duration) bool {
	if !ready || !a.told {
		a.idle = time.Time{}
		return false
	}
	if a.idle.IsZero() {
		a.idle = at
	}
	if state, _ := a.signals().exact(); state == message.Idle {
		return at.Sub(a.idle) >= quiet || !gate.Stands("pane:steady")
	}
	if wrote.After(a.idle) {
		a.idle = wrote
	}
	return at.Sub(a.idle) >= unsure || !gate.Stands("pane:steady")
}

// unsettled returns how long it takes at least until settled may say otherwise. If the agent itself
// tells nothing, that is the time between looks, as the screen is to be looked at again and again.
func (a *account) unsettled(now time.Time, quiet time.Duration) time.Duration {
	if state, _ := a.signals().exact(); state != message.Idle || a.idle.IsZero() {
		return steadyPoll
	}
	return max(0, a.idle.Add(quiet).Sub(now))
}

// hear takes in what the follower tells.
func (p *Pane) hear(ctx context.Context, u agent.Update) {
	now := p.clock.now()
	p.pace.news()
	was := p.account.bound
	out := p.account.take(u, now)
	if is := p.account.bound; was != nil && (is == nil || is.Path != was.Path) {
		p.core.took = nil // in another conversation, nobody was told who asks for what
	}
	switch {
	case u.Bound != nil:
		p.account.bindings.bind(p.session.ID, u.Bound.Path)
	case errors.Is(u.Err, agent.ErrLeft):
		p.account.bindings.unbind(p.session.ID)
	case u.Err != nil && !errors.Is(u.Err, agent.ErrNoTranscript) && !errors.Is(u.Err, agent.ErrAmbiguous):
		p.log.Warn("transcript", "pane", p.session.Pane, "err", u.Err)
	}
	p.outcome(ctx, out)
	if u.Bound != nil || u.Err != nil {
		p.claim(now, false)
		p.catchUp(ctx)
	}
	p.stir(now)
}

// take takes in one update.
func (a *account) take(u agent.Update, now time.Time) (out agent.Outcome) {
	switch {
	case u.Event != nil:
		if e := u.Event; e.Past && e.Kind == agent.Prompted {
			a.last = append(a.last, took{e.Text, e.ID, e.At})
			a.last = a.last[max(0, len(a.last)-pastKept):]
		}
		if id := u.Event.ID; id != "" {
			a.taken = append(a.taken, id)
			a.taken = a.taken[max(0, len(a.taken)-pastKept):]
		}
		if u.Event.Kind == agent.Moded {
			a.mode = moded{u.Event.Text, u.Event.Thread}
		}
		out = a.machine.Feed(*u.Event)
	case u.Bound != nil:
		if sick, ok := errors.AsType[*agent.UnreadableError](a.trouble); !ok || sick.Path != u.Bound.Path {
			a.trouble = nil // otherwise it could not be read already
		}
		a.bound, a.told = u.Bound, true
	case u.Status != nil:
		a.status = *u.Status
		out = a.machine.Status(*u.Status, now)
	case u.Err != nil:
		a.told, a.trouble = true, u.Err
		if errors.Is(u.Err, agent.ErrLeft) {
			a.bound = nil
		}
	}
	return out
}

// atWork reports whether the agent itself tells that it works, and so will tell when it no longer
// does.
func (a *account) atWork() bool {
	s := a.signals()
	state, _ := s.exact()
	return s.read && state == message.Working
}

// stir makes the pane look soon, since what the agent tells has changed.
func (p *Pane) stir(now time.Time) {
	p.dull = 0
	p.doze() // awake: the screen may be a little behind
	if soon := now.Add(firstPoll); p.nextPoll.IsZero() || soon.Before(p.nextPoll) {
		p.nextPoll = soon
	}
}

// outcome does what follows from the agent's own account.
func (p *Pane) outcome(ctx context.Context, out agent.Outcome) {
	if p.account.contested() {
		return // nobody can tell who said it, or heard it
	}
	if p.account.remember(out.Old); p.account.told && len(out.Old) > 0 {
		p.catchUp(ctx)
	}
	if len(out.Ended) > 0 && len(p.inherited) > 0 { // a turn may answer those, also while what was recorded before is still being read
		p.claim(p.clock.now(), true)
		p.catchUp(ctx)
	}
	for _, t := range out.Ended {
		p.readThrough(t)
		p.tellTurn(ctx, t, false)
	}
	if out.Prompt != nil {
		p.prompted(ctx, *out.Prompt, "transcript")
	}
}

// prompted takes in that the agent took a prompt.
func (p *Pane) prompted(ctx context.Context, taken agent.Prompt, source string) {
	p.decide(ctx, prompted{taken, source})
}

// tellTurn tells the relay a turn that ended. late says that it ended before we came.
func (p *Pane) tellTurn(ctx context.Context, t agent.Turn, late bool) {
	turn := message.Turn{
		ID: p.turnID(t), Peer: p.session.ID, Words: t.Words, Source: "transcript",
		Acted: t.Acted, Truncated: t.Truncated, Ended: t.Ended, Late: late, Tokens: t.Tokens,
	}
	if all := t.All(); all != t.Words {
		turn.All = all
	}
	for _, one := range t.Prompts {
		if one.Past && !late || !byHand(one) || late && p.typedBefore(one) {
			continue
		}
		turn.Person = true
		if !one.Mixed && one.By != agent.ByCommand {
			turn.Prompt = strings.TrimSpace(turn.Prompt + "\n\n" + one.Text)
		}
	}
	switch {
	case t.Abandoned:
		turn.Cut = message.EndUnknown
	case t.Interrupted:
		turn.Cut = message.Interrupted
	case t.Failed:
		turn.Cut = message.ServiceFailed
	}
	if turn.Ended.IsZero() {
		turn.Ended = p.clock.now()
	}
	if p.account.heardBefore(turn) {
		return
	}
	var left []asked
	for _, one := range p.answers {
		switch {
		case late && !one.late(t):
			left = append(left, one)
		case one.text == "", len(t.Prompts) == 0, answers(t, one.text):
			turn.Answers = append(turn.Answers, one.id)
		case !t.Began.After(one.at.Add(transcriptGrace)):
			left = append(left, one) // otherwise a later turn has come that does not answer it: it is given up
		}
	}
	p.answers = left
	p.tell(ctx, turn)
}

// turnID returns the id of a turn, which is the same in every life that reads of the turn.
func (p *Pane) turnID(t agent.Turn) message.ID {
	if t.Began.IsZero() || t.Ended.IsZero() {
		return message.NewID()
	}
	return message.DerivedID(t.Ended, string(p.session.ID), t.Thread, t.ID, t.Began.UTC().Format(time.RFC3339Nano))
}

// typedBefore reports whether a prompt is a text of an earlier life and nothing else.
func (p *Pane) typedBefore(taken agent.Prompt) bool {
	return slices.ContainsFunc(p.answers, func(one asked) bool { return !one.typed.IsZero() && agent.Same(one.text, taken.Text) })
}

// byHand reports whether a person typed a prompt, or a part of it. A prompt that begins with a head
// like ours is ours or a forgery, by which a person gains nothing.
func byHand(p agent.Prompt) bool { return p.ByHand() && (p.Mixed || !sanitise.Headed(p.Text)) }

// answers reports whether a text is among the prompts that a turn answers.
func answers(t agent.Turn, text string) bool {
	for _, one := range t.Prompts {
		if agent.Same(text, one.Text) || agent.Within(one.Text, text) {
			return true
		}
	}
	return false
}

// tell hands a turn to the relay.
func (p *Pane) tell(ctx context.Context, turn message.Turn) {
	if err := p.relay.Spoke(ctx, turn); err != nil {
		p.log.Error("tell turn", "pane", p.session.Pane, "err", err)
	}
}

// tick does what is due because time has passed.
func (p *Pane) tick(ctx context.Context, now time.Time) {
	if p.account == nil {
		return
	}
	p.drain(ctx) // what was read comes before what time alone ends
	out := p.account.machine.Tick(now)
	out.Ended = append(p.account.rested, out.Ended...)
	p.account.rested = nil
	p.outcome(ctx, out)
	p.overdue(ctx, now)
	p.overdueAnswers(ctx, now)
}

// due returns when tick has something to do, if nothing happens before.
func (a *account) due() (time.Time, bool) {
	if len(a.rested) > 0 {
		return a.clock.now(), true
	}
	at, ok := a.machine.Due()
	for _, one := range a.spoken {
		if !one.told && (!ok || one.due.Before(at)) {
			at, ok = one.due, true
		}
	}
	return at, ok
}

// tookBefore reports whether the agent took a text at since or later, but before we came.
func (a *account) tookBefore(text string, since time.Time) bool {
	for _, one := range a.last {
		if one.id == "" && !one.at.Before(since.Add(-clockGrain)) && agent.Same(text, one.text) {
			return true
		}
	}
	return false
}
