package worker

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Limits of the output of one evaluation.
const (
	maxLog      = 100 // lines
	maxFailures = 200
	maxAllTexts = 6 << 20 // bytes of all different formatted texts
	maxMasked   = 256     // bytes of a tag from a filter: a mask may be longer than what it hides
)

// evaluation is one message on its way through all hooks.
type evaluation struct {
	set      *set
	in       policy.Input
	others   map[string]policy.Agent // the further known peers, by name
	avoid    []string
	announce func(script string, hook policy.Hook)
	states   map[*script]*state
	verdict  policy.Verdict

	recipients []message.Address
	to         *message.Address // in decide, guard and format
	hook       policy.Hook
	least      policy.Decision // the strictness after a failed filter or route; no recipient gets a laxer decision

	// As the scripts that ran so far have left it.
	subject, body string
	tags          []string
	meta          map[string]string
	effects       []policy.Effect
	floor         []string
}

func newEvaluation(of *set, in policy.Input, avoid []string) *evaluation {
	return &evaluation{
		set: of, in: in, avoid: avoid, states: map[*script]*state{}, announce: func(string, policy.Hook) {},
		recipients: in.To, subject: in.Message.Subject, body: in.Message.Body, tags: in.Message.Tags, meta: in.Message.Meta,
		verdict: policy.Verdict{Message: in.Message.ID, Generation: of.name, Outcomes: []policy.Outcome{}},
		least:   policy.Decision{Verb: message.VerbDeliver},
	}
}

// run asks all scripts and returns their verdict. It always decides about each recipient.
func (e *evaluation) run() policy.Verdict {
	e.filter()
	e.route()
	texts := 0
	have := map[string]bool{}
	for i := range e.recipients {
		e.to = &e.recipients[i]
		o := policy.Outcome{To: *e.to, Decision: e.guard(policy.Tighten(e.decide(), e.least))}
		if policy.Rank(o.Verb) <= policy.Rank(message.VerbHold) && o.Verb != message.VerbAck {
			o.Formatted = e.format()
			if o.Formatted != nil && !have[*o.Formatted] {
				have[*o.Formatted] = true
				if texts += len(*o.Formatted); texts > maxAllTexts {
					o.Formatted = nil
					e.fail(policy.Failure{Hook: policy.Format, Kind: policy.WrongAnswer, Text: fmt.Sprintf("more than %d bytes of texts in all", maxAllTexts)})
				}
			}
		}
		e.verdict.Outcomes = append(e.verdict.Outcomes, o)
	}
	e.to = nil
	for _, s := range e.states {
		if s != nil {
			e.verdict.Instructions += s.meter.total
		}
	}
	e.verdict.Floor, e.verdict.Effects = e.floor, e.effects
	return e.verdict
}

// filter runs the pipeline. After a filter fails, the others still get the text, but the message is held here: nobody
// knows what the failed filter would have removed.
func (e *evaluation) filter() {
	e.each(policy.Filter, func(s *state, r registered) *policy.Failure {
		v, failure := e.call(s, r)
		if failure != nil || v == lua.LNil {
			return failure
		}
		return e.patch(s, r, v)
	}, func(f policy.Failure) bool {
		e.verdict.Unfiltered = true
		e.least = policy.Tighten(e.least, failed(f))
		return true
	})
}

// patch applies the answer of a filter.
func (e *evaluation) patch(s *state, r registered, v lua.LValue) *policy.Failure {
	t, ok := v.(*lua.LTable)
	if !ok {
		return s.answered(r, "a table with body, subject, tags or meta, or nil", v)
	}
	var body, subject *string
	var tags *[]string
	var meta map[string]string
	// The answer is read in a call of its own, so that an error raised by our code fails like one of the script.
	_, failure := s.call(hookInstructions, e.within(), s.machine.NewFunction(func(L *lua.LState) int {
		s.eachField(L, t, patches, func(name string, v lua.LValue) {
			switch name {
			case "body":
				text := s.said(L, name, v, message.MaxBody)
				body = &text
			case "subject":
				text := s.said(L, name, v, message.MaxSubject)
				subject = &text
			case "tags":
				list := s.tags(L, v, maxMasked)
				tags = &list
			case "meta":
				meta = e.metaOf(s, L, v)
			default:
				panic("patch: " + name)
			}
		})
		return 0
	}))
	if failure != nil {
		failure.Kind, failure.Line = policy.WrongAnswer, r.line
		return failure
	}
	if body != nil {
		e.body, e.verdict.Body = *body, body
	}
	if subject != nil {
		e.subject, e.verdict.Subject = *subject, subject
	}
	if tags != nil {
		e.tags, e.verdict.Tags = *tags, tags
	}
	if meta != nil {
		e.meta = maps.Clone(e.meta)
		maps.Copy(e.meta, meta)
		if e.verdict.Meta == nil {
			e.verdict.Meta = map[string]string{}
		}
		maps.Copy(e.verdict.Meta, meta)
	}
	e.says(s, r, patched(body, subject, tags, meta))
	return nil
}

// metaOf returns the meta values that a filter changes. The keys belong to a protocol: a filter cannot add any.
func (e *evaluation) metaOf(s *state, L *lua.LState, v lua.LValue) map[string]string {
	changed := map[string]string{}
	size := 0
	for key, value := range e.verdict.Meta {
		size += len(key) + len(value)
	}
	s.tableOf(L, "meta", v).ForEach(func(k, v lua.LValue) {
		key := k.String()
		if _, ok := e.meta[key]; !ok {
			L.RaiseError("the message has no meta %q%s", clip(key, 64), meant(key, sortedKeys(e.meta)))
		}
		changed[key] = s.said(L, "meta."+clip(key, 64), v, policy.MaxMeta)
		if size += len(key) + len(changed[key]); size > policy.MaxMeta {
			L.RaiseError("meta of more than %d bytes", policy.MaxMeta)
		}
	})
	return changed
}

// route asks where the message goes, until a script answers. From then on the projects of the new recipients are asked
// about it, as if it had been addressed to them. Their filters are not run: the route may depend on the text as the
// earlier filters left it.
func (e *evaluation) route() {
	e.each(policy.Route, func(s *state, r registered) *policy.Failure {
		v, failure := e.call(s, r)
		if failure != nil || v == lua.LNil {
			return failure
		}
		names, ok := routed(v)
		if !ok {
			return s.answered(r, "a name, a list of names, or nil", v)
		}
		e.verdict.Route = names
		e.says(s, r, strings.Join(names, ", "))
		e.recipients = nil
		for _, name := range names {
			to := message.Address{Name: name}
			if a, ok := e.agent(name); ok {
				to = a.Address
				if a.Project != "" {
					e.in.Projects = append(slices.Clip(e.in.Projects), a.Project)
				}
			}
			e.recipients = append(e.recipients, to)
		}
		return nil
	}, func(f policy.Failure) bool {
		e.least = policy.Tighten(e.least, failed(f))
		return false
	}, func() bool { return e.verdict.Route != nil })
}

// routed returns the names that a route answered. An empty list is no answer: a message to nobody would be lost.
func routed(v lua.LValue) ([]string, bool) {
	if name, ok := v.(lua.LString); ok {
		return []string{string(name)}, isName(name)
	}
	t, ok := v.(*lua.LTable)
	if !ok || t.Len() == 0 || t.Len() > policy.MaxRecipients {
		return nil, false
	}
	var names []string
	for i := 1; i <= t.Len(); i++ {
		name, _ := t.RawGetInt(i).(lua.LString)
		if !isName(name) {
			return nil, false
		}
		if !slices.Contains(names, string(name)) {
			names = append(names, string(name))
		}
	}
	return names, true
}

func isName(name lua.LString) bool {
	return name != "" && len(name) <= 256 && utf8.ValidString(string(name))
}

// decide asks about the current recipient, until a script answers.
func (e *evaluation) decide() policy.Decision {
	d := policy.Decision{Verb: e.in.Otherwise, By: policy.BuiltIn}
	if policy.Rank(d.Verb) < 0 {
		d.Verb, d.Reason = message.VerbAsk, "no policy decided"
	}
	done := false
	e.each(policy.Decide, func(s *state, r registered) *policy.Failure {
		if r.rule != nil {
			if done = r.rule.holds(e); done {
				d = r.rule.decision
				e.decides(d)
			}
			return nil
		}
		v, failure := e.call(s, r)
		if failure != nil || v == lua.LNil {
			return failure
		}
		if d, done = s.decision(v); !done {
			return s.answered(r, "a decision (intercom.deliver, intercom.ask, …) or nil", v)
		}
		e.decides(d)
		return nil
	}, func(f policy.Failure) bool {
		d, done = failed(f), true
		return false
	}, func() bool { return done })
	return d
}

// guard lets all guards tighten a decision.
func (e *evaluation) guard(d policy.Decision) policy.Decision {
	e.each(policy.Guard, func(s *state, r registered) *policy.Failure {
		v, failure := e.call(s, r)
		if failure != nil || v == lua.LNil {
			return failure
		}
		stricter, ok := s.decision(v)
		if !ok {
			return s.answered(r, "a decision (intercom.ask, intercom.hold, …) or nil", v)
		}
		if s.script.source.GuardsOnly {
			stricter = wordless(stricter)
		}
		e.decides(stricter)
		d = policy.Tighten(d, stricter)
		return nil
	}, func(f policy.Failure) bool {
		d = policy.Tighten(d, failed(f))
		return true
	})
	return d
}

// wordless removes the words from a decision of a file that may only tighten: nothing that its author wrote reaches an
// agent. The reason of a hold is in the sender's receipt, and that of a bounce would be sent back, so both get fixed
// words. Other reasons stay: they are in notices and in the log, for people.
func wordless(d policy.Decision) policy.Decision {
	d.Prompt, d.Tags, d.Text = "", nil, ""
	switch d.Verb {
	case message.VerbBounce:
		d.Text = "a project's policy sent it back"
	case message.VerbHold:
		d.Reason = "a project's policy holds it"
	}
	return d
}

// format asks for the text, until a script answers; nil is the built-in format. It does not ask about a sidecar's own
// messages: nobody said them, and they must not look as if somebody had.
func (e *evaluation) format() *string {
	if e.in.Message.Origin == message.OriginSystem {
		return nil
	}
	var text *string
	e.each(policy.Format, func(s *state, r registered) *policy.Failure {
		v, failure := e.call(s, r)
		if failure != nil || v == lua.LNil {
			return failure
		}
		made, ok := v.(lua.LString)
		if !ok || made == "" || len(made) > policy.MaxFormatted || !utf8.ValidString(string(made)) {
			return s.answered(r, "a text that is not empty and not too long, or nil", v)
		}
		t := string(made)
		text = &t
		e.says(s, r, fmt.Sprintf("a text of %d bytes", len(t)))
		return nil
	}, func(policy.Failure) bool { return false }, func() bool { return text != nil })
	return text
}

// failed returns the laxest decision that a failure permits.
func failed(f policy.Failure) policy.Decision {
	by := policy.BuiltIn
	if f.Script != "" {
		by = f.Script
		if f.Line > 0 {
			by = fmt.Sprintf("%s:%d", f.Script, f.Line)
		}
	}
	return policy.Decision{Verb: f.Hook.Failure(), Reason: by + ": " + string(f.Hook) + " failed: " + f.Text, By: policy.BuiltIn}
}

// each calls run for all functions and rules at a hook, in the order of the scripts, until one of the ends returns
// true. When a script fails, each records the failure, discards the effects of that call, and calls fails, which
// reports whether to go on.
func (e *evaluation) each(h policy.Hook, run func(*state, registered) *policy.Failure, fails func(policy.Failure) bool, ends ...func() bool) {
	e.hook = h
	for _, script := range e.set.scripts {
		if script.source.Project != "" && !slices.Contains(e.in.Projects, script.source.Project) {
			continue
		}
		for n := range script.hooks[h] {
			effects, floor := e.effects, e.floor
			failure := e.one(script, h, n, run)
			if failure != nil {
				e.effects, e.floor = effects, floor
				failure.Hook = h
				e.fail(*failure)
				if source := script.source; source.GuardsOnly && source.Broken == "" && (failure.Kind == policy.Raised || failure.Kind == policy.WrongAnswer) {
					failure.Text = "intercom policy log says why" // its text may be the author's words, and a decision's reason is in the receipt
				}
				if !fails(*failure) {
					return
				}
			}
			for _, end := range ends {
				if end() {
					return
				}
			}
		}
	}
}

// one runs the nth function or rule of a script at a hook.
func (e *evaluation) one(script *script, h policy.Hook, n int, run func(*state, registered) *policy.Failure) *policy.Failure {
	name := script.source.Name
	if script.broken != nil {
		f := *script.broken
		return &f
	}
	if slices.Contains(e.avoid, name) {
		return &policy.Failure{Script: name, Kind: policy.Quarantined, Text: "the policy worker died of it"}
	}
	e.announce(name, h)
	if r := script.registered[h]; n < len(r) && r[n].rule != nil {
		return run(nil, r[n])
	}
	s := e.state(script)
	if s == nil || n >= len(s.hooks[h]) {
		return &policy.Failure{Script: name, Kind: policy.Raised, Text: "the file does not do what it did when it was loaded"}
	}
	failure := run(s, s.hooks[h][n])
	if failure != nil {
		e.verdict.Instructions += s.meter.total
		e.states[script] = nil // a machine in which something failed may be in any state
	}
	return failure
}

// state returns the machine of a script for this message.
func (e *evaluation) state(script *script) *state {
	s := e.states[script]
	if s == nil {
		script.used = true
		if s, script.spare = script.spare, nil; s == nil {
			if s = script.fresh(e.set); s == nil {
				return nil
			}
		}
		s.meter.total = 0 // the instructions of the file itself were counted when it was loaded
		s.now, s.chance = e, chance(e.in.Message.ID, script.source.Name)
		e.states[script] = s
	}
	return s
}

// chance returns a source of random numbers that is the same for the same message in the same script.
func chance(id message.ID, script string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(id) + "\x00" + script))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

func (e *evaluation) call(s *state, r registered) (lua.LValue, *policy.Failure) {
	return s.call(hookInstructions, e.within(), r.fn, s.message, s.context)
}

// within returns how long a call may take: for the longest text four times as long as for a short one.
func (e *evaluation) within() time.Duration {
	return hookTime + 3*hookTime*time.Duration(min(len(e.in.Message.Body), message.MaxBody))/message.MaxBody
}

// answered returns the failure of a hook that returned a wrong value.
func (s *state) answered(r registered, wanted string, v lua.LValue) *policy.Failure {
	got := v.Type().String()
	if got == "string" {
		got = fmt.Sprintf("%q", clip(lua.LVAsString(v), 40))
	}
	return &policy.Failure{Script: s.script.source.Name, Line: r.line, Kind: policy.WrongAnswer, Text: printable("returned "+got+", not "+wanted, 500)}
}

func (e *evaluation) fail(f policy.Failure) {
	if len(e.verdict.Failures) < maxFailures {
		e.verdict.Failures = append(e.verdict.Failures, f)
	}
}

func (e *evaluation) say(l policy.LogLine) {
	if len(e.verdict.Log) < maxLog {
		e.verdict.Log = append(e.verdict.Log, l)
	}
}

// agent finds a peer by its name.
func (e *evaluation) agent(name string) (policy.Agent, bool) {
	if a, ok := e.in.Agent(name); ok {
		return a, true
	}
	a, ok := e.others[name]
	return a, ok
}
