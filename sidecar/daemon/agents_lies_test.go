package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// unsure is how long a screen must have shown an empty composer if nothing else tells about the agent.
const unsure = 500 * time.Millisecond

// A screen that shows an empty composer is not believed while the agent's transcript has an open turn.
func TestH32_IdleScreenOfAnOpenTurn(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		a.do(":turn hold | tool Bash | stream so much")
		a.types("work", "Enter")
		r.waitFor("it works", func() bool { return r.state(a) == message.Working })
		a.do(":lie idle")
		before := len(a.bytes())
		id := r.post(a, "hello")
		r.told(id, "held: agent working")
		r.stays(func() bool { return len(a.bytes()) == before })
		e := a.explain()
		assert.True(t, e.MayType, "the screen alone")
		assert.False(t, e.WouldType)
		assert.Equal(t, message.AgentWorking, e.Why)
		assert.Equal(t, message.Working, e.State)
		assert.Equal(t, "transcript", e.Evidence[0].Source)
		assert.Contains(t, e.Evidence[0].Says, "a turn is open")
		a.do(":go")
		a.do(":go")
		r.told(id, "submitted")
		assert.Equal(t, []string{"work", hello}, a.received())
	}, silent...)
}

// The status file of Claude Code outweighs an idle screen too: nothing is typed while it says that the agent works or
// waits for a person, though no turn is open.
func TestH32_StatusFileAgainstAnIdleScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.coder("claude", "Ada", silent...)
	a.adopt("")
	for i, c := range []struct {
		status, told string
		state        message.PaneState
	}{
		{"waiting permission prompt", dialogHeld, message.Blocked},
		{"busy", "held: agent working", message.Working},
		{"dreaming", "held: agent working", message.Working},
	} {
		a.do(":status %s", c.status)
		r.waitFor(c.status, func() bool { return r.state(a) == c.state })
		before := len(a.bytes())
		id := r.post(a, "hello")
		r.told(id, c.told)
		e := a.explain()
		assert.True(t, e.MayType, "the screen alone")
		assert.False(t, e.WouldType, c.status)
		assert.Equal(t, c.state, e.State)
		if i == 0 {
			r.looked(func() bool { return len(a.bytes()) == before })
		}
		assert.Len(t, a.bytes(), before)
		a.do(":status auto")
		r.told(id, "submitted")
	}
	assert.Equal(t, []string{hello, hello, hello}, a.received())
}

// If an agent tells nothing about itself, its screen must have shown an empty composer for half a second, in every
// look. If it does tell, a tenth of a second is the least.
func TestH32_ScreenAloneIsBelievedLate(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		for name, flags := range map[string][]string{
			"nothing": {"--transcript", "off", "--status", "none"}, "transcript": nil,
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				a := r.coder(kind, "Ada", append(flags, silent...)...)
				a.types("first", "Enter") // Codex makes its transcript at the first prompt
				r.waitFor("a turn", func() bool { return a.count(persona.EventReady) == 2 })
				a.adopt("")
				r.waitFor("all of it is known", func() bool { return (a.explain().WordsFrom == "transcript") == (name == "transcript") })
				a.do(":lie working")
				id := r.post(a, "hello")
				r.told(id, "held: agent working")
				a.do(":lie idle")
				r.waitFor("it was typed", func() bool { return a.count(persona.EventPaste) == 1 })
				took := a.pasteFound() - a.find(persona.EventCommand, ":lie idle")
				if name == "nothing" {
					assert.GreaterOrEqual(t, took, unsure)
				} else {
					assert.GreaterOrEqual(t, took, 100*time.Millisecond)
				}
				a.do(":lie off")
			})
		}
	}
}

// pasteFound is when the first paste was read.
func (a *agent) pasteFound() time.Duration {
	a.t.Helper()
	return a.readAt(func(b []byte) bool { return strings.Contains(string(b), "\x1b[200~") })
}

// Nothing is typed into a screen that changes between an empty composer and work faster than that.
func TestH32_FlickeringScreenIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []*agent
	for _, kind := range inTurn(t) {
		for i, spans := range []string{"200ms 200ms", "350ms 100ms", "200ms 60ms"} {
			a := r.coder(kind, fmt.Sprint(kind, i), "--reply", "none", "--transcript", "off", "--status", "none")
			a.do(":flicker %s", spans)
			a.adopt("")
			r.post(a, "hello")
			all = append(all, a)
		}
	}
	for range 2 {
		r.stays(func() bool {
			for _, a := range all {
				if !assert.Empty(t, a.bytes(), a.name) {
					return false
				}
			}
			return true
		})
	}
	for _, a := range all {
		a.do(":lie idle")
	}
	for _, a := range all {
		r.waitFor("it was typed", func() bool { return a.count(persona.EventPaste) == 1 })
	}
}
