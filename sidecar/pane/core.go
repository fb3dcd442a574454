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
// nothing and calls nobody. It takes an event with its time and returns the acts that follow from
// it, in order. perform does the acts, and returns with an event for each act that has an answer.
// The core is in one stage at a time, and each stage holds only its own data; the package comment
// has a table of how one stage leads to another.

// core holds the deliveries that wait for a pane, and the stage of those under way.
type core struct {
	name    string // of the session and its pane, for people
	prof    profile.Profile
	compose func(message.Delivery) (part, bool) // makes a delivery into its text; false: nothing to type

	command func(line string) bool // reports whether the program has this command now, and sees nothing else in the line; nil: it has none
	took    []message.ID           // the sidecar's own last notices that the agent itself told to have taken

	enclose func(d message.Delivery, door string) (part, bool) // like compose, for a delivery that goes through the door; nil: there is none
	through throughput                                         // what went through the door

	at    stage // nil: resting
	queue []waiting

	heldAt   time.Time    // when a reason for waiting was last reported
	lost     lost         // a text that was typed and never seen: nothing is typed while it may still come
	doubted  []*batch     // went through a door and became uncertain: the agent may record late that it took them
	left     leftover     // a text that was typed, seen and given up: where it stands in the composer, it is no draft
	marked   []message.ID // deliveries that the server's mark may name: any other is a stray (recall.go)
	over     []message.ID // the last deliveries that came to their end; the relay may not know yet
	unused   []message.ID // the last deliveries whose permission was given back: nothing of them went through a door
	again    backoff      // delays the next paste after tmux refused one
	restless time.Time    // since when the program has kept writing beside a composer that waits
	word     word         // a person's word for a screen that is not recognised
}

// stage is how far a text has come. Its step takes an event and returns the next stage, and the acts
// that follow.
type stage interface {
	step(c *core, now time.Time, e event) (stage, []act)
}

type (
	// resting: nothing of ours is under way.
	resting struct{}
	// recalling: an earlier life may have typed something, and the core finds out what became of it.
	recalling struct {
		found found
		was   spot
		since time.Time
		asked part   // the part for which permission is asked after the fact
		batch *batch // the deliveries that the mark names, once the screen is searched for them
	}
	// filing: texts that are too long to type are being put into files.
	filing struct{ plan }
	// asking: the relay is being asked whether the text may be typed, or go through the door.
	asking struct {
		plan
		granted []part
		next    int // index of the part that is asked for
	}
	// pasting: tmux has the order to paste.
	pasting struct{ *batch }
	// pasted: the text was pasted, and has not been seen yet.
	pasted struct {
		*batch
		spell
		drawn int // how much of the text was seen, of a program that draws it slowly
	}
	// composed: the text stands in the composer. Enter is next.
	composed struct {
		*batch
		spell
		absent time.Time // when a look first found the composer empty; reset by a look that shows our text
		parked bool      // the relay refused permission for Enter, until it hands the delivery out again
		again  backoff   // delays the next Enter after tmux refused one
		rested int       // looks in a row that showed our text and a program at rest
	}
	// permitting: the relay is being asked whether Enter may be pressed.
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
	// entered: Enter was pressed, and the text has to leave the composer.
	entered struct {
		*batch
		spell
		cleared time.Time // when the composer was first seen without the text
		doubted bool      // tmux did not answer: Enter may not have come
		before  string    // the server's mark before Enter
		lagged  time.Time // when a look last found unread keys, or the agent running
	}
)

// spell is the time spent in one stage.
type spell struct {
	since time.Time      // when the stage's deadline began to run
	looks int            // so many, with nothing in the way
	held  message.Reason // last reported reason why Enter is not pressed
}

// plan is a paste that one look found nothing against, with that look.
type plan struct {
	parts   []part
	found   found
	keys    tmux.Keys
	vouched bool // the screen is not recognised, and a person gave their word

	offer *door.Offer // the agent's door, which the text goes through instead; nil: it is typed
}

// midst reports whether the text goes through the door of an agent at work.
func (p plan) midst() bool { return p.offer != nil && p.found.door.midst && p.parts[0].d.MidTurn }

// event is what happens: sighted, filed, permitted, heard, typed, handed, noted, recalled, delivered,
// cancelled, surfaced, prompted, reported, released or gone.
type event any

type (
	// sighted: the pane was looked at.
	sighted struct{ found found }
	// filed answers lay: these parts may be typed.
	filed struct {
		parts []part
		err   error
	}
	// permitted answers ask.
	permitted struct {
		err    error
		ending bool // the sidecar is ending
	}
	// heard answers listen: what the agent's own account says against typing by now, and whether keys wait unread in
	// the terminal, or were read at the prompt without showing.
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
	// delivered: the relay hands deliveries to the pane.
	delivered struct{ all []message.Delivery }
	// cancelled: the relay takes deliveries back.
	cancelled struct{ ids []message.ID }
	// surfaced: the lost text was taken after all, or shows on the screen. If it stands, it has come and waits unseen
	// in a line that nobody has read.
	surfaced struct{ stands bool }
	// prompted: the agent itself tells that it took a prompt.
	prompted struct {
		agent.Prompt
		source string
	}
	// released: the pane was released.
	released struct{}
	// gone: the pane or its program has ended.
	gone struct{ why message.Reason }
)

// act is what follows from an event.
type act any

type (
	// lay puts long texts into files.
	lay struct{ parts []part }
	// ask asks the relay for permission, which it gives only once it has recorded it.
	ask struct {
		part part
		says string
	}
	// listen takes in what the agent itself has told meanwhile.
	listen struct{}
	// paste types the text, if the pane is still as it was found.
	paste struct {
		*batch
		found found
		keys  tmux.Keys
	}
	// press types Enter, on the same condition.
	press struct {
		*batch
		found found
		keys  tmux.Keys
	}
	// recall finds out from the screen what became of a text of an earlier life.
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
	// retract says that a text was not typed, so that nothing expects it to show.
	retract struct{ text string }
	// await says that a text was submitted and is to be answered.
	await struct{ *batch }
	// settle tells late answers, once the text under way has come to its end.
	settle struct{}
	// announce tells the relay whether the pane is closed, and why.
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
			// The agent reads its keys in order: it has read our unseen text by now, or the text
			// was never there.
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

// stage returns the current stage.
func (c *core) stage() stage {
	if c.at == nil {
		return resting{}
	}
	return c.at
}

// reaching reports whether the core may type without another event from outside: from before it
// asks for permission until the typing is over.
func (c *core) reaching() bool {
	switch c.at.(type) {
	case filing, asking, pasting, permitting, entering, passing:
		return true
	}
	return false
}
