package aea

import (
	"regexp"
	"strings"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// privateKey matches the first line of a private key. A message with only this line is refused too: its author
// can send it again without the line, so nothing is lost.
var privateKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
})

// Secret returns which credential a text has ("a GitHub token"), "" if it has none of a known shape.
func Secret(text string) string {
	kind := secret.Find(text)
	switch {
	case kind != "" && strings.ContainsRune("AEIOaeio", rune(kind[0])):
		return "an " + kind
	case kind != "":
		return "a " + kind
	case strings.Contains(text, "-----BEGIN ") && privateKey().MatchString(text):
		return "a private key"
	}
	return ""
}

// Secret returns which credential the message has, "" for none.
func (m Message) Secret() string {
	text := m.Subject + "\n" + m.Text()
	for _, tag := range m.Tags {
		text += "\n" + tag
	}
	return Secret(text)
}
