package team

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// TheirsError says that a .team belongs to another user.
type TheirsError struct {
	Dir  string
	User int
}

func (e *TheirsError) Error() string {
	return fmt.Sprintf("%q belongs to user %d: it is not read, and is no team of yours", e.Dir, e.User)
}

// Theirs returns a *TheirsError if a directory is in another user's project that has a team. The .team may be
// in the directory itself, or above it as long as the directories in between are not this user's either. What
// others put above a directory of this user, as into /tmp, does not count. dir is an absolute path without
// links.
func Theirs(dir string) error {
	for {
		at := filepath.Join(dir, Folder)
		if info, err := os.Lstat(at); err == nil {
			if user := ownerOf(info); user != os.Geteuid() {
				return &TheirsError{at, user}
			}
		}
		info, err := os.Lstat(dir)
		up := filepath.Dir(dir)
		if err != nil || ownerOf(info) == os.Geteuid() || up == dir {
			return nil
		}
		dir = up
	}
}

func ownerOf(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return os.Geteuid()
}
