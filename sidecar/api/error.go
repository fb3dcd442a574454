package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Code says what kind of error it is. The codes are part of the contract of the API; an
// exit code follows from each.
type Code string

// The codes.
const (
	CodeUsage     Code = "usage"      // the request makes no sense, whatever the state of things
	CodeFailed    Code = "failed"     // it was tried, and did not come about
	CodeNotFound  Code = "not_found"  // nothing has that name
	CodeRefused   Code = "refused"    // it may not be done, or not by this caller
	CodeUnsure    Code = "unsure"     // a person at a terminal has to say yes first; the text is what to
	CodeHeld      Code = "held"       // accepted, and waits for a person or for a safe moment
	CodeUncertain Code = "uncertain"  // it may or may not have come about
	CodeTimeout   Code = "timeout"    // no answer in time
	CodeNoSidecar Code = "no_sidecar" // made by the client: nobody listens, or not one of ours
	CodeVersion   Code = "version"    // client and sidecar do not speak the same version
)

// Exit is the exit code of a command that ends with the error.
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

// Kind says more closely than a code what an error is, where somebody does something else for
// one kind than for another.
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
	PersonOnly   Kind = "person_only"   // only a person may do it, or what would let it be done
	Unproven     Kind = "unproven"      // nothing shows who calls, and not everybody may
	Absent       Kind = "absent"        // made by the client: nobody listens there, or takes calls, as opposed to somebody who is not trusted
	Unanswered   Kind = "unanswered"    // the sidecar runs, and answers nothing
	CutOff       Kind = "cut_off"       // a stream ended in the midst of it: the sidecar is gone, or who reads stood still
	Worded       Kind = "worded"        // the text is that of a protocol's document, to be shown as it stands
)

// Error is an error on the wire, the same on both sides.
type Error struct {
	Text string `json:"error"`
	Hint string `json:"hint,omitempty"` // the next step, where there is one
	Code Code   `json:"code"`
	Kind Kind   `json:"kind,omitempty"`
	Ref  string `json:"ref,omitempty"` // what the request called the thing that a Kind is about

	// Of the client only.
	cause  error // what the system said
	unread bool  // the sidecar provably has not carried the request out
	theirs bool  // the sidecar answered so
}

// Errorf makes an error with a code. A %w operand can be unwrapped on this side of the wire.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Text: brief(err.Error()), Code: code, cause: errors.Unwrap(err)}
}

// FromSidecar reports whether the sidecar has answered so, which has logged then what it refuses.
func (e *Error) FromSidecar() bool { return e.theirs }

// What an error repeats of what it was given, a name of a megabyte too, is no longer than somebody reads.
const (
	maxWord, keptOfWord = 1024, 64
	maxText             = 16 << 10
)

// brief is a text with its endless words cut short, and itself if it is one of many.
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

// About returns the error as one of a kind, about what the request called ref.
func (e *Error) About(kind Kind, ref string) *Error {
	about := *e
	about.Kind, about.Ref = kind, brief(ref)
	return &about
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns what caused the error, on the side of the wire where it was made.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns err as it goes over the wire: the *Error that it wraps, with the text
// of err itself, or an error of the code CodeFailed.
func AsError(err error) *Error {
	inner, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Text: brief(err.Error()), Code: CodeFailed, cause: err}
	}
	return &Error{Text: brief(err.Error()), Hint: inner.Hint, Code: inner.Code, Kind: inner.Kind, Ref: inner.Ref, cause: err, theirs: inner.theirs}
}
