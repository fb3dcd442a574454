package aea

import (
	"regexp"
	"strings"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// privateKey is the first line of a private key. A message that has no more of one than this is
// refused too: what is refused is sent again without it, and nothing is lost.
var privateKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
})

// Secret says what credential a text has ("a GitHub token"), "" for none that is known by its
// shape.
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

// Secret is the credential that the message has, "" for none.
func (m Message) Secret() string {
	text := m.Subject + "\n" + m.Text()
	for _, tag := range m.Tags {
		text += "\n" + tag
	}
	return Secret(text)
}
