package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// typing is how long after a key at the pane's terminal its person counts as typing. tmux
// tells whole seconds, so it is between one and two. A program that has not drawn the key by
// then is not one that anybody types into.
const typing = 2 * time.Second

// typist returns the reason why a person's keys speak against typing now, or "". The keys that it
// returns make tmux refuse to type if a key was pressed after that look.
func typist(l tmux.Look, now time.Time) (tmux.Keys, message.Reason) {
	switch {
	case !gate.Stands("pane:typist"):
		return tmux.Keys{}, ""
	case types(l.Keys.Last, now):
		return l.Keys, message.SomebodyTypes
	}
	return l.Keys, ""
}

// types reports whether somebody whose last key came at last, in whole seconds, may be typing now.
// A key from the future only says that the clock was set back since.
func types(last, now time.Time) bool {
	age := now.Unix() - last.Unix()
	return max(age, -age) < int64(typing/time.Second)
}

// keysWait reports whether keys wait in the terminal that its program has not read. If the program is too
// busy to read, or is stopped, its screen does not show them, however long ago they were pressed.
func keysWait(s sight) bool { return gate.Stands("pane:keys") && s.frontOK && s.front.Unread > 0 }

// keysWait reports the same at this very moment: the look is older, by the time that recording the permission takes.
func (p *Pane) keysWait() bool { return gate.Stands("pane:keys") && p.unread() > 0 }

// unread returns how many bytes wait unread in the terminal now. In a terminal that gathers lines, only whole lines count.
func (p *Pane) unread() int {
	front, err := process.FrontLeader(p.session.TTY, p.session.PaneProc.PID)
	if err != nil {
		return 0
	}
	return front.Unread
}
