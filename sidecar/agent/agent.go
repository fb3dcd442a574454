// Package agent reads what a coding agent writes down about itself: it tells which agent a
// process is, finds the transcript of its conversation, follows it, and makes turns of it.
// It knows Claude Code (JSON Lines below ~/.claude/projects, a status file for each process)
// and Codex (rollouts below ~/.codex/sessions). It never writes anything.
//
// Three parts, of which only the last one touches the world:
//
//	bytes ──Reader──► Event ──Machine──► Turn          pure: no files, no clock, no goroutine
//	Recognise ──► Agent ──Find──► Transcript           reads /proc and the agent's own files, on call
//	Follower: Find, tail, Reader ──► Updates           one goroutine, Serve; owns all of its state
//
// A Follower belongs to one process of one pane. Its goroutine owns the open file and the
// Reader; whoever takes from Updates owns the Machine, feeds it every event, and so knows
// whether a turn is open, without any lock. All Followers may share one Bell, which owns the
// one inotify instance; without it they look once a second, which is also what the truth
// rests on.
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
//	 └── Fresh: a new process cannot be at the work of an old one ──────┘   not told at all
//
// What ends how: a turn that a person interrupts is written down as such by both agents, but
// for one case. Claude Code puts a prompt that is interrupted before the first word of the
// answer back into its composer and writes nothing: only the status file tells. An error of
// the model's service ends a turn of Claude Code by a record of its own and without the usual
// end mark, and a turn of Codex by its usual end mark with an error in it.
//
// The states of a Follower: searching (no transcript yet: Codex makes one at its first prompt)
// → past (what stood there before; its events are marked Past) → live → at /clear, /new,
// /resume again past and live, on another file. A file that shrinks, is replaced or removed is
// read anew from its beginning, and nothing older than the last look is told twice.
package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Kind is a kind of agent.
type Kind string

// The kinds whose transcripts can be read.
const (
	Claude Kind = "claude"
	Codex  Kind = "codex"
)

// Verified is the newest version of an agent whose transcripts this package was tried on.
// Others are read as well, as far as they can be: see UnreadableError.
func (k Kind) Verified() string {
	switch k {
	case Claude:
		return "2.1.329"
	case Codex:
		return "0.169.0"
	}
	return ""
}

// Agent is an agent that runs.
type Agent struct {
	Kind    Kind
	Process message.Process // the one that was recognised
	Home    string          // where it keeps its files: ~/.claude, ~/.codex, or what its environment says
	Dir     string          // its working directory; "" where the system does not tell
	Tried   []int           // all processes that may keep its files: an agent may start as a script that runs it
}

// Transcript is the file in which an agent writes down one conversation.
type Transcript struct {
	Path    string
	Thread  string // the agent's own id of the conversation
	Version string // of the agent that wrote it, "" if it has not said so yet
	How     How
}

// How says how a transcript was bound to its agent. Each is proof but the last, which rests
// on a text that was typed standing in no other file.
type How string

// The ways.
const (
	ByStatusFile How = "status file" // Claude Code names its session by pid and start time
	ByOpenFile   How = "open file"   // the process has it open
	ByTypedText  How = "typed text"  // what was just typed stands in it
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
		kind, ok := kindOf(p.Name, arguments(p.PID))
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
		env := environment(p.PID, "HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
		a.Dir = workingDir(p.PID)
		a.Home = homeOf(kind, env, a.Dir)
		return a, nil
	}
	return Agent{}, ErrNoAgent
}

// kindOf judges by the name of a process and its arguments. A script's interpreter says
// nothing; the file that it runs does.
func kindOf(name string, args []string) (Kind, bool) {
	names := []string{name}
	if len(args) > 0 {
		names = append(names, filepath.Base(args[0]))
	}
	if len(args) > 1 && interpreter(names[len(names)-1], name) {
		names = append(names, filepath.Base(args[1]))
		switch {
		case strings.Contains(args[1], "@anthropic-ai/claude-code"):
			return Claude, true
		case strings.Contains(args[1], "@openai/codex"):
			return Codex, true
		}
	}
	for _, n := range names {
		switch strings.TrimSuffix(n, ".js") {
		case "claude":
			return Claude, true
		case "codex":
			return Codex, true
		}
	}
	return "", false
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

// homeOf says where an agent of that environment keeps its files.
func homeOf(kind Kind, env map[string]string, dir string) string {
	name, below := "CLAUDE_CONFIG_DIR", ".claude"
	if kind == Codex {
		name, below = "CODEX_HOME", ".codex"
	}
	home := env[name]
	if home == "" {
		home = filepath.Join(env["HOME"], below)
	}
	if !filepath.IsAbs(home) && dir != "" {
		home = filepath.Join(dir, home)
	}
	return filepath.Clean(home)
}
