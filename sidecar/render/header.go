package render

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Header returns the header of a message from an agent, `AI[computer:session] |`, without the space that
// follows it. An address without a computer is on this one.
func Header(from message.Address) string {
	return fmt.Sprintf("AI[%s:%s] |", cmp.Or(from.Computer, message.LocalComputer), from.Peer)
}

// header matches a header at the beginning of a text: a computer, a session's UUID or the word for an
// unverified sender, and the bar between two single spaces.
var header = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^AI\[([^\s\pC\x{fffd}:|\[\]]{1,64}):([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|` + string(message.Unverified) + `)\] \| `)
})

// ParseHeader splits a text in the form of the collaboration document: it returns whom the header at its very
// beginning names, and all that follows, byte for byte. A second header is content. No text can prove that the
// named session wrote it.
func ParseHeader(text string) (from message.Address, content string, ok bool) {
	found := header().FindStringSubmatch(text)
	if found == nil {
		return message.Address{}, text, false
	}
	return message.Address{Computer: found[1], Peer: message.ID(found[2])}, text[len(found[0]):], true
}

// FormatHeader puts the header of from before a text, unless it is there already: there is never more than one.
// Another session's header is content, and stays. It returns an error for a computer or session that
// ParseHeader would not accept.
func FormatHeader(from message.Address, content string) (string, error) {
	own := Header(from) + afterHeader
	if _, rest, ok := ParseHeader(own); !ok || rest != "" {
		return "", fmt.Errorf("header %q: a computer has no space, colon, bar or bracket, and a session is a UUID", own)
	}
	return own + without(own, content), nil
}

// without returns a body without leading copies of the author's own header.
func without(own, body string) string {
	for strings.HasPrefix(body, own) {
		body = body[len(own):]
	}
	return body
}
