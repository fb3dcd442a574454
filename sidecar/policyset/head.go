package policyset

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// afterHead separates a person's own attribution from the body, if the attribution does not end in blanks of its own.
const afterHead = "\n\n"

// CheckAttribution returns an error for an attribution that an agent could take for a command.
func CheckAttribution(form string) error {
	if form == "" {
		return nil
	}
	head, _ := parted(expand(form, "Ada", 1))
	if !sanitise.Leads(head) {
		return fmt.Errorf("attribution %q must begin with a letter, {name} or an opening bracket: agents take other characters for commands", form)
	}
	return nil
}

// attributed returns the head of a message in a chat in the person's own form of attribution, and the separator between
// it and the body. It returns nothing for messages with another head, and for a name with which the form would begin
// with a character that no head may begin with: such a message has the built-in head.
func attributed(form string, m message.Envelope, chat *message.Chat) (head, separator string) {
	if form == "" || chat == nil || m.Origin == message.OriginSystem {
		return "", ""
	}
	name, number := m.From.Name, m.From.Number
	for _, p := range chat.Participants {
		if p.Peer == m.From.Peer && m.From.Peer != "" {
			name, number = p.Name, p.Number
		}
	}
	if m.Origin == message.OriginHuman {
		number = 0
	}
	head, separator = parted(expand(form, name, number))
	if !sanitise.Leads(head) {
		return "", ""
	}
	if chat.Limits.Header == render.HeaderBoth && m.Origin != message.OriginHuman {
		head = render.Header(m.From) + " " + head
	}
	return head, separator
}

func expand(form, name string, number int) string {
	return strings.NewReplacer("{name}", name, "{number}", strconv.Itoa(number)).Replace(form)
}

// parted returns a head without its trailing blanks, and those blanks.
func parted(text string) (head, separator string) {
	head = strings.TrimRight(text, " \t\n")
	if separator = text[len(head):]; separator == "" {
		separator = afterHead
	}
	return head, separator
}

// formatted splits a text that a script made. The part before the body becomes the head, if such a head is permitted.
// Otherwise the whole text is the body.
func formatted(text, body string) (head, separator, rest string) {
	i := strings.LastIndex(text, body) // a short body may also occur in the head
	if i <= 0 || body == "" {
		return "", "", text
	}
	head, rest = text[:i], text[i:]
	trimmed := strings.TrimRight(head, " \t\n")
	if !sanitise.Leads(trimmed) {
		return "", "", text
	}
	return trimmed, head[len(trimmed):], rest
}

// prompted returns a body followed by the prompt for its reader.
func prompted(body string, d policy.Decision) string {
	if d.Prompt == "" {
		return body
	}
	return body + "\n\n" + d.Prompt
}
