// Package plain makes text of others safe to show on a terminal and to paste into a shell, and measures it there. It is pure.
//
// Bodies, titles and names come from programs that we do not trust. What is shown of them never
// contains what could act on a terminal, nor what changes how the rest is read.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Beginning is text, or as many of its first characters as have no more bytes than most.
func Beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Text makes text safe to print: what Acts, other than the line break, stands there as
// an escape; bytes that are no UTF-8 too.
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

// Line is Text for a place where one line is expected.
func Line(text string) string {
	return strings.ReplaceAll(Text(text), "\n", " ⏎ ")
}

// spelling is what Unicode counts as format or as ignorable, and what words or pictures are written with: without it they
// are others, or none. None of it moves, hides or replaces a character beside it. All else of these classes goes: what
// turns the direction of a text, tags (also those of flags, which spell any text that nobody sees), fillers, and the
// selectors of which 256 spell any byte.
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

// Acts reports whether a terminal, or a reader's eye, takes r for something else than a
// character that is seen, or that spelling needs.
func Acts(r rune) bool {
	if r < 0x80 { // most of all text
		return r < ' ' || r == 0x7f
	}
	return !unicode.Is(spelling, r) &&
		(unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}
