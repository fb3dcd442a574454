package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A computer has the name that its person spells if that is its token in any case of letters, but not with
// other letters that look or fold like those.
func TestDirectory_N6_howAComputerIsCalled(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := directory{"raspi": {Name: "raspi"}}
	for i, name := range []string{"RASPI", "ra\u017fpi", "", "raspi ", "other", "\x1b]0;x\a"} {
		now = now.Add(time.Second)
		d.heard("raspi", presence{Name: name, Boot: "1", Sent: now}, now)
		assert.Equal(t, "RASPI", d["raspi"].Name, "%d: %q", i, name)
	}
}

// N1: a computer is here from when it says so until it says goodbye, or has said nothing for longer than three
// beats.
func TestDirectory_N1_whoIsHere(t *testing.T) {
	t.Parallel()
	d := directory{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, d.trust("raspi", "KEY", ""))
	says := func(p presence) (came bool) {
		p.Name, p.Boot, p.Sent = "raspi", "1", now
		_, came, _ = d.heard("raspi", p, now)
		return came
	}
	at := func() Computer { return d.list(now)[0] }
	assert.False(t, at().Present)
	assert.True(t, says(presence{}))
	began := now
	for range 5 {
		now = now.Add(beat)
		assert.False(t, says(presence{}), "it was here")
		assert.True(t, at().Present)
	}
	assert.Equal(t, began, at().Since)
	last := now
	now = now.Add(3 * beat)
	assert.True(t, at().Present, "one that is late is not away")
	now = now.Add(beat)
	assert.False(t, at().Present, "nothing was heard of it")
	assert.Equal(t, last, at().Since)
	assert.True(t, says(presence{}), "it is back")
	assert.True(t, at().Present)
	now = now.Add(time.Second)
	says(presence{Bye: true})
	assert.False(t, at().Present, "it has said that it goes")
}
