package repository

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// stamp shows whether a file was written since. Whoever writes to it or replaces it cannot prevent the system
// from setting the time of the change.
type stamp struct {
	ok            bool
	device, inode uint64
	size          int64
	changed       syscall.Timespec
}

// settled is the least age of a file's last change. A further change then has a different time.
const settled = time.Second

// stampOf returns the stamp of the configuration in a repository. It is taken before the file is read.
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

// changed returns when a file was last written, or when what decides whether it may be read last changed: one
// name fewer, for example, or one permission more.
func changed(info fs.FileInfo) time.Time {
	if of, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(of.Ctim.Unix())
	}
	return info.ModTime()
}
