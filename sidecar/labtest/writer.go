package labtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A writer sends one answer, at the pace of its reply, and records what was sent. It belongs to the goroutine of its
// request.
type writer struct {
	w     http.ResponseWriter
	ctx   context.Context
	m     *Model
	x     *Exchange
	reply Reply

	status int
	sent   strings.Builder // words
	called bool            // the tool call was sent
	gone   bool            // the client has gone
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// json sends an answer in one piece.
func (w *writer) json(status int, v any) {
	w.status = status
	writeJSON(w.w, status, v)
}

// event sends one server-sent event. With an empty name, it omits the line of the name.
func (w *writer) event(name string, v any) {
	if w.status == 0 {
		w.status = http.StatusOK
		w.w.Header().Set("Content-Type", "text/event-stream")
		w.w.Header().Set("Cache-Control", "no-cache")
		w.w.WriteHeader(http.StatusOK)
	}
	if w.gone = w.gone || w.ctx.Err() != nil; w.gone {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // all our values have a JSON form
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	_, err = fmt.Fprintf(w.w, "%sdata: %s\n\n", name, data)
	w.gone = w.gone || err != nil
	_ = http.NewResponseController(w.w).Flush()
}

// pieces is the maximum number of pieces of an answer without a pace. opencode reads the whole answer anew for each
// piece, and takes half a minute for 400 lines in single words.
const pieces = 120

// words calls send for each word of the reply's text, including the space after it, at the reply's pace. Without a pace
// it sends several words at once if there are many. It ends early if the client goes away.
func (w *writer) words(send func(words string)) {
	words := strings.SplitAfter(w.reply.Text, " ")
	if w.reply.Over == 0 {
		words = joined(words, 1+len(words)/pieces)
	}
	began := time.Now()
	for i, word := range words {
		if w.reply.Hold && i == len(words)/2 {
			w.hold()
		}
		due := began.Add(w.reply.Over / time.Duration(len(words)) * time.Duration(i+1))
		if ahead := time.Until(due); ahead > time.Millisecond {
			select {
			case <-time.After(ahead):
			case <-w.ctx.Done():
			}
		}
		if word == "" {
			continue
		}
		send(word)
		if w.gone {
			return
		}
		w.sent.WriteString(word)
	}
}

// joined joins words into pieces of n words.
func joined(words []string, n int) (all []string) {
	for some := range slices.Chunk(words, n) {
		all = append(all, strings.Join(some, ""))
	}
	return all
}

// whole returns the reply's whole text, for an answer that is not streamed. It takes as long as a streamed one.
func (w *writer) whole() string {
	w.words(func(string) { w.gone = w.gone || w.ctx.Err() != nil })
	return w.sent.String()
}

// hold waits until the test releases the answer.
func (w *writer) hold() {
	gate := w.m.gate(w.x.Agent)
	w.m.mu.Lock()
	w.x.Held = true
	w.m.mu.Unlock()
	select {
	case <-gate:
	case <-w.ctx.Done():
		w.gone = true
	}
}

// clip shortens a text to n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
