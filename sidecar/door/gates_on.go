//go:build !teeth

package door

// gate reports whether the named gate stands. Outside the build that tries each of them
// switched off (`make teeth`), all of them do.
func gate(string) bool { return true }
