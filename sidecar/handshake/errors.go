package handshake

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// UnknownError says that no handshake of that kind has that id.
type UnknownError struct {
	Kind Kind
	ID   string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no %s request %.40q", e.Kind, e.ID) }

// ErrorKind returns KindUnknown.
func (e *UnknownError) ErrorKind() message.ErrorKind { return message.KindUnknown }

// TakenError says that an id is in use: the caller must make another one.
type TakenError struct{ ID string }

func (e *TakenError) Error() string { return fmt.Sprintf("request_id %q is in use", e.ID) }

// ErrorKind returns KindTaken.
func (e *TakenError) ErrorKind() message.ErrorKind { return message.KindTaken }

// NotYoursError says that a request is addressed to somebody other than the caller that answers.
type NotYoursError struct{ Handshake Handshake }

func (e *NotYoursError) Error() string {
	return fmt.Sprintf("%s request %s is addressed to %q: nobody else may answer it", e.Handshake.Kind, e.Handshake.ID, e.Handshake.Answerer.called())
}

// ErrorKind returns KindNotPossible.
func (e *NotYoursError) ErrorKind() message.ErrorKind { return message.KindNotPossible }

// SettledError says that a request was already answered, or has expired. Nothing has changed.
type SettledError struct{ Handshake Handshake }

func (e *SettledError) Error() string {
	h := e.Handshake
	at := h.Ended.Format(time.RFC3339)
	switch {
	case h.Gone:
		return fmt.Sprintf("%s request %s expired at %s, when %q had gone", h.Kind, h.ID, at, h.Answerer.called())
	case h.AskerGone:
		return fmt.Sprintf("%s request %s expired at %s, when %q had gone", h.Kind, h.ID, at, h.Asker.called())
	case h.State == Expired:
		return fmt.Sprintf("%s request %s expired at %s", h.Kind, h.ID, at)
	}
	return fmt.Sprintf("%s request %s was %s by %q at %s", h.Kind, h.ID, h.State, h.Answerer.called(), at)
}

// ErrorKind returns KindGone.
func (e *SettledError) ErrorKind() message.ErrorKind { return message.KindGone }

// TooManyError says that an asker has the maximum number of open requests.
type TooManyError struct{ Asker Party }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%q has %d open requests: the limit", e.Asker.called(), MaxOpen)
}

// ErrorKind returns KindAtLimit.
func (e *TooManyError) ErrorKind() message.ErrorKind { return message.KindAtLimit }

// InvalidError says why a handshake is invalid.
type InvalidError struct{ ID, Why string }

func (e *InvalidError) Error() string { return fmt.Sprintf("request_id %.40q: %s", e.ID, e.Why) }

// ErrorKind returns KindNotPossible.
func (e *InvalidError) ErrorKind() message.ErrorKind { return message.KindNotPossible }

func invalid(id, format string, args ...any) error {
	return &InvalidError{id, fmt.Sprintf(format, args...)}
}

// called returns the party's name, or, without one, its id or "person".
func (p Party) called() string {
	if p.Person {
		return cmp.Or(p.Name, "person")
	}
	return cmp.Or(p.Name, string(p.Peer))
}
