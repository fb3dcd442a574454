//go:build teeth

package door

import (
	"os"
	"slices"
	"strings"
)

// gate reports whether the named gate stands: INTERCOM_GATE_OFF names those that do not,
// separated by commas, as "door:peer", so that `make teeth` can show which row goes red
// without each of them. (Those of package tmux go by their bare names.)
func gate(name string) bool {
	return !slices.Contains(strings.Split(os.Getenv("INTERCOM_GATE_OFF"), ","), "door:"+name)
}
