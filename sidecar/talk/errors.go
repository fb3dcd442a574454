package talk

import "fmt"

// Code is the document's word for an error, or our own if it has none.
type Code string

// The codes of the document, and after them our own.
const (
	PortInUse          Code = "PORT_IN_USE"
	ConnectionRefused  Code = "CONNECTION_REFUSED"
	ConnectionTimeout  Code = "CONNECTION_TIMEOUT"
	InvalidPort        Code = "INVALID_PORT"
	ListenerNotRunning Code = "LISTENER_NOT_RUNNING"
	MessageTooLarge    Code = "MESSAGE_TOO_LARGE"

	InboxFull        Code = "INBOX_FULL"        // the port has as many unread messages as it keeps
	ConnectionClosed Code = "CONNECTION_CLOSED" // before it was certain that the message is stored
	ConnectionFailed Code = "CONNECTION_FAILED" // for a reason other than those above
	InvalidMessage   Code = "INVALID_MESSAGE"   // not UTF-8, or not of the type as which it is sent
	NotSupported     Code = "NOT_SUPPORTED"     // the listener does not understand what is asked of it
	TLSRequired      Code = "TLS_REQUIRED"      // the port takes only encrypted connections
	InvalidName      Code = "INVALID_NAME"
	NameInUse        Code = "NAME_IN_USE"
	NameUnknown      Code = "NAME_UNKNOWN" // no port has that name
	NotStored        Code = "NOT_STORED"   // the listener could not write the message down
	NotStarted       Code = "NOT_STARTED"  // no sidecar serves the port
	FileError        Code = "FILE_ERROR"   // a file of the port, or of the message, cannot be used
)

// Error is an error as the commands print it.
type Error struct {
	Code    Code
	Text    string
	Details map[string]any // numbers and strings
	cause   error
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause of the error, nil if it is not known.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an error with a code about a port; 0 is no port. An operand of %w can be unwrapped.
func Errorf(code Code, port int, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Text: err.Error(), Details: map[string]any{}}
	if port != 0 {
		e.Details["port"] = port
	}
	for _, arg := range args {
		if cause, ok := arg.(error); ok {
			e.cause = cause
		}
	}
	return e
}

// With returns the error with one more detail.
func (e *Error) With(key string, value any) *Error {
	with := *e
	with.Details = map[string]any{key: value}
	for k, v := range e.Details {
		if k != key {
			with.Details[k] = v
		}
	}
	return &with
}
