package pane

import (
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// bindings says which transcript is which agent's, so that none counts as the transcript of two. It
// also has what was typed into each agent of late, by which a transcript may be found. All agents
// share one; panes and followers ask it from their own goroutines.
type bindings struct {
	mu    sync.Mutex
	path  map[message.ID]string
	typed map[message.ID][]typedText
	shown map[message.ID]shownTalk
}

// shownTalk is what an agent's screen showed last: a prompt, and the end of its words.
type shownTalk struct{ prompt, words string }

// typedText is what was typed into an agent last.
type typedText struct {
	text string
	at   time.Time
}

// sameTextFor is how long a text that was typed into two agents identifies neither.
const sameTextFor = time.Minute

// noteTyped notes what is typed into an agent.
func (b *bindings) noteTyped(id message.ID, text string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.typed == nil {
		b.typed = map[message.ID][]typedText{}
	}
	b.typed[id] = slices.DeleteFunc(append(b.typed[id], typedText{text, at}), func(one typedText) bool { return at.Sub(one.at) > sameTextFor })
}

// tells reports whether a text that was typed into an agent was typed into no other one, so that a
// transcript with that text is this agent's. It compares by alike, since a message is not typed alike
// everywhere: it is filled up until it fits a composer, or comes together with others.
func (b *bindings) tells(id message.ID, text string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other, all := range b.typed {
		if other != id && slices.ContainsFunc(all, func(one typedText) bool { return now.Sub(one.at) < sameTextFor && alike(one.text, text) }) {
			return false
		}
	}
	return true
}

// alike reports whether one of the texts may be found where the other was typed.
func alike(a, b string) bool { return agent.Same(a, b) || agent.Within(a, b) || agent.Within(b, a) }

// bind notes that an agent writes into a transcript.
func (b *bindings) bind(id message.ID, path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path == nil {
		b.path = map[message.ID]string{}
	}
	b.path[id] = path
}

// writer returns the agent that is bound to a transcript, if it is the only one.
func (b *bindings) writer(path string) (id message.ID, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for one, theirs := range b.path {
		if theirs == path {
			if ok {
				return "", false
			}
			id, ok = one, true
		}
	}
	return id, ok
}

// unbind notes that an agent writes elsewhere.
func (b *bindings) unbind(id message.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.path, id)
}

// noteShown notes what an agent's screen shows.
func (b *bindings) noteShown(id message.ID, prompt, words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == nil {
		b.shown = map[message.ID]shownTalk{}
	}
	b.shown[id] = shownTalk{prompt, words}
}

// shows reports whether no other agent shows the same, so that a transcript with it is this one's.
func (b *bindings) shows(id message.ID, prompt, words string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other, talk := range b.shown {
		if other != id && talk == (shownTalk{prompt, words}) {
			return false
		}
	}
	return true
}

// let forgets an agent.
func (b *bindings) let(id message.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.path, id)
	delete(b.typed, id)
	delete(b.shown, id)
}

// taken reports whether another agent is bound to the transcript.
func (b *bindings) taken(id message.ID, path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other, theirs := range b.path {
		if other != id && theirs == path {
			return true
		}
	}
	return false
}
