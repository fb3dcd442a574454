//go:build teeth

package tmux

import (
	"os"
	"slices"
	"strings"
)

// gate reports whether a fact is part of compare-and-type: all but those that are named in
// INTERCOM_GATE_OFF, separated by commas: dead, mode, inputoff, synchronised, pid,
// alternate, cursorflag, cursor, history, width, tail.
func gate(name string) bool {
	return !slices.Contains(strings.Split(os.Getenv("INTERCOM_GATE_OFF"), ","), name)
}
