package agent

import (
	"encoding/json"
	"strings"
)

// codexTypes are the types of records that are known to say nothing about what was said.
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
	Source  json.RawMessage `json:"source"` // a word, or for sub-agents an object
	Thread  string          `json:"thread_source"`
	Parent  string          `json:"parent_thread_id"`
}

// side reports whether the thread is a sub-agent's, or one that the program keeps for itself.
func (m codexMeta) side() bool {
	var word string
	return m.Parent != "" || m.Thread != "" && m.Thread != "user" || len(m.Source) > 0 && json.Unmarshal(m.Source, &word) != nil
}

type codexEvent struct {
	Type   string `json:"type"`
	Turn   string `json:"turn_id"`
	Reason string `json:"reason"`
	Last   string `json:"last_agent_message"`
	Error  *struct {
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

// codexRecord reads one record of a rollout of Codex. What was said stands there twice, as
// it went to the model (response_item) and as it was shown (event_msg): prompts and words
// are taken from the latter, where nothing stands under the user's name that the user did
// not say; calls of tools from the former, where all of them stand.
func codexRecord(line []byte, r *Reader) []Event {
	var l codexLine
	if !r.decode(line, &l) {
		return nil
	}
	at := timeOf(l.Timestamp)
	switch l.Type {
	case "session_meta":
		var m codexMeta
		r.health.Known++
		if !r.decode(l.Payload, &m) {
			return nil
		}
		r.about(m)
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
			if i.CallID == "" { // done by the service, which gives the result with the call
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
		if ev, ok := e.event(); ok {
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

// about takes in what the head of a rollout says. Only the first counts, but for the
// version: a fork may repeat those of its ancestors, and another version may go on.
func (r *Reader) about(m codexMeta) {
	if r.health.Thread == "" {
		r.health.Thread, r.health.Dir, r.health.Side = m.ID, m.Cwd, m.side()
	}
	r.health.Version = m.Version
}

// mine are the events of a thread, none if it is a sub-agent's.
func (r *Reader) mine(events ...Event) []Event {
	if r.health.Side {
		return nil
	}
	return events
}

func (e codexEvent) event() (Event, bool) {
	switch e.Type {
	case "task_started":
		return Event{Kind: TurnBegan}, true
	case "turn_aborted":
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
