package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestText(t *testing.T) {
	f := message.Form{Head: "[Ada] (1):", Separator: "\n\n"}
	asIs := f
	asIs.AsIs = true
	for name, c := range map[string]struct {
		f    message.Form
		e    message.Envelope
		want string
	}{
		"body alone":        {f, message.Envelope{Body: "one\ntwo"}, "[Ada] (1):\n\none\ntwo"},
		"subject":           {f, message.Envelope{Subject: "the plan", Body: "one"}, "[Ada] (1):\n\nSubject: the plan\n\none"},
		"subject in a line": {f, message.Envelope{Subject: " the\n\tplan\u00a0", Body: "one"}, "[Ada] (1):\n\nSubject: the plan\n\none"},
		"blank subject":     {f, message.Envelope{Subject: " \n", Body: "one"}, "[Ada] (1):\n\none"},
		"subject alone":     {f, message.Envelope{Subject: "the plan"}, "[Ada] (1):\n\nSubject: the plan\n\n"},
		"as is":             {asIs, message.Envelope{Subject: "the plan", Body: "one"}, "[Ada] (1):\n\none"},
	} {
		assert.Equal(t, c.want, Text(c.f, c.e), name)
		assert.Equal(t, strings.TrimPrefix(c.want, "[Ada] (1):\n\n"), Words(c.f, c.e), name)
	}
}

// Whatever text a person makes of the words, it is typed byte for byte: Words puts together what Parse takes
// apart.
func TestParse_isTheReverse(t *testing.T) {
	for _, text := range []string{"", "one", "Subject: ", "Subject: \n\nx", "Subject: a\n\n", "Subject: a\nb\n\nx", "Subject:  a\n\nx", "Subject: a\u00a0\n\nx", "subject: a\n\nx"} {
		subject, body := Parse(text)
		assert.Equal(t, text, Words(message.Form{}, message.Envelope{Subject: subject, Body: body}), "%q", text)
	}
	long := strings.Repeat("x", message.MaxSubject+1)
	subject, body := Parse("Subject: " + long + "\n\nx")
	assert.Equal(t, []string{"", "Subject: " + long + "\n\nx"}, []string{subject, body}, "more than a subject may have")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab: \n\tSubject\u00a0"))).Draw(t, "text")
		if rapid.Bool().Draw(t, "marked") {
			text = "Subject: " + text
		}
		subject, body := Parse(text)
		if again := Words(message.Form{}, message.Envelope{Subject: subject, Body: body}); again != text {
			t.Fatalf("%q became %q", text, again)
		}
		e := message.Envelope{Subject: rapid.StringN(0, 20, -1).Draw(t, "subject"), Body: text}
		if subject, body = Parse(Words(message.Form{}, e)); oneLine(e.Subject) != "" {
			assert.Equal(t, []string{oneLine(e.Subject), e.Body}, []string{subject, body})
		}
	})
}
