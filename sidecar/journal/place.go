package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// fileName is the database inside its directory. SQLite keeps more files beside it, which belong to
// it as its pages do: no code here ever removes them.
const fileName = "journal.db"

// unsound is the suffix of a file that says that the database beside it was found damaged.
const unsound = "-unsound"

// parts are the suffixes of the files that make one database: itself, the write-ahead log, the
// log's index, and the journal that SQLite needs for a moment before it has a log.
var parts = []string{"", "-wal", "-shm", "-journal"}

// prepare makes the directory and an empty database file if they are missing, and refuses a place
// that somebody else could read or change.
func prepare(dir string) (path string, err error) {
	_, err = os.Lstat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("make directory: %w", err)
		}
	}
	if err := checkDir(dir); err != nil {
		return "", err
	}
	path = filepath.Join(dir, fileName)
	for _, part := range parts {
		if err := checkFile(path + part); err != nil {
			return "", err
		}
	}
	// SQLite would make the file with the umask's mode, and it gives -wal and -shm the mode of this
	// file.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return path, nil
	case err != nil:
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	if err := syncDir(dir); err != nil {
		return "", err
	}
	if made {
		return path, syncDir(filepath.Dir(dir))
	}
	return path, nil
}

// tryRoom writes a few blocks into a nameless file in dir, and removes it.
func tryRoom(dir string) error {
	file, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return err
	}
	err = os.Remove(file.Name())
	block := make([]byte, 64<<10)
	_, _ = rand.Read(block) // a file system may keep compressible data beside its blocks
	_, writeErr := file.WriteAt(block, 0)
	return errors.Join(err, writeErr, file.Sync(), file.Close())
}

func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%w: directory %q is a symbolic link", ErrUnsafe, dir)
	case !mode.IsDir():
		return fmt.Errorf("%w: %q is not a directory", ErrUnsafe, dir)
	case owner(info) != os.Getuid():
		return fmt.Errorf("%w: directory %q belongs to uid %d, not to %d", ErrUnsafe, dir, owner(info), os.Getuid())
	case mode.Perm() != 0o700:
		return fmt.Errorf("%w: directory %q has mode %04o, not 0700", ErrUnsafe, dir, mode.Perm())
	}
	return nil
}

// checkFile refuses everything but a plain file of our own. It tightens a mode that lets others in,
// which a restored copy may have: behind a 0700 directory nobody could use it.
func checkFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %q is not a plain file", ErrUnsafe, path)
	case owner(info) != os.Getuid():
		return fmt.Errorf("%w: %q belongs to uid %d, not to %d", ErrUnsafe, path, owner(info), os.Getuid())
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, 0o600)
	}
	return nil
}

func owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// readThrough reads all of a database. Nobody may have it open here, because closing the file gives
// up the locks that SQLite holds on it.
func readThrough(path string) error {
	for _, part := range parts {
		file, err := own.Open(path + part)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := foreign.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// setAside renames all files of a damaged database, and returns its new name. The files keep
// fitting together, so that SQLite's own tools can still read them.
func setAside(path string, now time.Time) (string, error) {
	base := path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	aside := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, n)
	}
	// Rename the database last: until then, the next start finds the damage again.
	for i := len(parts) - 1; i >= 0; i-- {
		err := os.Rename(path+parts[i], aside+parts[i])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("set damaged journal aside: %w", err)
		}
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("set damaged journal aside: %w", err)
	}
	return aside, nil
}
