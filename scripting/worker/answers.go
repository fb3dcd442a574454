package worker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// maxAnswers is how many answers a verdict lists.
const maxAnswers = 1000

// answer adds to what led to the verdict, where that was asked for.
func (e *evaluation) answer(a policy.Answer) {
	if !e.in.Traced || len(e.verdict.Answers) >= maxAnswers {
		return
	}
	a.Hook = e.hook
	if e.to != nil {
		a.To = policy.NameOf(*e.to)
	}
	e.verdict.Answers = append(e.verdict.Answers, a)
}

// decides is a decision that a function or a rule has answered.
func (e *evaluation) decides(d policy.Decision) {
	e.answer(policy.Answer{By: d.By, Decision: &d})
}

// says is any other answer.
func (e *evaluation) says(s *state, r registered, words string) {
	e.answer(policy.Answer{By: fmt.Sprintf("%s:%d", s.script.source.Name, r.line), Says: printable(words, 500)})
}

// patched names what a filter has changed.
func patched(body, subject *string, tags *[]string, meta map[string]string) string {
	var names []string
	for name, there := range map[string]bool{"body": body != nil, "subject": subject != nil, "tags": tags != nil, "meta": meta != nil} {
		if there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
