package agent

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// EventKind says what happened.
type EventKind string

// The events of a conversation. The fields of Event that each has stand behind it.
const (
	Prompted    EventKind = "prompt"      // the agent took a prompt: Text, By
	Queued      EventKind = "queued"      // it keeps a prompt for later: Text
	Commanded   EventKind = "command"     // a person's command to the program, which is no prompt: Text
	Spoke       EventKind = "words"       // it said something: Text
	ToolBegan   EventKind = "tool began"  // Tool
	ToolEnded   EventKind = "tool ended"  // Tool, without its name; Denied
	TurnBegan   EventKind = "turn began"  // only Codex writes it down
	TurnEnded   EventKind = "turn ended"  // Text: the last words, where the agent repeats them; Gemini CLI does not write it down
	Interrupted EventKind = "interrupted" // by a person: Text is the reason, if it has one
	Stopped     EventKind = "stopped"     // by nobody that is known: Text is the reason; only Codex writes it down
	Failed      EventKind = "failed"      // the service of the model gave an error: Text
	Unanswered  EventKind = "unanswered"  // the program put Text where an answer would stand: no model was asked; only Claude Code does
	Compacted   EventKind = "compacted"   // the conversation was summed up and goes on
	Spent       EventKind = "tokens"      // a call of the model used them: Tokens, by Call
	Left        EventKind = "left"        // the agent turned to another conversation
	Fresh       EventKind = "fresh"       // the process began after all that stands before this
	Moded       EventKind = "mode"        // how it asks before it acts, in its own word: Text; only Claude Code writes it down
)

// Source says how a prompt came to the agent.
type Source string

// The sources of a prompt.
const (
	ByKeys    Source = "keys"    // typed or pasted into the composer, by whomever
	ByQueue   Source = "queue"   // the same, while the agent worked; taken when it was done
	BySteer   Source = "steer"   // the same, taken in the middle of a turn
	ByCommand Source = "command" // a person's command that the agent answers, such as a shell line
	BySystem  Source = "system"  // the program itself: a background task has ended, a time has come
	ByUnknown Source = ""        // the transcript does not tell
)

// Tool names one call of a tool.
type Tool struct {
	ID    string
	Name  string
	Began time.Time
}

// Event is one thing that a transcript tells.
type Event struct {
	Kind   EventKind
	At     time.Time // as the agent dated it; zero if it did not
	Turn   string    // the agent's own id of the turn, "" if it gives none
	Text   string    // byte for byte, but for invalid UTF-8; see Kind
	By     Source
	ID     string // of Prompted: what its sender calls it, where it came through a door (package door); else ""
	Midst  bool   // of Prompted: no person wrote it, and it was given to the agent in the midst of a turn, which goes on
	Tool   Tool
	Denied bool // of ToolEnded: a person refused the call
	Tokens message.Tokens
	Call   string // of Spent: which call of the model it was; told once more, it takes the place of what was told

	Thread string // the conversation that it belongs to
	End    int64  // where the record ends in its file, in bytes; of opencode the number of the next event
	Past   bool   // it stood there before the Follower began, or before the agent turned to this file
}
