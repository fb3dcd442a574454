//go:build !teeth

package tmux

// gate reports whether a fact is part of compare-and-type. It always is; only tests that
// are built with the tag teeth can leave one out, to show that a test then fails.
func gate(string) bool { return true }
