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

// typist says why a person's keys speak against typing now, or "" where they do not. What
// it returns besides has tmux refuse to type once a key was pressed behind that look.
func typist(l tmux.Look, now time.Time) (tmux.Keys, message.Reason) {
	switch {
	case !gate.Stands("pane:typist"):
		return tmux.Keys{}, ""
	case types(l.Keys.Last, now):
		return l.Keys, message.SomebodyTypes
	}
	return l.Keys, ""
}

// types reports whether somebody whose last key came then, in whole seconds, may be typing
// now. A key of the future says that the clock was set back since, and nothing of now.
func types(last, now time.Time) bool {
	age := now.Unix() - last.Unix()
	return max(age, -age) < int64(typing/time.Second)
}

// keysWait reports whether something was typed into the terminal that its program has not read: its screen
// shows nothing of that, however long ago it was typed, if the program is too busy to read, or is stopped.
func keysWait(s sight) bool { return gate.Stands("pane:keys") && s.frontOK && s.front.Unread > 0 }

// keysWait is the same at this very moment: the look is as old as it takes to have the typing written down.
func (p *Pane) keysWait() bool { return gate.Stands("pane:keys") && p.unread() > 0 }

// unread is how many bytes wait in the terminal now that nobody has read; of one that gathers lines, of whole lines alone.
func (p *Pane) unread() int {
	front, err := process.FrontLeader(p.session.TTY, p.session.PaneProc.PID)
	if err != nil {
		return 0
	}
	return front.Unread
}
