package repository

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// stamp is what tells that a file was not written since: whoever writes to it, or puts another one in its
// place, cannot help that the system sets the time of the change.
type stamp struct {
	ok            bool
	device, inode uint64
	size          int64
	changed       syscall.Timespec
}

// settled is how long ago a file was changed at least, so that a further change has another time.
const settled = time.Second

// stampOf is that of the file in a repository. It is asked for before the file is read.
func stampOf(repository string) stamp {
	var file syscall.Stat_t
	if syscall.Lstat(filepath.Join(repository, ConfigFile), &file) != nil {
		return stamp{}
	}
	return stamp{
		ok:     file.Mode&syscall.S_IFMT == syscall.S_IFREG && time.Since(time.Unix(file.Ctim.Unix())) > settled,
		device: file.Dev, inode: file.Ino, size: file.Size, changed: file.Ctim,
	}
}

// changed is when a file was written, or what may be read of it became another: one name fewer, say, or a
// permission more.
func changed(info fs.FileInfo) time.Time {
	if of, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(of.Ctim.Unix())
	}
	return info.ModTime()
}
