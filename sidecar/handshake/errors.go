package handshake

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// UnknownError says that no handshake of a kind has an id.
type UnknownError struct {
	Kind Kind
	ID   string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no %s request %.40q", e.Kind, e.ID) }

// ErrorKind is KindUnknown.
func (e *UnknownError) ErrorKind() message.ErrorKind { return message.KindUnknown }

// TakenError says that an id is in use: another one has to be made.
type TakenError struct{ ID string }

func (e *TakenError) Error() string { return fmt.Sprintf("request_id %q is in use", e.ID) }

// ErrorKind is KindTaken.
func (e *TakenError) ErrorKind() message.ErrorKind { return message.KindTaken }

// NotYoursError says that whoever answers is not whom the request is addressed to.
type NotYoursError struct{ Handshake Handshake }

func (e *NotYoursError) Error() string {
	return fmt.Sprintf("%s request %s is addressed to %q: nobody else may answer it", e.Handshake.Kind, e.Handshake.ID, e.Handshake.Answerer.called())
}

// ErrorKind is KindNotPossible.
func (e *NotYoursError) ErrorKind() message.ErrorKind { return message.KindNotPossible }

// SettledError says that a request has had its answer, or has expired. Nothing has changed.
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

// ErrorKind is KindGone.
func (e *SettledError) ErrorKind() message.ErrorKind { return message.KindGone }

// TooManyError says that somebody has as many open requests as one may have.
type TooManyError struct{ Asker Party }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%q has %d open requests: the limit", e.Asker.called(), MaxOpen)
}

// ErrorKind is KindAtLimit.
func (e *TooManyError) ErrorKind() message.ErrorKind { return message.KindAtLimit }

// InvalidError says why something is no handshake.
type InvalidError struct{ ID, Why string }

func (e *InvalidError) Error() string { return fmt.Sprintf("request_id %.40q: %s", e.ID, e.Why) }

// ErrorKind is KindNotPossible.
func (e *InvalidError) ErrorKind() message.ErrorKind { return message.KindNotPossible }

func invalid(id, format string, args ...any) error {
	return &InvalidError{id, fmt.Sprintf(format, args...)}
}

// called is its name, or what else there is of it.
func (p Party) called() string {
	if p.Person {
		return cmp.Or(p.Name, "person")
	}
	return cmp.Or(p.Name, string(p.Peer))
}
