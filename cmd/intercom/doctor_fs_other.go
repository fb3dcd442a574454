//go:build !linux

package main

// fileSystem returns "": the kind of a file system is known on Linux only.
func fileSystem(string) string { return "" }
