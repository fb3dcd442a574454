// Package agent reads what a coding agent writes down about itself. It recognises the agent of a process, finds the
// transcript of its conversation, follows that transcript and makes turns of it. It knows Claude Code (JSON Lines
// below ~/.claude/projects, a status file for each process), Codex (rollouts below ~/.codex/sessions), Gemini CLI
// (JSON Lines below ~/.gemini/tmp) and opencode (a SQLite database in ~/.local/share/opencode). It never writes
// anything.
//
// Three parts:
//
//	bytes ──Reader──► Event ──Machine──► Turn          pure: no files, no clock, no goroutine
//	Recognise ──► Agent                                reads /proc, on call
//	Follower: transcript, Reader ──► Updates           one goroutine, Serve; finds and reads the agent's files; owns all of its state
//
// A Follower belongs to one process of one pane. Its goroutine owns the open file (or the connection to the
// database) and the Reader. The receiver of Updates owns the Machine and feeds it every event, so it knows without
// a lock whether a turn is open. All Followers may share one Bell, which owns the only inotify instance. The Bell
// is a hint: with or without it, each Follower polls once a second, and correctness depends on that poll alone.
//
// The states of a Machine:
//
//	        Prompt, Words, ToolBegan, TurnBegan
//	none ──────────────────────────────────────► open ◄──┐
//	 ▲                                            │ │    │ Prompt (queued, steered), Words,
//	 │                                            │ └────┘ ToolBegan, ToolEnded, Compacted
//	 ├── TurnEnded ──────────────── said ─────────┤
//	 ├── Interrupted, Left ──────── interrupted ──┤
//	 ├── Failed ─────────────────── failed ───────┤
//	 ├── Prompt typed by hand, TurnBegan: the end was not written down ─┤
//	 ├── the status file says idle for 5 s ───────┤   interrupted, unless it had said something
//	 ├── another witness says that it waits (Rests) ─────────────────────┤
//	 └── Fresh: a new process cannot be at the work of an old one ──────┘   not told at all
//
// How turns end: all agents write down that a person interrupted a turn, with one exception. When a prompt is
// interrupted before the first word of the answer, Claude Code puts it back into its composer and writes nothing;
// only the status file shows it. An error of the model's service ends a turn of Claude Code with a record of its
// own and without the usual end mark, a turn of Codex with its usual end mark, which then holds an error, and a
// turn of Gemini CLI or opencode with a record of its own.
//
// Gemini CLI writes an answer down when it is complete, but does not say whether calls of tools follow: it writes
// the calls when all of them have a result. So its transcript does not distinguish words before a call from the
// last ones, and no turn has an end mark. The next prompt ends a turn, since prompts are queued while the agent
// works. So does Machine.Rests, which must be given what the screen and the title show in every look. Gemini CLI
// does not write down the words of an answer that a person interrupts. It drops invisible control characters, HTML
// comments and the blanks at both ends of its words.
//
// opencode writes down what happens as numbered events, beside the rows of its messages; only the events are read.
// A prompt that arrives while it works is reported as Queued, and as Prompted when the model is given it: in the
// same turn if that happens between two calls of the model, otherwise in a turn of its own.
//
// How a process is bound to its transcript: Claude Code names the transcript in its status file, and Codex has it
// open. Gemini CLI and opencode do neither. While no other agent of the kind works in the same directory, the
// transcript is the newest one there since the process began (ByBeingAlone). Where several Gemini CLIs work, each
// begins a transcript as it starts, which tells them apart if they started at different times (ByStartTime).
// Otherwise, and for opencode, the result is ErrAmbiguous until Seek finds a typed text in exactly one transcript.
// Once bound, a process stays bound while others are there; only the next text that is sought then shows that it
// has moved on (/clear, /new, /resume). A Codex with a background process is bound by such a text too, or by what
// its screen shows (Show), which also shows when it has moved.
//
// The states of a Follower: searching (no transcript yet: Codex and opencode make one at the first prompt) → past
// (what the transcript already holds; its events are marked Past) → live → past and live again, on another
// transcript, at /clear, /new and /resume. A file that shrinks, is rewritten, replaced or removed is read again
// from its beginning, and nothing older than the last look is reported twice.
package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// Agent is a running agent.
type Agent struct {
	Kind    Kind
	Process message.Process // the one that was recognised
	Home    string          // where it keeps its files: ~/.claude, ~/.codex, ~/.gemini, ~/.local/share/opencode, or what its environment says
	Dir     string          // its working directory; "" if the system does not tell
	Tried   []int           // PIDs that may be the agent's own: it may start as a script that runs it
	Version string          // from its program's package; "" if only its transcript tells
}

// Transcript is the place where an agent writes down one conversation: a file or, for opencode, that conversation's
// part of the database.
type Transcript struct {
	Path    string // for opencode: the path of the database, "#" and the conversation
	Thread  string // the agent's own id of the conversation
	Version string // of the agent that wrote it, "" if it has not said so yet
	How     How
}

// How says how a transcript was bound to its agent. A text proves it by standing in no other transcript.
// ByStartTime and ByBeingAlone are proof unless a process that has ended since worked in that directory; a typed
// text then corrects the binding.
type How string

// The ways.
const (
	ByStatusFile How = "status file" // Claude Code names its session by pid and start time
	ByOpenFile   How = "open file"   // the process has it open
	ByTypedText  How = "typed text"  // it contains what was just typed
	ByScreen     How = "screen"      // it ends with what the agent's screen shows last
	ByHook       How = "hook"        // the agent's own hook names the conversation
	ByStartTime  How = "start time"  // Gemini CLI begins it as it starts, and no other did so at that time
	ByBeingAlone How = "being alone" // no other of its kind works in that directory, and it is the newest there
)

var (
	// ErrNoAgent says that none of the processes is an agent known to this package.
	ErrNoAgent = errors.New("that process is not a known agent")
	// ErrNoTranscript says that the agent has no transcript, or none that can be found yet.
	ErrNoTranscript = errors.New("no transcript is found")
	// ErrAmbiguous says that more than one transcript could be the agent's; none is chosen.
	ErrAmbiguous = errors.New("more than one transcript fits")
	// ErrGone says that the process has ended.
	ErrGone = errors.New("the agent's process has ended")
)

// UnreadableError says that a transcript exists but cannot be understood, for example after a change of its format.
// The caller then uses the next source of words.
type UnreadableError struct {
	Kind    Kind
	Version string
	Path    string
	Why     string
}

func (e *UnreadableError) Error() string {
	version := e.Version
	if version == "" {
		version = "of unknown version"
	}
	return fmt.Sprintf("transcript %q of %s %s cannot be read: %s (last verified: %s)",
		e.Path, e.Kind, version, e.Why, e.Kind.Verified())
}

// Recognise finds the agent among the processes of a pane's foreground group, whose leader comes first. A script
// that starts an agent (node) counts as that agent, together with the processes that it started. Recognise returns
// ErrNoAgent if there is none.
func Recognise(procs ...message.Process) (Agent, error) {
	for _, p := range procs {
		kind, ok := kindOf(p.Name, process.Arguments(p.PID))
		if !ok {
			continue
		}
		a := Agent{Kind: kind, Process: p, Tried: []int{p.PID}}
		if a.Process.Start == 0 {
			a.Process.Start, _ = started(p.PID)
		}
		for _, other := range procs {
			if other.PID != p.PID {
				a.Tried = append(a.Tried, other.PID)
			}
		}
		a.Dir = process.WorkingDir(p.PID)
		a.Home = homeOf(kind, p.PID, a.Dir)
		if kind.format().packaged {
			a.Version = packageVersion(process.Arguments(p.PID), a.Dir)
		}
		return a, nil
	}
	return Agent{}, ErrNoAgent
}

// scriptOf returns the file that an interpreter runs, or "" if the process is not an interpreter.
func scriptOf(name string, args []string) string {
	if len(args) < 2 || !interpreter(filepath.Base(args[0]), name) {
		return ""
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-r" || a == "--require" || a == "--import" || a == "-C" || a == "--conditions":
			i++ // its value
		case !strings.HasPrefix(a, "-"):
			return a
		}
	}
	return ""
}

func interpreter(names ...string) bool {
	for _, n := range names {
		switch n {
		case "node", "bun", "MainThread":
			return true
		}
	}
	return false
}

// smallFile is the most bytes that are read of a file that is not a transcript.
const smallFile = 1 << 20

// packageVersion returns the version in the package.json of the script that a process runs, or "" if it cannot be
// told.
func packageVersion(args []string, dir string) string {
	script := scriptOf("", args)
	if script == "" {
		return ""
	}
	if !filepath.IsAbs(script) {
		script = filepath.Join(dir, script)
	}
	if real, err := filepath.EvalSymlinks(script); err == nil {
		script = real
	}
	for range 3 {
		script = filepath.Dir(script)
		data, err := foreign.Read(filepath.Join(script, "package.json"), smallFile)
		if err != nil {
			continue
		}
		var pkg struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(data, &pkg) == nil && pkg.Version != "" {
			return pkg.Version
		}
	}
	return ""
}
