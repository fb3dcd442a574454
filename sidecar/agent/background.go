package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// Codex 0.169.0 starts one background process for all of a user's panes ("codex app-server",
// unless it is told --no-daemon). Measured of it:
//   - It is a child of the Codex that started it for as long as that lives, has the environment
//     of that one, TMUX_PANE included, and outlives it. MCP servers and shells of every
//     conversation are its children. So neither parents nor environment tell the pane.
//   - It has the rollout of each conversation open for writing from the first prompt on, also
//     after /new, and the Codex in the pane has none.
//   - What it starts for a conversation is told its name: a shell by CODEX_THREAD_ID, an MCP
//     server by _meta.threadId in each call and nothing else.
//   - Two Codexes may be in one conversation, after /resume: both show all of it.

// threadVariable names the conversation for which Codex has started a process.
const threadVariable = "CODEX_THREAD_ID"

// deepest is how many sub-agents below each other are followed up to the conversation that
// started the first.
const deepest = 8

// Background reports whether a process is one that an agent has in the background, for all of
// its panes. What it has started comes from none of them as far as parents and environment
// tell: see WrittenBy.
func Background(pid int, name string) bool {
	args := process.Arguments(pid)
	kind, ok := kindOf(name, args)
	return ok && kind.format().background != nil && kind.format().background(args)
}

// StartedFor is the conversation for which an agent has started a process, by the environment of
// that; "" if it names none. It is no proof by itself: the one who has started it sets it.
func StartedFor(pid int) string {
	env, _ := process.Environment(pid, threadVariable)
	return env[threadVariable]
}

// WrittenBy is the transcript of the conversation of that name, if the background process with
// that pid has it open for writing, and no other process of this user: the one that the conversation
// is in does, so that whoever opens it beside that one, under whatever name, proves nothing, and
// keeps that one from it, too. That of a sub-agent stands for the conversation which has started it.
// Errors: ErrNoTranscript.
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

// alone reports whether no process but that one has a file open for writing, as far as the system tells.
// A child of it that has not executed its own program yet has all that it has.
func alone(writer process.Identity, path string) bool {
	pids, err := process.All()
	return err == nil && !slices.ContainsFunc(pids, func(pid int) bool {
		if pid == writer.PID || len(process.Writes(pid, func(open string) bool { return open == path })) == 0 {
			return false
		}
		other, err := process.Identify(pid) // not of one that has just ended, or is about to execute its program
		return err == nil && (other.Parent != writer.PID || other.Exec != writer.Exec)
	})
}

// LastPrompt is what an agent was told last in a conversation; false where that is not known.
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
