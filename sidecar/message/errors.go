package message

// ErrorKind tells one error from another where somebody does something else for it: never its text.
type ErrorKind string

// The kinds of errors that operations of the relay and the registry end in.
const (
	KindUnknown      ErrorKind = "unknown"   // nothing goes by that
	KindGone         ErrorKind = "gone"      // it did once
	KindAmbiguous    ErrorKind = "ambiguous" // more than one does
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
	KindUnanswered   ErrorKind = "unanswered"   // it was asked for, and may have happened
	KindNotPossible  ErrorKind = "not possible" // whatever the state of things
	KindNotAdoptable ErrorKind = "not adoptable"
)

// OfKind is an error that says of which kind it is.
type OfKind interface {
	error
	ErrorKind() ErrorKind
}

// NewError makes an error of a kind.
func NewError(kind ErrorKind, text string) error { return &kindError{kind, text} }

type kindError struct {
	kind ErrorKind
	text string
}

func (e *kindError) Error() string        { return e.text }
func (e *kindError) ErrorKind() ErrorKind { return e.kind }
