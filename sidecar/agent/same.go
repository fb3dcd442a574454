package agent

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Same reports whether what an agent took as a prompt is what was typed into it. Agents
// trim blanks at both ends, make blanks of tabs or drop them, line feeds of other line ends,
// one character of a letter and its accent, and drop control and invisible characters; all else must be equal.
func Same(typed, taken string) bool {
	taken = canonical(taken)
	return canonical(typed) == taken || canonical(withoutTabs(typed)) == taken
}

// Within reports whether what was typed stands in a longer prompt: together with a draft of
// somebody else, or one prompt after another.
func Within(taken, typed string) bool {
	_, within := without(canonical(taken), typed)
	return within
}

// without is what is left of a prompt, in its canonical form, without a text that was typed and
// stands in it.
func without(taken, typed string) (rest string, within bool) {
	for _, text := range []string{canonical(typed), canonical(withoutTabs(typed))} {
		if before, after, ok := strings.Cut(taken, text); ok && text != "" {
			return before + "\n" + after, true
		}
	}
	return taken, false
}

func withoutTabs(s string) string { return strings.ReplaceAll(s, "\t", "") }

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\t", "    ")

// pasteMarks are the marks that Claude Code puts around a long paste, as it writes them and as
// it defuses those that stand in a text.
var pasteMarks = regexp.MustCompile(`<\\?/?\\?pasted_content[^<>\n]*>`)

func canonical(s string) string {
	if strings.Contains(s, "pasted_content") {
		s = pasteMarks.ReplaceAllString(s, "")
	}
	s = strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) && invisible(r)) {
			return -1
		}
		return r
	}, lineEnds.Replace(s))
	return strings.TrimSpace(norm.NFC.String(s))
}

// invisible are the marks that change nothing but how a character is drawn.
func invisible(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }
