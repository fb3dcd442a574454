//go:build !linux

package main

// fileSystem is known on Linux only.
func fileSystem(string) string { return "" }
