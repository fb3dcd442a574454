package worker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// A rule is data, so the worker can prove that a rule never decides: earlier rules match every message that it matches.

// The time to compare rules grows with the square of their number.
const (
	maxCompared = 500     // rules of a set
	maxCells    = 100_000 // combinations of values, times rules; above this limit only single rules are compared
)

// unlisted stands for every value that no rule names.
const unlisted = "\x00"

// shadowed returns a warning for each rule that never decides. Only rules of files that are asked about all messages of
// the rule can cover it. Shipped rules get no warning: a person's own rules are meant to cover them.
func (of *set) shadowed() []policy.Problem {
	var problems []policy.Problem
	var before []*rule
	var owners []*script
	for _, s := range of.scripts {
		for _, r := range s.registered[policy.Decide] {
			if r.rule == nil || len(before) >= maxCompared {
				continue
			}
			var earlier []*rule
			for i, owner := range owners {
				if owner.source.Project == "" || owner.source.Project == s.source.Project {
					earlier = append(earlier, before[i])
				}
			}
			if by := r.rule.coveredBy(earlier); len(by) > 0 && !s.source.Shipped && len(problems) < maxProblems {
				problems = append(problems, policy.Problem{
					File: s.source.Name, Line: r.line, Warning: true,
					Text: printable(fmt.Sprintf("rule %q never decides: %s", clip(r.rule.name, 64), covering(by)), 500),
				})
			}
			before, owners = append(before, r.rule), append(owners, s)
		}
	}
	return problems
}

// covering describes the rules that cover another one.
func covering(rules []*rule) string {
	if len(rules) == 1 {
		return "everything it matches is decided by " + rules[0].decision.By
	}
	var names []string
	for _, r := range rules[:min(len(rules), 4)] {
		names = append(names, r.decision.By)
	}
	if len(rules) > len(names) {
		names = append(names, "…")
	}
	return "everything it matches is decided by these together: " + strings.Join(names, ", ")
}

// dimension is a field of which a message has exactly one value.
type dimension struct {
	of    func(*rule) []string
	known []string // nil: any value
}

var dimensions = []dimension{
	{of: func(r *rule) []string { return r.from }},
	{of: func(r *rule) []string { return r.to }},
	{of: func(r *rule) []string { return r.kinds }},
	{of: func(r *rule) []string { return r.priority }, known: []string{"low", "normal", "high", "urgent"}},
	{of: func(r *rule) []string { return r.origin }, known: closedSets["origin"]},
	{of: func(r *rule) []string { return r.trust }, known: closedSets["trust"]},
}

// values returns the values of the dimension that must be distinguished for a rule.
func (d dimension) values(r *rule, earlier []*rule) []string {
	switch {
	case d.of(r) != nil:
		return d.of(r)
	case d.known != nil:
		return d.known
	}
	values := []string{unlisted}
	for _, e := range earlier {
		for _, v := range d.of(e) {
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	return values
}

// coveredBy returns the earlier rules that together match everything that a rule matches; a single one if it suffices.
// It returns nil if they do not, or if that cannot be determined.
func (r *rule) coveredBy(earlier []*rule) []*rule {
	var possible []*rule
	for _, e := range earlier {
		if !e.asksNoMore(r) {
			continue
		}
		if e.covers(r) {
			return []*rule{e}
		}
		possible = append(possible, e)
	}
	cells := [][]string{{}}
	for _, d := range dimensions {
		values := d.values(r, possible)
		if len(cells)*len(values)*(1+len(possible)) > maxCells {
			return nil
		}
		var next [][]string
		for _, c := range cells {
			for _, v := range values {
				next = append(next, append(slices.Clip(c), v))
			}
		}
		cells = next
	}
	var by []*rule
	for _, c := range cells {
		i := slices.IndexFunc(possible, func(e *rule) bool { return e.hasCell(c) })
		if i < 0 {
			return nil
		}
		if !slices.Contains(by, possible[i]) {
			by = append(by, possible[i])
		}
	}
	return by
}

// asksNoMore reports whether the conditions of a rule that are not dimensions hold wherever those of the other rule
// hold. A message has many tags, and patterns are only compared as texts.
func (r *rule) asksNoMore(than *rule) bool {
	tags := r.tag == nil || than.tag != nil && subset(than.tag, r.tag)
	body := r.body == nil || than.body != nil && r.body.String() == than.body.String()
	return tags && body
}

// covers reports whether a rule matches all values that another one matches.
func (r *rule) covers(other *rule) bool {
	for _, d := range dimensions {
		if wide := d.of(r); wide != nil {
			narrow := d.of(other)
			if narrow == nil {
				narrow = d.known
			}
			if narrow == nil || !subset(narrow, wide) {
				return false
			}
		}
	}
	return true
}

// hasCell reports whether a rule matches one combination of values.
func (r *rule) hasCell(cell []string) bool {
	for i, d := range dimensions {
		if !in(d.of(r), cell[i]) {
			return false
		}
	}
	return true
}

func subset(values, of []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(of, v) })
}
