package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// An agent has started once a look finds it asleep at its composer. One that never sleeps has started some time after the
// first look at its composer. Neither is undone later.
func TestAccount_starts(t *testing.T) {
	at := func(asleep bool, reads message.PaneState) sight {
		s := fine()
		s.frontOK, s.front.Asleep = true, asleep
		s.reading.State, s.reading.MayType = reads, reads == message.Idle
		return s
	}
	a := &account{}
	assert.False(t, a.starts(at(true, message.Unknown), noon), "it shows no composer yet")
	assert.False(t, a.starts(at(false, message.Idle), noon), "it runs")
	assert.True(t, a.starts(at(true, message.Idle), noon))
	assert.True(t, a.starts(at(false, message.Working), noon))

	a = &account{}
	assert.False(t, a.starts(at(false, message.Idle), noon))
	assert.False(t, a.starts(at(false, message.Idle), noon.Add(startsFor-1)))
	assert.True(t, a.starts(at(false, message.Idle), noon.Add(startsFor)), "it never sleeps")

	a.restarted()
	assert.False(t, a.starts(at(false, message.Idle), noon.Add(startsFor)), "another process draws a composer now")
	assert.True(t, a.starts(at(false, message.Idle), noon.Add(2*startsFor)))

	a, unknown := &account{}, at(false, message.Idle)
	unknown.frontOK = false
	assert.True(t, a.starts(unknown, noon), "nobody can tell")
}
