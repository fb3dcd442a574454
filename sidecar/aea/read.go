package aea

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// ReadConfig reads the text of an agent-config.yaml, of either shape. A text that is not YAML gives an empty
// Config and a Problem.
func ReadConfig(text []byte) (config Config, problems []Problem) {
	defer func() {
		if p := recover(); p != nil { // in the YAML library, over a text that others may have written
			config, problems = Config{}, []Problem{{Level: Broken, Text: fmt.Sprint("cannot be read: ", p)}}
		}
	}()
	if len(text) > MaxConfig {
		return Config{}, []Problem{{Level: Broken, Text: fmt.Sprintf("%d bytes, the most is %d", len(text), MaxConfig)}}
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return Config{}, []Problem{notYAML(err)}
	}
	r := &reader{}
	if len(document.Content) > 0 {
		r.file(document.Content[0])
	}
	for _, rules := range r.rules {
		r.config.Rules = append(r.config.Rules, rules...)
	}
	if n := len(r.config.Rules) + len(r.config.Approve) + len(r.config.Notify); n > MaxRules {
		return Config{}, []Problem{{Level: Broken, Text: fmt.Sprintf("%d rules and conditions, the most is %d", n, MaxRules)}}
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.config, r.problems
}

var lineOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: line (\d+): `) })

func notYAML(err error) Problem {
	p := Problem{Level: Broken, Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	if found := lineOf().FindStringSubmatch(err.Error()); found != nil {
		p.Line, _ = strconv.Atoi(found[1])
		p.Text = strings.TrimPrefix(err.Error(), found[0])
	}
	return p
}

// Tiers of the rules of a file, from the most to the least specific. The rules of an earlier tier are tried
// first.
const (
	bySummary = iota // summarize_when: about single priorities
	byPolicy         // response_policy
	byProcess        // monitoring.auto_process
	byDefault        // auto_analyze_when, auto_acknowledge
	tiers
)

// reader reads one file.
type reader struct {
	config   Config
	rules    [tiers][]Rule
	problems []Problem // at most maxProblems, plus one that is Broken
	broken   int       // how many things could not be understood so far
}

// maxProblems is how many problems of one file are reported.
const maxProblems = 100

func (r *reader) say(n *yaml.Node, level Level, format string, args ...any) {
	if level == Broken {
		r.broken++
	}
	if len(r.problems) >= maxProblems && (level != Broken || r.broken > 1) { // the first Broken one is reported in any case
		return
	}
	text := fmt.Sprintf(format, args...)
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	r.problems = append(r.problems, Problem{Line: n.Line, Level: level, Text: strings.ToValidUTF8(text, "")})
}

// maxText is the most bytes that a problem's text has.
const maxText = 300

// wrong reports a value that is not what it should be.
func (r *reader) wrong(n *yaml.Node, of, wanted string) {
	if n.Kind == yaml.AliasNode {
		wanted += "; references (*" + n.Value + ") are not read"
	}
	r.say(n, Broken, "%s must be %s", of, wanted)
}

// field reads the value of one key. key is the node of the key itself.
type field func(key, value *yaml.Node)

// fields reads a mapping, each key by its own field. others handles keys without a field; it may be nil. fields
// reports whether everything was understood.
func (r *reader) fields(n *yaml.Node, of string, known map[string]field, others func(key, value *yaml.Node) bool) bool {
	if empty(n) {
		return true
	}
	if n.Kind != yaml.MappingNode {
		r.wrong(n, of, "a mapping")
		return false
	}
	before := r.broken
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch {
		case seen[key.Value]:
			r.say(key, Broken, "%s has %q twice; the first one holds", of, key.Value)
		case read != nil:
			read(key, value)
		case others == nil || !others(key, value):
			r.say(key, Warning, "%s has no key %q", of, key.Value)
		}
		seen[key.Value] = true
	}
	return r.broken == before
}

func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// known returns fields for keys that are read but have no effect here.
func known(names ...string) map[string]field {
	all := map[string]field{}
	for _, name := range names {
		all[name] = func(_, _ *yaml.Node) {}
	}
	return all
}

// unheeded reports a section that is for other programs.
func (r *reader) unheeded(key, _ *yaml.Node) {
	r.say(key, Notice, "%s: nothing here heeds it", key.Value)
}

// file reads the whole file.
func (r *reader) file(n *yaml.Node) {
	fields := known("version", "protocol_version")
	for _, name := range []string{"agent_tasks", "notifications", "history", "integrations", "github_integration", "logging"} {
		fields[name] = r.unheeded
	}
	fields["agent"] = r.agent
	fields["response_policy"] = r.responsePolicy
	fields["monitoring"] = r.monitoring
	fields["response_policies"] = r.responsePolicies
	fields["safety"] = r.safety
	fields["approval_required_operations"] = r.operations(&r.config.Forbidden)
	fields["auto_safe_operations"] = r.operations(&r.config.Allowed)
	r.fields(n, "the file", fields, nil)
}

func (r *reader) agent(_, n *yaml.Node) {
	fields := known("name", "description", "capabilities", "type", "role", "repository", "protocol_version", "expertise")
	fields["id"] = func(_, value *yaml.Node) {
		r.config.Agent = r.word(value, "id")
		if strings.Contains(r.config.Agent, "$(") {
			r.say(value, Notice, "id: nothing runs %q; the agent goes by claude- and the name of the directory", r.config.Agent)
		}
	}
	r.fields(n, "agent", fields, nil)
}

func (r *reader) safety(_, n *yaml.Node) {
	age := func(key, value *yaml.Node) {
		d, ok := duration(value.Value)
		if value.Kind != yaml.ScalarNode || !ok {
			r.say(value, Broken, "%s must be a number of seconds, or a time such as \"7 days\"", key.Value)
			return
		}
		if r.config.MaxAge == 0 || d < r.config.MaxAge {
			r.config.MaxAge = d
		}
	}
	r.fields(n, "safety", map[string]field{
		"require_approval_for": r.operations(&r.config.Forbidden), "allow_auto_execution": r.operations(&r.config.Allowed),
		"max_message_age": age, "ignore_messages_older_than": age,
	}, nil)
}

var (
	durations = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,9})\s*([a-z]*)$`) })
	units     = map[string]time.Duration{
		"": time.Second, "s": time.Second, "second": time.Second, "m": time.Minute, "minute": time.Minute, "h": time.Hour, "hour": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour, "w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}
)

// duration reads seconds, or a number with a unit. The result is greater than 0.
func duration(text string) (time.Duration, bool) {
	found := durations().FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if found == nil {
		return 0, false
	}
	unit, ok := units[found[2]]
	if !ok {
		unit, ok = units[strings.TrimSuffix(found[2], "s")]
	}
	n, _ := strconv.Atoi(found[1])
	if !ok || n == 0 || time.Duration(n) > (1<<62)/unit {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// maxOperations limits the operations of which an agent is told: they are words of somebody's file in a prompt.
const maxOperations = 32

var operation = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 _./-]{0,63}$`) })

func (r *reader) operations(into *[]string) field {
	return func(key, n *yaml.Node) {
		for _, value := range r.items(n, key.Value) {
			word := r.word(value, key.Value)
			switch {
			case word == "":
			case !operation().MatchString(word):
				r.say(value, Warning, "%s: %.40q is no name of an operation; the agent is not told", key.Value, word)
			case len(*into) >= maxOperations:
				r.say(value, Warning, "%s: more than %d operations; the agent is not told of %q", key.Value, maxOperations, word)
			default:
				*into = append(*into, word)
			}
		}
	}
}

// items returns the values of a list, or the single value that stands in place of a list.
func (r *reader) items(n *yaml.Node, of string) []*yaml.Node {
	switch {
	case empty(n):
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case n.Kind == yaml.ScalarNode:
		return []*yaml.Node{n}
	}
	r.wrong(n, of, "a list")
	return nil
}

// word returns a value that has to be a text.
func (r *reader) word(n *yaml.Node, of string) string {
	if n.Kind != yaml.ScalarNode || empty(n) {
		r.wrong(n, of, "a word")
		return ""
	}
	return n.Value
}

// yes returns a value that has to be true or false; nil if it is neither.
func (r *reader) yes(n *yaml.Node, of string) *bool {
	var b bool
	if n.Kind != yaml.ScalarNode || empty(n) || n.Decode(&b) != nil {
		r.wrong(n, of, "true or false")
		return nil
	}
	return &b
}
