package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// Codex 0.169.0 starts one background process for all of a user's panes ("codex app-server", unless it is told
// --no-daemon). Measurements showed:
//   - It is a child of the Codex that started it while that one lives, inherits its environment,
//     TMUX_PANE included, and outlives it. The MCP servers and shells of all
//     conversations are its children. So neither parents nor environment reveal the pane.
//   - It has the rollout of each conversation open for writing from the first prompt on, and still
//     after /new. The Codex in the pane has none open.
//   - It tells the processes that it starts the name of their conversation: a shell by CODEX_THREAD_ID, an MCP
//     server only by _meta.threadId in each call.
//   - After /resume, two Codexes may be in one conversation; both show all of it.

// threadVariable is the environment variable with the name of the conversation for which Codex started a process.
const threadVariable = "CODEX_THREAD_ID"

// deepest limits the levels of nested sub-agents that are followed up to the conversation that started the first
// one.
const deepest = 8

// Background reports whether a process is an agent's background process, which serves all of its panes. Parents and
// environment do not reveal the pane of a process started by it: see WrittenBy.
func Background(pid int, name string) bool {
	args := process.Arguments(pid)
	kind, ok := kindOf(name, args)
	return ok && kind.format().background != nil && kind.format().background(args)
}

// StartedFor returns the conversation for which an agent started a process, as the environment of that process
// says, or "". It is not proof by itself, since whoever starts a process sets its environment.
func StartedFor(pid int) string {
	env, _ := process.Environment(pid, threadVariable)
	return env[threadVariable]
}

// WrittenBy returns the transcript of the conversation with that name, if the background process pid has it open
// for writing and no other process of this user does. A second writer under whatever name proves nothing, and also
// keeps the real one from being proven. For the conversation of a sub-agent, WrittenBy returns the transcript of
// the conversation that started the sub-agent. Errors: ErrNoTranscript.
func WrittenBy(pid int, thread string) (Transcript, error) {
	why := fmt.Errorf("process %d writes no conversation %q: %w", pid, thread, ErrNoTranscript)
	writer, err := process.Identify(pid)
	if err != nil || !Background(pid, writer.Name) {
		return Transcript{}, why
	}
	for range deepest {
		if !plainName(thread) {
			return Transcript{}, why
		}
		paths := process.Writes(pid, func(path string) bool {
			return strings.HasPrefix(filepath.Base(path), "rollout-") && strings.HasSuffix(path, "-"+thread+".jsonl")
		})
		if len(paths) != 1 {
			return Transcript{}, why
		}
		h, ok := rolloutHead(paths[0])
		switch {
		case !ok || h.thread != thread, !h.side && !alone(writer, paths[0]):
			return Transcript{}, why
		case !h.side:
			return Transcript{Path: paths[0], Thread: thread, Version: h.version, How: ByOpenFile}, nil
		}
		thread = h.parent
	}
	return Transcript{}, why
}

// alone reports whether only the writer has a file open for writing, as far as the system tells. A child of the
// writer that has not yet executed its own program shares all of the writer's open files and does not count.
func alone(writer process.Identity, path string) bool {
	pids, err := process.All()
	return err == nil && !slices.ContainsFunc(pids, func(pid int) bool {
		if pid == writer.PID || len(process.Writes(pid, func(open string) bool { return open == path })) == 0 {
			return false
		}
		other, err := process.Identify(pid) // ignore one that has just ended, or is about to execute its program
		return err == nil && (other.Parent != writer.PID || other.Exec != writer.Exec)
	})
}

// LastPrompt returns the last prompt in a conversation, or false if it is not known.
func (t Transcript) LastPrompt(kind Kind) (text string, ok bool) {
	info, err := os.Stat(t.Path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	x, ok := endOf(kind, t.Path, info.Size())
	return x.prompt.Text, ok
}

// serves reports whether Codex was started as a background process, by its arguments.
func serves(args []string) bool { return len(args) > 1 && slices.Contains(args[1:], "app-server") }
