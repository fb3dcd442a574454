package message

import "errors"

// Why the relay refuses leave to type, or to press Enter. Whatever the error is, nothing
// is typed; these tell what becomes of the delivery.
var (
	ErrPaused  = errors.New("paused by a person or a brake") // it is handed out again on resume
	ErrEnded   = errors.New("its chat has ended")            // final
	ErrUnknown = errors.New("no such delivery under way")    // final
)
