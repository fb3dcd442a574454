package api

import (
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// StartSession opens a window with a program in it, adopts it, and sends it its first message. It returns as
// soon as the session exists: the message waits until the program's composer is live. A start that the agent
// may not make by itself is held for a person's yes, and the reply says so.
var StartSession = Op[StartSessionRequest, StartedSession]{Name: "session/start", Door: proven("start a session", Asks, "a command: a person alone").power("start"), Check: checkStartSession}

// EndSession ends the program of a session. It returns when none of its processes is left, or when a member of
// a team has refused.
var EndSession = Op[EndSessionRequest, EndedSession]{Name: "session/end", Door: proven("end a session", Own, "own: one that it started").power("start"), Check: func(req EndSessionRequest) error {
	switch {
	case strings.TrimSpace(req.Session) == "":
		return Errorf(CodeUsage, "name a session").WithHint("intercom session list")
	case req.Grace < 0:
		return Errorf(CodeUsage, "grace %v: must not be negative", req.Grace)
	}
	return nil
}}

// EndAsks says who is asked before a session is ended, so that the caller of EndSession knows what it waits
// for.
var EndAsks = Op[EndSessionRequest, EndAsked]{Name: "session/end-asks", Door: everybody("see who is asked before a session ends", "").power("start"), Reads: true, Check: EndSession.Check}

// SessionData reads what was said in a session recently. It does not touch the session's pane, and subscribes
// nobody to it.
var SessionData = Op[SessionDataQuery, SessionWords]{Name: "session/data", Door: proven("read what was said in a session", Own, "own: itself, what it started, its chat, and what it was answered").power("read"), Reads: true, Check: func(q SessionDataQuery) error {
	switch {
	case strings.TrimSpace(q.Session) == "":
		return Errorf(CodeUsage, "name a session").WithHint("intercom session list")
	case q.Tail < 0:
		return Errorf(CodeUsage, "tail %d: must not be negative", q.Tail)
	case !q.Since.IsZero() && !q.Until.IsZero() && q.Until.Before(q.Since):
		return Errorf(CodeUsage, "until %s is before since %s", q.Until.Format(time.RFC3339), q.Since.Format(time.RFC3339))
	}
	return nil
}, Whole: func(d SessionWords) SessionWords {
	d.Entries, d.Session.Subscribers = list(d.Entries), list(d.Session.Subscribers)
	return d
}}

// ListSessions lists the sessions in panes, oldest first, then those of other computers.
var ListSessions = Op[None, []Session]{Name: "session/list", Door: everybody("list sessions", ""), Reads: true, Whole: func(all []Session) []Session {
	whole := make([]Session, len(all))
	for i, s := range all {
		s.Subscribers = list(s.Subscribers)
		whole[i] = s
	}
	return whole
}}

// StartSessionRequest says what is started, where, and what it is told to do.
type StartSessionRequest struct {
	// Computer is the computer to start it on; "", "local" and the name of this computer are the same.
	Computer string `json:"computer,omitempty"`
	Dir      string `json:"dir"` // absolute; the program's working directory
	// Agent is a profile, or the absolute path of a program: one with the name of an agent is that agent, any
	// other is run without arguments and adopted as a line program. "" is the same agent as the caller; a
	// person has to name one, or a Command.
	Agent   string `json:"agent,omitempty"`
	Title   string `json:"title,omitempty"`   // free text, at most MaxTitle characters in one line
	Message string `json:"message,omitempty"` // the first one; "" sends none
	// Thinking is how hard the agent is to think: fast, med or slow. A profile without a switch for it ignores
	// it.
	Thinking string `json:"thinking_mode,omitempty"`
	// Command is a program with its arguments, run without a shell; only a person may give it. As is the
	// profile by which it is adopted; "" recognises an agent.
	Command []string `json:"command,omitempty"`
	As      string   `json:"as,omitempty"`
	// Near is the pane beside whose window the new one is opened; "" is the caller's own pane, else the tmux
	// session of the terminal where a key was pressed last.
	Near string `json:"near,omitempty"`

	// Seat is the place in a team that the session takes. It is set only inside the sidecar: see SpawnMember.
	Seat *message.StartSeat `json:"-"`
}

// MaxTitle is the longest title of a session, in characters.
const MaxTitle = 200

// StartStatus says how far a start has come.
type StartStatus string

// How far a start has come.
const (
	StartDone StartStatus = "started"
	StartHeld StartStatus = "held" // a person has to say yes first
	// StartUnrecognised means that no agent is recognised in the command, or not yet: messages for it wait
	// until one is.
	StartUnrecognised StartStatus = "unrecognised"
)

// StartedSession is a session that was started, or a request for one that waits for a person's yes.
type StartedSession struct {
	Status  StartStatus  `json:"status"`
	Session message.Peer `json:"session,omitzero"`
	Message message.ID   `json:"message,omitempty"` // the first one
	Request message.ID   `json:"request,omitempty"` // if held: the id under which the inbox lists it
	Why     string       `json:"why,omitempty"`     // why it is held, or not recognised
}

// EndSessionRequest names a session that is to end.
type EndSessionRequest struct {
	Computer string `json:"computer,omitempty"` // as of StartSessionRequest
	Session  string `json:"session"`            // by pane, name or id
	Force    bool   `json:"force,omitempty"`    // do not ask a member of a team, and skip the agent's own way to quit
	// Grace is how long a member may take to answer, and the program to quit by itself; 0 is EndGrace for the
	// answer and a few seconds for the program.
	Grace time.Duration `json:"grace_ns,omitempty"`
}

// EndGrace is how long a member of a team has to answer whether it may be ended.
const EndGrace = 30 * time.Second

// EndStatus is the outcome of an EndSession.
type EndStatus string

// The outcomes of an EndSession.
const (
	EndDone     EndStatus = "ended"
	EndRejected EndStatus = "rejected" // a member of a team refused, and lives on
)

// EndedSession is the result of an EndSession.
type EndedSession struct {
	Status  EndStatus    `json:"status"`
	Session message.Peer `json:"session"`
	How     string       `json:"how,omitempty"`    // what it took: quit, hangup, term or kill
	Reason  string       `json:"reason,omitempty"` // if rejected: why the member refused
}

// EndAsked says who is asked before a session is ended.
type EndAsked struct {
	Session  string        `json:"session"`            // its name
	ID       message.ID    `json:"id,omitempty"`       // only of a session on this computer
	Teammate string        `json:"teammate,omitempty"` // as its team names it; "" if nobody is asked
	Grace    time.Duration `json:"grace_ns,omitempty"` // how long its answer is awaited
	Found    bool          `json:"found,omitempty"`    // its program ran before it was adopted: nobody started it through the sidecar
}

// SessionDataQuery asks what was said in a session.
type SessionDataQuery struct {
	Computer string    `json:"computer,omitempty"` // as of StartSessionRequest
	Session  string    `json:"session"`            // by pane, name or id
	Tail     int       `json:"tail_chars,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
}

// DefaultTail is how many characters are read if a query does not say.
const DefaultTail = 5000

// SessionWords is what was said in a session: Words is the text of Entries, cut at its beginning.
type SessionWords struct {
	Session   Session        `json:"session"`
	Words     string         `json:"words"`
	Entries   []SessionEntry `json:"entries"` // the entries that Words shows at least a part of, oldest first
	Truncated bool           `json:"truncated,omitempty"`
}

// SessionEntry is one thing that was said in a session.
type SessionEntry struct {
	At   time.Time `json:"at"`
	From string    `json:"from"` // the session's own name, or the sender's; "" if the sender is unknown, as for a person's prompt
	Text string    `json:"text"`
}

// Session is one row of the list of sessions.
type Session struct {
	ID       message.ID        `json:"session_id"`
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Computer string            `json:"computer"`
	Agent    string            `json:"agent"`          // name of its profile
	State    message.PaneState `json:"state"`          // "" on another computer: its sessions are not captured from here
	Why      string            `json:"why,omitempty"`  // the reason for the state: what keeps a message from being typed there now
	Held     *message.Holding  `json:"held,omitempty"` // what holds the first message that waits for it, shown to a person and to the session itself; nil if none is held
	Away     bool              `json:"away,omitempty"` // its computer cannot be reached now
	// Caller is who started it: a session's id, or the name of a person; "" if the pane was there before it was
	// adopted.
	Caller      string       `json:"caller"`
	LastOutput  *time.Time   `json:"last_output"` // when it last said something; null: not yet
	Subscribers []message.ID `json:"subscribers"` // sessions that get a notice when a turn or the session ends
}

func checkStartSession(req StartSessionRequest) error {
	switch {
	case !filepath.IsAbs(req.Dir):
		return Errorf(CodeUsage, "directory %q: the path must be absolute", req.Dir)
	case len(req.Command) > 0 && req.Agent != "":
		return Errorf(CodeUsage, "name an agent or a command, not both")
	case len(req.Command) > 0 && req.Command[0] == "":
		return Errorf(CodeUsage, "the command is empty")
	case req.As != "" && len(req.Command) == 0:
		return Errorf(CodeUsage, "only a command takes a profile; an agent has its own")
	case len(req.Message) > message.MaxBody || !utf8.ValidString(req.Message):
		return Errorf(CodeUsage, "the message has more than %d bytes, or is not valid UTF-8", message.MaxBody)
	case utf8.RuneCountInString(req.Title) > MaxTitle || !utf8.ValidString(req.Title) || strings.ContainsFunc(req.Title, unicode.IsControl):
		return Errorf(CodeUsage, "the title has more than %d characters, or some that are not printed", MaxTitle)
	}
	return nil
}
