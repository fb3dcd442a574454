package scripting

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// believe turns a reply into a verdict after checking that it can be one. A worker runs code that others wrote, so its
// replies are not trusted.
func (s *Set) believe(in policy.Input, reply wire.Reply, texts [][]byte) (policy.Verdict, error) {
	if reply.Verdict == nil || reply.Texts == nil || len(reply.Texts.Formatted) != len(reply.Verdict.Outcomes) {
		return policy.Verdict{}, errors.New("no verdict")
	}
	v := *reply.Verdict
	if v.Message != in.Message.ID || v.Generation != s.Generation {
		return policy.Verdict{}, errors.New("a verdict about something else")
	}
	text := func(i *int) (*string, error) {
		if i == nil {
			return nil, nil
		}
		if *i < 0 || *i >= len(texts) || !utf8.Valid(texts[*i]) {
			return nil, errors.New("an invalid text")
		}
		t := string(texts[*i])
		return &t, nil
	}
	var err error
	if v.Body, err = text(reply.Texts.Body); err != nil {
		return v, err
	}
	if v.Body != nil && len(*v.Body) > message.MaxBody {
		return v, errors.New("a body that is too long")
	}
	if err := patchable(in.Message, v); err != nil {
		return v, err
	}
	for i := range v.Outcomes {
		if v.Outcomes[i].Formatted, err = text(reply.Texts.Formatted[i]); err != nil {
			return v, err
		}
	}
	if err := addressed(in, v); err != nil {
		return v, err
	}
	for _, o := range v.Outcomes {
		if err := believable(o, v.Unfiltered); err != nil {
			return v, err
		}
	}
	if !in.Traced {
		v.Answers = nil
	}
	return v, s.remembered(in, v.Effects)
}

// patchable checks the changes that filters made to a message, apart from its body.
func patchable(m message.Envelope, v policy.Verdict) error {
	if v.Subject != nil && len(*v.Subject) > message.MaxSubject || v.Tags != nil && len(*v.Tags) > message.MaxTags {
		return errors.New("a subject or tags that are too long")
	}
	for key, value := range v.Meta {
		if _, ok := m.Meta[key]; !ok || len(value) > policy.MaxMeta {
			return fmt.Errorf("meta %q that the message does not have", key)
		}
	}
	return nil
}

// addressed checks that a verdict decides about each recipient. If the scripts did not reroute the message, it fills in
// the addresses.
func addressed(in policy.Input, v policy.Verdict) error {
	if v.Route == nil {
		if len(v.Outcomes) != len(in.To) {
			return errors.New("a verdict that leaves a recipient undecided")
		}
		for i := range v.Outcomes {
			v.Outcomes[i].To = in.To[i]
		}
		return nil
	}
	if len(v.Route) == 0 || len(v.Route) > policy.MaxRecipients || len(v.Outcomes) != len(v.Route) {
		return errors.New("a verdict that leaves a recipient undecided")
	}
	for i, name := range v.Route {
		to := v.Outcomes[i].To
		if known, _ := in.Agent(name); name == "" || to != (message.Address{Name: name}) && to != known.Address {
			return fmt.Errorf("an unknown recipient %q", name)
		}
	}
	return nil
}

// believable checks the decision about one recipient.
func believable(o policy.Outcome, unfiltered bool) error {
	least := 0
	if unfiltered {
		least = policy.Rank(message.VerbHold)
	}
	end, ends := o.Ends()
	switch {
	case policy.Rank(o.Verb) < least, ends && policy.Rank(end) < least, o.Otherwise != "" && policy.Rank(o.Otherwise) < 0:
		return fmt.Errorf("a verb %q, or later %q", o.Verb, o.Otherwise)
	case o.Expires < 0 || o.After < 0:
		return errors.New("a time before now")
	case o.Formatted != nil && (*o.Formatted == "" || len(*o.Formatted) > policy.MaxFormatted):
		return errors.New("a formatted text that is empty or too long")
	}
	return nil
}

// remembered checks what scripts want to remember.
func (s *Set) remembered(in policy.Input, effects []policy.Effect) error {
	if len(effects) > policy.MaxEffects {
		return fmt.Errorf("%d effects", len(effects))
	}
	for _, e := range effects {
		ok := len(e.Key) <= policy.MaxKey && e.At.Equal(in.Now) && slices.ContainsFunc(s.Scripts, func(script policy.Script) bool { return script.Name == e.Script })
		switch value := e.Value.(type) {
		case nil:
			ok = ok && (!e.Count || e.Window > 0 && e.Window <= policy.MaxWindow)
		case string:
			ok = ok && !e.Count && len(value) <= policy.MaxMemory
		case float64, bool:
			ok = ok && !e.Count
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("an effect of %q, which no script may have", e.Script)
		}
	}
	return nil
}
