package api

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Explain says why the sidecar judges a pane as it does. Since a person names the pane, it may be one that is
// not adopted.
var Explain = Op[ExplainRequest, message.Explanation]{Name: "explain", Door: proven("see why a pane is judged as it is", Own, ""), Whole: wholeExplanation}

// Record captures everything that can be seen of a pane at one instant.
var Record = Op[ExplainRequest, Recording]{Name: "record", Door: proven("record what a pane shows", Own, ""), Whole: func(r Recording) Recording {
	r.Rows, r.Explanation = list(r.Rows), wholeExplanation(r.Explanation)
	return r
}}

// Hook accepts a report from an agent's own hook. It replies at once.
var Hook = Op[HookRequest, None]{Name: "hook", Door: everybody("report an agent's hook", "it counts for the agent below which it runs, or whose conversation it names")}

// ExplainRequest names a pane to be explained or recorded.
type ExplainRequest struct {
	Pane  string `json:"pane"`            // a pane's id, or a session by name or id
	Agent string `json:"agent,omitempty"` // judge it as this agent, whatever program runs there
}

// Recording is one complete instant of a pane, and the judgement of it.
type Recording struct {
	At            time.Time           `json:"at"`
	Pane          string              `json:"pane"`
	Tmux          string              `json:"tmux"` // version of its server
	Command       string              `json:"command"`
	Title         string              `json:"title"`
	Width         int                 `json:"width"`
	Height        int                 `json:"height"`
	CursorX       int                 `json:"cursor_x"`
	CursorY       int                 `json:"cursor_y"`
	CursorVisible bool                `json:"cursor_visible"`
	Alternate     bool                `json:"alternate"`
	InMode        bool                `json:"in_mode"`
	Dead          bool                `json:"dead"`
	InputOff      bool                `json:"input_off"`
	Synchronised  bool                `json:"synchronised"`
	History       int                 `json:"history"`
	Rows          []string            `json:"rows"` // with escapes
	Explanation   message.Explanation `json:"explanation"`
}

// HookRequest is the report of an agent's hook, with the pane that its environment names. The sidecar does not
// rely on that pane: it goes by the calling process and the conversation.
type HookRequest struct {
	Hook message.Hook `json:"hook"`
	Pane string       `json:"pane,omitempty"` // %7
}

func wholeExplanation(e message.Explanation) message.Explanation {
	e.Evidence = list(e.Evidence)
	return e
}
