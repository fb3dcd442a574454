package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Codex is Codex.
const Codex Kind = "codex"

func init() {
	register(Codex, format{
		npm:       "@openai/codex",
		variables: []string{"CODEX_HOME"},
		home: func(env map[string]string) string {
			return cmp.Or(env["CODEX_HOME"], filepath.Join(env["HOME"], ".codex"))
		},
		desk:   func(a Agent, _ *Transcript) string { return filepath.Join(a.Home, deskName) },
		skills: codexSkills,
		parser: func() parser { return parse(codexRecord) },
		ask:    func(f *Follower) (Transcript, error) { return f.Agent.findOpen(f.beside.heads) },
		watch: func(a Agent, bound string, now time.Time) []spot {
			top := a.rollouts()
			if bound == "" {
				return []spot{{filepath.Join(top, now.Format("2006"), now.Format("01"), now.Format("02")), top}}
			}
			return []spot{{filepath.Dir(bound), top}}
		},
		pattern: func(a Agent, thread string) string {
			return filepath.Join(quoteGlob(a.rollouts()), "*", "*", "*", "rollout-*-"+thread+".jsonl")
		},
		head:       rolloutHead,
		shows:      true,
		background: serves,
	})
}

// codexTypes lists the record types that are known to say nothing about the conversation.
var codexTypes = map[string]bool{"world_state": true, "turn_context": true, "token_usage_record": true}

type codexLine struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
}

type codexMeta struct {
	ID      string          `json:"id"`
	Cwd     string          `json:"cwd"`
	Version string          `json:"cli_version"`
	Source  json.RawMessage `json:"source"` // a string, or an object for sub-agents
	Thread  string          `json:"thread_source"`
	Parent  string          `json:"parent_thread_id"`
	Forked  string          `json:"forked_from_id"`
}

// side reports whether the thread belongs to a sub-agent, or the program keeps it for itself.
func (m codexMeta) side() bool {
	var word string
	return m.Parent != "" || m.Thread != "" && m.Thread != "user" || len(m.Source) > 0 && json.Unmarshal(m.Source, &word) != nil
}

func (m codexMeta) head() head {
	return head{thread: m.ID, parent: m.Parent, version: m.Version, dir: m.Cwd, side: m.side(), fork: forkOf(m)}
}

type codexEvent struct {
	Type   string `json:"type"`
	Turn   string `json:"turn_id"`
	Reason string `json:"reason"`
	Begun  int64  `json:"started_at"` // of the turn, in seconds
	Last   string `json:"last_agent_message"`
	Info   *struct {
		Total codexTokens `json:"total_token_usage"` // of the thread
		Last  codexTokens `json:"last_token_usage"`  // of one call of the model
	} `json:"info"` // of token_count; repeated when only the limits of an account have changed
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	Item struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	} `json:"item"`
}

type codexItem struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
}

// codexRecord reads one record of a rollout of Codex. A rollout holds the conversation twice: as it went to the
// model (response_item) and as it was shown (event_msg). Prompts and words are taken from event_msg, because
// everything there under the user's name was really said by the user. Calls of tools are taken from response_item,
// because only it holds all of them.
func codexRecord(line []byte, r *Reader) []Event {
	var l codexLine
	if !r.decode(line, &l) {
		return nil
	}
	at := timeOf(l.Timestamp)
	if !r.fork.made.IsZero() && l.Type != "event_msg" {
		at = r.fork.at
	}
	switch l.Type {
	case "session_meta":
		var m codexMeta
		r.health.Known++
		if !r.decode(l.Payload, &m) {
			return nil
		}
		r.about(m.head())
	case "compacted":
		r.health.Known++
		return r.mine(Event{Kind: Compacted, At: at})
	case "response_item":
		var i codexItem
		r.health.Known++
		if !r.decode(l.Payload, &i) {
			return nil
		}
		id := i.CallID
		if id == "" {
			id = i.ID
		}
		switch {
		case strings.HasSuffix(i.Type, "_call_output"):
			return r.mine(Event{Kind: ToolEnded, At: at, Tool: Tool{ID: id}})
		case strings.HasSuffix(i.Type, "_call"):
			began := Event{Kind: ToolBegan, At: at, Tool: Tool{ID: id, Name: i.Name, Began: at}}
			if i.CallID == "" { // the service did it, and gives the result with the call
				return r.mine(began, Event{Kind: ToolEnded, At: at, Tool: Tool{ID: id}})
			}
			return r.mine(began)
		}
	case "event_msg":
		var e codexEvent
		r.health.Known++
		if !r.decode(l.Payload, &e) {
			return nil
		}
		at = r.fork.date(at, e)
		ev, ok := e.event()
		if ev.Kind == Spent { // repeated with the limits of an account, and when a turn begins or compacts the conversation
			ok, r.total = ev.Call != r.total, ev.Call
		}
		if ok {
			ev.At, ev.Turn = at, e.Turn
			return r.mine(ev)
		}
	default:
		if codexTypes[l.Type] {
			r.health.Known++
		} else {
			r.unknown(l.Type)
		}
	}
	return nil
}

// mine returns the events of a thread, or none if the thread is a sub-agent's.
func (r *Reader) mine(events ...Event) []Event {
	if r.health.Side {
		return nil
	}
	return events
}

// codexTokens counts the tokens that calls of the model used. Input includes those read from a cache.
type codexTokens struct {
	Input  int `json:"input_tokens"`
	Cached int `json:"cached_input_tokens"`
	Output int `json:"output_tokens"`
}

func (e codexEvent) event() (Event, bool) {
	switch e.Type {
	case "token_count":
		if e.Info == nil {
			return Event{}, false
		}
		u := e.Info.Last
		return Event{
			Kind: Spent, Call: fmt.Sprint(e.Info.Total), Tokens: message.Tokens{Fresh: max(0, u.Input-u.Cached), Cached: u.Cached, Output: u.Output},
		}, true
	case "task_started":
		return Event{Kind: TurnBegan}, true
	case "turn_aborted":
		if e.Reason != "" && e.Reason != "interrupted" { // another turn replaced it, or its budget was used up
			return Event{Kind: Stopped, Text: e.Reason}, true
		}
		return Event{Kind: Interrupted, Text: e.Reason}, true
	case "task_complete":
		if e.Error != nil {
			return Event{Kind: Failed, Text: strings.TrimSpace(e.Error.Message)}, true
		}
		return Event{Kind: TurnEnded, Text: e.Last}, true
	case "item_completed":
		text, _ := textOf(e.Item.Content)
		switch {
		case text == "":
		case e.Item.Type == "UserMessage":
			return Event{Kind: Prompted, Text: text, By: ByKeys}, true
		case e.Item.Type == "AgentMessage":
			return Event{Kind: Spoke, Text: text}, true
		}
	}
	return Event{}, false
}

// findOpen returns the newest of the rollouts that the processes of a Codex have open, without those of its
// sub-agents. The newest is the one that was written to last: /new begins another file and /resume reopens an old
// one, while the earlier files stay open.
func (a Agent) findOpen(heads *heads) (Transcript, error) {
	var best Transcript
	var newest time.Time
	top := a.rollouts() + "/"
	isRollout := func(path string) bool {
		name := filepath.Base(path)
		return strings.HasPrefix(path, top) && strings.HasPrefix(name, "rollout-") && strings.HasSuffix(name, ".jsonl")
	}
	for _, pid := range a.Tried {
		for _, path := range process.Writes(pid, isRollout) {
			info, err := os.Stat(path)
			if err != nil {
				continue // removed while it was open
			}
			head, ok := heads.of(path)
			if !ok {
				continue // its first line is not written yet
			}
			later := info.ModTime().Compare(newest)
			if head.side || later < 0 || later == 0 && path < best.Path {
				continue
			}
			newest = info.ModTime()
			best = Transcript{Path: path, Thread: head.thread, Version: head.version, How: ByOpenFile}
		}
	}
	if best.Path == "" {
		return Transcript{}, fmt.Errorf("%s process %d has no rollout open: %w", a.Kind, a.Process.PID, ErrNoTranscript)
	}
	return best, nil
}

// rollouts returns the directory below which a Codex keeps its rollouts.
func (a Agent) rollouts() string { return resolved(filepath.Join(a.Home, "sessions")) }

// rolloutHead reads the first line of a rollout.
func rolloutHead(path string) (head, bool) {
	line, ok := firstLine(path)
	var l codexLine
	var m codexMeta
	r := NewReader(Codex, 0)
	if !ok || !r.decode(line, &l) || l.Type != "session_meta" || !r.decode(l.Payload, &m) {
		return head{}, false
	}
	return m.head(), true
}
