package labtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Exchange is one call of a model and its answer. The log has two lines for each, with
// the same N: one when the request came, one when its answer was over.
type Exchange struct {
	N     int    `json:"n"`
	Agent string `json:"agent"` // the agent whose model was called
	API   string `json:"api"`   // anthropic, responses, chat, gemini
	Path  string `json:"path"`
	Request

	// Answer has the words that were sent: all of them unless Cut.
	Answer string `json:"answer"`
	Call   *Call  `json:"call,omitempty"` // the tool that the model asked for
	Status int    `json:"status"`         // HTTP status
	Held   bool   `json:"held,omitempty"` // it waits or has waited for Release
	Cut    bool   `json:"cut,omitempty"`  // the client went away before the end
	Over   bool   `json:"over"`           // nothing more is sent

	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`
}

// A Call is a model's request to run a tool.
type Call struct {
	Tool      string          `json:"tool"` // the agent's name for the tool, after a namespace and a slash if it has one
	Arguments json.RawMessage `json:"arguments"`
}

// Model serves all models of a lab on one address of the loopback interface.
type Model struct {
	url     string
	server  *http.Server
	serving sync.WaitGroup // the server and every request
	dir     string         // of the log and the bodies

	mu        sync.Mutex
	log       *os.File
	exchanges []*Exchange
	seed      string
	script    func(Exchange) (Reply, bool)
	talked    map[string]int           // number of answers given, by agent
	refused   map[string]int           // number of errors given, by agent, thread and position of the text
	gates     map[string]chan struct{} // one element releases one held answer of the agent
}

// NewModel serves on l, which must be on loopback. It writes into dir: the log, model.jsonl, and for every request its
// raw body, requests/N.json, and its header, requests/N.header. Close closes l.
func NewModel(l net.Listener, dir string) (*Model, error) {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil, fmt.Errorf("model on %q: not an address of the loopback interface", l.Addr())
	}
	if err := os.MkdirAll(filepath.Join(dir, "requests"), 0o700); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "model.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	m := &Model{
		url: "http://" + at.String(), dir: dir, log: log,
		talked: map[string]int{}, refused: map[string]int{}, gates: map[string]chan struct{}{},
	}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	m.serving.Go(func() { _ = m.server.Serve(l) })
	return m, nil
}

// Close ends the running answers and the server.
func (m *Model) Close() error {
	err := m.server.Close()
	m.serving.Wait()
	return errors.Join(err, m.log.Close())
}

// URL returns the address of the model for the agent of that name. Names consist of letters, digits and hyphens.
func (m *Model) URL(agent string) string { return m.url + "/" + agent }

// Converse makes all models of the lab converse from now on: Talk, with this seed, answers texts without a directive.
// An empty seed ends that.
func (m *Model) Converse(seed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seed = seed
}

// Script sets a function that is asked for a reply first. If f returns false, the directives decide. f is called by one
// goroutine at a time, and must not call the Model.
func (m *Model) Script(f func(Exchange) (Reply, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = f
}

// Release releases one held answer of an agent's model, or the next one to be held.
func (m *Model) Release(agent string) { m.gate(agent) <- struct{}{} }

func (m *Model) gate(agent string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gates[agent] == nil {
		m.gates[agent] = make(chan struct{}, 100)
	}
	return m.gates[agent]
}

// Exchanges returns all calls of an agent's model so far, including those of side threads.
func (m *Model) Exchanges(agent string) []Exchange {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Exchange
	for _, x := range m.exchanges {
		if x.Agent == agent {
			all = append(all, *x)
		}
	}
	return all
}

// Received returns the texts that an agent's model has received from its user, in order, each once: a repeated request
// adds nothing.
func (m *Model) Received(agent string) []string {
	type place struct {
		thread string
		number int
	}
	var texts []string
	heard := map[place]string{}
	for _, x := range m.Exchanges(agent) {
		if x.Side != "" {
			continue
		}
		for i, text := range x.User {
			at := place{x.Thread, x.Earlier + i}
			if before, ok := heard[at]; !ok || before != text {
				heard[at] = text
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// Answers returns the words that an agent's model has said to its user, in order: one text for each finished answer
// with words, complete or cut.
func (m *Model) Answers(agent string) []string {
	var texts []string
	for _, x := range m.Exchanges(agent) {
		if x.Side == "" && x.Over && x.Answer != "" {
			texts = append(texts, x.Answer)
		}
	}
	return texts
}

// api is one API of models.
type api struct {
	name  string
	paths []string // suffixes of its paths
	// decode parses a request. all is the conversation; the caller calls hear with it.
	decode func(r *http.Request, body []byte) (req Request, all []said, err error)
	// answer sends a reply that is not an error.
	answer func(w *writer, req Request, reply Reply)
	// refuse returns the body of an error.
	refuse func(status int, message string) any
}

var apis []api

// offer adds an API to the mock.
func offer(a api) { apis = append(apis, a) }

// route returns the API of a path from which the agent's name was removed.
func route(path string) (api, bool) {
	for _, a := range apis {
		if slices.ContainsFunc(a.paths, func(end string) bool { return strings.HasSuffix(path, end) }) {
			return a, true
		}
	}
	return api{}, false
}

// maxBody is more than any client sends. Clients send the whole conversation with each request.
const maxBody = 64 << 20

// ServeHTTP implements http.Handler.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.serving.Add(1)
	defer m.serving.Done()
	agent, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	path = "/" + path
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a, known := route(path)
	if !known || r.Method != http.MethodPost {
		m.serveRest(w, r, agent, path, body)
		return
	}
	req, all, err := a.decode(r, body)
	if err != nil {
		m.write(map[string]any{"event": "undecodable", "agent": agent, "path": path, "error": err.Error(), "body": string(body), "at": time.Now()})
		writeJSON(w, http.StatusBadRequest, a.refuse(http.StatusBadRequest, err.Error()))
		return
	}
	req.hear(all)
	x, reply := m.begin(&Exchange{Agent: agent, API: a.name, Path: path, Request: req, Began: time.Now()}, r.Header, body)
	out := &writer{w: w, ctx: r.Context(), m: m, x: x, reply: reply}
	if reply.Stall {
		out.hold()
	}
	switch {
	case out.gone:
	case reply.Status != 0:
		w.Header().Set("Retry-After-Ms", retryAfter)
		out.json(reply.Status, a.refuse(reply.Status, "the mock was asked for this error"))
	default:
		a.answer(out, req, reply)
	}
	m.end(x, out, reply)
}

// serveRest answers requests that are not conversations: counts, lists of models, probes.
func (m *Model) serveRest(w http.ResponseWriter, r *http.Request, agent, path string, body []byte) {
	m.write(map[string]any{
		"event": "other", "agent": agent, "method": r.Method, "path": path, "query": r.URL.RawQuery, "body": clip(string(body), 2000), "at": time.Now(),
	})
	var answer any = struct{}{}
	switch {
	case strings.HasSuffix(path, "/count_tokens"):
		answer = map[string]int{"input_tokens": len(body) / 4}
	case strings.HasSuffix(path, ":countTokens"):
		answer = map[string]int{"totalTokens": len(body) / 4}
	case strings.HasSuffix(path, "/models"):
		// Codex reads "models", all others read "data".
		answer = map[string]any{"object": "list", "data": []any{map[string]any{"id": modelName, "object": "model", "type": "model"}}, "models": []any{}}
	}
	writeJSON(w, http.StatusOK, answer)
}

// retryAfter is how long a client must wait before it repeats a request after an error, in milliseconds. opencode obeys
// it; without it, its five tries take more than a minute.
const retryAfter = "50"

// modelName is the name of the only model.
const modelName = "mock-model"

// begin records a request and decides the reply.
func (m *Model) begin(x *Exchange, header http.Header, body []byte) (*Exchange, Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x.N = len(m.exchanges) + 1
	m.exchanges = append(m.exchanges, x)
	// The request is in the log before anything is answered.
	m.writeLocked(struct {
		Event string `json:"event"`
		*Exchange
	}{"request", x})
	file := filepath.Join(m.dir, "requests", fmt.Sprintf("%04d", x.N))
	var head bytes.Buffer
	_ = header.Write(&head)
	_ = os.WriteFile(file+".header", head.Bytes(), 0o600)
	_ = os.WriteFile(file+".json", body, 0o600)
	return x, m.decideLocked(x)
}

// end records an answer.
func (m *Model) end(x *Exchange, out *writer, reply Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x.Answer, x.Status, x.Cut, x.Over, x.Ended = out.sent.String(), out.status, out.gone, true, time.Now()
	if reply.Call != nil && out.called {
		x.Call = reply.Call
	}
	m.writeLocked(map[string]any{
		"event": "answer", "n": x.N, "agent": x.Agent, "side": x.Side, "status": x.Status,
		"answer": x.Answer, "call": x.Call, "held": x.Held, "cut": x.Cut, "ended": x.Ended,
	})
}

func (m *Model) write(line any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writeLocked(line)
}

// writeLocked writes one line of the log, without HTML escapes.
func (m *Model) writeLocked(line any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		panic(err) // none of our own values is without a JSON form
	}
	_, _ = m.log.Write(b.Bytes())
}
