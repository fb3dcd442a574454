package labtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const responses = "responses"

// OpenAI's Responses API, as Codex speaks it, and its Chat Completions API, which opencode uses with a person's own
// model.
func init() {
	offer(api{
		name: responses, paths: []string{"/responses"},
		decode: decodeResponses, answer: answerResponses, refuse: refuseOpenAI,
	})
	offer(api{
		name: "chat", paths: []string{"/chat/completions"},
		decode: decodeChat, answer: answerChat, refuse: refuseOpenAI,
	})
}

// openAITool is an offered tool, in the forms of both APIs.
type openAITool struct {
	Type     string       `json:"type"`
	Name     string       `json:"name"`
	Tools    []openAITool `json:"tools"` // of a namespace
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// offer adds offered tools. The name of a tool in a namespace begins with that of the namespace.
func (r *Request) offer(tools []openAITool, within string) {
	for _, t := range tools {
		name := within + cmp.Or(t.Name, t.Function.Name, t.Type) // some tools, which the service itself runs, have only a type
		if len(t.Tools) > 0 {
			r.offer(t.Tools, name+"/")
			continue
		}
		r.Tools = append(r.Tools, name)
		if t.Type == "custom" {
			r.plain = append(r.plain, name)
		}
	}
}

func decodeResponses(r *http.Request, body []byte) (Request, []said, error) {
	var in struct {
		Model        string `json:"model"`
		Stream       bool   `json:"stream"`
		Instructions string `json:"instructions"`
		Cache        string `json:"prompt_cache_key"`
		Client       struct {
			Turn string `json:"x-codex-turn-metadata"` // JSON in a string
		} `json:"client_metadata"`
		Tools []openAITool `json:"tools"`
		Input []struct {
			Type    string  `json:"type"`
			Role    string  `json:"role"`
			Content content `json:"content"`
			Call    string  `json:"call_id"`
			Output  content `json:"output"`
			// Set in an item that offers more tools.
			Tools []openAITool `json:"tools"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, nil, fmt.Errorf("responses: %w", err)
	}
	req := Request{Model: in.Model, Stream: in.Stream, Thread: in.Cache}
	req.offer(in.Tools, "")
	for _, item := range in.Input {
		req.offer(item.Tools, "")
	}
	if len(req.Tools) == 0 {
		req.Side = sideNoTools
	}
	req.codex(in.Client.Turn)
	var all []said
	for _, item := range in.Input {
		switch {
		case strings.HasSuffix(item.Type, "_call_output"):
			all = append(all, said{by: byTool, text: item.Output.text(), call: item.Call})
		case item.Role == "user":
			for _, p := range item.Content {
				if p.isText() {
					all = append(all, fromUser(p.Text))
				}
			}
		case item.Role == "assistant", strings.HasSuffix(item.Type, "_call"), item.Type == "reasoning":
			all = append(all, said{by: byModel})
		}
	}
	return req, all, nil
}

// codex reads Codex's metadata about a turn: its thread and its purpose.
func (r *Request) codex(turn string) {
	var in struct {
		Thread string `json:"thread_id"`
		Source string `json:"thread_source"`
		Kind   string `json:"request_kind"`
	}
	if json.Unmarshal([]byte(turn), &in) != nil {
		return
	}
	r.Thread = cmp.Or(in.Thread, r.Thread)
	switch {
	case in.Source == "thread_title":
		r.Side = sideTitle
	case in.Source != "" && in.Source != "user":
		r.Side = in.Source
	case in.Kind != "" && in.Kind != "turn":
		r.Side = in.Kind
	default:
		r.Side = ""
	}
}

func answerResponses(w *writer, req Request, reply Reply) {
	id := fmt.Sprintf("%06d", w.x.N)
	response := func(status string, output []any) object {
		return object{
			"id": "resp_" + id, "object": "response", "created_at": w.x.Began.Unix(), "status": status, "model": req.Model, "output": output,
			"usage": object{
				"input_tokens": 12, "input_tokens_details": object{"cached_tokens": 0},
				"output_tokens": 1 + len(reply.Text)/4, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 13 + len(reply.Text)/4,
			},
		}
	}
	message := func(status string, parts []any) object {
		return object{"type": "message", "id": "msg_" + id, "role": "assistant", "status": status, "content": parts}
	}
	event := func(name string, fields object) {
		fields["type"] = name
		w.event(name, fields)
	}
	output := []any{}
	if req.Stream {
		event("response.created", object{"response": response("in_progress", []any{})})
	}
	if reply.Text != "" {
		text := func() object { return object{"type": "output_text", "text": w.sent.String(), "annotations": []any{}} }
		if req.Stream {
			event("response.output_item.added", object{"output_index": 0, "item": message("in_progress", []any{})})
			event("response.content_part.added", object{"item_id": "msg_" + id, "output_index": 0, "content_index": 0, "part": text()})
			w.words(func(word string) {
				event("response.output_text.delta", object{"item_id": "msg_" + id, "output_index": 0, "content_index": 0, "delta": word})
			})
			event("response.output_text.done", object{"item_id": "msg_" + id, "output_index": 0, "content_index": 0, "text": w.sent.String()})
			event("response.content_part.done", object{"item_id": "msg_" + id, "output_index": 0, "content_index": 0, "part": text()})
		} else {
			w.whole()
		}
		item := message("completed", []any{text()})
		output = append(output, item)
		if req.Stream {
			event("response.output_item.done", object{"output_index": 0, "item": item})
		}
	}
	if reply.Call != nil {
		item := object{"id": "fc_" + id, "call_id": "call_" + id, "status": "completed", "name": reply.Call.Tool}
		if space, name, ok := strings.Cut(reply.Call.Tool, "/"); ok {
			item["namespace"], item["name"] = space, name
		}
		if slices.Contains(req.plain, reply.Call.Tool) {
			var in struct{ Input string }
			_ = json.Unmarshal(reply.Call.Arguments, &in)
			item["type"], item["input"] = "custom_tool_call", in.Input
		} else {
			item["type"], item["arguments"] = "function_call", string(reply.Call.Arguments)
		}
		output = append(output, item)
		if req.Stream {
			event("response.output_item.added", object{"output_index": len(output) - 1, "item": item})
			event("response.output_item.done", object{"output_index": len(output) - 1, "item": item})
		}
		w.called = !w.gone
	}
	if req.Stream {
		event("response.completed", object{"response": response("completed", output)})
	} else {
		w.json(http.StatusOK, response("completed", output))
	}
}

func decodeChat(r *http.Request, body []byte) (Request, []said, error) {
	var in struct {
		Model    string       `json:"model"`
		Stream   bool         `json:"stream"`
		Tools    []openAITool `json:"tools"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
			Call    string  `json:"tool_call_id"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, nil, fmt.Errorf("chat: %w", err)
	}
	req := Request{Model: in.Model, Stream: in.Stream, Thread: r.Header.Get("X-Session-Id")}
	req.offer(in.Tools, "")
	if len(in.Tools) == 0 {
		req.Side = sideNoTools
	}
	var all []said
	for _, message := range in.Messages {
		switch message.Role {
		case "user":
			for _, p := range message.Content {
				if p.isText() {
					all = append(all, fromUser(p.Text))
				}
				if req.Side != "" && strings.HasPrefix(p.Text, "Generate a title ") {
					req.Side = sideTitle
				}
			}
		case "assistant":
			all = append(all, said{by: byModel})
		case "tool":
			all = append(all, said{by: byTool, text: message.Content.text(), call: message.Call})
		}
	}
	return req, all, nil
}

func answerChat(w *writer, req Request, reply Reply) {
	id := fmt.Sprintf("chatcmpl-%06d", w.x.N)
	finish := "stop"
	var calls []any
	if reply.Call != nil {
		finish = "tool_calls"
		calls = []any{object{
			"index": 0, "id": fmt.Sprintf("call_%06d", w.x.N), "type": "function",
			"function": object{"name": reply.Call.Tool, "arguments": string(reply.Call.Arguments)},
		}}
	}
	usage := object{"prompt_tokens": 12, "completion_tokens": 1 + len(reply.Text)/4, "total_tokens": 13 + len(reply.Text)/4}
	envelope := func(kind string, choices ...any) object {
		if choices == nil {
			choices = []any{}
		}
		return object{"id": id, "object": kind, "created": w.x.Began.Unix(), "model": req.Model, "choices": choices}
	}
	if !req.Stream {
		message := object{"role": "assistant", "content": w.whole()}
		if calls != nil {
			message["tool_calls"] = calls
			w.called = true
		}
		answer := envelope("chat.completion", object{"index": 0, "message": message, "finish_reason": finish})
		answer["usage"] = usage
		w.json(http.StatusOK, answer)
		return
	}
	delta := func(d object, finish any) {
		w.event("", envelope("chat.completion.chunk", object{"index": 0, "delta": d, "finish_reason": finish}))
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	w.words(func(word string) { delta(object{"content": word}, nil) })
	if calls != nil {
		delta(object{"tool_calls": calls}, nil)
		w.called = !w.gone
	}
	delta(object{}, finish)
	last := envelope("chat.completion.chunk")
	last["usage"] = usage
	w.event("", last)
	w.done()
}

// done ends a stream of the Chat Completions API.
func (w *writer) done() {
	if !w.gone {
		_, _ = fmt.Fprint(w.w, "data: [DONE]\n\n")
	}
}

func refuseOpenAI(status int, message string) any {
	kind := "server_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_exceeded"
	}
	return object{"error": object{"message": message, "type": kind, "code": kind, "param": nil}}
}
