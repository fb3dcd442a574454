package relay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// cut handles a turn that was cut short: its words go to nobody, a person is told, and each agent
// whose message stays unanswered is told once; cut returns those agents. c is the chat in which the
// peer is heard, or nil; stops are the callers that await the end of the turn; prompted says that
// its person's prompt was relayed there.
func (tx *tx) cut(t message.Turn, s *peer, c *chat, depth int, unanswered []*delivery, stops []stop, prompted bool) (told []message.ID) {
	if c != nil {
		passed := "nothing was relayed"
		if prompted {
			passed = "only the prompt was relayed"
		}
		tx.notice(c.ID, fmt.Sprintf("%s; %s", cutShort(s.Name, t.Cut), passed))
	}
	// The latest first: the notice is a reply to it.
	for _, d := range slices.Backward(unanswered) {
		author := tx.present(d.Message.From.Peer)
		switch {
		case author == nil || slices.Contains(told, author.ID):
			continue
		case d.Message.Chat == "" && bounds[author.Kind].hears && !slices.ContainsFunc(stops, func(one stop) bool { return one.caller == author.ID }):
			continue // its author wants no notices
		case !d.Message.Origin.OfAgent():
			continue // its author sees it, and a notice asks for no answer
		case d.Chat != "" && (c == nil || c.ID != d.Chat || !c.maySpeak(author.ID)):
			continue
		}
		told = append(told, author.ID)
		in := c
		if d.Chat == "" {
			in = nil
		}
		tx.tellAuthor(d.Message, author, address(s), in, stopped(s, string(t.Cut)+"; your message was not answered"), depth)
	}
	return told
}

// cutShort says in a sentence for people who stopped, and why.
func cutShort(name string, why message.Reason) string {
	switch why {
	case message.Interrupted:
		return name + " was interrupted"
	case message.ServiceFailed:
		return name + "'s model service failed"
	}
	return fmt.Sprintf("%s stopped: %s", name, why)
}

// prompted relays to the others what a person typed by hand into the peer's pane, if the chat wants
// that. It reports whether it did.
func (tx *tx) prompted(t message.Turn, s *peer, c *chat) bool {
	if !c.Limits.Person || strings.TrimSpace(t.Prompt) == "" {
		return false
	}
	body, short := trim(t.Prompt)
	m := tx.personal(By{Kind: Person, Name: tx.person}, body, c)
	m.ID, m.Created, m.Truncated = promptID(t.ID), t.Ended, short
	for _, id := range c.there() {
		if other := tx.present(id); other != nil && id != s.ID && (!c.OneWay || id == c.Asker()) {
			m.To = append(m.To, address(other))
		}
	}
	tx.receive(&pending{message: m, chat: c})
	return true
}
