package delta

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Only what stands between a text and the next prompt is its answer.
func TestAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		shown, text string
		want        Answer
		none        bool
	}{
		"at rest":           {"old\n> hello\none\ntwo\n> ", "hello", Answer{Before: []string{"old", "> "}, Words: "one\ntwo"}, false},
		"at work":           {"> hello\none", "hello", Answer{Before: []string{"> "}, Words: "one"}, false},
		"nothing yet":       {"> hello", "hello", Answer{Before: []string{"> "}}, false},
		"a draft":           {"> hello\none\n> dra", "hello", Answer{Before: []string{"> "}, Words: "one"}, false},
		"used by hand":      {"> hello\none\n> secret\nhidden\n> ", "hello", Answer{Before: []string{"> "}, Words: "one", Over: true}, false},
		"used at once":      {"> hello\n> secret\nhidden\n> ", "hello", Answer{Before: []string{"> "}, Over: true}, false},
		"the last of two":   {"> hello\none\n> hello\ntwo\n> ", "hello", Answer{Before: []string{"> hello", "one", "> "}, Words: "two"}, false},
		"wrapped":           {"> hel\nlo you\none\n> ", "hello you", Answer{Before: []string{"> "}, Words: "one"}, false},
		"continued":         {"> hello\n… you\none\n> ", "hello\nyou", Answer{Before: []string{"> "}, Words: "one"}, false},
		"more than it":      {"> hello and more\none\n> ", "hello", Answer{}, true},
		"a part of it":      {"> hel\none\n> ", "hello", Answer{}, true},
		"quoted":            {"one\nhello\n> ", "hello", Answer{}, true},
		"not there":         {"one\n> ", "hello", Answer{}, true},
		"nothing shown":     {"", "hello", Answer{}, true},
		"nothing was typed": {"> hello\none\n> ", " ", Answer{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := New(plainPrompt("> "), "… ")
			got, ok := tracker.Answer(strings.Split(c.shown, "\n"), c.text)
			assert.Equal(t, !c.none, ok)
			assert.Equal(t, c.want, got)
			assert.Zero(t, tracker.Pending())
		})
	}
}
