package policy

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The limits of a verdict.
const (
	MaxFormatted  = message.MaxBody + 64<<10 // bytes of one formatted text
	MaxMeta       = 256 << 10                // bytes of all meta values that filters changed
	MaxRecipients = 256                      // names of a route
	MaxEffects    = 1024                     // effects of one message
)

// Decision is what a script says about a message and a recipient.
type Decision struct {
	Verb      message.Verb  `json:"verb"`
	Reason    string        `json:"reason,omitempty"`
	Notify    string        `json:"notify,omitempty"`     // a notice; "" is none
	After     time.Duration `json:"after_ns,omitempty"`   // earliest delivery, from now
	Idle      bool          `json:"idle,omitempty"`       // never in the middle of a turn, whatever the chat's setting
	Expires   time.Duration `json:"expires_ns,omitempty"` // a waiting decision ends after this time, as Otherwise
	Otherwise message.Verb  `json:"otherwise,omitempty"`  // with Expires; hold if the script does not say
	Prompt    string        `json:"prompt,omitempty"`     // what the recipient is told to do with the message
	Text      string        `json:"text,omitempty"`       // of an acknowledgement or a bounce
	Tags      []string      `json:"tags,omitempty"`       // in addition to those of the message
	By        string        `json:"by"`                   // file:line of the decision and the name of its rule, or "built in"
}

// The notices: how a person learns of a decision at once, at the terminals that show its chat. Nothing opens by itself
// there, because somebody may be typing.
const (
	NoticeStatus = "status" // a line
	NoticePopup  = "popup"  // a line that says how to open the message
)

// BuiltIn is the By of a decision that no script made.
const BuiltIn = message.BuiltIn

// waits reports whether another decision can follow this one.
func (d Decision) waits() bool { return d.Verb == message.VerbAsk || d.Verb == message.VerbHold }

// Ends reports whether time alone ends the decision, and the verb that it then becomes. Only a waiting decision can
// end.
func (d Decision) Ends() (message.Verb, bool) {
	if d.Expires <= 0 || !d.waits() {
		return "", false
	}
	if d.Otherwise == "" {
		return message.VerbHold, true
	}
	return d.Otherwise, true
}

// at returns the verb of the decision after that time.
func (d Decision) at(after time.Duration) message.Verb {
	if end, ends := d.Ends(); ends && d.Expires <= after {
		return end
	}
	return d.Verb
}

// yet is like at, but returns hold for a delivery that is not due after that time.
func (d Decision) yet(after time.Duration) message.Verb {
	verb := d.at(after)
	if verb == message.VerbDeliver && after < d.After {
		return message.VerbHold
	}
	return verb
}

// goes reports whether the message is delivered after that time without anybody's approval.
func (d Decision) goes(after time.Duration) bool { return d.yet(after) == message.VerbDeliver }

// Laxer reports whether the decision lets something through, now or later, that the other one does not let through by
// the same time.
func (d Decision) Laxer(than Decision) bool {
	for _, after := range []time.Duration{0, d.After, d.Expires, than.Expires} {
		if Rank(d.yet(after)) < Rank(than.at(after)) || d.goes(after) && !than.goes(after) {
			return true
		}
	}
	return d.Verb == message.VerbDeliver && than.Verb == message.VerbDeliver && !d.Idle && than.Idle
}

// from returns the strictest verb that the decision has after that time or at any later one.
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

// Tighten returns the stricter of two decisions, or the first if they are equally strict. Of two that deliver, it
// returns the one that delivers later, or only when its recipient is idle. When the result or the other decision
// expires, what follows is no laxer than either decision is by then, and goes no sooner. If the second one is stricter,
// the result keeps the first one's words to the recipient and the person, since the message may still be delivered.
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
	if d.Otherwise == d.Verb { // it ends as what it already is
		d.Expires, d.Otherwise = 0, ""
	}
	return d
}

// keeping returns the decision with the prompt, tags and notice of the one that it tightens.
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

// Outcome is the decision about a message for one of its recipients.
type Outcome struct {
	To message.Address `json:"to"`
	Decision
	// Formatted is the text that a format hook made, including the attribution; nil means the built-in format. Only an
	// outcome that may still be delivered has one: deliver, ask or hold. Like Body, it is not part of the JSON form.
	Formatted *string `json:"-"`
}

// Verdict is everything that results from an evaluation. It is data: none of it has happened yet, and it is committed
// as a whole or not at all.
type Verdict struct {
	Message    message.ID `json:"message"`
	Generation string     `json:"generation,omitempty"` // of the set that decided
	// Outcomes has one entry for each recipient, in the order of Input.To, or of Route if the scripts rerouted the
	// message. Without recipients it is empty.
	Outcomes []Outcome `json:"outcomes"`
	Route    []string  `json:"route,omitempty"` // the names that replace the recipients

	// What filters changed; nil: unchanged.
	Body    *string           `json:"-"`
	Subject *string           `json:"subject,omitempty"`
	Tags    *[]string         `json:"tags,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"` // the values that changed
	// Unfiltered says that the text did not pass all filters. It must be evaluated anew before it leaves, even if a
	// person approves it.
	Unfiltered bool `json:"unfiltered,omitempty"`

	Floor    []string  `json:"floor,omitempty"` // who may speak from now on, "all" for everybody; nil: unchanged
	Effects  []Effect  `json:"effects,omitempty"`
	Log      []LogLine `json:"log,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
	Answers  []Answer  `json:"answers,omitempty"` // of a Traced message, in the order in which they came

	Instructions int           `json:"instructions,omitempty"` // total of the Lua machines
	Took         time.Duration `json:"took_ns,omitempty"`      // measured outside the worker
}

// Effect is something that a script remembers once its verdict is committed. Either it is a count, with Count set, or
// it sets Key to Value; a nil Value deletes the key.
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
	Instructions Kind = "instructions" // more instructions than a hook may use
	Overtime     Kind = "time"         // longer than a hook has
	WrongAnswer  Kind = "answer"       // the hook does not accept what was returned
	Died         Kind = "died"         // the worker ended: memory, stack
	Killed       Kind = "killed"       // the worker did not answer in time
	Quarantined  Kind = "quarantined"  // the script is no longer asked, because the worker died of it
	NoWorker     Kind = "no worker"    // no script can be asked
)

// Failure is the failure of one script at one hook. Script is "" if the script is not known.
type Failure struct {
	Script string `json:"script,omitempty"`
	Hook   Hook   `json:"hook,omitempty"`
	Line   int    `json:"line,omitempty"`
	Kind   Kind   `json:"kind"`
	Text   string `json:"text"`
}

// Undecided returns the verdict about a message for which no script can be asked, given the hooks of the scripts: it
// asks a person, or holds. A held message has passed no filter and must be evaluated anew.
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
