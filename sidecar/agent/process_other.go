//go:build !linux

package agent

import (
	"errors"
	"syscall"
	"time"
)

// Where /proc does not tell of processes, transcripts are found by the status file of
// Claude Code without its start time, or by the text that was typed.

func started(pid int) (uint64, error) {
	if !lives(pid, 0) {
		return 0, ErrGone
	}
	return 0, nil
}

func startedAt(uint64) time.Time { return time.Time{} }

func lives(pid int, _ uint64) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func arguments(int) []string { return nil }

func environment(_ int, names ...string) map[string]string { return ownEnvironment(names) }

// WorkingDir is the directory in which a process works, "" if it cannot be read, as here.
func WorkingDir(int) string { return "" }

func openFiles(int, func(string) bool) []string { return nil }

func neighboursOf(Agent) neighbours { return neighbours{} }
