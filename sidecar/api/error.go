package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Code is the class of an error. The codes are part of the contract of the API; each one determines an exit
// code.
type Code string

// The codes.
const (
	CodeUsage     Code = "usage"      // the request makes no sense, whatever the state of things
	CodeFailed    Code = "failed"     // it was tried and did not succeed
	CodeNotFound  Code = "not_found"  // nothing has that name
	CodeRefused   Code = "refused"    // nobody may do it, or not this caller
	CodeUnsure    Code = "unsure"     // a person at a terminal has to say yes first; the text is what they agree to
	CodeHeld      Code = "held"       // accepted; it waits for a person or for a safe moment
	CodeUncertain Code = "uncertain"  // it may or may not have happened
	CodeTimeout   Code = "timeout"    // no answer in time
	CodeNoSidecar Code = "no_sidecar" // set by the client: nobody listens, or not one of ours
	CodeVersion   Code = "version"    // client and sidecar do not speak the same version
)

// Exit returns the exit code of a command that ends with the error.
func (c Code) Exit() int {
	switch c {
	case CodeUsage:
		return 2
	case CodeNoSidecar:
		return 3
	case CodeUncertain, CodeTimeout:
		return 4
	case CodeHeld:
		return 5
	}
	return 1
}

func (c Code) httpStatus() int {
	switch c {
	case CodeUsage:
		return http.StatusBadRequest
	case CodeNotFound:
		return http.StatusNotFound
	case CodeRefused, CodeUnsure:
		return http.StatusForbidden
	case CodeHeld, CodeUncertain, CodeFailed:
		return http.StatusConflict
	case CodeTimeout:
		return http.StatusGatewayTimeout
	case CodeVersion:
		return http.StatusUpgradeRequired
	}
	return http.StatusInternalServerError
}

// Kind is a finer class than Code, for errors that callers handle differently.
type Kind string

// The kinds.
const (
	NoPane       Kind = "no_pane"       // tmux has no such pane
	NoSession    Kind = "no_session"    // nothing of that name is adopted
	SessionEnded Kind = "session_ended" // it was adopted once
	NoComputer   Kind = "no_computer"   // no computer of that name is linked
	NoChat       Kind = "no_chat"
	ChatEnded    Kind = "chat_ended"
	InChat       Kind = "in_chat"       // a session is in another chat, or in this one already
	Unadoptable  Kind = "not_adoptable" // the pane cannot be adopted as it is
	PersonOnly   Kind = "person_only"   // only a person may do it, or allow it
	Unproven     Kind = "unproven"      // nothing proves who calls, and not everybody may
	Absent       Kind = "absent"        // set by the client: nobody listens there or accepts calls; not for a listener that is not trusted
	Unanswered   Kind = "unanswered"    // the sidecar runs but answers nothing
	CutOff       Kind = "cut_off"       // a stream broke off: the sidecar is gone, or the reader stood still
	Worded       Kind = "worded"        // the text comes from a protocol's document and is shown as it stands
)

// Error is an error on the wire, the same on both sides.
type Error struct {
	Text string `json:"error"`
	Hint string `json:"hint,omitempty"` // the next step, where there is one
	Code Code   `json:"code"`
	Kind Kind   `json:"kind,omitempty"`
	Ref  string `json:"ref,omitempty"` // how the request named the thing that the Kind is about

	// Set only by the client.
	cause  error // the system's error
	unread bool  // the sidecar provably has not carried the request out
	theirs bool  // the sidecar sent this error
}

// Errorf makes an error with a code. It wraps the operand of %w, on this side of the wire.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Text: brief(err.Error()), Code: code, cause: errors.Unwrap(err)}
}

// FromSidecar reports whether the sidecar sent this error. A sidecar logs what it refuses.
func (e *Error) FromSidecar() bool { return e.theirs }

// An error may quote its input, even a name of a megabyte. These limits keep it readable.
const (
	maxWord, keptOfWord = 1024, 64
	maxText             = 16 << 10
)

// brief returns a text with its endless words cut short; a text that is short already is returned as it is.
func brief(text string) string {
	if len(text) <= maxWord {
		return text
	}
	var b strings.Builder
	for rest := text; rest != "" && b.Len() < maxText; {
		n := strings.IndexAny(rest, " \n\t")
		if n < 0 {
			n = len(rest)
		}
		if word := rest[:n]; n > maxWord {
			b.WriteString(strings.ToValidUTF8(word[:keptOfWord], "") + "…" + strings.ToValidUTF8(word[n-keptOfWord:], ""))
		} else {
			b.WriteString(word)
		}
		if n < len(rest) {
			b.WriteByte(rest[n])
			n++
		}
		if rest = rest[n:]; rest != "" && b.Len() >= maxText {
			b.WriteString("…")
		}
	}
	return b.String()
}

// WithHint returns the error with a next step added to it.
func (e *Error) WithHint(format string, args ...any) *Error {
	hinted := *e
	hinted.Hint = brief(fmt.Sprintf(format, args...))
	return &hinted
}

// About returns the error with a kind, about the thing that the request called ref.
func (e *Error) About(kind Kind, ref string) *Error {
	about := *e
	about.Kind, about.Ref = kind, brief(ref)
	return &about
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause of the error, on the side of the wire where it was made.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns err as it goes over the wire: the *Error that it wraps with the text of err itself, or an
// error with CodeFailed.
func AsError(err error) *Error {
	inner, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Text: brief(err.Error()), Code: CodeFailed, cause: err}
	}
	return &Error{Text: brief(err.Error()), Hint: inner.Hint, Code: inner.Code, Kind: inner.Kind, Ref: inner.Ref, cause: err, theirs: inner.theirs}
}
