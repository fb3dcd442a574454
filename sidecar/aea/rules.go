package aea

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// byItself is what an agent may do with a message of a type without asking. A handoff always goes to a person.
var byItself = map[string]Action{
	"question": Answer, "update": Acknowledge, "issue": Answer, "handoff": Ask, "request": Plan, "response": Answer,
}

// by returns the action of a rule that lets the agent go on by itself.
func (r *reader) by(n *yaml.Node, kind string) Action {
	if kind == "handoff" {
		r.say(n, Warning, "a handoff is always shown to a person; a policy of your own can say otherwise")
	}
	return byItself[kind]
}

// kind returns the type that a word names, in the singular or plural, or "".
func kind(word string) string {
	for _, t := range types {
		if word == t || word == t+"s" {
			return t
		}
	}
	return ""
}

// responsePolicy reads response_policy, which goes by type and perhaps by priority. A rule for exactly that
// priority is tried first, then one for the priority's other name, then one for normal, then one for the type.
func (r *reader) responsePolicy(_, n *yaml.Node) {
	r.fields(n, "response_policy", nil, func(key, value *yaml.Node) bool {
		kind := kind(key.Value)
		if kind == "" {
			return false
		}
		var exact, aliased, normal, all []Rule
		whole := r.leaf(kind, key, value, func(key, value *yaml.Node) bool {
			p := priority(key.Value)
			if p == "" {
				return false
			}
			rule := r.leaf(kind, key, value, nil)
			if rule.Action == "" {
				return true
			}
			rule.Priorities = []string{p}
			if p == key.Value {
				exact = append(exact, rule)
			} else {
				aliased = append(aliased, rule)
			}
			if p == "normal" && normal == nil {
				rule.Priorities, rule.Fallback = nil, true
				normal = []Rule{rule}
			}
			return true
		})
		if whole.Action != "" {
			all = []Rule{whole}
		}
		r.rules[byPolicy] = slices.Concat(r.rules[byPolicy], exact, aliased, normal, all)
		return true
	})
}

// steps are the actions that the installer's file names. Most describe what an agent does with a message that
// it answers.
var steps = []string{
	"search_codebase", "analyze_code", "provide_answer", "send_response", "read_update", "acknowledge_if_requested",
	"summarize_for_user", "summarize_key_points", "notify_user", "analyze_issue", "suggest_fix", "wait_for_approval", "summarize_handoff",
	"analyze_request", "create_plan",
}

// leaf reads one entry of response_policy. The rule has no Action if the entry does not determine one.
func (r *reader) leaf(kind string, key, n *yaml.Node, others func(key, value *yaml.Node) bool) Rule {
	rule := Rule{Type: kind, Line: key.Line}
	var auto, approval *bool
	var actions []string
	broken := n.Kind != yaml.MappingNode && !empty(n)
	understood := r.fields(n, key.Value, map[string]field{
		"auto_respond":      func(key, value *yaml.Node) { auto = r.yes(value, key.Value); broken = broken || auto == nil },
		"approval_required": func(key, value *yaml.Node) { approval = r.yes(value, key.Value); broken = broken || approval == nil },
		"actions": func(key, value *yaml.Node) {
			for _, item := range r.items(value, key.Value) {
				word := r.word(item, key.Value)
				if word != "" && !slices.Contains(steps, word) {
					r.say(item, Warning, "action %q is not known: nothing comes of it", word)
				}
				actions = append(actions, word)
			}
		},
	}, others)
	has := func(step string) bool { return slices.Contains(actions, step) }
	switch {
	case broken || !understood && others == nil:
		rule.Action = Ask
	case auto == nil && approval == nil:
		return rule
	case approval != nil && *approval, auto != nil && !*auto, has("wait_for_approval"):
		rule.Action = Ask
	case kind == "update" && (has("summarize_for_user") || has("summarize_key_points")):
		rule.Action = Summarise
	default:
		rule.Action = r.by(key, kind)
	}
	switch {
	case has("notify_user"):
		rule.Notify = NotifyPopup
	case has("summarize_for_user"):
		rule.Notify = NotifyStatus
	}
	return rule
}

func (r *reader) monitoring(_, n *yaml.Node) {
	fields := known("enabled", "watch_directories", "log_file")
	fields["check_interval"] = r.unheeded
	fields["auto_process"] = func(key, value *yaml.Node) {
		for _, item := range r.items(value, key.Value) {
			r.process(item)
		}
	}
	r.fields(n, "monitoring", fields, nil)
}

// process reads one entry of auto_process. If it is not fully understood, a person is asked.
func (r *reader) process(n *yaml.Node) {
	rule := Rule{Line: n.Line}
	var kinds []string
	action, typed := "", false
	priorities := func(key, value *yaml.Node) { rule.Priorities = append(rule.Priorities, r.priorities(key, value)...) }
	understood := r.fields(n, "auto_process", map[string]field{
		"message_type": func(key, value *yaml.Node) {
			typed = true
			for _, item := range r.items(value, key.Value) {
				if k := kind(item.Value); k != "" {
					kinds = append(kinds, k)
				} else {
					r.say(item, Warning, "message_type %q: AEA has no such type", item.Value)
				}
			}
		},
		"requires_response": func(key, value *yaml.Node) { rule.RequiresResponse = r.yes(value, key.Value) },
		"severity":          priorities, "priority": priorities,
		"action": func(key, value *yaml.Node) { action = r.word(value, key.Value) },
	}, func(key, _ *yaml.Node) bool {
		r.say(key, Broken, "auto_process has no key %q; a person is asked", key.Value) // it may have been a condition
		return true
	})
	if !typed {
		r.say(n, Broken, "auto_process without a message_type; a person is asked about all types")
		kinds, understood = types, false
	}
	for _, kind := range kinds {
		rule.Type = kind
		switch action {
		case "auto_respond", "analyze_and_respond", "evaluate_and_respond":
			rule.Action = r.by(n, kind)
		case "acknowledge":
			if rule.Action = Acknowledge; kind == "handoff" {
				rule.Action = r.by(n, kind)
			}
		case "notify_and_wait_approval":
			rule.Action, rule.Notify = Ask, NotifyPopup
		case "review_and_acknowledge":
			rule.Action = Ask
		default:
			r.say(n, Broken, "auto_process: no action %q; a person is asked", action)
			understood = false
		}
		if !understood {
			rule.Action = Ask
		}
		r.rules[byProcess] = append(r.rules[byProcess], rule)
	}
}

// priorities reads a priority or severity, or a list of them.
func (r *reader) priorities(key, n *yaml.Node) []string {
	var all []string
	for _, item := range r.items(n, key.Value) {
		if p := priority(item.Value); p != "" {
			all = append(all, p)
		} else {
			r.say(item, Broken, "%s %q: must be low, normal, high or urgent", key.Value, item.Value)
		}
	}
	if all == nil {
		r.say(n, Broken, "%s names none", key.Value)
	}
	return all
}

// responsePolicies reads response_policies, which goes beyond auto_process.
func (r *reader) responsePolicies(_, n *yaml.Node) {
	r.fields(n, "response_policies", nil, func(key, value *yaml.Node) bool {
		kind := kind(key.Value)
		if kind == "" {
			return false
		}
		automatic := func(key, value *yaml.Node) {
			for _, c := range r.conditions(kind, key, value) {
				if c.Priority == "" {
					// The author of the message would grant themselves the answer.
					r.say(value, Notice, "%s: what a message is about makes nothing automatic, since its author says so; %q is left out", key.Value, c.Topic)
					continue
				}
				r.rules[byDefault] = append(r.rules[byDefault], Rule{Type: kind, Priorities: []string{c.Priority}, Action: r.by(value, kind), Line: c.Line})
			}
		}
		fields := map[string]field{
			"auto_respond_when": automatic, "auto_analyze_when": automatic,
			"require_approval_when": func(key, value *yaml.Node) {
				before := r.broken
				r.config.Approve = append(r.config.Approve, r.conditions(kind, key, value)...)
				if r.broken > before {
					r.config.Approve = append(r.config.Approve, Condition{Type: kind, Line: key.Line})
				}
			},
			"notify_immediately_when": func(key, value *yaml.Node) {
				r.config.Notify = append(r.config.Notify, r.conditions(kind, key, value)...)
			},
			"require_approval_for_implementation": func(key, value *yaml.Node) {
				if yes := r.yes(value, key.Value); yes != nil && *yes {
					r.config.Forbidden = append(r.config.Forbidden, "implementing a fix")
				}
			},
		}
		if kind == "update" {
			fields["auto_acknowledge"] = r.acknowledge
			fields["summarize_when"] = r.summarise
		}
		r.fields(value, key.Value, fields, nil)
		return true
	})
}

func (r *reader) acknowledge(key, n *yaml.Node) {
	rule := Rule{Type: "update", Action: Ask, Line: n.Line}
	if yes := r.yes(n, key.Value); yes != nil && *yes {
		rule.Action = Acknowledge
	}
	r.rules[byDefault] = append(r.rules[byDefault], rule)
}

func (r *reader) summarise(key, n *yaml.Node) {
	for _, c := range r.conditions("update", key, n) {
		if c.Priority == "" {
			r.say(n, Notice, "%s: only priorities are heeded; %q is left out", key.Value, c.Topic)
			continue
		}
		rule := Rule{Type: "update", Priorities: []string{c.Priority}, Action: Summarise, Notify: NotifyStatus, Line: c.Line}
		if c.Priority == "urgent" {
			rule.Notify = NotifyPopup
		}
		r.rules[bySummary] = append(r.rules[bySummary], rule)
	}
}

// conditions reads a list of conditions, each by priority or by topic. What cannot be understood is reported as
// Broken, and the caller has to become stricter for it.
func (r *reader) conditions(kind string, key, n *yaml.Node) []Condition {
	var all []Condition
	for _, item := range r.items(n, key.Value) {
		of := func(key, value *yaml.Node) {
			for _, p := range r.priorities(key, value) {
				all = append(all, Condition{Type: kind, Priority: p, Line: item.Line})
			}
		}
		about := func(key, value *yaml.Node) {
			for _, topic := range r.items(value, key.Value) {
				if word := strings.ToLower(r.word(topic, key.Value)); word != "" {
					all = append(all, Condition{Type: kind, Topic: word, Line: item.Line})
				}
			}
		}
		r.fields(item, key.Value, map[string]field{"severity": of, "priority": of, "topic": about, "category": about}, func(other, _ *yaml.Node) bool {
			r.say(other, Broken, "%s has no key %q", key.Value, other.Value)
			return true
		})
	}
	return all
}
