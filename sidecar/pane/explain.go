package pane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// readFor is how long Explain waits for an agent's own account in a pane that is not adopted.
const readFor = 2 * time.Second

// Instant is one look at a pane, with what was made of it.
type Instant struct {
	Look        tmux.Look
	Command     string // name of the process in front
	Explanation message.Explanation
}

// Explain says what is known of a pane and what would be done there now. An adopted pane answers for
// itself; any other is looked at this once, on a person's word. If as names a profile, the screen is
// judged as that agent's, whatever runs there.
func (ps *Panes) Explain(ctx context.Context, session message.ID, pane, as string) (Instant, error) {
	if as == "" && session != "" {
		if i, ok, err := answerOf(ctx, ps, session, func(ctx context.Context, p *Pane) (Instant, error) { return p.how(ctx) }); ok || err != nil {
			return i, err
		}
	}
	return ps.explain(ctx, pane, as)
}

// explain looks at a pane that is not adopted, or judges a pane as an agent that as names.
func (ps *Panes) explain(ctx context.Context, pane, as string) (Instant, error) {
	listed, err := ps.find(ctx, pane)
	if err != nil {
		return Instant{}, err
	}
	if as != "" {
		if _, ok := profile.AgentByName(as); !ok {
			return Instant{}, &Refusal{pane, fmt.Sprintf("no agent %q is known", as), knownAgents()}
		}
	}
	look, err := ps.Client.Look(ctx, pane, -1)
	if err != nil {
		return Instant{}, fmt.Errorf("look at %s: %w", pane, err)
	}
	session := message.Peer{
		PaneOf: message.PaneOf{Pane: pane, TTY: listed.TTY, Profile: as, PaneProc: message.Process{PID: listed.PID}, Foreground: message.Process{PID: listed.PID, Name: listed.Command}},
	}
	who, front, err := ps.inPane(&session, listed)
	if as == "" && err == nil {
		session.Profile = string(who.Kind)
	}
	p := &Pane{session: session, client: ps.Client, clock: ps.Now, log: ps.Log, door: ps.Door, shut: &ps.shut, errands: make(chan struct{}, 1)}
	prof, known := profile.AgentByName(session.Profile)
	if !known {
		return p.stranger(look, front), nil
	}
	p.prof = prof.Profile
	p.account = newAccount(prof, who, nil, "", &bindings{}, ps.Door, ps.Now)
	if err == nil && string(who.Kind) == prof.Name {
		ps.consult(ctx, p)
		if look, err = ps.Client.Look(ctx, pane, -1); err != nil {
			return Instant{}, fmt.Errorf("look at %s: %w", pane, err)
		}
	} else {
		p.account.trouble = agent.ErrNoAgent
	}
	s := p.sightOf(look)
	i := p.instant(s, p.clock.now())
	why, _ := mayType(s, p.session, p.prof)
	if errors.Is(p.account.trouble, agent.ErrNoAgent) { // a screen alone, whoever has painted it
		e := &i.Explanation
		e.State, e.WordsFrom, why = s.reading.State, "", s.reading.Why
		e.Evidence = grounds(s.reading.Evidence, p.clock.now(), look.At)
	}
	i.Explanation.WouldType, i.Explanation.Why = false, cmp.Or(why, message.NotAdopted)
	return i, nil
}

// consult reads what the agent in a pane that is not adopted tells of itself.
func (ps *Panes) consult(ctx context.Context, p *Pane) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.account.follower.Serve(ctx)
	}()
	if s := p.account.setup; s != nil {
		s.now(p.clock.now())
		go func() { _ = s.Serve(ctx) }()
	}
	for !p.account.told || p.account.setup.now(p.clock.now()) == nil {
		select {
		case <-p.setUp():
		case u := <-p.account.follower.Updates():
			p.account.take(u, p.clock.now())
		case <-ctx.Done():
			if !p.account.told {
				p.account.trouble = errors.New("its transcript takes long to read")
			}
			p.account.told = true
			return // its goroutines may go on waiting for files; nobody waits for them
		}
	}
	cancel()
	<-ended
}

// stranger explains a pane in which no agent is known. If the system does not tell which programs are
// in front, front is empty, and the name that tmux has for the program decides.
func (p *Pane) stranger(look tmux.Look, front process.FrontGroup) Instant {
	i := Instant{Look: look, Command: p.session.Foreground.Name}
	e := &i.Explanation
	e.Pane, e.State, e.Why, e.Evidence = p.session.Pane, message.Unknown, message.NotAdopted, []message.Ground{}
	says := fmt.Sprintf("%q is in front, which is not a known agent", p.session.Foreground.Name)
	why, _, refused := profile.Refuse(p.session.Foreground.Name)
	if front.Leader.PID != 0 {
		_, why, _, refused = refusedIn(front)
	}
	if refused {
		says = why
	}
	if look.Facts.Dead {
		e.State, says = message.Dead, "its program has ended"
	}
	e.Lines = !refused && !look.Facts.Dead
	e.Evidence = append(e.Evidence, message.Ground{Source: "process", Says: says, Weight: "exact"})
	return i
}

// how looks at this pane once, and returns the look with what was made of it.
func (p *Pane) how(ctx context.Context) (Instant, error) {
	s, err := p.see(ctx)
	if err != nil {
		return Instant{}, fmt.Errorf("look at %s: %w", p.session.Pane, err)
	}
	i := p.instant(s, p.clock.now())
	e := &i.Explanation
	e.Session = p.session.Name
	why := p.mayType(s)
	if of, says := p.core.unentered(); p.unentered(s) {
		e.Unsent = of
		e.Evidence = append(e.Evidence, message.Ground{Source: "screen", Says: says, Weight: "exact"})
	}
	if p.core.lost.text != "" && (why == "" || why == message.InComposer) {
		e.Evidence = append(e.Evidence, message.Ground{Source: "screen", Says: p.lostText(), Weight: "approximate"})
	}
	switch {
	case why == message.OursInComposer:
		e.Why = why
		if !e.Composer.Live {
			e.Composer = message.ComposerNow{Live: true, Text: p.core.ours().text}
		}
	case why != "":
		e.Why = why
		if why == message.NotInFront {
			e.Evidence = append(e.Evidence, message.Ground{Source: "process", Says: anotherProgram, Weight: "exact"})
		}
	case p.core.lost.text != "", p.core.batch() != nil:
		e.Why = message.OursInComposer
	case p.half.begun:
		e.Why = message.NotEmpty
		e.Evidence = append(e.Evidence, message.Ground{Source: "screen", Says: p.half.says(hiddenLine), Weight: "approximate"})
	case p.readPending():
		e.Why = message.NotEmpty
		e.Evidence = append(e.Evidence, message.Ground{Source: "process", Says: pendingKey, Weight: "exact"})
	case keysWait(s):
		e.Why = message.SomebodyTypes
		e.Evidence = append(e.Evidence, message.Ground{Source: "process", Says: unreadKeys, Weight: "exact"})
	default:
		e.WouldType = true
	}
	return i, nil
}

// aheadLine says what will keep everything away once the prompt is back: see ahead.
const aheadLine = "a line was begun here while the program worked, and its prompt will not show it: send it, or take it back"

// handedLine takes its place once C-d was pressed behind such a line.
const handedLine = "C-d gave the program half a line here, and it waits for the rest: type the rest and press Enter"

// says returns handedLine if C-d has handed the line over, and otherwise if not.
func (h *half) says(otherwise string) string {
	if h.handed {
		return handedLine
	}
	return otherwise
}

// hiddenLine says why nothing is typed beside an empty prompt, and what ends that: see half.
const hiddenLine = "a line was begun here that the screen no longer shows, and the terminal may still hold it: a line that you send here ends that"

// anotherProgram says why nothing is typed to the program that reads the keys now, and what to do about it.
const anotherProgram = "the keyboard belongs to another program than the adopted one: end that program or, to send it messages, release the pane with intercom release and adopt it again"

// unreadKeys says why nothing is typed behind keys that no screen shows.
const unreadKeys = "keys wait in its terminal that the program has not read"

// instant returns what is known of a pane at a look.
func (p *Pane) instant(s sight, now time.Time) Instant {
	i := Instant{Look: s.look, Command: p.session.Foreground.Name}
	if s.frontOK && s.front.Leader.Name != "" && s.front.Leader.PID != s.self.Group { // not if it is the adopted program, or one that started it
		i.Command = s.front.Leader.Name
	}
	state, why := p.stateOf(s)
	e := message.Explanation{Pane: p.session.Pane, Agent: p.prof.Name, State: state, Why: message.Reason(why), Evidence: []message.Ground{}}
	e.Composer = message.ComposerNow{Live: s.reading.Composer.Live, Empty: s.reading.Composer.Empty, Text: s.reading.Composer.Text}
	if reason, _ := bar(s, p.session, p.prof); reason != "" {
		e.Evidence = append(e.Evidence, message.Ground{Source: "tmux", Says: string(reason), Weight: "exact"})
	}
	if pastesOff(s, p.prof) && (isAgent(p.prof) || s.reading.MayType) { // a line program may switch it off while it works
		e.Evidence = append(e.Evidence, message.Ground{Source: "tmux", Says: message.NoPastes, Weight: "exact"})
	}
	if a := p.account; a != nil {
		p.ownAccount(&e, s, now)
		e.Verified = a.prof.Verified
		if a.prof.Inbox.Offered() && p.door != nil {
			d := p.doorway(s, now)
			e.Door, e.DoorWhy, e.DoorShut = a.prof.Inbox.Name, d.why, d.shut
		}
	} else {
		e.MayType, e.WordsFrom = s.reading.MayType, "screen"
		e.Evidence = append(e.Evidence, grounds(s.reading.Evidence, now, s.look.At)...)
		if p.half.ahead && !p.half.hidden {
			e.Evidence = append(e.Evidence, message.Ground{Source: "screen", Says: p.half.says(aheadLine), Weight: "approximate"})
		}
	}
	i.Explanation = e
	return i
}

// ownAccount adds to an explanation what the agent tells of itself, and what its screen does.
func (p *Pane) ownAccount(e *message.Explanation, s sight, now time.Time) {
	a := p.account
	v := screen.Judge(a.view(s.look), a.prof)
	e.MayType = v.MayType
	sig := a.signals()
	e.Trouble = sig.trouble
	switch {
	case sig.read:
		e.WordsFrom = "transcript"
	case a.hook.state != "":
		e.WordsFrom = "hook"
	default:
		e.WordsFrom = "screen"
	}
	if a.bound != nil {
		e.Transcript, e.Found, e.Version = a.bound.Path, string(a.bound.How), a.bound.Version
	}
	if e.Version == "" {
		e.Version = a.status.Version
	}
	e.Evidence = append(e.Evidence, sig.grounds(now)...)
	e.Evidence = append(e.Evidence, a.setup.grounds(now)...)
	e.Evidence = append(e.Evidence, grounds(v.Evidence, now, s.look.At)...)
}

// grounds converts the evidence of a look into the grounds of an explanation.
func grounds(all []message.Evidence, now, looked time.Time) (out []message.Ground) {
	for _, one := range all {
		out = append(out, message.Ground{Source: one.Source, Says: one.Says, Weight: one.Weight, AgeMS: max(0, now.Sub(looked).Milliseconds())})
	}
	return out
}
