package agent

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// EventKind says what happened.
type EventKind string

// The events of a conversation. Each comment ends with the fields of Event that are set.
const (
	Prompted    EventKind = "prompt"      // the agent took a prompt: Text, By
	Queued      EventKind = "queued"      // the agent keeps a prompt for later: Text
	Commanded   EventKind = "command"     // a person's command to the program, not a prompt: Text
	Spoke       EventKind = "words"       // the agent said something: Text
	ToolBegan   EventKind = "tool began"  // Tool
	ToolEnded   EventKind = "tool ended"  // Tool, without its name; Denied
	TurnBegan   EventKind = "turn began"  // only Codex writes it down; no fields
	TurnEnded   EventKind = "turn ended"  // Text: the last words, if the agent repeats them; Gemini CLI does not write it down
	Interrupted EventKind = "interrupted" // by a person; Text: the reason, if given
	Stopped     EventKind = "stopped"     // by nobody known; Text: the reason; only Codex writes it down
	Failed      EventKind = "failed"      // the model's service returned an error: Text
	Unanswered  EventKind = "unanswered"  // the program put Text in place of an answer without asking a model; only Claude Code does
	Compacted   EventKind = "compacted"   // the conversation was summed up and continues
	Spent       EventKind = "tokens"      // a call of the model used tokens: Tokens, Call
	Left        EventKind = "left"        // the agent moved to another conversation
	Fresh       EventKind = "fresh"       // the process began after everything before this event
	Moded       EventKind = "mode"        // the permission mode of the agent, in its own word: Text; only Claude Code writes it down
)

// Source says how a prompt came to the agent.
type Source string

// The sources of a prompt.
const (
	ByKeys    Source = "keys"    // typed or pasted into the composer, by anyone
	ByQueue   Source = "queue"   // the same, while the agent worked; taken when it was done
	BySteer   Source = "steer"   // the same, taken in the middle of a turn
	ByCommand Source = "command" // a person's command that the agent answers, for example a shell line
	BySystem  Source = "system"  // the program itself: a background task has ended, a timer has fired
	ByUnknown Source = ""        // the transcript does not tell
)

// Tool names one call of a tool.
type Tool struct {
	ID    string
	Name  string
	Began time.Time
}

// Event is one thing that a transcript reports.
type Event struct {
	Kind   EventKind
	At     time.Time // as the agent dated it; zero if it did not
	Turn   string    // the agent's own id of the turn, "" if it gives none
	Text   string    // byte for byte, except for invalid UTF-8; see Kind
	By     Source
	ID     string // of Prompted: the sender's id of it, if it came through a door (package door); else ""
	Midst  bool   // of Prompted: no person wrote it, and the agent got it in the middle of a turn, which goes on
	Tool   Tool
	Denied bool // of ToolEnded: a person refused the call
	Tokens message.Tokens
	Call   string // of Spent: the call of the model; a later event for the same call replaces the earlier one

	Thread string // the conversation that it belongs to
	End    int64  // the end of the record in its file, in bytes; for opencode the number of the next event
	Past   bool   // it was there before the Follower began, or before the agent moved to this file
}
