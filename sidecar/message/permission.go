package message

import (
	"errors"
)

// Reasons why the relay refuses permission to type, or to press Enter. Nothing is typed, whatever
// the error is; these errors tell what becomes of the delivery.
var (
	ErrPaused  = errors.New("the chat is paused")              // the delivery is handed out again on resume
	ErrEnded   = NewError(KindChatEnded, "the chat has ended") // final
	ErrNotOurs = errors.New("no such delivery is under way")   // final
	ErrStopped = error(stopped{})
)

// stopped is ErrStopped, which is also an ErrPaused.
type stopped struct{}

func (stopped) Error() string        { return string(Stopped) + " until a person resumes all" }
func (stopped) Unwrap() error        { return ErrPaused }
func (stopped) ErrorKind() ErrorKind { return KindStopped }

// ErrDown says that the relay does not run, or ended before it could answer: its next run may still
// carry out what was asked for.
var ErrDown = errors.New("the relay is not running")
