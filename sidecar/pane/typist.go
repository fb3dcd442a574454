package pane

import (
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// typing is how long after a key at the pane's terminal its person counts as typing. tmux
// tells whole seconds, so it is between one and two. A program that has not drawn the key by
// then is not one that anybody types into.
const typing = 2 * time.Second

// typist says why a person's keys speak against typing now, or "" where they do not. What
// it returns besides has tmux refuse to type once another key is pressed.
func (p *Pane) typist(ctx context.Context, now time.Time) (tmux.Keys, message.Reason) {
	keys, err := p.client.Keys(ctx, p.session.Pane)
	switch {
	case !gate("typist"):
		return tmux.Keys{}, ""
	case err != nil:
		p.log.Warn("ask who types", "pane", p.session.Pane, "err", err)
		return keys, message.TmuxRefused
	case types(keys.Last, now):
		return keys, message.SomebodyTypes
	}
	return keys, ""
}

// types reports whether somebody whose last key came then, in whole seconds, may be typing
// now. A key of the future says that the clock was set back since, and nothing of now.
func types(last, now time.Time) bool {
	age := now.Unix() - last.Unix()
	return max(age, -age) < int64(typing/time.Second)
}
