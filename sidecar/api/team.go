package api

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// SpawnMember starts a teammate in a session of its own, or restarts one that is idle without a session or has
// ended. It returns as soon as the session exists. Whoever spawns the first teammate of a team is its lead, and
// only the lead spawns the others.
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

// SendToTeam puts a message into the inbox of one teammate, or of all but its author. What provably comes from
// the caller is typed into the pane of a running teammate as the caller's word. The sidecar runs in no sandbox:
// a caller that has no part in the team has to write with its own rights, or not at all.
var SendToTeam = Op[TeamMessage, TeamSent]{Name: "team/send", Door: proven("write to a teammate's inbox", Own, "own: its team, or the project in which it works; a program of others' writes the file itself, if it can, and is typed as unverified"), Check: func(req TeamMessage) error {
	if !filepath.IsAbs(req.Dir) {
		return Errorf(CodeUsage, "directory %q: the path must be absolute", req.Dir)
	}
	return nil
}}

// TeamInbox says whose inbox is meant by a caller that names none, and whether the caller may empty the inbox
// that it names. An agent may empty only its own, or one whose owner has no session; a person may empty any.
var TeamInbox = Op[InboxRequest, InboxOwner]{Name: "team/inbox", Door: Door{Does: "read a team's inbox", Terminal: Yes, Person: Yes, Agent: Own, Stranger: Yes, Note: "own: the project in which it works; to empty it: whose it is, or a person"}, Reads: true, Check: func(req InboxRequest) error {
	if !filepath.IsAbs(req.Dir) {
		return Errorf(CodeUsage, "directory %q: the path must be absolute", req.Dir)
	}
	return nil
}}

// InboxRequest names an inbox of a team.
type InboxRequest struct {
	Dir  string `json:"dir"`            // as of SpawnRequest
	Name string `json:"name,omitempty"` // "" is the caller's own
	Peek bool   `json:"peek,omitempty"` // read without emptying, which anybody may
}

// InboxOwner says whose inbox it is.
type InboxOwner struct {
	Name string `json:"name"`
	Part bool   `json:"part,omitempty"` // the caller is in the team, works in its project, or is a person
	Sure bool   `json:"sure,omitempty"` // Part, or nobody has a session in the team: a caller that named no inbox can be no other
	// Typing is set if the inbox is to be emptied while a line of it is typed in its reader's pane and not yet
	// submitted.
	Typing bool `json:"typing,omitempty"`
}

// TeamMessage is a message between teammates.
type TeamMessage struct {
	Dir     string `json:"dir"`          // as of SpawnRequest
	To      string `json:"to,omitempty"` // "" is all but From
	From    string `json:"from"`
	Type    string `json:"type"`
	Content string `json:"content"`
}

// TeamSent says how many teammates got a message, and what keeps it from its addressee.
type TeamSent struct {
	Teammates int    `json:"teammates"`
	Note      string `json:"note,omitempty"`
}

// SpawnRequest says who joins a team, and what runs in its session.
type SpawnRequest struct {
	Dir    string `json:"dir"` // an absolute path in the team's project, or of the directory that becomes the project
	Name   string `json:"name"`
	Role   string `json:"role"`
	Prompt string `json:"prompt,omitempty"` // its task
	// Agent, Command and As are as in StartSessionRequest.
	Agent   string   `json:"agent,omitempty"`
	Command []string `json:"command,omitempty"`
	As      string   `json:"as,omitempty"`
	// RequirePlan blocks those of the teammate's tools that change something until the lead has approved its
	// plan. init.lua may require it of all.
	RequirePlan bool `json:"require_plan,omitempty"`
}

// Spawned is a teammate that was started, or one that a person has to allow first.
type Spawned struct {
	Text    string       `json:"text"`   // the lesson's own words, shown as they stand
	Status  string       `json:"status"` // a StartStatus; if not started, Why says why
	Session message.Peer `json:"session,omitzero"`
	Why     string       `json:"why,omitempty"`
	Note    string       `json:"note,omitempty"` // how far a required plan binds it
}
