package aea_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
)

func TestReadConfig_installed(t *testing.T) {
	c, problems := sample(t, "installed.yaml")
	assert.Equal(t, []string{
		"11 question → answer",
		"16 update normal → acknowledge",
		"20 update high → summarise, status",
		"24 update urgent → summarise, popup",
		"16 update → acknowledge, fallback",
		"29 issue low → answer",
		"37 issue high → ask, popup",
		"41 issue urgent → ask, popup",
		"33 issue normal → answer",
		"33 issue → answer, fallback",
		"45 handoff → ask, popup",
		"49 request → plan",
	}, shown(c))
	assert.Equal(t, []string{"modify_code", "delete_files"}, c.Forbidden)
	assert.Equal(t, []string{"read_files", "search_codebase"}, c.Allowed)
	assert.Equal(t, []string{
		`line 3: notice: id: nothing runs "claude-$(basename $(pwd))"; the agent goes by claude- and the name of the directory`,
		"line 62: notice: check_interval: nothing here heeds it",
	}, said(problems))
	assert.Equal(t, "claude-shop", c.AgentID("shop"))
}

func TestReadConfig_repository(t *testing.T) {
	c, problems := sample(t, "repository.yaml")
	assert.Equal(t, []string{
		"52 update high → summarise, status",
		"53 update urgent → summarise, popup",
		"15 question, answer wanted → answer",
		"18 update, no answer wanted → acknowledge",
		"21 issue low normal → answer",
		"24 issue high urgent → ask, popup",
		"27 handoff → ask",
		"29 request → plan",
		"41 issue low → answer",
		"42 issue normal → answer",
		"50 update → acknowledge",
	}, shown(c))
	assert.Equal(t, []aea.Condition{{Type: "question", Topic: "architecture-changes", Line: 37}, {Type: "question", Topic: "security-concerns", Line: 38}}, c.Approve)
	assert.Equal(t, []aea.Condition{
		{Type: "issue", Priority: "urgent", Line: 46}, {Type: "issue", Priority: "urgent", Line: 47}, {Type: "issue", Topic: "security", Line: 48},
	}, c.Notify)
	assert.Equal(t, []string{"implementing a fix", "code_changes", "deployment_actions"}, c.Forbidden)
	assert.Equal(t, 24*time.Hour, c.MaxAge, "the shorter of the two")
	assert.Equal(t, "claude-example", c.AgentID("shop"))
	for _, p := range problems {
		assert.Equal(t, aea.Notice, p.Level, p)
	}
	assert.Len(t, problems, 8)
}

// What is not understood goes to a person, or is left to the protocol's table, and is reported with its line.
func TestReadConfig_mistakes(t *testing.T) {
	for text, want := range map[string]struct{ rules, problems []string }{
		"":                                      {},
		"# nothing\n":                           {},
		"agent:\n":                              {},
		"- a\n- b":                              {problems: []string{"line 1: error: the file must be a mapping"}},
		"a: b\nc: d: e":                         {problems: []string{"line 2: error: mapping values are not allowed in this context"}},
		"agnet: {}":                             {problems: []string{`line 1: warning: the file has no key "agnet"`}},
		"agent: {di: x}\nsafety:\n  max_age: 1": {problems: []string{`line 1: warning: agent has no key "di"`, `line 3: warning: safety has no key "max_age"`}},

		"response_policy:\n  question: yes":                                {[]string{"2 question → ask"}, []string{"line 2: error: question must be a mapping"}},
		"response_policy:\n  question: {auto_respond: yes}":                {rules: []string{"2 question → answer"}},
		"response_policy:\n  question: {auto_respond: perhaps}":            {[]string{"2 question → ask"}, []string{"line 2: error: auto_respond must be true or false"}},
		"response_policy:\n  question: {auto_respnd: true}":                {nil, []string{`line 2: warning: question has no key "auto_respnd"`}},
		"response_policy:\n  qestion: {auto_respond: false}":               {nil, []string{`line 2: warning: response_policy has no key "qestion"`}},
		"response_policy:\n  question: {approval_required: true}":          {rules: []string{"2 question → ask"}},
		"response_policy:\n  question: {approval_required: false}":         {rules: []string{"2 question → answer"}},
		"response_policy:\n  handoff: {auto_respond: true}":                {[]string{"2 handoff → ask"}, []string{"line 2: warning: a handoff is always shown to a person; a policy of your own can say otherwise"}},
		"response_policy:\n  issue: {critical: {auto_respond: false}}":     {rules: []string{"2 issue urgent → ask"}},
		"response_policy:\n  issue: &a {auto_respond: true}\n  update: *a": {[]string{"2 issue → answer", "3 update → ask"}, []string{"line 3: error: update must be a mapping; references (*a) are not read"}},
		"response_policy:\n  update:\n    normal: {auto_respond: true}\n    normal: {auto_respond: false}": {
			[]string{"3 update normal → acknowledge", "3 update → acknowledge, fallback"}, []string{`line 4: error: update has "normal" twice; the first one holds`},
		},
		"response_policy:\n  update: {medium: {auto_respond: false}, normal: {auto_respond: true}}": {
			rules: []string{"2 update normal → acknowledge", "2 update normal → ask", "2 update → ask, fallback"},
		},
		"response_policy:\n  question: {auto_respond: true, actions: [pray, wait_for_approval]}": {
			[]string{"2 question → ask"}, []string{`line 2: warning: action "pray" is not known: nothing comes of it`},
		},

		"monitoring: {auto_process: [{message_type: issue, severity: hihg, action: auto_respond}]}": {
			[]string{"1 issue → ask"}, []string{`line 1: error: severity "hihg": must be low, normal, high or urgent`, "line 1: error: severity names none"},
		},
		"monitoring: {auto_process: [{message_type: [question, bogus], action: obey}]}": {
			[]string{"1 question → ask"}, []string{`line 1: warning: message_type "bogus": AEA has no such type`, `line 1: error: auto_process: no action "obey"; a person is asked`},
		},
		"monitoring: {auto_process: [{message_type: question, topic: x, action: auto_respond}]}": {
			[]string{"1 question → ask"}, []string{`line 1: error: auto_process has no key "topic"; a person is asked`},
		},
		"monitoring: {auto_process: [{message_type: handoff, action: acknowledge}]}": {
			[]string{"1 handoff → ask"}, []string{"line 1: warning: a handoff is always shown to a person; a policy of your own can say otherwise"},
		},
		"monitoring: {auto_process: [{action: auto_respond}]}": {
			[]string{"1 question → ask", "1 update → ask", "1 issue → ask", "1 handoff → ask", "1 request → ask", "1 response → ask"},
			[]string{"line 1: error: auto_process without a message_type; a person is asked about all types", "line 1: warning: a handoff is always shown to a person; a policy of your own can say otherwise"},
		},
		"response_policies: {updates: {auto_acknowledge: false}}": {rules: []string{"1 update → ask"}},
		"safety: {max_message_age: soon}":                         {problems: []string{`line 1: error: max_message_age must be a number of seconds, or a time such as "7 days"`}},
		"safety: {require_approval_for: [\"rm -rf; $x\"]}":        {problems: []string{`line 1: warning: require_approval_for: "rm -rf; $x" is no name of an operation; the agent is not told`}},
	} {
		c, problems := aea.ReadConfig([]byte(text))
		assert.Equal(t, want.rules, shown(c), text)
		assert.Equal(t, want.problems, said(problems), text)
	}

	c, problems := aea.ReadConfig([]byte("response_policies: {questions: {require_approval_when: [{label: x}]}}"))
	assert.Equal(t, []aea.Condition{{Type: "question", Line: 1}}, c.Approve, "all of them")
	assert.Equal(t, []string{`line 1: error: require_approval_when has no key "label"`}, said(problems))

	_, problems = aea.ReadConfig([]byte(strings.Repeat("#", aea.MaxConfig+1)))
	assert.Equal(t, []string{"error: 65537 bytes, the most is 65536"}, said(problems))

	c, problems = aea.ReadConfig([]byte("monitoring: {auto_process: [" + strings.Repeat("{message_type: issue, action: acknowledge}, ", aea.MaxRules+1) + "]}"))
	assert.Equal(t, aea.Config{}, c)
	assert.Equal(t, []string{"error: 257 rules and conditions, the most is 256"}, said(problems))
}

// A text full of mistakes is read in no time, and is reported as broken.
func TestReadConfig_manyProblems(t *testing.T) {
	for _, text := range []string{
		"monitoring: {auto_process: [" + strings.Repeat("{a},", 16000) + "]}",
		"{" + strings.Repeat("a,", 300) + "response_policy: 1" + strings.Repeat(",b", 32000) + "}",
		strings.Repeat("[", 65000), strings.Repeat("{a: ", 16000),
	} {
		began := time.Now()
		_, problems := aea.ReadConfig([]byte(text))
		assert.Less(t, time.Since(began), 5*time.Second)
		assert.LessOrEqual(t, len(problems), 101)
		assert.True(t, slices.ContainsFunc(problems, func(p aea.Problem) bool { return p.Level == aea.Broken }))
	}
}

func TestConfig_AgentID(t *testing.T) {
	for id, want := range map[string]string{"": "claude-shop", "codex-shop": "codex-shop", `x-$(basename "$(pwd)")`: "x-shop", "$(rm -rf /)": "claude-shop"} {
		assert.Equal(t, want, aea.Config{Agent: id}.AgentID("shop"), id)
	}
}

// Reading any file ends, and gives something that policies can take.
func FuzzReadConfig(f *testing.F) {
	for _, name := range []string{"installed.yaml", "repository.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a]\n<<: *a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, problems := aea.ReadConfig(text)
		_, err := json.Marshal(aea.Value(map[string]aea.Config{"": c}))
		require.NoError(t, err)
		for _, r := range c.Rules {
			require.NotEmpty(t, r.Action)
			require.False(t, r.Type == "handoff" && r.Action != aea.Ask)
		}
		for _, p := range problems {
			require.True(t, utf8.ValidString(p.Text) && p.Text != "")
		}
	})
}

// Helpers.

func sample(t *testing.T, name string) (aea.Config, []aea.Problem) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return aea.ReadConfig(text)
}

// show returns a rule in one line.
func show(r aea.Rule) string {
	about := strings.Join(append([]string{r.Type}, r.Priorities...), " ")
	if r.RequiresResponse != nil {
		about += map[bool]string{true: ", answer wanted", false: ", no answer wanted"}[*r.RequiresResponse]
	}
	text := fmt.Sprintf("%d %s → %s", r.Line, about, r.Action)
	if r.Notify != "" {
		text += ", " + r.Notify
	}
	if r.Fallback {
		text += ", fallback"
	}
	return text
}

func shown(c aea.Config) []string {
	var rules []string
	for _, r := range c.Rules {
		rules = append(rules, show(r))
	}
	return rules
}

func said(problems []aea.Problem) []string {
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return texts
}
