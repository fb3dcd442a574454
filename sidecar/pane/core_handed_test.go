package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// What the core remembers of a waiting delivery after each answer on the way to its paste: whether it
// may have been typed, and whether that could be recorded.
func TestCore_whatWaitsMayHaveBeenTyped(t *testing.T) {
	one, _ := plainly(deliveryOf("a"))
	asks := asking{plan: planned(line())}
	listens := asking{plan: planned(line()), granted: []part{one}, next: 1}
	type is struct{ waits, typed, unwritten bool }
	for _, tt := range []struct {
		name  string
		at    stage
		typed bool // before
		e     event
		want  is
	}{
		{"permitted", asks, false, permitted{}, is{waits: true, typed: true}},
		{"refused", asks, false, permitted{err: message.ErrEnded}, is{}},
		{"it cannot be written down", asks, false, permitted{err: &message.UnwritableError{}}, is{waits: true, typed: true, unwritten: true}},
		{"taken back, and not written down yet", listens, true, heard{busy: message.AgentWorking}, is{waits: true, typed: true}},
		{"ordered", listens, true, heard{}, is{waits: true, typed: true}},
		{"tmux refused, and that is not written down yet", pasting{ours()}, true, typed{tmux.Refused}, is{waits: true, typed: true}},
		{"pasted", pasting{ours()}, true, typed{tmux.Typed}, is{}},
		{"nobody can tell", pasting{ours()}, true, typed{tmux.Unknown}, is{}},
		{"cancelled", resting{}, false, cancelled{[]message.ID{"a"}}, is{}},
		{"cancelled, and it may have been typed", resting{}, true, cancelled{[]message.ID{"a"}}, is{waits: true, typed: true}},
		{"disclaimed", recalling{found: line()}, true, noted{id: "a"}, is{waits: true}},
		{"not disclaimed", recalling{found: line()}, true, noted{"a", &message.UnwritableError{}}, is{waits: true, typed: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := coreOf("a")
			c.queue[0].Typed, c.at = tt.typed, tt.at
			c.step(noon, tt.e)
			var got is
			if w := c.waiting("a"); w != nil {
				got = is{true, w.Typed, w.unwritten}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// What tmux refused counts as typed until the relay has the refusal on disk: otherwise nobody would ever tell it.
func TestCore_givenBackOnceItIsWrittenDown(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		typed bool
	}{
		"written down":           {nil, false},
		"not while it is full":   {&message.UnwritableError{}, true},
		"its chat has ended":     {message.ErrEnded, true}, // asked about at the next look
		"not here, nor anywhere": {message.ErrNotOurs, true},
	} {
		c := coreOf("a")
		c.queue[0].Typed, c.at = true, pasting{ours()}
		c.step(noon, typed{tmux.Refused})
		c.step(noon, noted{"a", tt.err})
		assert.Equal(t, tt.typed, c.waiting("a").Typed, name)
		c.step(noon.Add(time.Minute), sighted{line()})
		assert.Equal(t, tt.typed, nameOf(c.stage()) == "recalling", name)
	}
}

// A delivery that is being taken back keeps its place until it has been: those behind it do not overtake
// it, though a person may have let all of them go on by then.
func TestCore_nothingOvertakesWhatIsPaused(t *testing.T) {
	for name, e := range map[string]event{
		"permission": permitted{err: message.ErrStopped}, "hold": noted{"a", message.ErrPaused}, "disclaimer": noted{"a", message.ErrStopped},
	} {
		c := coreOf("a", "b")
		c.prof = profile.LinePaste()
		switch name {
		case "permission":
			c.step(noon, sighted{line()})
			one, _ := plainly(deliveryOf("a"))
			two, _ := plainly(deliveryOf("b"))
			c.step(noon, filed{parts: []part{one, two}})
		case "disclaimer":
			c.queue[0].Typed = true
			c.step(noon, sighted{line()})
			require.Equal(t, "recalling", nameOf(c.stage()))
		}
		assert.Empty(t, c.step(noon, e), name)
		assert.Equal(t, "resting", nameOf(c.stage()), name)
		require.Len(t, c.queue, 2, name)
		assert.Equal(t, message.ID("a"), c.queue[0].ID, name)
	}
}

// A relay that began again from its journal believes that a waiting delivery may have been typed. It is
// told once more that it was not; otherwise nobody would end the delivery once its chat has ended.
func TestCore_handedOutAsTyped(t *testing.T) {
	c := coreOf("a")
	d := deliveryOf("a")
	d.Typed = true
	c.step(noon, delivered{[]message.Delivery{d}})
	acts := c.step(noon, sighted{line()})
	require.Len(t, acts, 1)
	assert.Equal(t, "hold: "+string(message.TmuxRefused)+", tmux did not paste it", said(acts[0]))
}

// A delivery that has come to its end does not begin again because of a relay that began again and has not
// heard of the end yet: otherwise a text that never showed would no longer count as lost.
func TestCore_handedOutOnceItIsOver(t *testing.T) {
	c := coreOf()
	c.at = pasted{batch: ours(), spell: spell{since: noon}}
	c.step(noon.Add(time.Hour), sighted{line()})
	require.Equal(t, message.ID("a"), c.lost.id)
	d := deliveryOf("a")
	d.Typed = true
	c.step(noon, delivered{[]message.Delivery{d}})
	assert.Empty(t, c.queue)
	assert.Equal(t, message.ID("a"), c.lost.id)
}

// Deliveries that are handed out together wait in that order, though some of them wait already.
func TestCore_handedOutTogether(t *testing.T) {
	c := coreOf("b", "d")
	c.step(noon, delivered{[]message.Delivery{deliveryOf("a"), deliveryOf("b"), deliveryOf("c"), deliveryOf("d"), deliveryOf("e")}})
	var ids []string
	for _, w := range c.queue {
		ids = append(ids, string(w.ID))
	}
	assert.Equal(t, []string{"a", "b", "c", "d", "e"}, ids)
}

// A delivery that the relay took back, and that is known not to have been typed, waits until it is handed out again: those
// that were in front of it have left the queue, and it would overtake them.
func TestCore_takenBackWhileItMayHaveBeenTyped(t *testing.T) {
	both := []message.ID{"a", "b"}
	queued := func(c *core) (ids []message.ID) {
		for _, w := range c.queue {
			assert.False(t, w.Typed)
			ids = append(ids, w.ID)
		}
		return ids
	}
	for name, err := range map[string]error{"written down": nil, "refused, for everything is stopped": message.ErrPaused} {
		for _, early := range []bool{false, true} {
			c := coreOf("a", "b")
			c.queue[1].Typed, c.at = true, recalling{found: line()}
			c.step(noon, cancelled{both})
			again := delivered{[]message.Delivery{deliveryOf("a"), deliveryOf("b")}}
			if early { // resumed before it is known
				c.step(noon, again)
				c.step(noon, noted{"b", err})
			} else {
				c.step(noon, noted{"b", err})
				assert.Empty(t, c.queue, name)
				c.step(noon, again)
			}
			assert.Equal(t, both, queued(c), name)
		}
	}
}

// A delivery that an agent's door refused, and whose permission was given back, did not go through the door, though the relay
// has handed it out as permitted by then: a person stopped everything in between, and let it go on.
func TestCore_handedOutAsPermittedAndGivenBack(t *testing.T) {
	c := coreOf()
	c.queue = []waiting{{Delivery: doored("a")}}
	c.queue[0].Typed, c.queue[0].Door, c.enclose = true, "inbox", enclosed
	c.at = passing{through(), inbox}
	c.step(noon, handed{out: door.Nothing})
	c.step(noon, noted{"a", nil})
	c.step(noon, cancelled{[]message.ID{"a"}})
	require.Empty(t, c.queue)
	d := doored("a")
	d.Typed, d.Door = true, "inbox"
	c.step(noon, delivered{[]message.Delivery{d}})
	acts := c.step(noon, sighted{agentic()})
	require.Len(t, acts, 1)
	assert.Equal(t, "hold: "+string(message.TmuxRefused)+", tmux did not paste it", said(acts[0]), "it is told that it was not")
}
