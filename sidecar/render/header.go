package render

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Header is the header of a message from an agent, `AI[computer:session] |`, without the
// space that follows it. A computer without a name is the own one.
func Header(from message.Address) string {
	return fmt.Sprintf("AI[%s:%s] |", cmp.Or(from.Computer, message.LocalComputer), from.Peer)
}

// header is what a text begins with that has one: a computer, a session's UUID or the word of an
// unverified sender, and the bar between two single spaces.
var header = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^AI\[([^\s\pC\x{fffd}:|\[\]]{1,64}):([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|` + string(message.Unverified) + `)\] \| `)
})

// ParseHeader takes apart a text of the collaboration document's form: whom the header at its very
// beginning names, and all that follows it, to the byte. A second header is content. Whether the
// named session is who wrote it, no text can tell.
func ParseHeader(text string) (from message.Address, content string, ok bool) {
	found := header().FindStringSubmatch(text)
	if found == nil {
		return message.Address{}, text, false
	}
	return message.Address{Computer: found[1], Peer: message.ID(found[2])}, text[len(found[0]):], true
}

// FormatHeader puts the header of from before a text, unless it stands there already: one header,
// never two. Another session's header is content, and stays. The error is that of a computer or
// session that ParseHeader would not read again.
func FormatHeader(from message.Address, content string) (string, error) {
	own := Header(from) + afterHeader
	if _, rest, ok := ParseHeader(own); !ok || rest != "" {
		return "", fmt.Errorf("header %q: a computer has no space, colon, bar or bracket, and a session is a UUID", own)
	}
	return own + without(own, content), nil
}

// without is a body without the author's own header before it, which would say the same once more.
func without(own, body string) string {
	for strings.HasPrefix(body, own) {
		body = body[len(own):]
	}
	return body
}
