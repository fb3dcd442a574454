package worker

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/spelling"
)

// meant returns a hint at the known name that is closest to an unknown one, or "".
func meant(name string, known []string) string {
	best, least := "", 3
	if len(name) < 4 {
		least = 2
	}
	for _, k := range known {
		if d := spelling.Distance(name, k); d < least && d < len(name) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// quoted lists names for an error.
func quoted(names []string) string {
	text := ""
	for i, n := range slices.Sorted(slices.Values(names)) {
		switch {
		case i > 0 && i == len(names)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("%q", n)
	}
	return text
}
