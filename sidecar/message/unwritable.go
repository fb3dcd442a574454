package message

import "fmt"

// UnwritableError says that nothing can be written down for now: the disk is full, or may not
// be written to. Nothing of what was asked for has happened, and nothing is typed meanwhile.
type UnwritableError struct {
	Path string // of the journal
	Why  string // "disk full"
	Err  error
}

func (e *UnwritableError) Error() string { return fmt.Sprintf("%s: %s", e.Why, e.Path) }

func (e *UnwritableError) Unwrap() error { return e.Err }

// ErrorKind is KindUnwritable.
func (e *UnwritableError) ErrorKind() ErrorKind { return KindUnwritable }
