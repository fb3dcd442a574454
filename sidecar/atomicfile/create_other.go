//go:build !linux

package atomicfile

// Rename renames a file to an unused name; for a moment the file has two names.
func Rename(from, to string) error { return link(from, to) }
