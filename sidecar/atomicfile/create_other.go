//go:build !linux

package atomicfile

// Rename gives a file a name that nobody has; for a moment it has two.
func Rename(from, to string) error { return link(from, to) }
