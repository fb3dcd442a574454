package pane

import (
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// showing is what an agent's screen showed of its conversation, if only the screen tells which
// conversation that is.
type showing struct {
	prompt, words string
	after         time.Time // when the prompt was not shown yet; zero: it stood there at the first look
	looked        time.Time // when a conversation was seen last
}

// drifts reports whether only its screen tells in which conversation the agent is.
func (a *account) drifts() bool {
	return a.who.Kind.ShowsConversation() && a.told && (a.bound == nil || a.bound.How != agent.ByOpenFile)
}

// show tells the follower what the screen shows if it shows another prompt than before or, while no
// transcript is read, other words.
func (p *Pane) show(look tmux.Look, state message.PaneState, now time.Time) {
	a := p.account
	if !a.drifts() {
		return
	}
	talk, ok := screen.Converse(a.view(look), a.prof)
	if !ok {
		return
	}
	prompt, words := talk.Key()
	if state == message.Working {
		words = "" // there are more to come
	}
	was := a.shown
	a.shown.looked = now
	switch {
	case was.looked.IsZero(), prompt != was.prompt:
		a.shown.prompt, a.shown.words, a.shown.after = prompt, words, was.looked
	case words != was.words && a.bound == nil:
		a.shown.words = words
	default:
		return
	}
	tells := agent.Shown{After: a.shown.after, At: now, Own: func() bool { return a.bindings.shows(a.id, prompt, words) }}
	if strings.HasPrefix(talk.Prompt, "/") || strings.HasPrefix(talk.Prompt, "!") {
		return // a command to the program, which the transcript has in another form
	}
	if prompt != "" && !strings.HasPrefix(talk.Prompt, "[Pasted ") {
		tells.Took = talk.Told
	}
	if words != "" && (tells.Took != nil || talk.Telling()) {
		tells.Said = talk.Said
	}
	a.bindings.noteShown(a.id, prompt, words)
	if tells.Took != nil || tells.Said != nil {
		a.follower.Show(tells)
	}
}
