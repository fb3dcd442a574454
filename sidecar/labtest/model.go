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
	Agent string `json:"agent"` // whose model was asked
	API   string `json:"api"`   // anthropic, responses, chat, gemini
	Path  string `json:"path"`
	Request

	// Answer is the words that were sent, all of them unless Cut.
	Answer string `json:"answer"`
	Call   *Call  `json:"call,omitempty"` // the tool that the model asked for
	Status int    `json:"status"`         // of HTTP
	Held   bool   `json:"held,omitempty"` // it waits for Release, or has waited
	Cut    bool   `json:"cut,omitempty"`  // the client went away before the end
	Over   bool   `json:"over"`           // no more is sent

	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`
}

// A Call is a model's request to run a tool.
type Call struct {
	Tool      string          `json:"tool"` // as the agent offers it; behind a namespace and a slash where it has one
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
	talked    map[string]int           // numbered answers given, by agent
	refused   map[string]int           // errors given, by agent, thread and place of the text
	gates     map[string]chan struct{} // one element lets one held answer of the agent go on
}

// NewModel serves on l, which must be on loopback, and writes into dir: the log,
// model.jsonl, and of every request the body as it came, requests/N.json, and the header,
// requests/N.header. l is closed by Close.
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

// Close ends the answers under way and the server.
func (m *Model) Close() error {
	err := m.server.Close()
	m.serving.Wait()
	return errors.Join(err, m.log.Close())
}

// URL is the address that the agent of that name has to be given. Names are made of
// letters, digits and hyphens.
func (m *Model) URL(agent string) string { return m.url + "/" + agent }

// Converse makes all models of the lab converse from now on: a text without a directive is
// answered by Talk with this seed. An empty seed ends that.
func (m *Model) Converse(seed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seed = seed
}

// Script asks f for a reply before anything else is considered; false leaves the request to
// the directives. f is called by one goroutine at a time, and must not call the Model.
func (m *Model) Script(f func(Exchange) (Reply, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = f
}

// Release lets one answer of an agent's model go on that is held, or the next one that will
// be.
func (m *Model) Release(agent string) { m.gate(agent) <- struct{}{} }

func (m *Model) gate(agent string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gates[agent] == nil {
		m.gates[agent] = make(chan struct{}, 100)
	}
	return m.gates[agent]
}

// Exchanges are the calls of an agent's model so far, those of side threads too.
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

// Received are the texts that an agent's model has received from its user, in order, each
// once: a request that the client makes again says nothing new.
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

// Answers are the words that an agent's model has said to its user, in order: one text for
// each answer that is over and had words, whole or cut.
func (m *Model) Answers(agent string) []string {
	var texts []string
	for _, x := range m.Exchanges(agent) {
		if x.Side == "" && x.Over && x.Answer != "" {
			texts = append(texts, x.Answer)
		}
	}
	return texts
}

// api is one way to speak with a model.
type api struct {
	name  string
	paths []string // how those end that belong to it
	// decode reads a request. all is the conversation; hear is called by the caller.
	decode func(r *http.Request, body []byte) (req Request, all []said, err error)
	// answer sends a reply that is no error.
	answer func(w *writer, req Request, reply Reply)
	// refuse is the body of an error.
	refuse func(status int, message string) any
}

var apis []api

// offer has the mock speak that API.
func offer(a api) { apis = append(apis, a) }

// route finds the API that a path belongs to; the agent's name is cut off already.
func route(path string) (api, bool) {
	for _, a := range apis {
		if slices.ContainsFunc(a.paths, func(end string) bool { return strings.HasSuffix(path, end) }) {
			return a, true
		}
	}
	return api{}, false
}

// maxBody is more than any client sends: a conversation is sent whole, again and again.
const maxBody = 64 << 20

// ServeHTTP answers a client; it is what the server calls.
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

// serveRest answers what is not a conversation: counts, lists of models, probes.
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
		// Codex reads "models", everybody else "data".
		answer = map[string]any{"object": "list", "data": []any{map[string]any{"id": modelName, "object": "model", "type": "model"}}, "models": []any{}}
	}
	writeJSON(w, http.StatusOK, answer)
}

// retryAfter is how long a client is told to wait before it asks again after an error, in
// milliseconds. opencode heeds it: without it, its five tries take more than a minute.
const retryAfter = "50"

// modelName is the one model that there is.
const modelName = "mock-model"

// begin writes a request down and decides what is answered.
func (m *Model) begin(x *Exchange, header http.Header, body []byte) (*Exchange, Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x.N = len(m.exchanges) + 1
	m.exchanges = append(m.exchanges, x)
	// What was asked is in the log before anything is answered.
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

// end writes an answer down.
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

// writeLocked writes one line of the log, characters as they are.
func (m *Model) writeLocked(line any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		panic(err) // none of our own values is without a JSON form
	}
	_, _ = m.log.Write(b.Bytes())
}
