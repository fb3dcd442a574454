//go:build teeth

// Package gate names what stands between a message and a keystroke: see on.go.
package gate

import (
	"os"
	"slices"
	"strings"
)

// Stands reports whether the gate of that name stands: all but those that INTERCOM_GATE_OFF names, separated by
// commas.
func Stands(name string) bool {
	return !slices.Contains(strings.Split(os.Getenv("INTERCOM_GATE_OFF"), ","), name)
}
