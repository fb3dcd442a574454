//go:build !linux

package labtest

// processes lists all running processes. Their environments cannot be read here.
func processes(string) []process { return listedProcesses() }
