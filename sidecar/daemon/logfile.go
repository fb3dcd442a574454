package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// How much of its log a sidecar keeps: the file itself and so many older ones, each of at most so
// many bytes plus one line.
const (
	logSize = 4 << 20
	logKept = 3
)

// LogFile is the sidecar's log. When the file has reached its size, it is renamed to .1, .1 to .2
// and so on, and a new file is begun. Its methods may be called from any goroutine.
type LogFile struct {
	path string
	size int64 // the maximum size of one file

	mu   sync.Mutex // guards the fields below
	file *os.File
	have int64
}

// OpenLog opens the sidecar's log for appending, in a directory that nobody else can read. The
// caller closes it.
func OpenLog(paths api.Paths) (*LogFile, error) { return openLog(paths.Log) }

func openLog(path string) (*LogFile, error) {
	if err := api.Private(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	l := &LogFile{path: path, size: logSize}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return l, nil
}

func (l *LogFile) open() error {
	f, err := own.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.have = f, info.Size()
	return nil
}

// Write appends one record, undivided in one file, with credentials masked.
func (l *LogFile) Write(record []byte) (int, error) {
	said := len(record)
	record = []byte(secret.Mask(string(record)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return 0, os.ErrClosed
	}
	if l.have > 0 && l.have+int64(len(record)) > l.size {
		if err := l.rotate(); err != nil {
			// A log that grows is better than none.
			fmt.Fprintf(l.file, "level=WARN msg=\"log not rotated\" err=%q\n", err)
			l.have = 0
		}
	}
	n, err := l.file.Write(record)
	l.have += int64(n)
	if err != nil {
		return 0, err
	}
	return said, nil
}

// rotate renames the old files and opens a new one. It closes the old file only once the new one is
// open.
func (l *LogFile) rotate() error {
	for n := logKept; n > 0; n-- {
		from := l.path
		if n > 1 {
			from += "." + strconv.Itoa(n-1)
		}
		if err := os.Rename(from, l.path+"."+strconv.Itoa(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	return old.Close()
}

// Close closes the log.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
