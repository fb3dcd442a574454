package worker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// maxAnswers is how many answers a verdict lists.
const maxAnswers = 1000

// answer adds an answer to the verdict, if the message is traced.
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

// decides records a decision by a function or a rule.
func (e *evaluation) decides(d policy.Decision) {
	e.answer(policy.Answer{By: d.By, Decision: &d})
}

// says records any other answer.
func (e *evaluation) says(s *state, r registered, words string) {
	e.answer(policy.Answer{By: fmt.Sprintf("%s:%d", s.script.source.Name, r.line), Says: printable(words, 500)})
}

// patched names the parts of a message that a filter has changed.
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
