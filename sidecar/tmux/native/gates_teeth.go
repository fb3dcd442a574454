//go:build teeth

package native

import (
	"os"
	"slices"
	"strings"
)

// gate reports whether the named gate stands: INTERCOM_GATE_OFF names those that do not,
// separated by commas, as "native:peer", so that `make teeth` can show which row goes red
// without each of them.
func gate(name string) bool {
	return !slices.Contains(strings.Split(os.Getenv("INTERCOM_GATE_OFF"), ","), "native:"+name)
}
