package daemon_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestR3_R4_WordsArriveWithAttribution(t *testing.T) {
	r := newRig(t)
	a, b := r.adopted("Ada"), r.adopted("Ben")
	chat := r.chat([]*agent{a, b}, "depth=6", "rate=1000")
	r.say(chat, "hello")
	r.waitFor("both heard each other", func() bool { return len(a.received()) >= 3 && len(b.received()) >= 3 })
	for _, text := range a.received()[1:] {
		assert.True(t, strings.HasPrefix(text, "[Ben] (2): Ben-"), text)
	}
}

func TestScratch100(t *testing.T) {
	r := newRig(t)
	a, b := r.adopted("Ada", "--think", "1ms", "--quote"), r.adopted("Ben", "--think", "1ms", "--quote")
	chat := r.chat([]*agent{a, b}, "depth=100", "rate=100000")
	r.say(chat, "hello")
	r.waitFor("both heard each other", func() bool { return len(a.received()) >= 50 && len(b.received()) >= 50 })
	t.Log(a.received()[:5])
	st, err := r.client.Stats(t.Context(), string(chat.ID))
	t.Log(st, err)
	t.Log(a.screen())
}
