package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestOnScreen_literalGlob(t *testing.T) {
	for text, want := range map[string]string{
		"hello":           "hello",
		" a b ":           "a b",
		"100% #{x} [a]*?": "100? ??x? ?a???",
		`\"'$;,:/~`:       "",
		"???":             "",
		"日本\x1b":          "日本?",
		"x\xffy":          "x?y",
	} {
		got, err := literalGlob(text)
		assert.Equal(t, want, got)
		assert.Equal(t, want == "", err != nil, text)
	}
}

func TestArgv_lastSemicolonIsEscaped(t *testing.T) {
	assert.Equal(t, []string{"set", `a\;`, ";", "x", `\;`, "b;c"}, Argv([]Command{of("set", "a;"), of("x", ";", "b;c")}))
}

func TestSequence_isOneLineOfHarmlessBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOf(rapid.Byte()).Draw(t, "word")
		line := Sequence([]Command{of("set-buffer", string(word))})
		for i := range len(line) {
			if line[i] < ' ' || line[i] > '~' {
				t.Fatalf("byte %#x in %q", line[i], line)
			}
		}
		if strings.Count(line, `"`) != 4 {
			t.Fatalf("quotes in %q", line)
		}
	})
}
