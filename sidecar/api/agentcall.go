package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// AgentHeader is the header of Caller.Agent.
const AgentHeader = "Intercom-Agent"

// AgentCall marks a request that an agent makes through its own MCP client. Its caller is an agent or
// unverified, and never a person, whatever process it descends from. The fields are what the client says of the
// agent; they prove nothing by themselves.
type AgentCall struct {
	Client string `json:"client,omitempty"` // name of the program, as it calls itself
	Thread string `json:"thread,omitempty"` // Codex's own id of the conversation that calls
	Pane   string `json:"pane,omitempty"`   // TMUX_PANE where the MCP server was started
	From   string `json:"from,omitempty"`   // who it claims to be, in an argument that no tool has
}

// Introduce finds out who the caller is. A recognised agent in a pane that nobody has adopted becomes a
// session: Introduce adopts the agent's own pane, and no other.
var Introduce = Op[None, Introduced]{Name: "introduce", Door: everybody("ask who it is", "an agent in a pane that nobody adopted: its own pane is adopted")}

// Introduced says who a caller is.
type Introduced struct {
	Session message.Peer `json:"session,omitzero"` // of an agent; none if the caller is not verified
	Adopted bool         `json:"adopted,omitempty"`
	Why     string       `json:"why,omitempty"` // why the caller is not verified
}

// Verified reports whether the caller has a session, under whose name it speaks.
func (i Introduced) Verified() bool { return i.Session.ID != "" }

// mark writes an AgentCall into a request's header.
func (a *AgentCall) mark(h http.Header) {
	if a == nil {
		return
	}
	text, err := json.Marshal(AgentCall{printed(a.Client), printed(a.Thread), printed(a.Pane), printed(a.From)})
	if err != nil {
		text = []byte("{}")
	}
	h.Set(AgentHeader, string(text))
}

// agentOf reads the AgentCall from a request's header. A header that cannot be read still marks the request.
func agentOf(h http.Header) *AgentCall {
	values := h.Values(AgentHeader)
	if len(values) == 0 {
		return nil
	}
	var a AgentCall
	if len(values) > 1 || json.Unmarshal([]byte(values[0]), &a) != nil {
		return &AgentCall{}
	}
	return &a
}

// printed returns text if a header can carry it, else "".
func printed(text string) string {
	const most = 200
	if len(text) > most || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return text
}
