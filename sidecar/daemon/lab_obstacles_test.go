package daemon_test

import (
	"fmt"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// obstacle is what an agent shows instead of a composer that waits.
type obstacle struct {
	name             string
	open, answer     func()
	before, answered func() // what is true before the answer, and behind it; nil is nothing
}

// asks has the agent's model ask for something, until that is shown.
func (a *labAgent) asks(text, shows string) func() {
	return func() {
		a.Prompt("please " + text)
		a.WaitForDialog()
		a.WaitForText(shows)
	}
}

// pressed has a person press keys once the screen keeps still, until that is shown.
func (a *labAgent) pressed(shows string, keys ...string) func() {
	return func() {
		a.WaitForStill(labtest.Stillness)
		a.Keys(keys...)
		if shows != "" {
			a.WaitForText(shows)
		}
	}
}

// waitsBehind has a message wait behind each obstacle: nothing is typed and what is shown
// stays as it is; once its person has left it, the message comes, once. A draft that stood
// there is sent by nobody.
func (l *labRig) waitsBehind(a *labAgent, chat message.Chat, draft string, all []obstacle) {
	l.Helper()
	for i, c := range all {
		c.open()
		a.WaitForStill(labtest.Stillness)
		was, heard := a.screen(), len(a.Received())
		body := fmt.Sprintf("%d: please do NOT do that [[say as you like, %d]]", i, i)
		id := l.tellAll(chat, body)
		l.waitTold(id, a, "held")
		a.keeps(was, c.name)
		trail := l.trailTo(id, a)
		l.Logf("%s: %q", c.name, trail)
		assert.NotContains(l, trail, "typed", c.name)
		assert.False(l, a.explain().MayType, c.name)
		assert.Len(l, a.Received(), heard, c.name)
		if c.before != nil {
			c.before()
		}
		c.answer()
		l.waitTold(id, a, "answered")
		if c.answered != nil {
			c.answered()
		}
		assert.Equal(l, 1, count(a.heard(), attributed("tester", 0, []string{body})[0]), "%s: once", c.name)
	}
	for _, text := range a.heard() {
		assert.NotContains(l, text, draft, "nobody sent the draft")
	}
	a.WaitForStill(labtest.Stillness)
	assert.True(l, a.Idle(), "nothing is under way")
}
