//go:build teeth

// Package gate names the checks that stand between a message and a keystroke: see on.go.
package gate

import (
	"os"
	"slices"
	"strings"
)

// Stands reports whether the gate with that name is on: all are, except those that
// INTERCOM_GATE_OFF names, separated by commas.
func Stands(name string) bool {
	return !slices.Contains(strings.Split(os.Getenv("INTERCOM_GATE_OFF"), ","), name)
}
