package api

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// SpawnMember starts a teammate in a session of its own, or starts one again that is idle without a
// session or has ended, and returns as soon as the session is there. Who spawns the first teammate
// of a team is its lead, and nobody else spawns the others.
var SpawnMember = Op[SpawnRequest, Spawned]{Name: "team/spawn", Door: proven("start a teammate", Asks, "the lead alone"), Check: func(req SpawnRequest) error {
	switch {
	case !filepath.IsAbs(req.Dir):
		return Errorf(CodeUsage, "directory %q: the path must be absolute", req.Dir)
	case strings.TrimSpace(req.Name) == "":
		return Errorf(CodeUsage, "name the teammate")
	case strings.TrimSpace(req.Role) == "":
		return Errorf(CodeUsage, "the role of %q is missing", req.Name)
	case len(req.Command) > 0 && req.Agent != "":
		return Errorf(CodeUsage, "name an agent or a command, not both")
	case len(req.Command) > 0 && req.Command[0] == "":
		return Errorf(CodeUsage, "the command is empty")
	case len(req.Prompt) > message.MaxBody || !utf8.ValidString(req.Prompt):
		return Errorf(CodeUsage, "the prompt has more than %d bytes, or is not valid UTF-8", message.MaxBody)
	}
	return nil
}}

// SendToTeam puts a message into the inbox of one teammate, or of all but its author. What the caller
// provably says itself, the pane of a teammate that runs gets as its word. The sidecar is in no sandbox: whoever
// has no part in the team writes with its own rights, or not at all.
var SendToTeam = Op[TeamMessage, TeamSent]{Name: "team/send", Door: proven("write to a teammate's inbox", Own, "own: its team, or the project in which it works; a program of others' writes the file itself, if it can, and is typed as unverified"), Check: func(req TeamMessage) error {
	if !filepath.IsAbs(req.Dir) {
		return Errorf(CodeUsage, "directory %q: the path must be absolute", req.Dir)
	}
	return nil
}}

// TeamInbox says whose inbox a caller means who names none, and whether it may empty the one that it
// names: an agent only its own, or one whose owner has no session; a person any.
var TeamInbox = Op[InboxRequest, InboxOwner]{Name: "team/inbox", Door: Door{Does: "read a team's inbox", Terminal: Yes, Person: Yes, Agent: Own, Stranger: Yes, Note: "own: the project in which it works; to empty it: whose it is, or a person"}, Reads: true, Check: func(req InboxRequest) error {
	if !filepath.IsAbs(req.Dir) {
		return Errorf(CodeUsage, "directory %q: the path must be absolute", req.Dir)
	}
	return nil
}}

// InboxRequest names an inbox of a team.
type InboxRequest struct {
	Dir  string `json:"dir"`            // as of SpawnRequest
	Name string `json:"name,omitempty"` // "": the caller's own
	Peek bool   `json:"peek,omitempty"` // it is not emptied, which anybody may
}

// InboxOwner is whose inbox it is.
type InboxOwner struct {
	Name string `json:"name"`
	Part bool   `json:"part,omitempty"` // the caller is in the team, works in its project, or is a person
	Sure bool   `json:"sure,omitempty"` // that, or nobody has a session in the team: where none was named, the caller can be no other
	// Typing is set where the inbox is to be emptied, and a line of it stands typed in its reader's pane, not yet seen to be taken.
	Typing bool `json:"typing,omitempty"`
}

// TeamMessage is a message between teammates.
type TeamMessage struct {
	Dir     string `json:"dir"`          // as of SpawnRequest
	To      string `json:"to,omitempty"` // "": to all but From
	From    string `json:"from"`
	Type    string `json:"type"`
	Content string `json:"content"`
}

// TeamSent says how many got a message, and what keeps the one from it whom it is for.
type TeamSent struct {
	Teammates int    `json:"teammates"`
	Note      string `json:"note,omitempty"`
}

// SpawnRequest says who joins a team, and what runs in its session.
type SpawnRequest struct {
	Dir    string `json:"dir"` // an absolute path in the team's project, or of the directory that becomes it
	Name   string `json:"name"`
	Role   string `json:"role"`
	Prompt string `json:"prompt,omitempty"` // its task
	// Agent, Command and As are those of the request that starts a session.
	Agent   string   `json:"agent,omitempty"`
	Command []string `json:"command,omitempty"`
	As      string   `json:"as,omitempty"`
	// RequirePlan closes the teammate's tools that change something until the lead has approved a plan
	// of it. init.lua may say so for all.
	RequirePlan bool `json:"require_plan,omitempty"`
}

// Spawned is a teammate that was started, or one that a person has to allow first.
type Spawned struct {
	Text    string       `json:"text"`   // the lesson's own words, to be shown as they stand
	Status  string       `json:"status"` // a StartStatus: Why says why it is not started
	Session message.Peer `json:"session,omitzero"`
	Why     string       `json:"why,omitempty"`
	Note    string       `json:"note,omitempty"` // how far a required plan holds it
}
