package handshake

// The types of messages that belong to a handshake, as the lesson has them. A plan and the answer to
// it have the same one, and differ by approve.
const (
	TypeShutdownRequest  = "shutdown_request"
	TypeShutdownResponse = "shutdown_response"
	TypePlan             = "plan_approval_response"
)

// Canonical is the lesson's own word for a type, of which its diagrams have others.
func Canonical(kind string) string {
	switch kind {
	case "plan_approval", "plan_approval_request":
		return TypePlan
	}
	return kind
}

// Said is what a message has that a handshake may depend on. What stands in its body is none of it.
type Said struct {
	Type    string
	ID      string
	Approve *bool  // nil: the message has none
	Note    string // its reason or feedback
}

// Answer is a yes or no to a request.
type Answer struct {
	Kind    Kind
	ID      string
	Approve bool
	Note    string
}

// answers are the types of messages that are answers, if they say approve.
var answers = map[string]Kind{TypeShutdownResponse: Shutdown, TypePlan: Plan}

// Answer is the answer that a message is, if it is one.
func (s Said) Answer() (a Answer, is bool) {
	kind, is := answers[Canonical(s.Type)]
	if !is || s.Approve == nil || !ValidID(s.ID) {
		return Answer{}, false
	}
	return Answer{kind, s.ID, *s.Approve, s.Note}, true
}
