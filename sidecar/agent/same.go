package agent

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Same reports whether a prompt that the agent took is the text that was typed into it. Agents trim blanks at both
// ends, replace tabs by blanks or drop them, replace other line ends by line feeds, combine a letter and its accent
// into one character, and drop control and invisible characters. Everything else must be equal.
func Same(typed, taken string) bool {
	taken = canonical(taken)
	return canonical(typed) == taken || canonical(withoutTabs(typed)) == taken
}

// Within reports whether the typed text is contained in a longer prompt, for example together with somebody's
// draft, or in several prompts taken as one.
func Within(taken, typed string) bool {
	_, within := without(canonical(taken), typed)
	return within
}

// without removes a typed text from a prompt that contains it and returns the rest. The prompt is in canonical
// form.
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

// pasteMarks matches the marks that Claude Code puts around a long paste, both as it writes them and as it defuses
// those that a text contains.
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

// invisible reports whether a mark only changes how a character is drawn.
func invisible(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }
