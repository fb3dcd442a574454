package api

import (
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Decide is a person's decision about a message that waits for one. The first one counts;
// it given once more changes nothing, and any other is refused. Only a person at a
// terminal may.
var Decide = Op[DecideRequest, Decided]{Name: "inbox/decide", Door: atTerminal("decide about a held message", "or a start that an agent asked for"), Check: checkDecide, Whole: func(d Decided) Decided {
	d.Waiting, d.Deliveries = list(d.Waiting), list(d.Deliveries)
	return d
}}

// Choice is what a person decides about a message.
type Choice string

// The choices.
const (
	ChoiceApprove Choice = "approve" // it goes as it stands, or as the person made it
	ChoiceReject  Choice = "reject"  // it goes nowhere
	ChoiceReply   Choice = "reply"   // it goes nowhere, and the person answers its author
)

// DecideRequest is a person's decision about a message, named by its id or by that of one of
// its deliveries, or the end of either.
type DecideRequest struct {
	ID     string  `json:"id"`
	Choice Choice  `json:"choice"`
	Body   *string `json:"body,omitempty"` // of ChoiceApprove: what goes in the place of its text
	Say    string  `json:"say,omitempty"`  // of the others: to its author; needed by ChoiceReply
	// Sure is the word itself; without, it is only told whether it would count.
	Sure bool `json:"sure,omitempty"`
}

// Decided is what was decided about a message.
type Decided struct {
	Message    message.ID        `json:"message"`
	Choice     Choice            `json:"choice"`
	Edited     bool              `json:"edited,omitempty"`
	Already    bool              `json:"already,omitempty"` // it had been decided like that before
	By         message.Person    `json:"by,omitzero"`       // who decided; nobody where Sure was not set
	At         time.Time         `json:"at,omitzero"`
	Waiting    []Held            `json:"waiting"`    // what waited, before the decision
	Deliveries []message.Receipt `json:"deliveries"` // what became of it so far
}

// Because is why a person is asked about what waited, and by which rules, each once.
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
