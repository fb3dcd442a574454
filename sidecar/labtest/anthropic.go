package labtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// The Messages API, as Claude Code speaks it.
func init() {
	offer(api{
		name: "anthropic", paths: []string{"/messages"},
		decode: decodeAnthropic, answer: answerAnthropic, refuse: refuseAnthropic,
	})
}

func decodeAnthropic(r *http.Request, body []byte) (Request, []said, error) {
	var in struct {
		Model    string  `json:"model"`
		Stream   bool    `json:"stream"`
		System   content `json:"system"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Metadata struct {
			User string `json:"user_id"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, nil, fmt.Errorf("messages: %w", err)
	}
	req := Request{Model: in.Model, Stream: in.Stream, Thread: claudeSession(in.Metadata.User), planFile: string(planFile.Find(body))}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	switch {
	case r.Header.Get("X-Claude-Code-Agent-Id") != "":
		req.Side = sideAgent
	case len(in.Tools) == 0 && strings.Contains(in.System.text(), "title"):
		req.Side = sideTitle
	case len(in.Tools) == 0:
		req.Side = sideNoTools
	}
	var all []said
	for _, message := range in.Messages {
		for _, p := range message.Content {
			switch {
			case message.Role == "assistant":
				all = append(all, said{by: byModel})
			case p.Type == "tool_result":
				all = append(all, said{by: byTool, text: p.Content.text(), call: p.ID})
			case message.Role == "user" && p.isText():
				all = append(all, fromUser(p.Text))
			}
		}
	}
	return req, all, nil
}

// planFile is the file that Claude Code tells its model to write a plan to.
var planFile = regexp.MustCompile(`/[^"\s\\]+/\.claude/plans/[^"\s\\]+\.md`)

// claudeSession returns the session in the metadata of a request, which is JSON in a string or, in older versions,
// words joined by underscores.
func claudeSession(user string) string {
	var in struct {
		Session string `json:"session_id"`
	}
	if json.Unmarshal([]byte(user), &in) == nil {
		return in.Session
	}
	_, session, _ := strings.Cut(user, "_session_")
	return session
}

func answerAnthropic(w *writer, req Request, reply Reply) {
	id := fmt.Sprintf("msg_%06d", w.x.N)
	stop := "end_turn"
	var call object
	if reply.Call != nil {
		stop = "tool_use"
		call = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%06d", w.x.N), "name": reply.Call.Tool, "input": object{}}
	}
	usage := object{"input_tokens": 12, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	message := object{
		"id": id, "type": "message", "role": "assistant", "model": req.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !req.Stream {
		blocks := []any{}
		if text := w.whole(); text != "" {
			blocks = append(blocks, object{"type": "text", "text": text})
		}
		if call != nil {
			call["input"] = reply.Call.Arguments
			blocks = append(blocks, call)
			w.called = true
		}
		message["content"], message["stop_reason"] = blocks, stop
		w.json(http.StatusOK, message)
		return
	}
	w.event("message_start", object{"type": "message_start", "message": message})
	w.event("ping", object{"type": "ping"})
	index := 0
	block := func(start object, deltas func(delta func(object))) {
		w.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		deltas(func(d object) {
			w.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
		})
		w.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if reply.Text != "" {
		block(object{"type": "text", "text": ""}, func(delta func(object)) {
			w.words(func(word string) { delta(object{"type": "text_delta", "text": word}) })
		})
	}
	if call != nil {
		block(call, func(delta func(object)) {
			delta(object{"type": "input_json_delta", "partial_json": string(reply.Call.Arguments)})
		})
		w.called = !w.gone
	}
	w.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 1 + len(reply.Text)/4}})
	w.event("message_stop", object{"type": "message_stop"})
}

func refuseAnthropic(status int, message string) any {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case 529:
		kind = "overloaded_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}
