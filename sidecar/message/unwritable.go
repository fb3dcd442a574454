package message

import "fmt"

// Values of UnwritableError.Why.
const (
	DiskFull     = "disk full"
	DiskReadOnly = "disk is read-only"
)

// UnwritableError says that nothing can be written for now: the disk is full, or read-only. Nothing
// of what was asked for has happened, and nothing is typed meanwhile.
type UnwritableError struct {
	Path string // path of the journal
	Why  string // DiskFull or DiskReadOnly
	Err  error
}

func (e *UnwritableError) Error() string { return fmt.Sprintf("%s: %s", e.Why, e.Path) }

func (e *UnwritableError) Unwrap() error { return e.Err }

// Remedy returns what a person can do about it.
func (e *UnwritableError) Remedy() string {
	if e.Why == DiskReadOnly {
		return "make it writable again"
	}
	return "free some space there"
}

// ErrorKind returns KindUnwritable.
func (e *UnwritableError) ErrorKind() ErrorKind { return KindUnwritable }
