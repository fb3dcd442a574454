package labtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Reply is an answer of the model: words and perhaps a tool call, or an error.
type Reply struct {
	Text   string
	Call   *Call
	Read   string        // for Script: a file that the agent reads first, with its own tool
	Status int           // HTTP status of an error that is sent instead of an answer
	Over   time.Duration // how long the words take
	Hold   bool          // after half of the words, wait for Release
	Stall  bool          // before anything else, wait for Release
}

// directives are the wishes in a text; the package comment has their forms.
type directives struct {
	words  string
	before string
	wishes []wish
	over   time.Duration
	hold   bool
	stall  bool
	status int
	times  int // how often the error is given; 0: always
}

var directive = regexp.MustCompile(`^\[\[([a-z]+)(?:\s+|\]\])`)

// readDirectives finds the directives of a text. It ignores everything of another form.
func readDirectives(text string) (d directives) {
	for rest := text; ; {
		at := strings.Index(rest, "[[")
		if at < 0 {
			return d
		}
		rest = rest[at:]
		m := directive.FindStringSubmatch(rest)
		if m == nil {
			rest = rest[2:]
			continue
		}
		end := closing(m[1], rest, len(m[0]))
		if end < 0 {
			rest = rest[2:]
			continue
		}
		arguments := ""
		if end > len(m[0]) {
			arguments = strings.TrimSpace(rest[len(m[0]):end])
		}
		d.add(m[1], arguments)
		rest = rest[end+2:]
	}
}

// closing returns the position of the brackets that end a directive. The arguments of a tool may themselves contain
// such brackets: there, the first ones after valid JSON count.
func closing(name, text string, from int) int {
	if strings.HasSuffix(text[:from], "]]") {
		return from - 2
	}
	for at := from; ; at++ {
		next := strings.Index(text[at:], "]]")
		if next < 0 {
			return -1
		}
		at += next
		if name != "tool" {
			return at
		}
		if _, arguments, _ := strings.Cut(text[from:at], " "); arguments == "" || json.Valid([]byte(arguments)) {
			return at
		}
	}
}

func (d *directives) add(name, arguments string) {
	first, others, _ := strings.Cut(arguments, " ")
	number, _ := strconv.Atoi(first)
	switch name {
	case "say":
		d.words = arguments
	case "lines":
		d.words = numbered(number)
	case "before":
		d.before = arguments
	case "slow":
		d.over = duration(first)
	case "hold":
		d.hold = true
	case "stall":
		d.stall = true
	case "error":
		d.status = number
		d.times, _ = strconv.Atoi(others)
	case "bash":
		d.wishes = append(d.wishes, wish{kind: wantShell, text: arguments})
	case "read":
		d.wishes = append(d.wishes, wish{kind: wantRead, file: arguments})
	case "write":
		d.wishes = append(d.wishes, wish{kind: wantWrite, file: first, text: others})
	case "ask":
		parts := strings.Split(arguments, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		d.wishes = append(d.wishes, wish{kind: wantAnswer, text: parts[0], options: parts[1:]})
	case "plan":
		d.wishes = append(d.wishes, wish{kind: wantPlan, text: arguments})
	case "tool":
		if others == "" {
			others = "{}"
		}
		d.wishes = append(d.wishes, wish{kind: wantTool, call: Call{first, json.RawMessage(others)}})
	}
}

// duration parses a number of seconds, or the form of time.ParseDuration.
func duration(s string) time.Duration {
	if d, err := time.ParseDuration(s); err == nil {
		return d
	}
	seconds, _ := strconv.ParseFloat(s, 64)
	return time.Duration(seconds * float64(time.Second))
}

func numbered(n int) string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("Line %d of %d, which the mock has counted.", i+1, n)
	}
	return strings.Join(lines, "\n\n")
}

// decideLocked decides the reply to a request that has just been recorded.
func (m *Model) decideLocked(x *Exchange) Reply {
	if m.script != nil {
		if reply, ok := m.script(*x); ok {
			if calls := x.resolve(wish{kind: wantRead, file: reply.Read}); reply.Read != "" && len(calls) > 0 {
				reply.Call = &calls[0]
			}
			return reply
		}
	}
	if text := sideText(x.Side); text != "" {
		return Reply{Text: text}
	}
	d := readDirectives(x.asked)
	reply := Reply{Over: d.over, Hold: d.hold, Stall: d.stall}
	if d.status != 0 {
		key := fmt.Sprint(x.Agent, "\x00", x.Thread, "\x00", x.Earlier+len(x.User))
		if d.times == 0 || m.refused[key] < d.times {
			m.refused[key]++
			return Reply{Status: d.status, Stall: d.stall}
		}
	}
	var calls []Call
	for _, wish := range d.wishes {
		if wish.kind == wantPlan && x.API == responses {
			// Codex has no tool for plans: in its mode for plans it recognises one by these marks.
			d.words = "<proposed_plan>\n" + wish.text + "\n</proposed_plan>"
			continue
		}
		more := x.resolve(wish)
		if len(more) == 0 {
			reply.Text = fmt.Sprintf("There is no tool for what was asked, among %q.", x.Tools)
			return reply
		}
		calls = append(calls, more...)
	}
	if x.calls < len(calls) {
		reply.Call = &calls[x.calls]
		if x.calls == 0 {
			reply.Text = cmp.Or(d.before, "For that I need a tool.")
		}
		return reply
	}
	switch {
	case d.words != "":
		reply.Text = d.words
	case m.seed != "" && x.Side == "":
		m.talked[x.Agent]++
		reply.Text = Talk(m.seed, x.Agent, m.talked[x.Agent])
	case len(calls) > 0:
		reply.Text = fmt.Sprintf("Answer %d: the tools have answered %d times.", x.N, x.calls)
	default:
		// Do not repeat what was received: in a relay it would look like an echo.
		reply.Text = fmt.Sprintf("Answer %d: %d bytes have arrived.", x.N, len(x.asked))
	}
	return reply
}

// sideText returns an answer that suits a client's side thread; empty if the directives apply, as they do to a
// sub-agent.
func sideText(side string) string {
	switch side {
	case sideTitle, sideNoTools:
		return "Mock session"
	case sideJSON:
		// What Gemini's router and its check of who speaks next read.
		return `{"reasoning": "mock", "model_choice": "flash", "next_speaker": "user", "complexity_reasoning": "mock", "complexity_score": 1}`
	}
	return ""
}

// Why a request is not the conversation with the user.
const (
	sideTitle   = "title"
	sideJSON    = "json"
	sideNoTools = "no tools"  // a main thread always has tools
	sideAgent   = "sub-agent" // Codex has its own words for these
)
