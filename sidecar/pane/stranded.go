package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
)

const (
	// strandedFor is how long our text must have stood there after Enter, unmoved, before
	// Enter is pressed again. An agent that is busy draws, or does not read.
	strandedFor = 2 * time.Second
	// strandedEcho is how long after Enter the agent may have drawn something, as it does for
	// any key.
	strandedEcho = 300 * time.Millisecond
)

// stranded reports whether an agent has read our Enter and done nothing with it, so that Enter
// is pressed again, once. All of this has to be the case:
//
//   - the composer has held our text, and nothing else, in every look since: once it was gone
//     and is back, somebody took the prompt back, and it is theirs;
//   - no byte waits in the terminal, and none of its processes is running or waiting for a
//     processor: otherwise the first Enter may still be dealt with, and the second one might
//     answer what the first one leads to;
//   - the agent has drawn nothing since but what it draws for any key;
//   - it tells what it takes, and has not taken this, nor begun to work.
//
// Of a program that does not tell what it takes, this cannot be told: it may be at work on the text.
func (s entered) stranded(f found, now time.Time) bool {
	switch {
	case !f.tells || s.repeated || now.Sub(s.since) < strandedFor:
		return false
	case gate.Stands("pane:left") && s.left:
		return false
	case gate.Stands("pane:unread") && (!f.frontOK || f.front.Unread > 0 || !f.front.Asleep):
		return false
	case gate.Stands("pane:drawn") && f.wrote.After(s.since.Add(strandedEcho)):
		return false
	case gate.Stands("pane:told") && !f.read:
		return false
	}
	return f.busy == ""
}
