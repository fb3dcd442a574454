//go:build !linux

package tmux

import (
	"fmt"
	"time"
)

// Lineage is a process and its parents. Here it is ErrUnsupported.
func Lineage(pid, _ int) ([]Relative, error) {
	return nil, fmt.Errorf("process %d: %w", pid, ErrUnsupported)
}

func age(uint64) time.Duration { return 0 }

// Runs cannot tell here.
func Runs(int, string) bool { return false }
