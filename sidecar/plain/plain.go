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

// Text makes text safe to print: control characters other than the line break, and
// invisible ones that change what is read (bidirectional, zero width), stand there as
// escapes; bytes that are no UTF-8 too.
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

// Acts reports whether a terminal, or a reader's eye, takes r for something else than a
// visible character. Of those that are not seen at all, U+200D joins emoji, and U+FE0E and
// U+FE0F choose their form.
func Acts(r rune) bool {
	if r < 0x80 { // most of all text
		return r < ' ' || r == 0x7f
	}
	if r == '\u200d' || r == '\ufe0e' || r == '\ufe0f' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
