package main

import "golang.org/x/sys/unix"

// fileSystem returns the kind of the file system that dir lies on, if it is one of remote; else "".
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	return remote[uint32(st.Type)]
}
