//go:build !linux

package atomicfile

// takeName gives a file a name that nobody has; for a moment it has two.
func takeName(from, to string) error { return link(from, to) }
