package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// Where the system does not list processes, transcripts are found by the status file of Claude Code without its
// start time, or by the text that was typed.

// started returns the start time of a process, or 0 if the system does not tell.
func started(pid int) (uint64, error) {
	start, err := process.Start(pid)
	if errors.Is(err, process.ErrUnsupported) && process.Lives(pid, 0) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return start, nil
}

// environment reads a few named variables of a process. If they cannot be read, it takes those of this process.
func environment(pid int, names ...string) map[string]string {
	env, ok := process.Environment(pid, names...)
	if !ok {
		env = map[string]string{}
		for _, name := range names {
			env[name] = os.Getenv(name)
		}
	}
	return env
}

// neighboursOf finds the other processes of the agent's kind that work in its directory with its files, except
// those of its own process group. If one such process has started another, both count.
func neighboursOf(a Agent, now time.Time) neighbours {
	pids, err := process.All()
	if err != nil || a.Dir == "" {
		return neighbours{}
	}
	near := neighbours{known: true}
	own, _ := process.Identify(a.Process.PID)
	home := resolved(a.Home)
	for _, pid := range pids {
		if slices.Contains(a.Tried, pid) || process.WorkingDir(pid) != a.Dir {
			continue
		}
		id, err := process.Identify(pid)
		if err != nil {
			continue // it has ended
		}
		kind, ok := kindOf(id.Name, process.Arguments(pid))
		if !ok || kind != a.Kind || own.Group != 0 && id.Group == own.Group || resolved(homeOf(kind, pid, a.Dir)) != home {
			continue
		}
		near.starts = append(near.starts, process.Began(id.Start, now))
	}
	return near
}
