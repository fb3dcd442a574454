package api

import (
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// ShowStatus returns the status of the sidecar.
var ShowStatus = Op[None, Status]{Name: "status", Door: everybody("see how the sidecar is", ""), Reads: true, Open: true, Whole: func(s Status) Status {
	s.Sessions, s.Chats = list(s.Sessions), wholeChats(s.Chats)
	return s
}}

// Down asks the sidecar to end. The reply comes at once, before the end.
var Down = Op[None, None]{Name: "down", Door: persons("end the sidecar", "after an update the plugin's new program, too; without tmux, a stranger, too"), Open: true}

// MayEnd refuses the same callers as Down. A command that ends the guard first asks it whether the sidecar
// would end.
var MayEnd = Op[None, None]{Name: "may-end", Door: persons("ask whether the sidecar would end", "as for down"), Reads: true, Open: true}

// MayChange refuses callers for whom the files that a person has written or trusted must not be changed. A
// command that is about to change one asks every sidecar.
var MayChange = Op[MayChangeRequest, None]{
	Name: "may-change", Door: persons("ask whether it may change what a person has set", "before a command writes it: policies, what is trusted, which repositories are enabled"),
	Check: func(req MayChangeRequest) error {
		if req.What == "" || len(req.What) > maxWord || !utf8.ValidString(req.What) {
			return Errorf(CodeUsage, "what is to be changed: 1 to %d bytes of UTF-8", maxWord)
		}
		return nil
	},
	Reads: true,
}

// MayChangeRequest says what the command is about to do, as in "use a policy".
type MayChangeRequest struct {
	What string `json:"what"`
}

// Status is what a sidecar reports of itself.
type Status struct {
	PID       int            `json:"pid"`
	Version   string         `json:"version"`          // of the program
	API       string         `json:"api"`              // Version
	Server    string         `json:"server,omitempty"` // the tmux server's socket; "" for headless
	Tmux      string         `json:"tmux,omitempty"`   // version of that server
	TmuxPID   int            `json:"tmux_pid,omitempty"`
	Transport string         `json:"transport,omitempty"` // process, control or native
	Why       string         `json:"transport_why,omitempty"`
	Trigger   string         `json:"trigger,omitempty"` // inotify, polling or output
	Computer  string         `json:"computer"`          // the person's name for this machine; "local"
	Started   time.Time      `json:"started"`
	Journal   string         `json:"journal,omitempty"` // path of the database
	Log       string         `json:"log,omitempty"`     // path of the log
	Sessions  []message.Peer `json:"sessions"`
	Chats     []message.Chat `json:"chats"`
	Stopped   bool           `json:"stopped"`            // nothing is typed until `intercom chat resume --all`
	Held      int            `json:"held"`               // deliveries that wait for a person or a safe moment
	Needs     []Need         `json:"needs,omitempty"`    // what only a person can do
	Degraded  []string       `json:"degraded,omitempty"` // what does not work as it should, in words
	// Kinds has the kind of each problem in Degraded, in the same order.
	Kinds    []ProblemKind `json:"degraded_kinds,omitempty"`
	Returned []Returned    `json:"returned,omitempty"` // the chats that StartChatRequest.Again could take up now, the latest last
}

// ProblemKind is a kind of problem.
type ProblemKind string

// The kinds of problems.
const (
	ProblemPolicy  ProblemKind = "policy"
	ProblemLeft    ProblemKind = "policy left" // a person went back to earlier policies; their files have no error
	ProblemDisk    ProblemKind = "disk"        // nothing can be stored for now
	ProblemJournal ProblemKind = "journal"
	ProblemTmux    ProblemKind = "tmux"   // tmux does not answer
	ProblemScarce  ProblemKind = "scarce" // no descriptor or process is left
)

// Degrade adds a problem.
func (s *Status) Degrade(kind ProblemKind, text string) {
	s.Degraded, s.Kinds = append(s.Degraded, text), append(s.Kinds, kind)
}

// NeedApproval is the Need.For of messages that wait for a decision.
const NeedApproval = "approval"

// Need is something that only a person can do.
type Need struct {
	For  string `json:"for"`            // approval, or what a pane shows: dialog, your draft, copy mode, …
	Name string `json:"name,omitempty"` // of the session that it is about; "" for an approval
	Pane string `json:"pane,omitempty"`
	N    int    `json:"n,omitempty"` // number of approvals
}

// Returned is a chat that lost agents which ended, while new agents of the same kind are in their panes. Nobody
// has adopted the new ones, or they are in no chat.
type Returned struct {
	Chat   message.ID        `json:"chat"`
	Name   string            `json:"name,omitempty"`
	State  message.ChatState `json:"state"` // ended, or open without them
	Agents []ReturnedAgent   `json:"agents"`
	Panes  []string          `json:"panes"` // of all participants, or of those at its end
	Since  time.Time         `json:"since"` // when the last of them ended
}

// ReturnedAgent is one of the agents of a Returned chat.
type ReturnedAgent struct {
	Name  string `json:"name"`  // of the agent that ended
	Agent string `json:"agent"` // name of the profile
	Pane  string `json:"pane"`
}
