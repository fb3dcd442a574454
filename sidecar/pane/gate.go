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

// ear says which of the programs in front may be waiting for what is typed now.
type ear int

const (
	itsOwn   ear = iota // the adopted program, or one that was there at its adoption; or the system does not tell
	nobodys             // none of them
	anothers            // only programs that began after the adoption
)

// earOf tells which program has the keyboard. A line program may have a child that reads for it: that
// child was there when a person saw the prompt and adopted the program. A process that began later is
// another program, whatever prompt it shows.
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

// bar returns the reason why nothing may be typed into the terminal now, whatever its program
// shows, or "" if there is none. It considers everything but the composer. gone reports that the
// agent is gone for good.
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

// inFront reports whether the adopted process is in the foreground group, and has not taken the
// name of a shell or the like since its adoption.
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

// stranger returns the name of a program in the foreground group, other than the agent, that takes
// the keyboard for itself: a shell, an editor, a pager, a remote login. An agent has servers of its
// own there, and some are interpreters: they count only if they have its terminal. The agent's
// starters have the terminal, too, but they only wait, and do not count.
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

// mayType returns the reason why text may not be typed into the pane now, or "" if the composer is
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

// pastesOff reports whether tmux says that a program which reads bracketed pastes has them switched off. When it starts,
// Gemini CLI draws its composer up to a second before it switches bracketed paste on. Until then it would read a text
// as keys, and its composer would show the last rows of the text instead of the one line that proves a paste whole. In
// a line program each line break of the text would be Enter.
func pastesOff(s sight, prof profile.Profile) bool {
	return gate.Stands("pane:pastes") && s.look.Facts.Unbracketed && prof.Reads == profile.Bracketed
}

// unheard returns the reason why a program other than an agent does not hear what is typed, whatever it
// shows, or "". The terminal would keep the text, Enter included, and give it to whoever reads next: to
// the shell, if the program ends.
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

// untold reports whether the pane has a size that its program cannot know yet. tmux tells a terminal its size at most
// four times a second. Until then the program draws for its old size, and draws a text that wraps over itself.
func untold(s sight) bool {
	t, f := s.front, s.look.Facts
	return gate.Stands("pane:size") && s.frontOK && t.Columns > 0 && t.Rows > 0 && (t.Columns != f.Width || t.Rows != f.Height)
}

// unread reports whether a whole line waits in the terminal unread.
func unread(s sight) bool {
	return gate.Stands("pane:taken") && s.frontOK && s.front.Canonical && s.front.Unread > 0
}

// tooLong returns the reason why a text of so many bytes, Enter included, can never be typed into
// this terminal, or "".
func tooLong(bytes int, s sight, prof profile.Profile) message.Reason {
	switch {
	case gate.Stands("pane:line") && s.frontOK && s.front.Canonical && bytes > canonicalMax:
		return message.LineTooLong
	case gate.Stands("pane:line") && !s.frontOK && bytes > canonicalLeast: // the terminal may be in canonical mode
		return message.LineTooLong
	case bytes > prof.InlineMax:
		return message.BodyTooLong
	}
	return ""
}

// tooTall returns the reason why a text would never be seen whole in the composer of a line program,
// whose rows scroll away into the pane's history, or "". A full history loses a tenth at a time.
func tooTall(text string, s sight, prof profile.Profile) message.Reason {
	f := s.look.Facts
	scrolls := !isAgent(prof) && !isTUI(prof) && f.Width > 0
	keeps := max(f.HistoryLimit-f.HistorySize, f.HistoryLimit-f.HistoryLimit/10)
	if scrolls && screen.Rows(text, f.Width) > keeps+f.Height {
		return message.TooManyRows
	}
	return ""
}

// tooSmall returns the reason that fits a pane in which a text does not.
func tooSmall(prof profile.Profile) message.Reason {
	if isAgent(prof) || isTUI(prof) {
		return message.PaneTooSmall
	}
	return message.PaneTooNarrow
}

// stateOf returns what the pane's program is doing and why, for people.
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

// enter is how far our last Enter has come at a line program.
type enter int

const (
	enterSeen    enter = iota // its echo was seen, or there was none
	enterPressed              // no more is known
	enterTaken                // the sight at hand shows that it was taken
	enterBehind               // it was taken, and its echo was not seen yet
)

// entered takes in that our Enter was taken. It sent whatever stood there, so what the sight shows
// now is a line that somebody began since.
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
