package pane

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// sight is all that is known of a pane at one instant: what tmux says of it, who is in
// the foreground of its terminal, and what its screen shows.
type sight struct {
	look    tmux.Look
	front   process.FrontGroup
	frontOK bool             // the system told who is in front
	self    process.Identity // the adopted process, as it is now
	is      presence         // what has become of it
	below   presence         // what has become of the process that tmux had started in the pane at adoption
	reading screen.Reading
	ear     ear
	reads   reads // of its terminal, while a text is under way to an agent
}

// ear is who, of those in front, may be waiting for what is typed now.
type ear int

const (
	itsOwn   ear = iota // the adopted program, or one that was there when it was adopted; or it is not told who
	nobodys             // none of them
	anothers            // none but programs that began since the adoption
)

// earOf tells whose the keyboard is. A line program may work through a child, which reads for it: that one
// was there when a person saw the prompt and adopted it. One that began later is another program, whatever
// prompt it shows.
func earOf(front process.FrontGroup, session message.Peer) ear {
	readers := process.Attending(front, session.TTY)
	switch {
	case len(front.Members) == 0:
		return itsOwn
	case len(readers) == 0:
		return nobodys
	case session.Since == 0, slices.ContainsFunc(readers, func(m process.Process) bool { return m.PID == session.Foreground.PID || m.Start <= session.Since }):
		return itsOwn
	}
	return anothers
}

// bar says why the terminal, whatever its program shows, must not be typed into now, or
// "" where nothing stands against it. It looks at everything but the composer; the
// second result says that the agent is gone for good.
func bar(s sight, session message.Peer, prof profile.Profile) (why message.Reason, gone bool) {
	f := s.look.Facts
	switch {
	case gate.Stands("pane:dead") && (f.Dead || f.PID == 0): // tmux names no process once the terminal is closed, and may not have heard of its end
		return message.PaneDead, true
	case gate.Stands("pane:pid") && (s.below == became || f.PID != session.PaneProc.PID):
		return message.PaneReplaced, true
	case gate.Stands("pane:pid") && s.below == ended: // tmux has not heard of it yet
		return message.PaneDead, true
	case gate.Stands("pane:process") && s.is == ended:
		return message.AgentGone, true
	case s.is == became:
		return message.AgentGone, true
	case s.is == parting:
		return message.NotInFront, false
	case gate.Stands("pane:mode") && f.InMode:
		return message.CopyMode, false
	case gate.Stands("pane:inputoff") && f.InputOff:
		return message.InputOff, false
	case gate.Stands("pane:synchronised") && f.Synchronised:
		return message.Synchronised, false
	case gate.Stands("pane:front") && s.frontOK && !inFront(s, session):
		return message.NotInFront, false
	case gate.Stands("pane:members") && s.frontOK && stranger(s.front, session, isAgent(prof)) != "":
		return message.NotInFront, false
	case gate.Stands("pane:password") && s.frontOK && s.front.Canonical && !s.front.Echo:
		return message.PasswordPrompt, false
	case gate.Stands("pane:cooked") && s.frontOK && s.front.Canonical && prof.Reads != profile.Joined:
		// The system gathers its lines: bracketed paste is off, and each line break submits.
		return message.UnknownScreen, false
	case gate.Stands("pane:alternate") && f.Alternate && !isAgent(prof) && !isTUI(prof):
		return message.AlternateScreen, false
	}
	return "", false
}

// inFront reports whether the adopted process is in the foreground group, and is not called a
// shell or its like meanwhile.
func inFront(s sight, session message.Peer) bool {
	if s.front.Leader.PID != s.self.Group || s.self.Group == 0 {
		return false
	}
	_, _, refused := profile.Refuse(s.self.Name)
	return !refused || s.self.Name == session.Foreground.Name
}

// isAgent reports whether the profile is that of an agent with a screen of its own.
func isAgent(prof profile.Profile) bool {
	_, ok := profile.AgentByName(prof.Name)
	return ok
}

// stranger names a program in the foreground group, beside the agent itself, that takes
// the keyboard for itself: a shell, an editor, a pager, a remote login. An agent has servers
// of its own there, some of which are interpreters: they count if they have its terminal. Its
// starters have that too, and wait.
func stranger(front process.FrontGroup, session message.Peer, isAgent bool) string {
	for _, m := range front.Members {
		if m.PID == session.Foreground.PID {
			continue
		}
		if _, _, refused := refused(m); refused && !(isAgent && (starts(m, session) || !process.Reads(m.PID, session.TTY) || itself(m, session))) {
			return m.Name
		}
	}
	return ""
}

// mayType says why text may not be typed into the pane now, or "" where the composer is
// proven live and empty and nothing stands against it.
func mayType(s sight, session message.Peer, prof profile.Profile) (why message.Reason, gone bool) {
	if why, gone := bar(s, session, prof); why != "" {
		return why, gone
	}
	if why := unheard(s, prof); why != "" {
		return why, false
	}
	if untold(s) {
		return message.SizeUntold, false
	}
	if !gate.Stands("pane:composer") || s.reading.MayType {
		if pastesOff(s, prof) {
			return message.UnknownScreen, false
		}
		return "", false
	}
	if s.reading.Why != "" {
		return s.reading.Why, false
	}
	switch s.reading.State {
	case message.Draft:
		return message.InComposer, false
	case message.Working:
		return message.AgentWorking, false
	}
	return message.UnknownScreen, false
}

// pastesOff reports whether a program does not take pastes, as far as tmux tells. As it starts,
// Gemini CLI draws its composer up to a second before it switches bracketed paste on: a text would be read as keys until then, of
// which the composer shows the last rows, instead of the one line of a paste that proves it whole. In a line program
// each of its line breaks would be Enter.
func pastesOff(s sight, prof profile.Profile) bool {
	return gate.Stands("pane:pastes") && s.look.Facts.Unbracketed && prof.Reads == profile.Bracketed
}

// unheard says why a program that nobody knows does not hear what is typed, whatever it shows, or "". The
// terminal keeps that, Enter and all, and gives it to whoever reads next: if the program ends, its shell.
func unheard(s sight, prof profile.Profile) message.Reason {
	switch {
	case isAgent(prof):
	case s.ear == nobodys && gate.Stands("pane:deaf"):
		return message.AgentWorking
	case s.ear == anothers && gate.Stands("pane:ear"):
		return message.NotInFront
	}
	return ""
}

// untold reports whether the pane has another size than its program can know. tmux tells a terminal of its size at most four
// times a second: until then the program draws for the rows that it had, and where a text wraps it draws it over itself.
func untold(s sight) bool {
	t, f := s.front, s.look.Facts
	return gate.Stands("pane:size") && s.frontOK && t.Columns > 0 && t.Rows > 0 && (t.Columns != f.Width || t.Rows != f.Height)
}

// unread reports whether a whole line stands in the terminal that nobody has taken.
func unread(s sight) bool {
	return gate.Stands("pane:taken") && s.frontOK && s.front.Canonical && s.front.Unread > 0
}

// tooLong says why a text of that many bytes, Enter included, cannot be typed into this
// terminal at all, or "".
func tooLong(bytes int, s sight, prof profile.Profile) message.Reason {
	switch {
	case gate.Stands("pane:line") && s.frontOK && s.front.Canonical && bytes > canonicalMax:
		return message.LineTooLong
	case gate.Stands("pane:line") && !s.frontOK && bytes > canonicalLeast: // it may be one
		return message.LineTooLong
	case bytes > prof.InlineMax:
		return message.BodyTooLong
	}
	return ""
}

// tooTall says why a text would never be seen whole in the composer of a line program, whose rows
// scroll away into the pane's history, or "". A history that is full loses a tenth at a time.
func tooTall(text string, s sight, prof profile.Profile) message.Reason {
	f := s.look.Facts
	scrolls := !isAgent(prof) && !isTUI(prof) && f.Width > 0
	keeps := max(f.HistoryLimit-f.HistorySize, f.HistoryLimit-f.HistoryLimit/10)
	if scrolls && screen.Rows(text, f.Width) > keeps+f.Height {
		return message.TooManyRows
	}
	return ""
}

// tooSmall says what is wrong with a pane in which a text does not fit.
func tooSmall(prof profile.Profile) message.Reason {
	if isAgent(prof) || isTUI(prof) {
		return message.PaneTooSmall
	}
	return message.PaneTooNarrow
}

// stateOf is what the pane's program is doing, with the reason for it, for people.
func stateOf(s sight, session message.Peer, prof profile.Profile) (message.PaneState, string) {
	why, gone := bar(s, session, prof)
	switch {
	case why == message.PaneDead:
		return message.Dead, string(why)
	case gone && s.frontOK && s.front.Leader.PID != session.Foreground.PID:
		return message.Shell, string(why)
	case gone:
		return message.Dead, string(why)
	case why == message.CopyMode:
		return message.History, string(why)
	case why != "":
		return message.Blocked, string(why)
	}
	return s.reading.State, string(s.reading.Why)
}

// enter is how far the last Enter of ours has come, of a line program.
type enter int

const (
	enterSeen    enter = iota // its echo was seen, or there was none
	enterPressed              // no more is known of it
	enterTaken                // the sight at hand shows that it was
	enterBehind               // it was, and its echo was not seen yet
)

// entered takes in that our own Enter was taken: it sent whatever stood there. What the sight
// shows by then is a line that somebody began since.
func (p *Pane) entered(s sight) {
	if p.lines.enter != enterTaken || p.account != nil {
		return
	}
	p.lines.enter = enterBehind
	if !p.followsOurs() {
		p.half = half{}
		p.half.see(s, p.calls, p.callsNow(s))
	}
}
