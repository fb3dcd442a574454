package message

import (
	"errors"
	"fmt"
)

// Why the relay refuses leave to type, or to press Enter. Whatever the error is, nothing
// is typed; these tell what becomes of the delivery.
var (
	ErrPaused  = errors.New("the chat is paused")            // it is handed out again on resume
	ErrEnded   = errors.New("the chat has ended")            // final
	ErrNotOurs = errors.New("no such delivery is under way") // final
	ErrStopped = fmt.Errorf("everything is stopped until a person resumes all: %w", ErrPaused)
)
