//go:build !linux

package repository

// stamp would tell that a file was not written since: here it is read again each time.
type stamp struct{ ok bool }

func stampOf(string) stamp { return stamp{} }
