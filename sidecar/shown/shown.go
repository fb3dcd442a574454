// Package shown compares a text with what a terminal shows of it. Terminals, and the programs that draw in
// them, wrap a text and put one character in place of several. They leave out what does not fit into a cell or
// what they do not know: the later members of a family of emoji, marks, selectors, half a flag, an emoji of a
// newer Unicode. So a part of what was sent may be missing from the screen. The package never skips a character
// that is shown and was not sent, and never accepts that a letter, a digit, or a punctuation, mathematical or
// currency sign is missing.
//
// All functions but Ink and Assigned take the ink of texts. They are pure.
package shown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Ink returns a text without what terminals and programs add or lose when they wrap and draw it: blanks, line
// breaks, control characters, marks that have no cell of their own, and the difference between a composed
// letter and the letter followed by its mark.
func Ink(text string) string {
	bare := true
	for i := 0; i < len(text); i++ {
		if text[i] <= ' ' || text[i] >= 0x7f {
			bare = false
			break
		}
	}
	if bare {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
			return -1
		}
		return r
	}, norm.NFD.String(text))
}

// Same reports whether shown shows all of the text, and nothing else. An empty shown never matches.
func Same(text, shown string) bool {
	used, ok := Follow(text, shown)
	return ok && shown != "" && Over(text[used:])
}

// Follow reports whether a shown piece may be the beginning of text, and how many bytes of text it shows at
// least: the characters that may be missing after it may also be shown by the next piece.
func Follow(text, piece string) (used int, ok bool) {
	if strings.HasPrefix(text, piece) {
		return len(piece), true
	}
	for _, r := range piece {
		for {
			next, size := utf8.DecodeRuneInString(text[used:])
			if size == 0 {
				return 0, false
			}
			used += size
			if next == r {
				break
			}
			if !missing(next) {
				return 0, false
			}
		}
	}
	return used, true
}

// Over reports whether all the rest of a text may be missing.
func Over(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !missing(r) }) < 0
}

// Within reports whether the whole text is shown somewhere in shown.
func Within(text, shown string) bool {
	if strings.Contains(shown, text) {
		return true
	}
	if ascii(text) {
		return false
	}
	for from := range shown {
		if begins(text, shown[from:]) {
			return true
		}
	}
	return false
}

// begins reports whether shown begins with the text.
func begins(text, shown string) bool {
	any := false
	for _, r := range text {
		next, size := utf8.DecodeRuneInString(shown)
		switch {
		case size > 0 && next == r:
			shown, any = shown[size:], true
		case !missing(r):
			return false
		}
	}
	return any
}

func ascii(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// missing reports whether a terminal may leave out a character: one that goes into the cell of the character
// before it, or whose width not all terminals agree on. It looks at the character alone, so that the first
// place where a piece may end is always as good as any later one.
func missing(r rune) bool {
	switch {
	case r < 0xa0:
		return false
	case r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff: // vowels and ends of Hangul
		return true
	case unicode.In(r, unicode.So, unicode.Sk, unicode.Mc, unicode.Co):
		return true
	}
	return !Assigned(r)
}

// Assigned reports whether a character is in the Unicode version of this program: a newer character may belong
// to any class.
func Assigned(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co)
}
