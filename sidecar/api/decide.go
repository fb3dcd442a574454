package api

import (
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Decide takes a person's decision about a message that waits for one. The first decision counts: the same one
// again changes nothing, and a different one is refused. Only a person at a terminal may decide.
var Decide = Op[DecideRequest, Decided]{Name: "inbox/decide", Door: atTerminal("decide about a held message", "or a start that an agent asked for"), Check: checkDecide, Whole: func(d Decided) Decided {
	d.Waiting, d.Deliveries = list(d.Waiting), list(d.Deliveries)
	return d
}}

// Choice is what a person decides about a message.
type Choice string

// The choices.
const (
	ChoiceApprove Choice = "approve" // it is sent as it stands, or as the person edited it
	ChoiceReject  Choice = "reject"  // it is not sent
	ChoiceReply   Choice = "reply"   // it is not sent, and the person answers its author
)

// DecideRequest is a person's decision about a message, named by its id or that of one of its deliveries, or by
// the end of either.
type DecideRequest struct {
	ID     string  `json:"id"`
	Choice Choice  `json:"choice"`
	Body   *string `json:"body,omitempty"` // for ChoiceApprove: replaces the message's text
	Say    string  `json:"say,omitempty"`  // for the others: to its author; required for ChoiceReply
	// Sure makes the decision count; without it, the reply only says whether it would.
	Sure bool `json:"sure,omitempty"`
}

// Decided says what was decided about a message.
type Decided struct {
	Message    message.ID        `json:"message"`
	Choice     Choice            `json:"choice"`
	Edited     bool              `json:"edited,omitempty"`
	Already    bool              `json:"already,omitempty"` // the same decision was made before
	By         message.Person    `json:"by,omitzero"`       // who decided; nobody if Sure was not set
	At         time.Time         `json:"at,omitzero"`
	Waiting    []Held            `json:"waiting"`    // what waited before the decision
	Deliveries []message.Receipt `json:"deliveries"` // what became of it so far
}

// Because returns the reasons why a person is asked about what waited, and by which rules, each once.
func (d Decided) Because() (all []string) {
	for _, h := range d.Waiting {
		if because := h.Because(); because != "" && !slices.Contains(all, because) {
			all = append(all, because)
		}
	}
	return all
}

func checkDecide(req DecideRequest) error {
	switch {
	case !slices.Contains([]Choice{ChoiceApprove, ChoiceReject, ChoiceReply}, req.Choice):
		return Errorf(CodeUsage, "%q is not a decision", req.Choice).WithHint("use approve, reject or reply")
	case strings.TrimSpace(req.ID) == "":
		return Errorf(CodeUsage, "name a message")
	case req.Choice == ChoiceReply && strings.TrimSpace(req.Say) == "":
		return Errorf(CodeUsage, "nothing to reply")
	case req.Choice == ChoiceApprove && req.Say != "", req.Choice != ChoiceApprove && req.Body != nil:
		return Errorf(CodeUsage, "%s does not take a text", req.Choice)
	case req.Body != nil && strings.TrimSpace(*req.Body) == "":
		return Errorf(CodeUsage, "the text is empty").WithHint("intercom inbox reject %s rejects it", req.ID)
	}
	return nil
}
