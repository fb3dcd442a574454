package service

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// An agent may read of a member of its chat what it hears there: nothing from before, and nothing that waits
// for a person's yes.
func TestReadsSince(t *testing.T) {
	began := time.Unix(1e9, 0)
	ada, ben := message.Peer{ID: "ada"}, message.Peer{ID: "ben"}
	for name, c := range map[string]struct {
		by      relay.By
		approve string
		ben     bool // needs a yes
		may     bool
		since   time.Time
	}{
		"in a chat":                  {by: relay.By{Kind: relay.Agent, Peer: "ada"}, may: true, since: began},
		"whose words wait":           {by: relay.By{Kind: relay.Agent, Peer: "ada"}, approve: message.ApproveAll},
		"one of whom needs a yes":    {by: relay.By{Kind: relay.Agent, Peer: "ada"}, approve: "ben", ben: true},
		"the other one needs a yes":  {by: relay.By{Kind: relay.Agent, Peer: "ada"}, approve: "ada", may: true, since: began},
		"a person":                   {by: relay.By{Kind: relay.Person}, approve: message.ApproveAll, may: true},
		"itself":                     {by: relay.By{Kind: relay.Agent, Peer: "ben"}, approve: message.ApproveAll, may: true},
		"somebody else":              {by: relay.By{Kind: relay.Agent, Peer: "cyd"}},
		"a process of nobody proven": {by: relay.By{Kind: relay.Unverified}},
	} {
		t.Run(name, func(t *testing.T) {
			chat := message.Chat{
				ID: "chat", State: message.ChatOn, Started: began, Limits: message.Limits{Approve: c.approve},
				Participants: []message.Participant{{Peer: "ada", Approve: c.approve == "ada"}, {Peer: "ben", Approve: c.ben}},
			}
			since, may := readsSince(c.by, ben, registry.New([]message.Peer{ada, ben}, []message.Chat{chat}))
			assert.Equal(t, c.may, may)
			if may {
				assert.Equal(t, c.since, since)
			}
		})
	}
}
