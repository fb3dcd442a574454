package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// The core decides what is typed into a pane, and when. It is pure: it has no clock, looks at
// nothing and calls nobody. An event comes in with its time, and the acts come out that follow
// from it, in order; perform does them, and comes back with an event for each act that is
// answered. What is under way is one stage, which holds the data of that stage alone; the package
// comment has a table of how one leads to another.

// core is what waits for a pane and what is under way in it.
type core struct {
	name    string // of the session, and its pane, for people
	prof    profile.Profile
	compose func(message.Delivery) (part, bool) // what a delivery becomes; false: nothing to type

	command func(line string) bool // the program has such a command now, and takes the line for no more than it; nil: none
	took    []message.ID           // the last messages of the sidecar's own that were submitted

	enclose func(d message.Delivery, door string) (part, bool) // the same, of one that goes through its door; nil: it has none
	through throughput                                         // what went there

	at    stage // nil: resting
	queue []waiting

	heldAt   time.Time    // when a reason for waiting was last reported
	lost     lost         // typed and never seen: it may still come, and nothing is typed before
	doubted  []*batch     // that went through a door, and of which could not be told whether the agent took them: its record may say so late
	left     leftover     // typed, seen, and given up: it may stand in the composer, which is no draft then
	marked   []message.ID // what the server's mark may name: anything else is a stray (recall.go)
	over     []message.ID // the last that were brought to their end, which the relay may not have heard yet
	unused   []message.ID // the last whose permission was given back: nothing of them went through a door
	again    backoff      // of pastes, after tmux refused one
	restless time.Time    // since when its program has written beside a composer that waits
	word     word         // of a person, for a screen that is not recognised
}

// stage is how far things are. Its step takes an event and says where that leads.
type stage interface {
	step(c *core, now time.Time, e event) (stage, []act)
}

type (
	// resting: nothing of ours is under way.
	resting struct{}
	// recalling: an earlier life may have typed something, and what became of it is found out.
	recalling struct {
		found found
		was   spot
		since time.Time
		asked part   // that permission is asked for, after the fact
		batch *batch // of what its mark names, once it is being looked for on the screen
	}
	// filing: texts too long to be typed are put into files.
	filing struct{ plan }
	// asking: the relay is asked whether the text may be typed.
	asking struct {
		plan
		granted []part
		next    int // part that is asked for
	}
	// pasting: tmux has the order to paste.
	pasting struct{ *batch }
	// pasted: the text has not been seen yet.
	pasted struct {
		*batch
		spell
		drawn int // how much of it was seen, by a program that draws it slowly
	}
	// composed: the text stands in the composer. Enter is next.
	composed struct {
		*batch
		spell
		absent time.Time // since when each look at an empty composer found it without our text
		parked bool      // permission for Enter was refused until the relay hands it out again
		again  backoff   // of Enter, after tmux refused it
		rested int       // looks in a row that showed our text, of a program at rest
	}
	// permitting: the relay is asked whether Enter may be pressed.
	permitting struct {
		composed
		found found
		keys  tmux.Keys
		next  int
	}
	// entering: tmux has the order to press Enter.
	entering struct {
		composed
		found found
	}
	// entered: the text has to leave the composer.
	entered struct {
		*batch
		spell
		cleared time.Time // when the composer was first seen without it
		doubted bool      // tmux has not answered: Enter may not have come
		before  string    // the server's mark before it
		lagged  time.Time // when its agent was last seen not to have got to it
	}
)

// spell is the time that is spent in a stage.
type spell struct {
	since time.Time      // when the stage's deadline began to run
	looks int            // without anything in the way
	held  message.Reason // last reported reason why Enter is not pressed
}

// plan is a paste that nothing stands against, by the look that it rests on.
type plan struct {
	parts   []part
	found   found
	keys    tmux.Keys
	vouched bool // the screen is not recognised, and a person gave their word

	offer *door.Offer // of the agent's door, through which it goes instead; nil: it is typed
}

// midst reports whether it goes to an agent at work.
func (p plan) midst() bool { return p.offer != nil && p.found.door.midst && p.parts[0].d.MidTurn }

// event is what happens: sighted, filed, permitted, heard, typed, handed, noted, recalled, delivered,
// cancelled, surfaced, prompted, reported, released or gone.
type event any

type (
	// sighted: the pane was looked at.
	sighted struct{ found found }
	// filed answers lay: so many parts may be typed.
	filed struct {
		parts []part
		err   error
	}
	// permitted answers ask.
	permitted struct {
		err    error
		ending bool // we end
	}
	// heard answers listen: what the agent itself tells by now against typing, and whether keys have come that it has not read.
	heard struct {
		busy message.Reason
		keys bool
	}
	// typed answers paste and press.
	typed struct{ out tmux.Outcome }
	// noted answers hold.
	noted struct {
		id  message.ID
		err error
	}
	// recalled answers recall.
	recalled struct {
		found      found
		fate       fate
		unanswered bool // nobody can tell what the program said to it
	}
	// delivered: the relay has something for the pane.
	delivered struct{ all []message.Delivery }
	// cancelled: the relay takes it back.
	cancelled struct{ ids []message.ID }
	// surfaced: what was lost was taken after all, or stands there for all to see; or it stands unseen in a line that nobody has read.
	surfaced struct{ stands bool }
	// prompted: the agent tells that it took a prompt.
	prompted struct {
		agent.Prompt
		source string
	}
	// released: the pane is not ours any more.
	released struct{}
	// gone: nor is its program.
	gone struct{ why message.Reason }
)

// act is what follows from an event.
type act any

type (
	// lay puts long texts into files.
	lay struct{ parts []part }
	// ask asks the relay for its permission, which it gives only once it has written that down.
	ask struct {
		part part
		says string
	}
	// listen takes in what the agent has told meanwhile.
	listen struct{}
	// paste types the text, if the pane is still as it was found.
	paste struct {
		*batch
		found found
		keys  tmux.Keys
	}
	// press types Enter, likewise.
	press struct {
		*batch
		found found
		keys  tmux.Keys
	}
	// recall finds out on the screen what became of a text of an earlier life.
	recall struct {
		*batch
		was   spot
		found found
	}
	// hold reports why a delivery waits.
	hold struct {
		delivery message.Delivery
		why      message.Reason
		says     string
	}
	// receipt reports a step of a delivery that is under way.
	receipt struct {
		part  part
		state message.ReceiptState
		why   message.Reason
		says  string
	}
	// seek has transcripts searched for a text that was entered.
	seek struct {
		text  string
		since time.Time
	}
	// retract says that a text which was expected to show was not typed.
	retract struct{ text string }
	// await says that a text was submitted, and is to be answered.
	await struct{ *batch }
	// settle follows the end of what was under way.
	settle struct{}
	// announce tells whether the pane is closed, and why.
	announce struct{}
	// notify tells a person something.
	notify struct{ text string }
)

// step takes in an event.
func (c *core) step(now time.Time, e event) (acts []act) {
	b := c.batch()
	switch e := e.(type) {
	case sighted:
		if c.lost.cleared(e.found, now, c.prof.TakenWithin) {
			c.lost = lost{}
		}
	case delivered:
		c.accept(e.all)
	case cancelled:
		c.drop(e.ids)
	case noted:
		c.noted(e)
	case surfaced:
		if e.stands {
			c.lost.text = unknownText
		} else {
			c.lost = lost{}
		}
	case prompted:
		if e.By != agent.BySystem {
			// It reads what is typed in order: whatever of ours had not been seen has been read by
			// now, or was never there.
			c.lost = lost{}
		}
		if says := b.takenAs(e.Prompt, now); says != "" {
			b.witness = e.source
			c.at, acts = c.finish(b, message.Submitted, "", says)
			return acts
		}
		acts = c.recorded(now, e)
	case released:
		if b != nil {
			c.at, acts = c.finish(b, message.Uncertain, message.ReleasedPane, "")
		}
		return acts
	case gone:
		if b != nil {
			c.at, acts = resting{}, b.receipts(message.Uncertain, message.AgentGone, string(e.why))
		}
		return acts
	}
	next, more := c.stage().step(c, now, e)
	c.at = next
	return append(acts, more...)
}

// stage is what is under way.
func (c *core) stage() stage {
	if c.at == nil {
		return resting{}
	}
	return c.at
}

// reaching reports whether something may be typed before another event from outside: from
// before permission is asked for until the typing is over.
func (c *core) reaching() bool {
	switch c.at.(type) {
	case filing, asking, pasting, permitting, entering, passing:
		return true
	}
	return false
}
