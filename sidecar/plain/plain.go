// Package plain makes text from others safe to show on a terminal and to paste into a shell, and measures its
// width there. It is pure.
//
// Bodies, titles and names come from programs that the sidecar does not trust. What is shown of them never
// contains anything that acts on a terminal, or that changes how the rest is read.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Beginning returns text, or as many of its first characters as fit into most bytes.
func Beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Text makes text safe to print: it escapes each character that Acts, except line breaks, and each byte that is
// not UTF-8. A tab becomes four blanks.
func Text(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case Acts(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case Acts(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case Acts(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// Line is Text for a place that takes one line: a line break becomes " ⏎ ".
func Line(text string) string {
	return strings.ReplaceAll(Text(text), "\n", " ⏎ ")
}

// spelling holds the characters that Unicode counts as format or as ignorable, but that words or pictures need:
// without them these would be others, or none. None of them moves, hides or replaces a character beside it. The
// other characters of these classes are left out: those that turn the direction of a text, tags (including
// those of flags, which spell any text invisibly), fillers, and the selectors, 256 of which spell any byte.
var spelling = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0600, 0x0605, 1}, // Arabic signs that are drawn round a number
		{0x06dd, 0x06dd, 1}, // the end of an ayah, likewise
		{0x070f, 0x070f, 1}, // the Syriac line over an abbreviation
		{0x0890, 0x0891, 1}, // Arabic signs of money, drawn round a number
		{0x08e2, 0x08e2, 1}, // the end of a disputed ayah
		{0x180b, 0x180f, 1}, // Mongolian: which form a letter has, and the vowel that stands apart
		{0x200c, 0x200d, 1}, // Persian, and the scripts of India: where letters join; the second joins emoji, too
		{0xfe0e, 0xfe0f, 1}, // whether a character is drawn as text or as a picture
	},
	R32: []unicode.Range32{
		{0x110bd, 0x110bd, 1}, // Kaithi signs that are drawn round a number
		{0x110cd, 0x110cd, 1},
		{0x13430, 0x1343f, 1}, // Egyptian: where a hieroglyph stands beside another
	},
}

// Acts reports whether r is more to a terminal, or to a reader's eye, than a visible character or one that
// spelling needs.
func Acts(r rune) bool {
	if r < 0x80 { // the common case
		return r < ' ' || r == 0x7f
	}
	return !unicode.Is(spelling, r) &&
		(unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}
