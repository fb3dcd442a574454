package policyset

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// verdictOf turns a decision of scripts into a verdict that the relay carries out. form is the person's own form of
// attribution, or "".
func verdictOf(q relay.Question, v policy.Verdict, form string) message.Verdict {
	out := message.Verdict{
		Message: q.Message.ID, Decision: message.Decision{Verb: message.VerbDeliver, By: policy.BuiltIn}, Body: v.Body, Subject: v.Subject, Tags: v.Tags, Meta: v.Meta,
		Unfiltered: v.Unfiltered, Generation: v.Generation, Own: form,
	}
	said := out.Patched(q.Message)
	if v.Route != nil {
		to, unknown := routed(q, v)
		if unknown != "" {
			out.Verb, out.Reason, out.Notify = message.VerbHold, fmt.Sprintf("policy routes to %q, which does not exist", unknown), true
			return out
		}
		for _, s := range to {
			out.To = append(out.To, addressOf(s, q.Chat))
		}
	}
	head, separator := attributed(form, q.Message, q.Chat)
	var strictest policy.Decision
	var outcomes []message.Outcome
	for i, o := range v.Outcomes {
		target := o.To.Peer
		if v.Route != nil {
			target = out.To[i].Peer
		}
		if i == 0 || policy.Rank(o.Verb) > policy.Rank(strictest.Verb) {
			strictest = o.Decision
		}
		one := outcomeOf(target, o.Decision)
		if takesPart(q, target) {
			one.Head, one.Separator = head, separator
		}
		if o.Formatted != nil {
			h, s, rest := formatted(*o.Formatted, said.Body)
			if h != "" {
				one.Head, one.Separator = h, s
			}
			one.Body, one.AsIs = &rest, true
		}
		switch apart := keepsApart(q); {
		case o.Prompt == "":
		case apart:
			out.Meta = maps.Clone(out.Meta)
			if out.Meta == nil {
				out.Meta = map[string]string{}
			}
			out.Meta[repository.MetaPrompt] = o.Prompt
		default:
			if valueOf(one.Body) == "" {
				one.Body, one.AsIs = &said.Body, false
			}
			with := prompted(*one.Body, o.Decision)
			one.Body = &with
		}
		outcomes = append(outcomes, one)
	}
	// A recipient that is added later gets the strictest of the decisions.
	if len(v.Outcomes) > 0 {
		out.Decision = outcomeOf("", strictest).Decision
	} else if v.Unfiltered {
		out.Verb = message.VerbHold
	}
	out.Notify = out.Notify || v.Unfiltered
	for _, o := range outcomes {
		if !reflect.DeepEqual(o, out.For(o.Target)) {
			out.Outcomes = append(out.Outcomes, o)
		}
	}
	out.Floor = floorOf(q, v.Floor)
	return out
}

// keepsApart reports whether a message comes from a file of a repository that itself combines the prompt with the text.
func keepsApart(q relay.Question) bool {
	_, has := q.Message.Meta[repository.MetaPrompt]
	from, known := q.Snapshot.Peer(q.Message.From.Peer)
	return has && known && from.Kind == message.PeerRepository
}

// takesPart reports whether the session is in the chat of a message.
func takesPart(q relay.Question, session message.ID) bool {
	return q.Chat != nil && slices.ContainsFunc(q.Chat.Participants, func(p message.Participant) bool { return p.Peer == session })
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// outcomeOf converts a decision for the relay. A delivery that is due later becomes a hold until then.
func outcomeOf(target message.ID, d policy.Decision) message.Outcome {
	o := message.Outcome{
		Target: target, Decision: message.Decision{Verb: d.Verb, Reason: d.Reason, By: d.By, Expires: d.Expires, Otherwise: d.Otherwise, Notify: d.Notify != "", Offer: d.Notify == policy.NoticePopup}, Tags: d.Tags, Idle: d.Idle,
	}
	switch d.Verb {
	case message.VerbAck, message.VerbBounce, message.VerbAsk, message.VerbHold: // for ask and hold: the text for what they end as
		o.Text = d.Text
	case message.VerbDeliver:
		if d.After > 0 {
			o.Verb, o.Expires, o.Otherwise = message.VerbHold, d.After, message.VerbDeliver
			o.Reason = cmp.Or(d.Reason, "to go in "+message.ShowDuration(max(d.After.Round(time.Second), time.Second)))
		}
	}
	return o
}

// routed returns the sessions to which scripts send a message, or the first name that no session has.
func routed(q relay.Question, v policy.Verdict) (to []message.Peer, unknown string) {
	for _, name := range v.Route {
		s, err := q.Snapshot.Find(name)
		if err != nil || s.Ended != nil {
			return nil, name
		}
		to = append(to, s)
	}
	return to, ""
}

// floorOf returns the participants who get the floor.
func floorOf(q relay.Question, names []string) (to []message.ID) {
	if q.Chat == nil {
		return nil
	}
	for _, name := range names {
		if name == string(message.Everybody) {
			return []message.ID{message.Everybody}
		}
		for _, p := range q.Chat.Participants {
			if p.Name == name && !p.Left {
				to = append(to, p.Peer)
			}
		}
	}
	return to
}

// asked makes a verdict wait for a person, without a time limit, wherever it would let the message go.
func asked(v message.Verdict, why string) message.Verdict { return waiting(v, message.VerbAsk, why) }

// unseen makes a verdict wait for the person's own policies. Nobody knows what their filters would remove, so no
// approval releases the message as it is.
func unseen(v message.Verdict, why string) message.Verdict {
	v = waiting(v, message.VerbHold, why)
	v.Unfiltered, v.Notify = true, v.Notify || v.Verb == message.VerbHold
	for i := range v.Outcomes {
		o := &v.Outcomes[i]
		o.Notify = o.Notify || o.Verb == message.VerbHold
	}
	return v
}

func waiting(v message.Verdict, as message.Verb, why string) message.Verdict {
	v.Outcomes = append([]message.Outcome(nil), v.Outcomes...)
	for i := range v.Outcomes {
		waits(&v.Outcomes[i].Decision, as, why)
	}
	waits(&v.Decision, as, why)
	return v
}

// waits makes a decision that would let the message go, now or later, wait with the verb as or a stricter one, without
// a time limit.
func waits(d *message.Decision, as message.Verb, why string) {
	passes := func(v message.Verb) bool { return policy.Rank(v) < policy.Rank(as) }
	if passes(d.Verb) || d.Expires > 0 && passes(d.Otherwise) {
		d.Reason, d.By = why, policy.BuiltIn
	}
	if passes(d.Verb) {
		d.Verb = as
	}
	d.Expires, d.Otherwise = 0, "" // remove any time limit of the policy
}
