package pane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// Door is a way into an agent beside its terminal; *door.House is one. Only the agent's transcript
// tells what came of a message that went through it.
type Door interface {
	// Find looks whether the agent offers a door. It reads files, and writes nothing.
	Find(in profile.Inbox, who door.Owner) (door.Offer, error)
	// Pass hands a message over, if the offer is still what it was.
	Pass(ctx context.Context, in profile.Inbox, who door.Owner, o door.Offer, l door.Message) (door.Outcome, error)
}

// passWithin is how long a message may take to be handed over: less than an errand.
const passWithin = errandFor - 500*time.Millisecond

// doorway is the state of an agent's door. why says why nothing goes through it now, "" if something
// may. soon says that the reason will pass, as a turn does.
type doorway struct {
	offer door.Offer
	why   string
	soon  bool
	shut  bool // it failed once
	midst bool // only a turn of the agent keeps it shut, and the agent takes a message in the midst of one, too
}

// opens reports whether a delivery may go through.
func (d doorway) opens(one message.Delivery) bool {
	return d.why == "" || d.midst && (one.MidTurn || !gate.Stands("pane:midst"))
}

// shutDoors are the doors that failed, by agent and version: an agent did not record in time a
// message that it was handed. All panes share it.
type shutDoors struct {
	mu  sync.Mutex
	all map[string]bool
}

func (s *shutDoors) shut(kind agent.Kind, version string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := string(kind) + " " + version
	if s.all[name] {
		return false
	}
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[name] = true
	return true
}

func (s *shutDoors) is(kind agent.Kind, version string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[string(kind)+" "+version]
}

// owner returns the agent as a door looks for it.
func owner(who agent.Agent) door.Owner { return door.Owner{Home: who.Home, PIDs: who.Tried} }

// lookForDoor adds to h whether the agent has a door, and what its settings and the way it was
// started say against using that. What cannot be read counts against it.
func (s *setup) lookForDoor(h *habits) {
	in := s.prof.Inbox
	if s.door == nil || !in.Offered() {
		h.none = door.ErrNone
		return
	}
	if h.offer, h.none = s.door.Find(in, owner(s.who)); h.none != nil {
		return
	}
	kept := ""
	for _, path := range in.Settings {
		file, ok := s.place(path)
		if !ok {
			continue
		}
		says, err := policyIn(in, file)
		if err != nil {
			h.barred, h.accepts = "its settings are not known: "+err.Error(), false
			return
		}
		switch {
		case says.Accepts != "" && says.Accepts != in.Accept:
			kept = fmt.Sprintf("its settings have %s = %q", in.Accepts, says.Accepts)
		case says.Accepts == in.Accept && strings.HasPrefix(path, "@/"): // a project's word for it does not count
			h.accepts = true
		}
		if says.Start != "" && !in.Asks(says.Start) && h.barred == "" {
			h.barred = fmt.Sprintf("it acts without asking: its settings have %s = %q", in.Default, says.Start)
		}
	}
	if kept != "" {
		h.barred, h.accepts = kept, false
		return
	}
	if why := s.startedBoldly(h.offer.PID); why != "" && h.barred == "" {
		h.barred = why
	}
}

// startedBoldly says why the agent acts without asking, or may do so, by the way it was started; "" if it does not.
func (s *setup) startedBoldly(pid int) string {
	for _, one := range append([]int{pid}, s.who.Process.PID) {
		switch arguments := process.Arguments(one); {
		case len(arguments) == 0:
			return "how it was started is not known"
		case s.prof.Bypasses(arguments):
			return "it may act without asking: that is how it was started"
		case s.prof.Inbox.Carries(arguments):
			return "whether it acts without asking is not known: it was started with settings of its own"
		}
	}
	return ""
}

// policyIn reads what one file of settings says. A file that is not there says nothing.
func policyIn(in profile.Inbox, file string) (profile.Policy, error) {
	text, err := foreign.Read(file, settingsMax)
	if errors.Is(err, fs.ErrNotExist) {
		return profile.Policy{}, nil
	}
	if err != nil {
		return profile.Policy{}, err
	}
	return in.Policy(text)
}

// doorway returns the state of the agent's door at a look. What keeps a message from the composer but
// does not concern the agent itself (a draft, a mode of the pane, a menu) does not matter here. What
// the agent itself says, and who it is, counts all the more.
func (p *Pane) doorway(s sight, now time.Time) (d doorway) {
	a := p.account
	if p.door == nil || a == nil || !a.prof.Inbox.Offered() {
		return doorway{why: door.ErrNone.Error()}
	}
	h := a.setup.now(now)
	if h == nil {
		return doorway{why: "it is being looked for", soon: true}
	}
	d.offer = h.offer
	switch in, told := a.prof.Inbox, a.signals(); {
	case h.none != nil:
		d.why = h.none.Error()
	case p.shut.is(a.who.Kind, h.offer.Version):
		d.why, d.shut = fmt.Sprintf("version %s did not write down what it was handed", h.offer.Version), true
	case h.barred != "" && !h.accepts && gate.Stands("pane:bold"):
		d.why = h.barred
	case !a.setup.ready(now):
		d.why, d.soon = "its settings are being read", true
	case apart(s, p.session, p.prof) != "":
		d.why = string(apart(s, p.session, p.prof))
	case !told.read || a.bound.Thread != h.offer.Session:
		d.why = "its transcript is not read"
	case !h.accepts && !(a.mode.thread == h.offer.Session && in.Asks(a.mode.name)) && gate.Stands("pane:bold"):
		d.why = "whether it acts without asking is not known"
	case !h.accepts && warned(s, in.Warns) && gate.Stands("pane:bold"):
		d.why = "it acts without asking: its screen shows that"
	default:
		d.why, d.soon = told.awake(s, h.offer.Session, p.prof.Quiet), true
		d.midst = d.why != "" && told.works(s, h.offer.Session)
	}
	return d
}

// awake says why an agent is not at rest by its own account, "" if it is: no turn is open, it has
// waited for a while and for nothing but a prompt, and its screen shows neither work nor a dialog.
func (s signals) awake(seen sight, session string, quiet time.Duration) string {
	state, _ := s.exact()
	since := s.status.Since
	if s.ended.After(since) {
		since = s.ended
	}
	switch {
	case !gate.Stands("pane:rest"):
	case state != message.Idle || s.turn != nil || s.status.State != agent.StatusIdle || s.status.Thread != session:
		return "it does not say that it rests"
	case seen.reading.State == message.Working:
		return "its screen shows it at work"
	case seen.reading.State == message.Blocked && !seen.reading.Composer.Live:
		return "its screen shows a dialog"
	case s.now.Sub(since) < quiet:
		return "it has just come to rest"
	}
	return ""
}

// works reports whether an agent is at work by its own account, in a turn that waits for nobody, and
// its screen shows no dialog.
func (s signals) works(seen sight, session string) bool {
	state, _ := s.exact()
	return state == message.Working && s.turn != nil && s.status.State == agent.StatusBusy && s.status.Thread == session &&
		seen.reading.State != message.Blocked
}

// apart is bar for a message that does not go through the terminal: the modes of the pane do not
// matter, and neither does what its window does with keys.
func apart(s sight, session message.Peer, prof profile.Profile) message.Reason {
	f := &s.look.Facts
	f.InMode, f.InputOff, f.Synchronised = false, false, false
	why, _ := bar(s, session, prof)
	return why
}

// warned reports whether one of the last rows of a screen holds one of the words.
func warned(s sight, words []string) bool {
	rows := s.look.Rows
	for _, row := range rows[max(0, len(rows)-warnedRows):] {
		if profile.Has(row, words) {
			return true
		}
	}
	return false
}

// warnedRows is how many rows at the end of a screen may be below a composer.
const warnedRows = 8

// enclose makes a delivery into the text that goes through the agent's door. Nothing in a text is live
// there, so enclose takes away only what is never passed on, and escapes what would end the text
// early. ok is false if nothing is left of the text, or if it is too long.
func (p *Pane) enclose(d message.Delivery, name string) (one part, ok bool) {
	prof := p.prof
	prof.End = ""
	text, changed, ok := compose(d.Form, render.Words(d.Form, d.Message), prof, sanitise.Options{})
	if !ok || len(text) > prof.InlineMax {
		return part{}, false
	}
	d.Door = name
	return part{d: d, text: door.Escape(p.account.prof.Inbox.Tag, text), sanitised: changed, witness: "status"}, true
}

// pass hands a text over, if nothing has changed since it was judged: it looks once more at the
// processes, at the agent's own word, and at what the agent offers.
func (p *Pane) pass(ctx context.Context, a pass) (door.Outcome, string) {
	d := a.parts[0].d
	p.moment("door unchecked")
	now := p.doorway(p.sightOf(a.found.look), p.clock.now())
	if (!now.opens(d) || now.offer != a.offer) && gate.Stands("pane:anew") {
		return door.Nothing, "it has changed since it was looked at: " + now.why
	}
	p.moment("door")
	return p.handOver(ctx, a)
}

// handOver is pass without that look.
func (p *Pane) handOver(ctx context.Context, a pass) (door.Outcome, string) {
	d := a.parts[0].d
	type outcome struct {
		out door.Outcome
		err error
	}
	in, who := p.account.prof.Inbox, owner(p.account.who)
	did, err := errand(p, func() (outcome, error) {
		ctx, cancel := context.WithTimeout(ctx, passWithin)
		defer cancel()
		out, err := p.door.Pass(ctx, in, who, a.offer, door.Message{ID: string(d.ID), Name: d.Message.From.Name, Text: a.text})
		return outcome{out, err}, nil
	})
	switch {
	case errors.Is(err, errNotBegun):
		did = outcome{door.Nothing, err}
	case err != nil:
		did = outcome{door.Unknown, err}
	}
	if did.out != door.Nothing {
		p.handed = append(p.handed, handedOver{id: d.ID, message: d.Message})
		p.handed = p.handed[max(0, len(p.handed)-pastKept):]
	}
	p.moment("passed")
	if did.err == nil {
		return did.out, ""
	}
	p.log.Warn("hand over", "pane", p.session.Pane, "msg", d.Message.ID, "err", did.err)
	return did.out, did.err.Error()
}

// handedOver is a message that went through the door.
type handedOver struct {
	id      message.ID // of the delivery
	message message.Envelope
	over    bool // the turn in which it was read has ended
}

// repliesTo returns the message to which the agent replies by a tool of its own, as far as that is certain:
// all messages that it is handed bear one address. It is the last of those whose turn has not ended or, if
// there are none, of all, provided that one peer wrote them. Else it is the zero envelope.
func (p *Pane) repliesTo() (to message.Envelope) {
	var open []handedOver
	for _, one := range p.handed {
		if !one.over {
			open = append(open, one)
		}
	}
	if len(open) == 0 {
		open = p.handed
	}
	for _, one := range open {
		if to.ID != "" && to.From.Peer != one.message.From.Peer {
			return message.Envelope{}
		}
		to = one.message
	}
	return to
}

// readThrough notes that a turn has ended in which the agent read the messages among its prompts.
func (p *Pane) readThrough(t agent.Turn) {
	for i, one := range p.handed {
		p.handed[i].over = one.over || slices.ContainsFunc(t.Prompts, func(taken agent.Prompt) bool { return taken.ID == string(one.id) })
	}
}

// notTaken notes what the agent says of a message that it was handed. It does not reply to one that it does not take.
func (p *Pane) notTaken(about message.ID, status door.Status) {
	if status != door.Held && status != door.Delivered {
		p.handed = slices.DeleteFunc(p.handed, func(one handedOver) bool { return one.id == about })
	}
}

// closeDoor lets nothing more go through the door of this version of the agent, and tells a person.
func (p *Pane) closeDoor(ctx context.Context, o door.Offer) {
	if p.shut.shut(p.account.who.Kind, o.Version) {
		p.notify(ctx, fmt.Sprintf("%s (%s) was handed a message by its %s, and its transcript does not show it: messages for %s %s are typed from now on",
			p.session.Name, p.session.Pane, o.Name, p.account.who.Kind, o.Version))
	}
}

// Heard takes in a word that came to the address that agents were given: what becomes of a message
// that an agent was handed, or what the agent replies. The kernel tells which process said it. Words
// of a process that is no adopted agent are dropped and logged.
func (ps *Panes) Heard(ctx context.Context, w door.Word) {
	var (
		answer = make(chan message.Envelope, 1)
		of     message.ID
		left   *parted
	)
	_ = ps.do(ctx, func(s *set) {
		for id, en := range s.byID {
			if en.account != nil && runs(en.session.Foreground, en.account.who, w.PID, w.Start) {
				of = id
				en.send(reply{w, answer})
				return
			}
		}
		for _, one := range s.parted {
			if runs(one.session.Foreground, one.who, w.PID, w.Start) {
				left = &one
			}
		}
	})
	if left != nil && w.Status == "" {
		was := left.session
		ps.tellReply(ctx, was.ID, fmt.Sprintf("%s (%s) is no longer adopted, but its agent replied: %s", was.Name, was.Pane, w.Text))
		return
	}
	if of == "" {
		ps.Log.Warn("a word of a process that is no agent here", "pid", w.PID, "about", w.About, "status", string(w.Status))
		return
	}
	if w.Status != "" {
		return
	}
	var to message.Envelope
	select {
	case to = <-answer:
	case <-ctx.Done():
	}
	if err := ps.Relay.Replied(ctx, of, to, w.Text); err != nil {
		ps.Log.Warn("reply of an agent", "session", of, "err", err)
		ps.tellReply(ctx, of, fmt.Sprintf("a reply of the agent could not be passed on (%v); it says: %s", err, w.Text))
	}
}

// tellReply tells a person what an agent replies. The agent has been told that its reply arrived, so this
// is done even if ctx is over.
func (ps *Panes) tellReply(ctx context.Context, of message.ID, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), passWithin)
	defer cancel()
	if err := ps.Relay.Notify(ctx, of, text); err != nil {
		ps.Log.Warn("reply of an agent", "session", of, "err", err)
	}
}

// parted is an agent that was handed messages and is not served any more: it may still reply to them.
type parted struct {
	session message.Peer
	who     agent.Agent
}

// partedKept is how many parted agents are remembered.
const partedKept = 32

// part remembers an agent whose pane was taken out of the set, if it may reply. Its goroutine has ended.
func (s *set) part(p *Pane) {
	if p.account != nil && len(p.handed) > 0 {
		s.parted = append(s.parted, parted{p.session, p.account.who})
		s.parted = s.parted[max(0, len(s.parted)-partedKept):]
	}
}

// runs reports whether a process is one of the agent's processes in front of a pane.
func runs(front message.Process, who agent.Agent, pid int, start uint64) bool {
	if front.PID == pid {
		return front.Start == start
	}
	for _, one := range who.Tried {
		if one == pid {
			return process.Lives(pid, start)
		}
	}
	return false
}
