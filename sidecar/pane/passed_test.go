package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// doored may go through a door.
func doored(id string) message.Delivery {
	d := deliveryOf(id)
	d.Way = message.DoorAuto
	return d
}

func enclosed(d message.Delivery, name string) (part, bool) {
	d.Door = name
	return part{d: d, text: "text of " + string(d.ID)}, d.Message.Body != ""
}

var inbox = door.Offer{Name: "inbox", PID: 1}

// open is what is found at an agent whose door is open, whatever its screen shows.
func open(f *found) { f.door = doorway{offer: inbox} }

// through is what goes through the door, as of noon.
func through() *batch {
	one, _ := enclosed(doored("a"), "inbox")
	return &batch{parts: []part{one}, text: one.text, typedAt: noon, byDoor: true, rendered: true}
}

// midst is what is found at an agent in the midst of a turn of its own.
func midst(f *found) {
	f.door = doorway{offer: inbox, why: "it does not say that it rests", soon: true, midst: true}
	f.busy, f.may = message.AgentWorking, message.AgentWorking
}

// atOnce may go there.
func atOnce(c *core) { c.queue[0].MidTurn = true }

// One row for each way of a message through the agent's door.
func rowsOfTheDoor() []row {
	at := func(change ...func(*core)) *core {
		c := coreOf()
		c.enclose, c.queue = enclosed, []waiting{{Delivery: doored("a")}}
		for _, one := range change {
			one(c)
		}
		return c
	}
	before := at(func(c *core) { c.queue[0].Typed, c.queue[0].Door = true, "inbox" })
	one, _ := enclosed(doored("a"), "inbox")
	plan := plan{parts: []part{one}, found: agentic(open), offer: &inbox}
	passedA := passed{batch: through(), spell: spell{since: noon}, offer: inbox}
	urgent := one
	urgent.d.MidTurn = true
	inMidst := plan
	inMidst.parts, inMidst.found = []part{urgent}, agentic(midst)
	ofBefore := passed{batch: through(), spell: spell{since: noon}}
	heldA := passed{batch: through(), spell: spell{since: noon, held: message.HeldByAgent}, offer: inbox}
	rests := "ask: it says that it rests; through its inbox"
	says := func(s door.Status) event { return reported{"a", s} }
	took := func(id, text string) event {
		return prompted{agent.Prompt{Text: text, By: agent.BySystem, ID: id}, "transcript"}
	}
	submitted := "await | submitted: " + shownThere + " | settle"
	return []row{
		{"it is open", resting{}, at(), 0, sighted{agentic(open)}, "asking", rests},
		{"whatever stands in the composer", resting{}, at(), 0, sighted{agentic(open, draft)}, "asking", rests},
		{"in a mode", resting{}, at(), 0, sighted{agentic(open, barred(message.CopyMode))}, "asking", rests},
		{"in a synchronised window", resting{}, at(), 0, sighted{agentic(open, barred(message.Synchronised))}, "asking", rests},
		{"somebody types", resting{}, at(), 0, sighted{agentic(open, keyed(0))}, "asking", rests},
		{"it is shut", resting{}, at(), 0, sighted{agentic(open, draft, func(f *found) { f.door.why = "bold" })}, "resting", "hold: " + string(message.InComposer)},
		{"it is shut, and the composer is ready", resting{}, at(), 0, sighted{agentic(open, func(f *found) { f.door.why = "bold" })}, "filing", "lay"},
		{"it is shut for a moment, in a synchronised window", resting{}, at(), 0, sighted{agentic(barred(message.Synchronised), func(f *found) { f.door.why, f.door.soon = "it works", true })}, "resting", "hold: " + string(message.Synchronised)},
		{"it is shut, in a synchronised window", resting{}, at(), 0, sighted{agentic(barred(message.Synchronised), func(f *found) { f.door.why = "bold" })}, "resting", "failed: " + string(message.Synchronised)},
		{"it is not to be used", resting{}, at(func(c *core) { c.queue[0].Way = message.DoorType }), 0, sighted{agentic(open, draft)}, "resting", "hold: " + string(message.InComposer)},
		{"there is none", resting{}, at(func(c *core) { c.enclose = nil }), 0, sighted{agentic(open, draft)}, "resting", "hold: " + string(message.InComposer)},
		{"its settings are being read", resting{}, at(), 0, sighted{agentic(open, func(f *found) { f.prepared, f.door.why = false, "being read" })}, "resting", ""},
		{"we end", resting{}, at(), 0, sighted{agentic(open, func(f *found) { f.ending = true })}, "resting", ""},
		{"the same text just before", resting{}, at(func(c *core) { c.through.note(noon, "text of a") }), 0, sighted{agentic(open, draft)}, "resting", "hold: " + string(message.InComposer)},
		{"the same text long before", resting{}, at(func(c *core) { c.through.note(noon, "text of a") }), alikeFor, sighted{agentic(open, draft)}, "asking", rests},
		{"too many before", resting{}, at(func(c *core) {
			for range doorMinute {
				c.through.note(noon, "other")
			}
		}), time.Minute - 1, sighted{agentic(open, draft)}, "resting", "hold: " + string(message.InComposer)},
		{"it took nothing just before", resting{}, at(func(c *core) { c.through.shun = noon.Add(shunFor) }), shunFor - 1, sighted{agentic(open, draft)}, "resting", "hold: " + string(message.InComposer)},
		{"it works", resting{}, at(), 0, sighted{agentic(midst)}, "resting", "hold: " + string(message.AgentWorking)},
		{"it works, and is to be told at once", resting{}, at(atOnce), 0, sighted{agentic(midst)}, "asking", "ask: it works, and reads between two calls of tools; through its inbox"},
		{"it works, and what is to be told at once waits behind what is not", resting{}, at(func(c *core) {
			c.queue = append(c.queue, waiting{Delivery: doored("b")})
			c.queue[1].MidTurn = true
		}), 0, sighted{agentic(midst)}, "asking", "ask: it works, and reads between two calls of tools; through its inbox"},
		{"it waits for its person, and is to be told at once", resting{}, at(atOnce), 0, sighted{agentic(midst, func(f *found) { f.door.midst = false })}, "resting", "hold: " + string(message.AgentWorking)},
		{"it still works", asking{plan: inMidst, granted: []part{urgent}, next: 1}, at(), 0, heard{busy: message.AgentWorking}, "passing", "pass"},
		{"it has come to ask", asking{plan: inMidst, granted: []part{urgent}, next: 1}, at(), 0, heard{busy: screen.DialogOpen}, "resting", "hold: " + string(message.TmuxRefused)},
		{"another comes while it has not read the first", passedA, at(atOnce), late, sighted{agentic(midst)}, "passed", ""},
		{"permitted", asking{plan: plan}, at(), 0, permitted{}, "asking", "listen"},
		{"refused", asking{plan: plan}, at(), 0, permitted{err: message.ErrEnded}, "resting", ""},
		{"it has begun to work", asking{plan: plan, granted: []part{one}, next: 1}, at(), 0, heard{busy: message.AgentWorking}, "resting", "hold: " + string(message.TmuxRefused)},
		{"nothing has changed", asking{plan: plan, granted: []part{one}, next: 1}, at(), 0, heard{}, "passing", "pass"},
		{"nothing was written", passing{through(), inbox}, at(), 0, handed{out: door.Nothing}, "resting", "hold: " + string(message.TmuxRefused)},
		{"it was handed over", passing{through(), inbox}, at(), 0, handed{out: door.Handed}, "passed", ""},
		{"nobody can tell", passing{through(), inbox}, at(), 0, handed{out: door.Unknown}, "passed", ""},
		{"a look tells nothing", passing{through(), inbox}, at(), late, sighted{agentic()}, "passing", ""},
		{"its transcript has the id", passedA, nil, 0, took("a", "another text"), "resting", submitted},
		{"its transcript has another id", passedA, nil, 0, took("b", "text of a"), "passed", ""},
		{"its transcript has the text, by hand", passedA, nil, 0, took("", "text of a"), "passed", ""},
		{"a look finds it", passedA, nil, 0, sighted{agentic(func(f *found) { f.consumed = true })}, "resting", submitted},
		{"not yet", passedA, nil, prof.TakenWithin, sighted{agentic()}, "passed", ""},
		{"never", passedA, nil, late, sighted{agentic()}, "resting", "uncertain: " + string(message.NotRecorded) + " | settle | shut"},
		{"never, of an earlier life", ofBefore, nil, late, sighted{agentic()}, "resting", "uncertain: " + string(message.NotRecorded) + " | settle"},
		{"it works, and has ours in its queue", passedA, nil, late, sighted{agentic(func(f *found) { f.busy = message.AgentWorking })}, "passed", ""},
		{"its transcript is lost", passedA, nil, late, sighted{agentic(func(f *found) { f.busy = message.TranscriptLost })}, "resting", "uncertain: " + string(message.NotRecorded) + " | settle | shut"},
		{"its transcript is being read", ofBefore, nil, late, sighted{agentic(func(f *found) { f.told = false })}, "passed", ""},
		{"its person is asked", passedA, nil, 0, says(door.Held), "passed", "held: " + string(message.HeldByAgent) + ", the agent says: held"},
		{"they take their time", heldA, nil, late, sighted{agentic()}, "passed", ""},
		{"they never say", heldA, nil, theirDialog + 1, sighted{agentic()}, "resting", "uncertain: " + string(message.NotRecorded) + " | settle"},
		{"they say yes", heldA, nil, 0, says(door.Delivered), "passed", ""},
		{"they say no", heldA, nil, 0, says(door.Denied), "resting", "failed: " + string(message.DeniedThere) + ", the agent says: denied | settle"},
		{"they said nothing", heldA, nil, 0, says(door.Expired), "resting", "expired: " + string(message.ExpiredThere) + ", the agent says: expired | settle"},
		{"it expires, and was not held", passedA, nil, 0, says(door.Expired), "resting", "failed: " + string(message.ExpiredThere) + ", the agent says: expired | settle"},
		{"its settings say no", passedA, nil, 0, says(door.Refused), "resting", "failed: " + string(message.RefusedThere) + ", the agent says: refused | settle"},
		{"it was dropped", passedA, nil, 0, says(door.Dropped), "resting", "failed: " + string(message.DroppedThere) + ", the agent says: dropped | settle"},
		{"it says something else", passedA, nil, 0, says("taken"), "passed", ""},
		{"of another message", passedA, nil, 0, reported{"b", door.Denied}, "passed", ""},
		{"the agent has gone", passedA, nil, 0, goneAs(message.PaneMissing), "resting", "uncertain: " + string(message.AgentGone) + ", " + string(message.PaneMissing)},
		{"the pane is released", passedA, nil, 0, released{}, "resting", "uncertain: " + string(message.ReleasedPane) + " | settle"},
		{"an earlier life handed it over", resting{}, before, 0, sighted{agentic(open)}, "passed", ""},
		{"and it was not typed, whatever the mark says", resting{}, at(func(c *core) { c.queue[0].Typed, c.queue[0].Door = true, "inbox" }), 0, sighted{agentic(marked("pasted.5.1.b"))}, "passed", ""},
	}
}

// No text goes both ways, whenever the sidecar ends: a later life does not type what was permitted to go
// through the door, and may have; and a text whose paste an earlier life may have ordered, so that it may
// still come, does not go through the door.
func TestG4_V14_OneWayOverAnEnd(t *testing.T) {
	c := coreOf()
	c.enclose, c.queue = enclosed, []waiting{{Delivery: doored("a")}}
	c.step(noon, sighted{agentic(open)})
	c.step(noon, permitted{})
	c.step(noon, heard{})
	require.Equal(t, "passing", nameOf(c.at))
	c.revive()
	c.step(noon, sighted{agentic(open)})
	require.Equal(t, "passed", nameOf(c.at))
	c.revive()
	c.step(noon, sighted{agentic(open)})
	require.Equal(t, "passed", nameOf(c.at))
	c.step(noon.Add(late), sighted{agentic(open)})
	require.Equal(t, "resting", nameOf(c.at))
	assert.Empty(t, c.queue)

	c = coreOf()
	c.enclose, c.queue = enclosed, []waiting{{Delivery: doored("a")}}
	c.queue[0].Typed = true
	c.step(noon, sighted{agentic(open)})
	c.step(noon, noted{id: "a"})
	require.Equal(t, "resting", nameOf(c.at))
	acts := c.step(noon, sighted{agentic(open, draft)})
	require.Len(t, acts, 1)
	assert.Equal(t, "hold: "+string(message.InComposer), said(acts[0]))
}
