package policy

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The limits of a verdict.
const (
	MaxFormatted  = message.MaxBody + 64<<10 // bytes of one formatted text
	MaxMeta       = 256 << 10                // bytes of all values of meta that filters changed
	MaxRecipients = 256                      // names of a route
	MaxEffects    = 1024                     // things that one message may leave behind
)

// Decision is what a script says about a message and a recipient.
type Decision struct {
	Verb      message.Verb  `json:"verb"`
	Reason    string        `json:"reason,omitempty"`
	Notify    string        `json:"notify,omitempty"`     // a notice; "" is none
	After     time.Duration `json:"after_ns,omitempty"`   // not before so long from now
	Idle      bool          `json:"idle,omitempty"`       // never in the midst of a turn, whatever its chat is set to
	Expires   time.Duration `json:"expires_ns,omitempty"` // a decision that waits ends after so long, as Otherwise
	Otherwise message.Verb  `json:"otherwise,omitempty"`  // with Expires; hold where a script does not say
	Prompt    string        `json:"prompt,omitempty"`     // what the recipient is told to do with it
	Text      string        `json:"text,omitempty"`       // of an acknowledgement or a bounce
	Tags      []string      `json:"tags,omitempty"`       // beside those of the message
	By        string        `json:"by"`                   // file:line of the decision, the name of a rule behind it, or "built in"
}

// The notices: how a person is told of a decision at once, at the terminals where its chat is.
// Nothing opens by itself there, since somebody may be typing.
const (
	NoticeStatus = "status" // a line
	NoticePopup  = "popup"  // a line that says how to open the message
)

// BuiltIn is the By of a decision that no script took.
const BuiltIn = message.BuiltIn

// waits reports whether the decision is one that can be followed by another.
func (d Decision) waits() bool { return d.Verb == message.VerbAsk || d.Verb == message.VerbHold }

// Ends reports whether time alone ends the decision, and as what. Only what waits can end.
func (d Decision) Ends() (message.Verb, bool) {
	if d.Expires <= 0 || !d.waits() {
		return "", false
	}
	if d.Otherwise == "" {
		return message.VerbHold, true
	}
	return d.Otherwise, true
}

// at is what the decision is after so long.
func (d Decision) at(after time.Duration) message.Verb {
	if end, ends := d.Ends(); ends && d.Expires <= after {
		return end
	}
	return d.Verb
}

// yet is what the decision is after so long, hold for what is to be delivered later.
func (d Decision) yet(after time.Duration) message.Verb {
	verb := d.at(after)
	if verb == message.VerbDeliver && after < d.After {
		return message.VerbHold
	}
	return verb
}

// goes reports whether the decision has delivered after so long, without anybody's yes.
func (d Decision) goes(after time.Duration) bool { return d.yet(after) == message.VerbDeliver }

// Laxer reports whether the decision lets through, now or once time has passed, what another
// does not let through by then.
func (d Decision) Laxer(than Decision) bool {
	for _, after := range []time.Duration{0, d.After, d.Expires, than.Expires} {
		if Rank(d.yet(after)) < Rank(than.at(after)) || d.goes(after) && !than.goes(after) {
			return true
		}
	}
	return d.Verb == message.VerbDeliver && than.Verb == message.VerbDeliver && !d.Idle && than.Idle
}

// from is the strictest that the decision is after so long, or any later.
func (d Decision) from(after time.Duration) message.Verb {
	switch end, ends := d.Ends(); {
	case !ends:
		return d.Verb
	case d.Expires <= after:
		return end
	default:
		return stricter(d.Verb, end)
	}
}

// Tighten is the stricter of two decisions; the first where they are equally strict, but of
// two that deliver the one that does so later, or only once its recipient rests. When its time is over, or that of the other,
// what follows is no laxer than what either says by then, and goes no sooner. A second one that is the stricter
// keeps what the first says to the recipient and to the person: it may be delivered yet.
func Tighten(first, second Decision) Decision {
	d, other := first, second
	later := second.Verb == message.VerbDeliver && (second.After > first.After || second.Idle && !first.Idle)
	if Rank(second.Verb) > Rank(first.Verb) || second.Verb == first.Verb && later {
		d, other = second.keeping(first), first
	}
	d.Idle = first.Idle || second.Idle
	if d.Verb == other.Verb && d.Verb == message.VerbDeliver {
		d.After = max(first.After, second.After)
	}
	if !d.waits() {
		return d
	}
	end, ends := d.Ends()
	if sooner, ok := other.Ends(); ok && Rank(sooner) > Rank(d.Verb) && (!ends || other.Expires < d.Expires) {
		d.Expires, d.Otherwise = other.Expires, stricter(sooner, d.from(other.Expires))
		return d
	}
	if ends {
		if d.Otherwise = stricter(end, other.from(d.Expires)); d.Otherwise == message.VerbDeliver {
			d.Expires = max(d.Expires, first.After, second.After)
		}
	}
	if d.Otherwise == d.Verb { // it ends as what it is
		d.Expires, d.Otherwise = 0, ""
	}
	return d
}

// keeping is a decision with the prompt, the tags and the notice of one that it tightens.
func (d Decision) keeping(first Decision) Decision {
	switch {
	case d.Prompt == "":
		d.Prompt = first.Prompt
	case first.Prompt != "" && first.Prompt != d.Prompt:
		d.Prompt = first.Prompt + "\n" + d.Prompt
	}
	d.Tags = message.Tagged(first.Tags, d.Tags)
	if first.Notify == NoticePopup || d.Notify == "" {
		d.Notify = first.Notify
	}
	return d
}

// Outcome is what becomes of a message for one of its recipients.
type Outcome struct {
	To message.Address `json:"to"`
	Decision
	// Formatted is the text that a format hook made, attribution included; nil is the built-in
	// format. It is there for what may be delivered yet: deliver, ask and hold. Like Body it is
	// not part of the JSON form.
	Formatted *string `json:"-"`
}

// Verdict is all that an evaluation leaves behind. It is data: nothing of it has happened
// yet, and it is committed as a whole or not at all.
type Verdict struct {
	Message    message.ID `json:"message"`
	Generation string     `json:"generation,omitempty"` // of the set that was asked
	// Outcomes has one for each recipient, in the order of Input.To, or of Route where the
	// scripts sent it elsewhere. Without recipients it is empty.
	Outcomes []Outcome `json:"outcomes"`
	Route    []string  `json:"route,omitempty"` // the names that replace the recipients

	// What filters changed; nil as it was.
	Body    *string           `json:"-"`
	Subject *string           `json:"subject,omitempty"`
	Tags    *[]string         `json:"tags,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"` // the values that changed
	// Unfiltered says that the text did not pass all filters: it must not leave, by a person's
	// yes either, before it was evaluated anew.
	Unfiltered bool `json:"unfiltered,omitempty"`

	Floor    []string  `json:"floor,omitempty"` // who may speak from now on, "all" for everybody; nil as it was
	Effects  []Effect  `json:"effects,omitempty"`
	Log      []LogLine `json:"log,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
	Answers  []Answer  `json:"answers,omitempty"` // of a message that is Traced, in the order in which they came

	Instructions int           `json:"instructions,omitempty"` // of the Lua machine, in all
	Took         time.Duration `json:"took_ns,omitempty"`      // as seen from outside the worker
}

// Effect is something that a script remembers, once its verdict is committed. Either Count is
// set, or Value is what the key has from now on, nil for nothing.
type Effect struct {
	Script string        `json:"script"`
	Key    string        `json:"key"`
	Value  any           `json:"value,omitempty"` // string, float64 or bool
	Count  bool          `json:"count,omitempty"`
	Window time.Duration `json:"window_ns,omitempty"` // of Count
	At     time.Time     `json:"at"`
}

// LogLine is what a script said with print or ctx.log.
type LogLine struct {
	Script string `json:"script"`
	Line   int    `json:"line"`
	Text   string `json:"text"`
}

// Kind says what kind of failure it was.
type Kind string

// The kinds of failure.
const (
	Raised       Kind = "error"        // a run-time error
	Instructions Kind = "instructions" // more of them than a hook has
	Overtime     Kind = "time"         // longer than a hook has
	WrongAnswer  Kind = "answer"       // what was returned is nothing that the hook knows
	Died         Kind = "died"         // the worker ended: memory, stack
	Killed       Kind = "killed"       // the worker did not answer in time
	Quarantined  Kind = "quarantined"  // the script is not asked, since the worker died of it
	NoWorker     Kind = "no worker"    // no script can be asked
)

// Failure is one script that failed at one hook. Script is "" where it is not known which.
type Failure struct {
	Script string `json:"script,omitempty"`
	Hook   Hook   `json:"hook,omitempty"`
	Line   int    `json:"line,omitempty"`
	Kind   Kind   `json:"kind"`
	Text   string `json:"text"`
}

// Undecided is the verdict about a message that no script can be asked about, where the
// scripts have these hooks: it asks a person, or holds. What it holds has to be evaluated
// anew, as what no filter has seen.
func Undecided(in Input, generation string, hooks []Hook, why Failure) Verdict {
	verb := message.VerbAsk
	for _, h := range hooks {
		verb = stricter(verb, h.Failure())
	}
	v := Verdict{Message: in.Message.ID, Generation: generation, Unfiltered: verb == message.VerbHold, Failures: []Failure{why}}
	for _, to := range in.To {
		v.Outcomes = append(v.Outcomes, Outcome{To: to, Decision: Decision{Verb: verb, Reason: why.Text, By: BuiltIn}})
	}
	return v
}
