// Package agent reads what a coding agent writes down about itself: it tells which agent a
// process is, finds the transcript of its conversation, follows it, and makes turns of it.
// It knows Claude Code (JSON Lines below ~/.claude/projects, a status file for each process),
// Codex (rollouts below ~/.codex/sessions), Gemini CLI (JSON Lines below ~/.gemini/tmp) and
// opencode (a SQLite database in ~/.local/share/opencode). It never writes anything.
//
// Three parts:
//
//	bytes ──Reader──► Event ──Machine──► Turn          pure: no files, no clock, no goroutine
//	Recognise ──► Agent                                reads /proc, on call
//	Follower: transcript, Reader ──► Updates           one goroutine, Serve; finds and reads the agent's files; owns all of its state
//
// A Follower belongs to one process of one pane. Its goroutine owns the open file, or the
// connection to the database, and the Reader; whoever takes from Updates owns the Machine,
// feeds it every event, and so knows whether a turn is open, without any lock. All Followers
// may share one Bell, which owns the one inotify instance; without it they look once a
// second, which is also what the truth rests on.
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
//	 ├── the status file says idle for 3 s ───────┤   interrupted, unless it had said something
//	 ├── another witness says that it waits (Rests) ─────────────────────┤
//	 └── Fresh: a new process cannot be at the work of an old one ──────┘   not told at all
//
// What ends how: a turn that a person interrupts is written down as such by all agents, but
// for one case. Claude Code puts a prompt that is interrupted before the first word of the
// answer back into its composer and writes nothing: only the status file tells. An error of
// the model's service ends a turn of Claude Code by a record of its own and without the usual
// end mark, a turn of Codex by its usual end mark with an error in it, and one of Gemini CLI
// and opencode by a record of its own.
//
// Gemini CLI writes an answer down when it is complete, without saying whether calls of tools
// follow it: these are written when all of them have a result. So nothing in its transcript
// tells words before a call from the last ones, and no turn has an end mark. The next prompt
// ends a turn, since prompts are queued while it works, and so does Machine.Rests, which must
// be given what the screen and the title show in every look. What a person interrupts is
// not written down as far as it was said. Control characters that are not seen, HTML comments
// and blanks at both ends are not in its words.
//
// opencode writes down what happens as events, each with a number, beside the rows of its
// messages; the events alone are read. A prompt that comes while it works is told as Queued,
// and as Prompted when the model is given it: in the same turn between two calls of the
// model, else in a turn of its own.
//
// How a process is bound to its transcript: Claude Code names it in its status file, and
// Codex has it open. Gemini CLI and opencode tell neither. While no other of the kind works
// in the same directory, it is the newest one there since the process began (ByBeingAlone).
// Of several of Gemini CLI, each begins one as it starts (ByStartTime), if their starts are
// apart; else, and for opencode, it is ErrAmbiguous until Seek finds a typed text in one of
// them alone. Once bound it stays so while others are there: that it has moved on (/clear,
// /new, /resume) is then known by the next text that is sought. A Codex with its background
// process is bound by such a text too, or by what its screen shows (Show), which also tells
// when it has moved.
//
// The states of a Follower: searching (no transcript yet: Codex and opencode make one at the
// first prompt) → past (what stood there before; its events are marked Past) → live → at
// /clear, /new, /resume again past and live, on another one. A file that shrinks, is written anew,
// replaced or removed is read anew from its beginning, and nothing older than the last look is told
// twice.
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

// Agent is an agent that runs.
type Agent struct {
	Kind    Kind
	Process message.Process // the one that was recognised
	Home    string          // where it keeps its files: ~/.claude, ~/.codex, ~/.gemini, ~/.local/share/opencode, or what its environment says
	Dir     string          // its working directory; "" where the system does not tell
	Tried   []int           // all processes that may keep its files: an agent may start as a script that runs it
	Version string          // as its program's package says; "" where nothing does but its transcript
}

// Transcript is where an agent writes down one conversation: a file, or, for opencode, what
// of its database is about it.
type Transcript struct {
	Path    string // of opencode: that of the database, "#" and the conversation
	Thread  string // the agent's own id of the conversation
	Version string // of the agent that wrote it, "" if it has not said so yet
	How     How
}

// How says how a transcript was bound to its agent. A text proves it by standing in no other
// transcript. ByStartTime and ByBeingAlone are proof as long as no process that has ended
// meanwhile was at work in that directory; a typed text puts that right.
type How string

// The ways.
const (
	ByStatusFile How = "status file" // Claude Code names its session by pid and start time
	ByOpenFile   How = "open file"   // the process has it open
	ByTypedText  How = "typed text"  // what was just typed stands in it
	ByScreen     How = "screen"      // what the agent's screen shows last stands at its end
	ByHook       How = "hook"        // the agent's own hook names the conversation
	ByStartTime  How = "start time"  // Gemini CLI begins it as it starts, and no other started then
	ByBeingAlone How = "being alone" // no other of its kind works in that directory: it is the newest one there
)

var (
	// ErrNoAgent says that none of the processes is an agent that this package knows.
	ErrNoAgent = errors.New("no agent is known by that process")
	// ErrNoTranscript says that the agent has no transcript, or none that can be found yet.
	ErrNoTranscript = errors.New("no transcript is found")
	// ErrAmbiguous says that more than one transcript could be the agent's: none is taken.
	ErrAmbiguous = errors.New("more than one transcript fits")
	// ErrGone says that the process has ended.
	ErrGone = errors.New("the agent's process has ended")
)

// UnreadableError says that a transcript is there and cannot be made sense of, as after a
// change of its format. The next source of words serves then.
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

// Recognise finds the agent among the processes of a pane's foreground group, its leader
// first. A script that starts an agent (node) counts as that agent, together with what it
// started. It is ErrNoAgent if there is none.
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

// scriptOf is the file that an interpreter runs, "" if the process is no interpreter.
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

// smallFile is the most bytes that are read of a file which is no transcript.
const smallFile = 1 << 20

// packageVersion is the version in the package.json of the script that a process runs, "" if
// it cannot be told.
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
