package message

// ErrorKind distinguishes errors that callers handle differently. Callers never compare the text of
// an error.
type ErrorKind string

// The kinds of errors of the relay and the registry.
const (
	KindUnknown      ErrorKind = "unknown"   // nothing has that name or id
	KindGone         ErrorKind = "gone"      // something had it once
	KindAmbiguous    ErrorKind = "ambiguous" // more than one thing has it
	KindBadName      ErrorKind = "bad name"
	KindTaken        ErrorKind = "taken" // somebody else has the name
	KindInChat       ErrorKind = "in chat"
	KindStopped      ErrorKind = "stopped"
	KindChatEnded    ErrorKind = "chat ended"
	KindAtLimit      ErrorKind = "at limit"
	KindPersonOnly   ErrorKind = "person only"
	KindNothingSaid  ErrorKind = "nothing said"
	KindUnfiltered   ErrorKind = "unfiltered"
	KindAdopted      ErrorKind = "adopted"
	KindUnwritable   ErrorKind = "unwritable"
	KindUnanswered   ErrorKind = "unanswered"   // the request was made, and may have been carried out
	KindNotPossible  ErrorKind = "not possible" // in no state of things
	KindNotAdoptable ErrorKind = "not adoptable"
)

// OfKind is an error with a kind.
type OfKind interface {
	error
	ErrorKind() ErrorKind
}

// NewError returns an error of a kind.
func NewError(kind ErrorKind, text string) error { return &kindError{kind, text} }

type kindError struct {
	kind ErrorKind
	text string
}

func (e *kindError) Error() string        { return e.text }
func (e *kindError) ErrorKind() ErrorKind { return e.kind }
