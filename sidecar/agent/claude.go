package agent

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Claude is Claude Code.
const Claude Kind = "claude"

func init() {
	register(Claude, format{
		npm:       "@anthropic-ai/claude-code",
		variables: []string{"CLAUDE_CONFIG_DIR"},
		home: func(env map[string]string) string {
			return cmp.Or(env["CLAUDE_CONFIG_DIR"], filepath.Join(env["HOME"], ".claude"))
		},
		desk: func(a Agent, t *Transcript) string {
			if t != nil && t.Path != "" {
				return filepath.Dir(t.Path)
			}
			if a.Dir == "" {
				return ""
			}
			return filepath.Join(a.Home, "projects", projectName(a.Dir))
		},
		status: claudeStatus,
		parser: func() parser { return parse(claudeRecord) },
		ask:    (*Follower).byStatus,
		watch: func(a Agent, bound string, _ time.Time) []spot {
			sessions, top := filepath.Join(a.Home, "sessions"), filepath.Join(a.Home, "projects")
			if bound == "" {
				return []spot{{sessions, sessions}, {top, top}}
			}
			return []spot{{sessions, sessions}, {filepath.Dir(bound), top}}
		},
		pattern: func(a Agent, thread string) string {
			return filepath.Join(quoteGlob(a.Home), "projects", "*", thread+".jsonl")
		},
	})
}

// claudeTypes lists the record types that are known to say nothing about the conversation.
var claudeTypes = map[string]bool{
	"mode": true, "atis-latch": true, "file-history-snapshot": true, "last-prompt": true,
	"tools-used": true, "api-request": true, "api-request-shape": true, "api-request-blob": true, "cost-state": true,
	"summary": true, "ai-title": true, "custom-title": true, "agent-name": true, "progress": true,
}

type claudeLine struct {
	Type         string          `json:"type"`
	Subtype      string          `json:"subtype"`
	Timestamp    string          `json:"timestamp"`
	SessionID    string          `json:"sessionId"`
	Version      string          `json:"version"`
	Cwd          string          `json:"cwd"`
	UUID         string          `json:"uuid"`
	PromptSource string          `json:"promptSource"`
	Sidechain    bool            `json:"isSidechain"`
	Meta         bool            `json:"isMeta"`
	Summary      bool            `json:"isCompactSummary"`
	APIError     bool            `json:"isApiErrorMessage"`
	Interrupted  string          `json:"interruptedMessageId"`
	DenialKind   string          `json:"toolDenialKind"`
	Operation    string          `json:"operation"`
	Mode         string          `json:"permissionMode"`
	Origin       claudeOrigin    `json:"origin"`
	Content      json.RawMessage `json:"content"` // of queue operations and of the program's own lines
	Message      struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   *struct {
			Input   int `json:"input_tokens"`
			Written int `json:"cache_creation_input_tokens"`
			Cached  int `json:"cache_read_input_tokens"`
			Output  int `json:"output_tokens"`
		} `json:"usage"`
	} `json:"message"`
	Attachment struct {
		Type   string          `json:"type"`
		Prompt json.RawMessage `json:"prompt"`
		Mode   string          `json:"commandMode"`
		Origin claudeOrigin    `json:"origin"`
	} `json:"attachment"`
}

// claudeOrigin says who gave Claude Code a prompt. A peer is another program that wrote into its inbox: the kernel
// vouches for the peer's process, everything else is what the peer claims.
type claudeOrigin struct {
	Kind string  `json:"kind"` // human, peer, …
	Body *string `json:"body"` // of a peer: its text, if its wrapper was recognised
	ID   string  `json:"msg_id"`
}

// peer returns the event for a peer's prompt. Its text is the one inside the wrapper, if Claude Code recognised
// that.
func (o claudeOrigin) peer(at time.Time, turn, text string) Event {
	if o.Body != nil {
		text = *o.Body
	}
	return Event{Kind: Prompted, At: at, Turn: turn, Text: text, By: BySystem, ID: cmp.Or(o.ID, "unknown")}
}

type claudeBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	ToolUseID string `json:"tool_use_id"`
}

// claudeRecord reads one record of a transcript of Claude Code.
func claudeRecord(line []byte, r *Reader) []Event {
	var l claudeLine
	if !r.decode(line, &l) {
		return nil
	}
	if l.SessionID != "" {
		r.health.Thread = l.SessionID
	}
	if l.Version != "" {
		r.health.Version = l.Version
	}
	if r.health.Dir == "" {
		r.health.Dir = l.Cwd
	}
	at := timeOf(l.Timestamp)
	switch {
	case l.Type == "user" || l.Type == "assistant" || l.Type == "system" || l.Type == "attachment" || l.Type == "queue-operation":
		r.health.Known++
	case l.Type == "permission-mode":
		r.health.Known++
		return l.moded(at)
	case claudeTypes[l.Type]:
		r.health.Known++
		return nil
	default:
		r.unknown(l.Type)
		return nil
	}
	if l.Sidechain {
		return nil
	}
	switch l.Type {
	case "user":
		return append(l.moded(at), l.user(at, r)...)
	case "assistant":
		return l.assistant(at, r)
	case "attachment":
		return l.attached(at)
	case "queue-operation":
		if text, _ := textOf(l.Content); l.Operation == "enqueue" && text != "" && !strings.HasPrefix(text, "<task-notification>") {
			return []Event{{Kind: Queued, At: at, Text: unwrapPasted(unwrapPeer(text))}}
		}
	case "system":
		switch l.Subtype {
		case "turn_duration":
			return []Event{{Kind: TurnEnded, At: at}}
		case "compact_boundary":
			return []Event{{Kind: Compacted, At: at}}
		case "local_command":
			if text, _ := textOf(l.Content); strings.HasPrefix(text, "<command-name>") {
				return []Event{{Kind: Commanded, At: at, Text: commandLine(text)}}
			}
		}
	}
	return nil
}

// moded returns the event for the permission mode. A record of its own and each prompt hold the mode.
func (l *claudeLine) moded(at time.Time) []Event {
	if l.Mode == "" {
		return nil
	}
	return []Event{{Kind: Moded, At: at, Text: l.Mode}}
}

// user reads what the model gets under the user's name: prompts, but also results of tools and remarks of the
// program.
func (l *claudeLine) user(at time.Time, r *Reader) []Event {
	var events []Event
	for _, b := range blocksOf(l.Message.Content) {
		if b.Type == "tool_result" {
			events = append(events, Event{
				Kind: ToolEnded, At: at, Tool: Tool{ID: b.ToolUseID}, Denied: l.DenialKind == "user-rejected",
			})
		}
	}
	text, plain := textOf(l.Message.Content)
	if l.Origin.Kind == "peer" && len(events) == 0 {
		return []Event{l.Origin.peer(at, l.UUID, text)}
	}
	if len(events) > 0 || l.Meta || l.Summary {
		return events
	}
	if text == "" {
		if !plain && blocksOf(l.Message.Content) == nil {
			r.health.Bad++
		}
		return nil
	}
	byHand := l.Origin.Kind == "human" || l.PromptSource == "typed" || l.PromptSource == "queued"
	if !byHand && (l.Interrupted != "" || !plain && strings.HasPrefix(text, "[Request interrupted by user")) {
		return []Event{{Kind: Interrupted, At: at}}
	}
	if !byHand {
		for _, tag := range []string{"<command-name>", "<command-message>", "<bash-input>"} {
			if strings.HasPrefix(text, tag) {
				return []Event{{Kind: Commanded, At: at, Text: commandLine(text)}}
			}
		}
		for _, tag := range []string{"<local-command-", "<bash-stdout>", "<bash-stderr>", "<system-reminder>"} {
			if strings.HasPrefix(text, tag) {
				return nil
			}
		}
	}
	if l.PromptSource == "" && l.Origin.Kind == "human" && claudeCommand().MatchString(text) {
		text = commandLine(text) // the content of the command's file follows, under the program's name
	}
	// The record's own id: the prompt id is the same throughout a conversation that was forked.
	return []Event{{Kind: Prompted, At: at, Turn: l.UUID, Text: unwrapPasted(text), By: l.source()}}
}

func (l *claudeLine) source() Source {
	switch {
	case l.PromptSource == "system", l.Origin.Kind != "" && l.Origin.Kind != "human":
		return BySystem
	case l.PromptSource == "queued":
		return ByQueue
	case l.PromptSource == "typed":
		return ByKeys
	}
	return ByUnknown
}

// Claude Code writes this down as an answer that no model gave: after a prompt that was cut off, or without any
// prompt when it resumes a conversation. Other words under this model name are a real model's, cut short.
const (
	nobodysModel  = "<synthetic>"
	nobodysAnswer = "No response requested."
)

// assistant reads what the model said and did. Errors are recorded as if the model had said them.
func (l *claudeLine) assistant(at time.Time, r *Reader) []Event {
	if l.APIError {
		text, _ := textOf(l.Message.Content)
		return []Event{{Kind: Failed, At: at, Text: text}}
	}
	if l.Message.Model == nobodysModel {
		if text, _ := textOf(l.Message.Content); text == nobodysAnswer {
			return []Event{{Kind: Unanswered, At: at, Text: text}}
		}
	}
	blocks := blocksOf(l.Message.Content)
	if blocks == nil {
		r.health.Bad++
	}
	var events []Event
	for _, b := range blocks {
		switch {
		case b.Type == "text" && b.Text != "":
			events = append(events, Event{Kind: Spoke, At: at, Text: b.Text})
		case b.Type == "tool_use":
			events = append(events, Event{Kind: ToolBegan, At: at, Tool: Tool{ID: b.ID, Name: b.Name, Began: at}})
		}
	}
	if u := l.Message.Usage; u != nil { // the same in each record of a call; each block has its own record
		events = append(events, Event{Kind: Spent, At: at, Call: l.Message.ID, Tokens: message.Tokens{Fresh: u.Input + u.Written, Cached: u.Cached, Output: u.Output}})
	}
	return events
}

// attached reads what the program adds by itself. Only one kind matters: a prompt that was typed while the agent
// worked and that the agent gets in the middle of its turn.
func (l *claudeLine) attached(at time.Time) []Event {
	a := l.Attachment
	if a.Type != "queued_command" {
		return nil
	}
	text, _ := textOf(a.Prompt)
	if text == "" {
		return nil
	}
	if a.Origin.Kind == "peer" {
		e := a.Origin.peer(at, "", text)
		e.Midst = true
		return []Event{e}
	}
	by := BySteer
	if a.Mode != "" && a.Mode != "prompt" || a.Origin.Kind != "" && a.Origin.Kind != "human" {
		by = BySystem
	}
	return []Event{{Kind: Prompted, At: at, Text: unwrapPasted(text), By: by, Midst: by == BySystem}}
}

// blocksOf reads a list of blocks, and returns nil if the content is not a list. A block of another shape is empty.
func blocksOf(content json.RawMessage) []claudeBlock {
	var raw []json.RawMessage
	if json.Unmarshal(content, &raw) != nil {
		return nil
	}
	blocks := make([]claudeBlock, len(raw))
	for i := range raw {
		_ = json.Unmarshal(raw[i], &blocks[i]) // a block that does not fit stays empty and means nothing
	}
	return blocks
}

// unwrapPasted removes the marks that Claude Code puts around a long paste before it gives the paste to the model.
// Each mark has its own id, so that a text cannot end it.
func unwrapPasted(text string) string {
	const open = "<pasted_content id=\""
	var out strings.Builder
	for {
		i := strings.Index(text, open)
		if i < 0 {
			break
		}
		name, rest, ok := strings.Cut(text[i+len(open):], "\">")
		if !ok || strings.ContainsAny(name, "<>\"\n") {
			break
		}
		body, after, ok := strings.Cut(rest, "</pasted_content id=\""+name+"\">")
		if !ok {
			break
		}
		out.WriteString(strings.TrimSuffix(text[:i], "\n\n"))
		out.WriteString(strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n"))
		text = strings.TrimPrefix(after, "\n")
	}
	out.WriteString(text)
	return out.String()
}

// unwrapPeer removes the wrapper from a message that came through the inbox.
func unwrapPeer(text string) string {
	inside, ok := strings.CutPrefix(text, "<cross-session-message ")
	if !ok {
		return text
	}
	_, inside, begun := strings.Cut(inside, ">\n")
	body, ended := strings.CutSuffix(inside, "\n</cross-session-message>")
	if !begun || !ended {
		return text
	}
	return body
}

// claudeCommand matches a person's command that Claude Code gives to its model, as it is written down.
var claudeCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^<command-message>[^<]*</command-message>\n<command-name>/[^<]+</command-name>(\n<command-args>.*</command-args>)?\n?$`)
})

// commandLine returns a person's command as it was typed.
func commandLine(text string) string {
	if line := inTag(text, "bash-input"); line != "" {
		return "!" + line
	}
	return strings.TrimSpace(inTag(text, "command-name") + " " + inTag(text, "command-args"))
}

func inTag(text, tag string) string {
	_, rest, _ := strings.Cut(text, "<"+tag+">")
	inside, _, ok := strings.Cut(rest, "</"+tag+">")
	if !ok {
		return ""
	}
	return strings.TrimSpace(inside)
}

// claudeTranscript returns the transcript that a status file names.
func (a Agent) claudeTranscript(s Status) Transcript {
	return Transcript{Path: a.claudePath(s), Thread: s.Thread, Version: s.Version, How: ByStatusFile}
}

// claudePath returns the path of a session's transcript. Its directory is named after the directory in which the
// session began, which the agent may have left since. For a session that is not written yet, the path is a guess.
func (a Agent) claudePath(s Status) string {
	name := s.Thread + ".jsonl"
	path := filepath.Join(a.Home, "projects", projectName(s.Dir), name)
	if exists(path) {
		return path
	}
	others := foreign.Glob(filepath.Join(quoteGlob(a.Home), "projects", "*", name))
	if len(others) == 1 {
		return others[0]
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// projectName returns the name that Claude Code gives to the directory of a project's sessions: it replaces each
// character (a UTF-16 unit, as in JavaScript) that is neither an ASCII letter nor a digit by a dash. Claude Code
// also cuts long names; projectName does not.
func projectName(dir string) string {
	var name strings.Builder
	for _, c := range utf16.Encode([]rune(dir)) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			name.WriteByte(byte(c))
		} else {
			name.WriteByte('-')
		}
	}
	return name.String()
}
