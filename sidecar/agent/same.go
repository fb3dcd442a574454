package agent

import (
	"strings"
	"unicode"
)

// Same reports whether what an agent took as a prompt is what was typed into it. Agents
// trim blanks at both ends, make blanks of tabs, line feeds of other line ends, and drop
// control and invisible characters; all else must be equal.
func Same(typed, taken string) bool { return canonical(typed) == canonical(taken) }

// holds reports whether what was typed stands in a longer prompt: together with a draft of
// somebody else, or one prompt after another.
func holds(taken, typed string) bool {
	typed = canonical(typed)
	return typed != "" && strings.Contains(canonical(taken), typed)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\t", "    ")

func canonical(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) && invisible(r)) {
			return -1
		}
		return r
	}, lineEnds.Replace(s))
	return strings.TrimSpace(s)
}

// invisible are the marks that change nothing but how a character is drawn.
func invisible(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }
