package aea

import "slices"

// Types returns the types of the protocol's messages.
func Types() []string { return slices.Clone(types) }

// Priorities returns the priorities of the protocol's messages, from the least to the most pressing.
func Priorities() []string { return slices.Clone(priorities) }

// Choice is the decision about a message, and where it comes from.
type Choice struct {
	Action Action
	Notify string
	Line   int // in the file; 0 for the protocol's own table
}

// protocol is AEA's own table, which holds if a file says nothing, in the order of priorities. The shipped
// policy has the same table in Lua, for people to read and to change.
var protocol = map[string][4]Choice{
	"question": {{Action: Answer}, {Action: Answer}, {Action: Answer}, {Action: Answer}},
	"update":   {{Action: Acknowledge}, {Action: Acknowledge}, {Summarise, NotifyStatus, 0}, {Summarise, NotifyPopup, 0}},
	"issue":    {{Action: Answer}, {Action: Answer}, {Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}},
	"handoff":  {{Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}},
	"request":  {{Action: Plan}, {Action: Plan}, {Action: Plan}, {Action: Plan}},
	"response": {{Action: Answer}, {Action: Answer}, {Action: Answer}, {Action: Answer}},
}

// Protocol returns what AEA's own table says about a message of a type with the priority low, normal, high or
// urgent. For any other type or priority a person is asked.
func Protocol(kind, priority string) Choice {
	if row, ok := protocol[kind]; ok {
		if i := slices.Index(priorities, priority); i >= 0 {
			return row[i]
		}
	}
	return Choice{Ask, NotifyPopup, 0}
}

// Choose returns what the file's rules say about such a message, or what the protocol's table says if no rule
// fits. wanted says whether its author wants an answer.
func (c Config) Choose(kind, priority string, wanted bool) Choice {
	own := Protocol(kind, priority)
	for _, r := range c.Rules {
		if r.Type != kind || r.Priorities != nil && !slices.Contains(r.Priorities, priority) || r.RequiresResponse != nil && *r.RequiresResponse != wanted {
			continue
		}
		if r.Fallback && own.Action == Ask {
			return own
		}
		return Choice{r.Action, r.Notify, r.Line}
	}
	return own
}

// Strictness orders actions by how far a message goes by itself: 0 goes to the agent, which answers, plans or
// tells; 1 goes to nobody, and the author is told that it arrived; 2 goes to a person.
func (a Action) Strictness() int {
	switch a {
	case Answer, Plan, Summarise:
		return 0
	case Acknowledge:
		return 1
	}
	return 2
}

// louder returns that one of two notices which is seen sooner.
func louder(a, b string) string {
	order := []string{"", NotifyStatus, NotifyPopup}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
