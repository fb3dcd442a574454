package message

import (
	"errors"
)

// Why the relay refuses permission to type, or to press Enter. Whatever the error is, nothing
// is typed; these tell what becomes of the delivery.
var (
	ErrPaused  = errors.New("the chat is paused")              // it is handed out again on resume
	ErrEnded   = NewError(KindChatEnded, "the chat has ended") // final
	ErrNotOurs = errors.New("no such delivery is under way")   // final
	ErrStopped = error(stopped{})
)

// stopped is ErrStopped, which is an ErrPaused too.
type stopped struct{}

func (stopped) Error() string        { return string(Stopped) + " until a person resumes all" }
func (stopped) Unwrap() error        { return ErrPaused }
func (stopped) ErrorKind() ErrorKind { return KindStopped }

// ErrDown says that the relay does not run, or ended before it could answer: what was to be done may be done by its next run.
var ErrDown = errors.New("the relay is not running")
