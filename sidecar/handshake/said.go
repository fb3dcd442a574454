package handshake

// The types of messages that belong to a handshake, as the lesson names them. A plan and its answer
// have the same type; only the answer has approve.
const (
	TypeShutdownRequest  = "shutdown_request"
	TypeShutdownResponse = "shutdown_response"
	TypePlan             = "plan_approval_response"
)

// Canonical returns the lesson's own word for a type; its diagrams use other words.
func Canonical(kind string) string {
	switch kind {
	case "plan_approval", "plan_approval_request":
		return TypePlan
	}
	return kind
}

// Said is the part of a message that a handshake may depend on. The text of its body is not part of
// it.
type Said struct {
	Type    string
	ID      string
	Approve *bool  // nil: the message has none
	Note    string // the message's reason or feedback
}

// Answer is a yes or no to a request.
type Answer struct {
	Kind    Kind
	ID      string
	Approve bool
	Note    string
}

// answers maps the types of messages that are answers, if they have approve, to the kinds of their
// handshakes.
var answers = map[string]Kind{TypeShutdownResponse: Shutdown, TypePlan: Plan}

// Answer returns the answer that a message is, if it is one.
func (s Said) Answer() (a Answer, is bool) {
	kind, is := answers[Canonical(s.Type)]
	if !is || s.Approve == nil || !ValidID(s.ID) {
		return Answer{}, false
	}
	return Answer{kind, s.ID, *s.Approve, s.Note}, true
}
