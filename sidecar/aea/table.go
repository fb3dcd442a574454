package aea

import "slices"

// Types are the types of the protocol's messages.
func Types() []string { return slices.Clone(types) }

// Priorities are those of the protocol's messages, from the least to the most pressing.
func Priorities() []string { return slices.Clone(priorities) }

// Choice is what becomes of a message, and who says so.
type Choice struct {
	Action Action
	Notify string
	Line   int // of the file; 0 is the protocol's own table
}

// protocol is AEA's own table: what holds where a file says nothing, in the order of
// priorities. The shipped policy has the same one, in Lua, for people to read and to change.
var protocol = map[string][4]Choice{
	"question": {{Action: Answer}, {Action: Answer}, {Action: Answer}, {Action: Answer}},
	"update":   {{Action: Acknowledge}, {Action: Acknowledge}, {Summarise, NotifyStatus, 0}, {Summarise, NotifyPopup, 0}},
	"issue":    {{Action: Answer}, {Action: Answer}, {Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}},
	"handoff":  {{Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}, {Ask, NotifyPopup, 0}},
	"request":  {{Action: Plan}, {Action: Plan}, {Action: Plan}, {Action: Plan}},
	"response": {{Action: Answer}, {Action: Answer}, {Action: Answer}, {Action: Answer}},
}

// Protocol is what AEA's own table says of a message: of one of the types, with the priority
// low, normal, high or urgent. What is neither asks a person.
func Protocol(kind, priority string) Choice {
	if row, ok := protocol[kind]; ok {
		if i := slices.Index(priorities, priority); i >= 0 {
			return row[i]
		}
	}
	return Choice{Ask, NotifyPopup, 0}
}

// Choose is what the file's rules say of such a message, wanted if its author wants an answer;
// the protocol's table where none of them is about it.
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

// Strictness orders actions by how far a message goes by itself: 0 to its agent, which answers,
// plans or tells; 1 to nobody, and its author is told that it arrived; 2 to a person.
func (a Action) Strictness() int {
	switch a {
	case Answer, Plan, Summarise:
		return 0
	case Acknowledge:
		return 1
	}
	return 2
}

// louder is the notice of the two that is seen sooner.
func louder(a, b string) string {
	order := []string{"", NotifyStatus, NotifyPopup}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
