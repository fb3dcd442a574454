package agent

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// OpenCode is opencode.
const OpenCode Kind = "opencode"

func init() {
	register(OpenCode, format{
		npm:       "/opencode-ai/",
		variables: []string{"XDG_DATA_HOME"},
		home: func(env map[string]string) string {
			return filepath.Join(cmp.Or(env["XDG_DATA_HOME"], filepath.Join(env["HOME"], ".local", "share")), "opencode")
		},
		desk:    func(a Agent, _ *Transcript) string { return filepath.Join(a.Home, "tool-output") },
		parser:  func() parser { return &opencodeSteps{} },
		ask:     (*Follower).besides,
		watch:   func(a Agent, _ string, _ time.Time) []spot { return []spot{{a.Home, a.Home}} }, // it contains the log of the database
		archive: newRowArchive,
		witness: (*Machine).Abandons,
	})
}

// opencodeSteps is the state that is kept between the events of a conversation of opencode. An assistant's message
// is one call of the model, which is one step of a turn; each names the prompt that it answers.
type opencodeSteps struct {
	messages map[string]*opencodeStep
	order    []string // the ids of messages, the oldest first
	waiting  []Event  // prompts that the model has not been given yet, in order; Turn holds the message id
	open     bool     // the agent is at work
}

type opencodeStep struct {
	role    string
	created int64                // in milliseconds
	summary bool                 // the model summarises the conversation
	shell   bool                 // a person has run a shell command, which the model only hears of later
	over    bool                 // its end was reported
	denied  bool                 // a person refused a call of it
	parts   map[string]partState // the state of each part when it was last reported
	call    Tool                 // the last call
	done    bool                 // the last call has a result
}

type partState string

const (
	partBegan partState = "began"
	partLate  partState = "late" // a text that began before the last call and has not ended
	partTool  partState = "tool" // a call without a result
	partOver  partState = "over"
)

// keptSteps is how many messages are remembered. Older ones are no longer written to.
const keptSteps = 256

type opencodeLine struct {
	Seq  int64           `json:"seq"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

type opencodeData struct {
	Info struct {
		ID        string `json:"id"`
		Parent    string `json:"parentID"` // of a session; for a message, the prompt that it answers
		Directory string `json:"directory"`
		Version   string `json:"version"`
		Role      string `json:"role"`
		Finish    string `json:"finish"`
		Tokens    *struct {
			Input     int `json:"input"`
			Output    int `json:"output"`
			Reasoning int `json:"reasoning"`
			Cache     struct {
				Read  int `json:"read"`
				Write int `json:"write"`
			} `json:"cache"`
		} `json:"tokens"` // of a complete message of an assistant
		Summary json.RawMessage `json:"summary"` // true for an assistant's; an object for a user's
		Time    struct {
			Created   int64 `json:"created"`
			Completed int64 `json:"completed"`
		} `json:"time"`
		Error *struct {
			Name string `json:"name"`
			Data struct {
				Message string `json:"message"`
			} `json:"data"`
		} `json:"error"`
	} `json:"info"`
	Part struct {
		ID        string `json:"id"`
		Message   string `json:"messageID"`
		Type      string `json:"type"`
		Text      string `json:"text"`
		Synthetic bool   `json:"synthetic"` // written by the program
		Ignored   bool   `json:"ignored"`
		CallID    string `json:"callID"`
		Tool      string `json:"tool"`
		State     struct {
			Status string `json:"status"`
			Error  string `json:"error"`
			Input  struct {
				Command string `json:"command"`
			} `json:"input"`
			Time struct {
				Start int64 `json:"start"`
				End   int64 `json:"end"`
			} `json:"time"`
		} `json:"state"`
		Time struct {
			End int64 `json:"end"`
		} `json:"time"`
	} `json:"part"`
	Time int64 `json:"time"` // when a part was written; for a copied part (a fork), long after it was said
}

// opencodeRefused is the result of a call that a person refused without a comment. It stops the turn. After a
// refusal with a comment, the model goes on.
const (
	opencodeRefused   = "The user rejected permission to use this specific tool call."
	opencodeDismissed = "The user dismissed this question" // the same for a question
	opencodeShell     = "The following tool was executed by the user"
)

// record reads one event of a conversation of opencode: a row of its database as one line of JSON.
func (s *opencodeSteps) record(line []byte, r *Reader) []Event {
	var l opencodeLine
	if !r.decode(line, &l) {
		return nil
	}
	kind, _, _ := strings.Cut(l.Type, ".")
	if kind != "session" && kind != "message" {
		r.unknown(l.Type)
		return nil
	}
	r.health.Known++
	var d opencodeData
	if len(l.Data) == 0 || !r.decode(l.Data, &d) {
		return nil
	}
	switch {
	case strings.HasPrefix(l.Type, "session.created.") || strings.HasPrefix(l.Type, "session.updated."):
		if d.Info.ID != "" {
			r.health.Thread, r.health.Side = d.Info.ID, d.Info.Parent != ""
		}
		if d.Info.Version != "" {
			r.health.Version = d.Info.Version
		}
		if r.health.Dir == "" {
			r.health.Dir = d.Info.Directory
		}
	case r.health.Side:
	case strings.HasPrefix(l.Type, "message.updated."):
		return s.message(&d)
	case strings.HasPrefix(l.Type, "message.part.updated."):
		return s.part(&d)
	}
	return nil
}

// step returns the state of a message, which it creates if needed. It forgets the oldest messages.
func (s *opencodeSteps) step(id string) *opencodeStep {
	m := s.messages[id]
	if m == nil {
		if s.messages == nil {
			s.messages = map[string]*opencodeStep{}
		}
		if len(s.order) >= keptSteps {
			delete(s.messages, s.order[0])
			s.order = s.order[1:]
		}
		m = &opencodeStep{parts: map[string]partState{}}
		s.messages[id], s.order = m, append(s.order, id)
	}
	return m
}

// message reads an event about a message as a whole. Each change of a message repeats all of it.
func (s *opencodeSteps) message(d *opencodeData) []Event {
	m := s.step(d.Info.ID)
	m.role, m.created = d.Info.Role, d.Info.Time.Created
	if m.role != "assistant" || m.over {
		return nil
	}
	at := milliseconds(max(d.Info.Time.Created, d.Info.Time.Completed))
	_ = json.Unmarshal(d.Info.Summary, &m.summary)
	if asked := s.messages[d.Info.Parent]; asked != nil && asked.shell {
		m.shell = true
		return nil
	}
	events := s.taken(d.Info.Parent, at)
	s.open = true
	if u := d.Info.Tokens; u != nil && d.Info.Time.Completed != 0 {
		events = append(events, Event{Kind: Spent, At: at, Call: d.Info.ID, Tokens: message.Tokens{
			Fresh: u.Input + u.Cache.Write, Cached: u.Cache.Read, Output: u.Output + u.Reasoning,
		}})
	}
	end := Event{Kind: TurnEnded, At: at}
	switch err := d.Info.Error; {
	case err != nil && err.Name == "MessageAbortedError":
		end.Kind, end.Text = Interrupted, err.Data.Message
	case err != nil:
		end.Kind, end.Text = Failed, cmp.Or(err.Data.Message, err.Name)
	case d.Info.Time.Completed == 0:
		return events
	case m.summary:
		end.Kind = Compacted
	case m.denied:
		end.Kind, end.Text = Interrupted, opencodeRefused
	case d.Info.Finish == "" || d.Info.Finish == "tool-calls" || d.Info.Finish == "unknown":
		m.over = true // the next step follows
		return events
	}
	m.over, s.open = true, false
	return append(events, end)
}

// taken returns the waiting prompts that the model is given now: those up to the one that it answers.
func (s *opencodeSteps) taken(answered string, at time.Time) (events []Event) {
	for len(s.waiting) > 0 && (answered == "" || s.waiting[0].Turn <= answered) {
		e := s.waiting[0]
		e.At, e.By = at, ByQueue
		if s.open {
			e.By = BySteer
		}
		s.waiting, s.open = s.waiting[1:], true
		events = append(events, e)
	}
	return events
}

func (s *opencodeSteps) part(d *opencodeData) []Event {
	p := &d.Part
	m := s.step(p.Message)
	at := milliseconds(cmp.Or(p.State.Time.End, p.State.Time.Start, p.Time.End, d.Time))
	switch {
	case m.role == "user" && p.Type == "text":
		at = milliseconds(cmp.Or(m.created, d.Time))
		m.shell = m.shell || p.Synthetic && p.Text == opencodeShell
		if p.Synthetic || p.Ignored || p.Text == "" || m.parts[p.ID] == partOver {
			return nil
		}
		m.parts[p.ID] = partOver
		s.waiting = append(s.waiting, Event{Kind: Prompted, At: at, Turn: p.Message, Text: p.Text, By: ByKeys})
		if s.open {
			return []Event{{Kind: Queued, At: at, Text: p.Text}}
		}
		events := s.taken(p.Message, at)
		if len(events) == 1 {
			events[0].By = ByKeys
		}
		return events
	case m.shell && p.State.Status != "completed" && p.State.Status != "error" || m.parts[p.ID] == partOver:
	case m.shell:
		m.parts[p.ID] = partOver
		return []Event{{Kind: Commanded, At: at, Text: "!" + p.State.Input.Command}}
	case m.role != "assistant" || m.summary:
	case p.Type == "text":
		return m.text(d, at)
	case p.Type == "tool":
		return m.tool(d, at)
	}
	return nil
}

// text reads a text, which is written when it begins and again when it has ended. A text may end after the call
// that follows it has begun. Then that call is reported once more, since words before a call are not the answer.
func (m *opencodeStep) text(d *opencodeData, at time.Time) []Event {
	p := &d.Part
	before := m.parts[p.ID]
	switch {
	case before == partOver:
		return nil
	case p.Time.End == 0:
		if before == "" {
			m.parts[p.ID] = partBegan
		}
		return nil
	}
	m.parts[p.ID] = partOver
	if p.Text == "" {
		return nil
	}
	events := []Event{{Kind: Spoke, At: at, Text: p.Text}}
	if before == partLate {
		events = append(events, Event{Kind: ToolBegan, At: at, Tool: m.call})
		if m.done {
			events = append(events, Event{Kind: ToolEnded, At: at, Tool: Tool{ID: m.call.ID}})
		}
	}
	return events
}

func (m *opencodeStep) tool(d *opencodeData, at time.Time) (events []Event) {
	p := &d.Part
	id := cmp.Or(p.CallID, p.ID)
	if m.parts[p.ID] == "" {
		for other, state := range m.parts {
			if state == partBegan {
				m.parts[other] = partLate
			}
		}
		m.parts[p.ID] = partTool
		m.call, m.done = Tool{ID: id, Name: p.Tool, Began: at}, false
		events = append(events, Event{Kind: ToolBegan, At: at, Tool: m.call})
	}
	if s := p.State.Status; (s == "completed" || s == "error") && m.parts[p.ID] != partOver {
		m.parts[p.ID] = partOver
		m.done = m.done || id == m.call.ID
		refused := s == "error" && strings.HasPrefix(p.State.Error, opencodeRefused[:len(opencodeRefused)-1])
		m.denied = m.denied || refused && p.State.Error == opencodeRefused || p.State.Error == opencodeDismissed
		events = append(events, Event{Kind: ToolEnded, At: at, Tool: Tool{ID: id}, Denied: refused || p.State.Error == opencodeDismissed})
	}
	return events
}

// milliseconds converts a time; 0 is none.
func milliseconds(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
