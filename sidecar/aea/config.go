package aea

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The limits of an agent-config.yaml.
const (
	MaxConfig = 64 << 10 // bytes
	MaxRules  = 256      // rules and conditions; all of them go to the policies with each message
)

// The words of the protocol.
var (
	types      = []string{"question", "update", "issue", "handoff", "request", "response"}
	priorities = []string{"low", "normal", "high", "urgent"}
)

// Action is what is done with a message.
type Action string

// The actions.
const (
	Answer      Action = "answer"      // the agent answers: it reads and analyses, and changes nothing
	Plan        Action = "plan"        // the agent answers with a plan, and carries out nothing of it
	Summarise   Action = "summarise"   // the agent reads it and tells its person
	Acknowledge Action = "acknowledge" // nobody reads it; the author is told so, if they asked for an answer
	Ask         Action = "ask"         // a person says yes or no
)

// The ways in which a person is told of a message, beside its action. "" is none.
const (
	NotifyStatus = "status" // in the status line
	NotifyPopup  = "popup"  // at once
)

// Config is the content of an agent-config.yaml. The zero value says nothing.
type Config struct {
	// Agent is the agent's id as written in the file; AgentID interprets it.
	Agent string
	// Rules are tried from the first to the last; the first that fits a message holds.
	Rules []Rule
	// Approve lists messages about which a person is asked, whatever a rule says.
	Approve []Condition
	// Notify lists messages of which a person is told at once, whatever becomes of them.
	Notify []Condition
	// MaxAge is the age from which a message waits for a person; 0 for no limit.
	MaxAge time.Duration
	// Forbidden and Allowed are the operations that the agent may not, or may, carry out without its person.
	// Only the agent itself can heed them, so it is told of them.
	Forbidden, Allowed []string
}

// Rule says what becomes of some messages.
type Rule struct {
	Type             string   // question, update, issue, handoff, request or response
	Priorities       []string // low, normal, high or urgent; nil for any
	RequiresResponse *bool    // nil for either
	Action           Action
	Notify           string
	// Fallback marks a rule that was written for another priority and holds because there is none for this one.
	// It loosens nothing.
	Fallback bool
	Line     int // in the file
}

// Condition fits the messages of one type that have a priority or are about a topic.
type Condition struct {
	Type     string
	Priority string // "" is any
	Topic    string // the author's own word for it: metadata.topic, metadata.category or a tag; "" for any
	Line     int
}

// priority returns the one word for a priority or a severity, "" for an unknown one. The documents use two
// scales: medium means normal, critical means urgent.
func priority(word string) string {
	switch word = strings.ToLower(word); word {
	case "medium":
		return "normal"
	case "critical":
		return "urgent"
	}
	if slices.Contains(priorities, word) {
		return word
	}
	return ""
}

// AgentID returns the id of the agent of a repository whose directory has this name. The file that the
// installer leaves has a shell command in place of an id, which nothing has ever run.
func (c Config) AgentID(directory string) string {
	id := strings.NewReplacer("$(basename $(pwd))", directory, `$(basename "$(pwd)")`, directory).Replace(c.Agent)
	if id == "" || strings.Contains(id, "$(") {
		return "claude-" + directory
	}
	return id
}

// Value returns what policies see of the files of several repositories, as ctx.config.aea: JSON-like values by
// the repository's path. "" stands for all other repositories.
func Value(configs map[string]Config) map[string]any {
	value := map[string]any{}
	for repository, c := range configs {
		value[repository] = c.value()
	}
	return value
}

func (c Config) value() map[string]any {
	rules := []any{}
	for _, r := range c.Rules {
		rule := map[string]any{"type": r.Type, "action": string(r.Action), "line": float64(r.Line)}
		if r.Priorities != nil {
			rule["priorities"] = list(r.Priorities)
		}
		if r.RequiresResponse != nil {
			rule["requires_response"] = *r.RequiresResponse
		}
		if r.Notify != "" {
			rule["notify"] = r.Notify
		}
		if r.Fallback {
			rule["fallback"] = true
		}
		rules = append(rules, rule)
	}
	value := map[string]any{
		"rules": rules, "approve": conditions(c.Approve), "notify": conditions(c.Notify),
		"forbidden": list(c.Forbidden), "allowed": list(c.Allowed),
	}
	if c.MaxAge > 0 {
		value["max_age"] = c.MaxAge.Seconds()
	}
	return value
}

func conditions(all []Condition) []any {
	value := []any{}
	for _, c := range all {
		one := map[string]any{"type": c.Type, "line": float64(c.Line)}
		if c.Priority != "" {
			one["priority"] = c.Priority
		}
		if c.Topic != "" {
			one["topic"] = c.Topic
		}
		value = append(value, one)
	}
	return value
}

func list(texts []string) []any {
	value := make([]any, len(texts))
	for i, text := range texts {
		value[i] = text
	}
	return value
}

// Level says how much a problem matters.
type Level string

// The levels.
const (
	Broken  Level = "error"   // the text is not read; what it would have decided goes to a person, or the protocol's own table holds
	Warning Level = "warning" // it means less than its author may think
	Notice  Level = "notice"  // it is understood, but nothing here heeds it
)

// Problem is something that the owner of a file should know about it.
type Problem struct {
	Line  int    `json:"line,omitempty"` // from 1; 0 for the whole file
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.Level, p.Text)
	}
	return fmt.Sprintf("line %d: %s: %s", p.Line, p.Level, p.Text)
}
