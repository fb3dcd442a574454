package labtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Google's Gemini API, as Gemini CLI speaks it.
func init() {
	offer(api{
		name: "google", paths: []string{":generateContent", ":streamGenerateContent"},
		decode: decodeGemini, answer: answerGemini, refuse: refuseGemini,
	})
}

// geminiPlans is the directory that Gemini CLI tells its model to write plans to.
var geminiPlans = regexp.MustCompile(`directory: (/[^"\s\\]+/plans/)`)

func decodeGemini(r *http.Request, body []byte) (Request, []said, error) {
	var in struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     *string `json:"text"`
				Response *struct {
					ID       string          `json:"id"`
					Name     string          `json:"name"`
					Response json.RawMessage `json:"response"`
				} `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			MIME string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, nil, fmt.Errorf("contents: %w", err)
	}
	req := Request{Stream: strings.HasSuffix(r.URL.Path, ":streamGenerateContent")}
	if m := geminiPlans.FindSubmatch(body); m != nil {
		req.planFile = string(m[1]) + "plan.md"
	}
	_, model, _ := strings.Cut(r.URL.Path, "/models/")
	req.Model, _, _ = strings.Cut(model, ":")
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			req.Tools = append(req.Tools, f.Name)
		}
	}
	switch {
	case in.Config.MIME == "application/json":
		req.Side = sideJSON
	case len(req.Tools) == 0:
		req.Side = sideNoTools
	}
	var all []said
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			switch {
			case c.Role == "model":
				all = append(all, said{by: byModel})
			case p.Response != nil:
				all = append(all, said{by: byTool, text: string(p.Response.Response), call: p.Response.ID})
			case p.Text != nil:
				all = append(all, fromUser(*p.Text))
			}
		}
	}
	return req, all, nil
}

func answerGemini(w *writer, req Request, reply Reply) {
	envelope := func(finish string, parts ...any) object {
		if parts == nil {
			parts = []any{object{"text": ""}}
		}
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		return object{
			"candidates": []any{candidate}, "modelVersion": req.Model, "responseId": fmt.Sprint(w.x.N),
			"usageMetadata": object{"promptTokenCount": 12, "candidatesTokenCount": 1 + len(reply.Text)/4, "totalTokenCount": 13 + len(reply.Text)/4},
		}
	}
	var parts []any
	if reply.Call != nil {
		parts = append(parts, object{"functionCall": object{"id": fmt.Sprintf("call_%06d", w.x.N), "name": reply.Call.Tool, "args": reply.Call.Arguments}})
	}
	if !req.Stream {
		if text := w.whole(); text != "" {
			parts = append([]any{object{"text": text}}, parts...)
		}
		w.called = reply.Call != nil
		w.json(http.StatusOK, envelope("STOP", parts...))
		return
	}
	w.words(func(word string) { w.event("", envelope("", object{"text": word})) })
	w.event("", envelope("STOP", parts...))
	w.called = reply.Call != nil && !w.gone
}

func refuseGemini(status int, message string) any {
	kind := "INTERNAL"
	switch status {
	case http.StatusBadRequest:
		kind = "INVALID_ARGUMENT"
	case http.StatusTooManyRequests:
		kind = "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		kind = "UNAVAILABLE"
	}
	return object{"error": object{"code": status, "message": message, "status": kind}}
}
