package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A text never showed whole, so the pane is closed. It opens once something has stood in the composer since and is gone for
// good.
func TestCore_clearedByHand(t *testing.T) {
	unread := func(f *found) { f.frontOK, f.front.Unread = true, 1 }
	loud := func(f *found) { f.settled = false }
	counted := func(n uint64) func(*found) { return func(f *found) { f.reads = reads{n, n} } }
	for name, tt := range map[string]struct {
		looks []found // each long after the one before
		opens bool
	}{
		"somebody clears it":                {[]found{agentic(draft), agentic(), agentic()}, true},
		"a program that nobody knows":       {[]found{unknown(draft, counted(7)), unknown(counted(8)), unknown(counted(8))}, false},
		"a key more has been read":          {[]found{agentic(draft, counted(7)), agentic(counted(8)), agentic(counted(8))}, true},
		"no key has: it is drawn anew":      {[]found{agentic(draft, counted(7)), agentic(counted(7)), agentic(counted(7))}, false},
		"nothing ever stood there":          {[]found{agentic(), agentic(), agentic()}, false},
		"one look finds it empty":           {[]found{agentic(draft), agentic()}, false},
		"and is not in between":             {[]found{agentic(draft), agentic(), agentic(draft), agentic()}, false},
		"keys wait in its terminal":         {[]found{agentic(draft), agentic(unread), agentic(unread)}, false},
		"a dialog covers it":                {[]found{agentic(draft), agentic(), agentic(dialog), agentic()}, false},
		"a mode does":                       {[]found{agentic(draft), agentic(barred(message.CopyMode)), agentic()}, false},
		"its words come first":              {[]found{agentic(draft), agentic(), agentic(loud)}, false},
		"a line program may have it unread": {[]found{line(draft), line(), line()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := coreOf("b")
			c.lost = lost{text: "text of a", id: "a"}
			for i, f := range tt.looks {
				require.Equal(t, "resting", nameOf(c.stage()))
				c.step(noon.Add(time.Duration(i)*late), sighted{f})
			}
			assert.Equal(t, tt.opens, c.lost == lost{})
			assert.Equal(t, tt.opens, nameOf(c.stage()) == "filing", "what waits is typed")
		})
	}
}

// An empty composer is empty for good only if it stays so for as long as a text may take to leave it.
func TestCore_emptyForAMoment(t *testing.T) {
	c := coreOf("b")
	c.lost = lost{text: "text of a", id: "a", stood: true}
	c.step(noon, sighted{agentic()})
	c.step(noon.Add(prof.TakenWithin), sighted{agentic()})
	assert.NotZero(t, c.lost)
	c.step(noon.Add(late), sighted{agentic()})
	assert.Zero(t, c.lost)
}

// A person who clears the composer before the text is given up has cleared it, too.
func TestCore_clearedBeforeItIsLost(t *testing.T) {
	c := coreOf("b")
	c.at = pasted{batch: ours(), spell: spell{since: noon}}
	for i, f := range []found{agentic(draft), agentic(), agentic(), agentic()} {
		assert.Equal(t, i == 3, c.lost.text != "")
		c.step(noon.Add(time.Duration(i)*prof.SeenWithin/2+time.Duration(i)), sighted{f})
	}
	for i := range 2 {
		c.step(noon.Add(time.Duration(i+2)*late), sighted{agentic()})
	}
	assert.Zero(t, c.lost)
	assert.Equal(t, "filing", nameOf(c.stage()))
}
