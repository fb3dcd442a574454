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

// afterHead stands between a person's own attribution and the body, where it does not say.
const afterHead = "\n\n"

// CheckAttribution refuses a form of attribution that could be taken for a command.
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

// attributed is the head, and what separates it from the body, that a person's own form of
// attribution makes of words in a chat; none for what has another head.
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
	if chat.Limits.Header == render.HeaderBoth && m.Origin != message.OriginHuman {
		head = render.Header(m.From) + " " + head
	}
	return head, separator
}

func expand(form, name string, number int) string {
	return strings.NewReplacer("{name}", name, "{number}", strconv.Itoa(number)).Replace(form)
}

// parted is a head without the blanks behind it, and those.
func parted(text string) (head, separator string) {
	head = strings.TrimRight(text, " \t\n")
	if separator = text[len(head):]; separator == "" {
		separator = afterHead
	}
	return head, separator
}

// formatted takes a text that a script made apart. What stands before the body is the head, if
// there may be one such; of all else the body alone is the script's.
func formatted(text, body string) (head, separator, rest string) {
	i := strings.LastIndex(text, body) // a short one may well stand in the head too
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

// prompted is a body with what its reader is told to do with it.
func prompted(body string, d policy.Decision) string {
	if d.Prompt == "" {
		return body
	}
	return body + "\n\n" + d.Prompt
}
