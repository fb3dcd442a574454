// Package sanitise is the one function that stands in front of every pane: whatever goes
// there as text goes through Text, so that the words of a peer press no key, move no
// cursor, hide nothing from the reader and cannot pass for what the sidecar itself writes.
// Journal, files and every other receiver keep the original.
//
// It is pure: no state, no goroutine, the same answer for the same text.
package sanitise

import (
	"strings"
	"unicode/utf8"
)

// Options say what else is known of the place that the text goes to. The zero value is
// right for every pane that runs no client of its own syntax; nothing in it can allow more
// than the zero value does.
type Options struct {
	// Head is the header or attribution that the sink puts before the text, without what
	// separates the two. A sender that has written exactly it at the very beginning of its
	// text, as some protocols ask, is not made to say it twice: it is taken away there,
	// once, with the blanks behind it, and that is no change. Anywhere else, and whatever
	// differs from it, it is a forgery like any other. A Head that is neither a header nor
	// an attribution is not looked for.
	Head string

	// What the client at hand would take for more than words. The zero value neutralises
	// nothing; profile.Active says which holds for whom.

	// At puts a backslash before each `@` that none escapes: its client reads the file that is
	// named behind one.
	At bool
	// Closes are the characters which, anywhere in the last word, make more of Enter, or of
	// themselves, than the end of a text: they open a list that takes Enter, or make a line
	// break of it. One blank is put behind such a text.
	Closes string
	// Skills are the names that a client loads where `$name` stands, whatever stands around it:
	// the two are parted by a blank. If there are any, so are they where the text of a link is
	// a `$name`, known or not: the link's target may be a skill.
	Skills []string
	// Keywords change how a client works wherever they stand, in any case of their letters.
	// Each is given with the one hyphen that is put into it: `ultra-code` is what becomes of
	// `ultracode`.
	Keywords []string
	// Pictures quotes each line that is nothing but an absolute path of a picture, or such paths
	// among others: its client reads the files, and puts what it makes of them first of all.
	Pictures bool
}

// Text makes body fit for a terminal whose program reads it as keys. It removes
//
//   - escape sequences with their payload (CSI, OSC, DCS, APC, PM, SOS, tmux passthrough,
//     in the forms with ESC and with C1), a string that is not ended up to the end of its
//     line; every other ESC;
//   - control characters but line break and Tab, DEL, C1;
//   - what is not seen: directional formatting, zero-width and other characters that
//     Unicode calls ignorable, variation selectors and tags, except the joiners between
//     letters of scripts that need them and inside emoji, the two presentation selectors
//     behind an emoji, and the tags of a flag;
//
// makes \n of CR LF, CR, VT, FF, NEL, U+2028 and U+2029 and U+FFFD of every byte that is
// not UTF-8, and puts "> " before each line that looks like a header or an attribution of
// the sidecar's, the first line included. What Options say of the client at hand is
// neutralised after all of that is gone which could hide it, and visibly: by a character
// more, never by one less.
//
// changed counts the characters removed, replaced or put in for the client, and the lines
// quoted; 0 means that clean is body, but for Options.Head. Text of its own result, with the
// same Options, changes nothing.
func Text(body string, opt Options) (clean string, changed int) {
	if !harmless(body) {
		body, changed = wash(body)
	}
	body = dropHead(body, opt.Head)
	body, active := neutralise(body, opt)
	body, quoted := quote(body, opt.Pictures)
	clean, closed := closeLast(body, opt.Closes)
	return clean, changed + active + quoted + closed
}

// harmless reports whether body is printable ASCII with line breaks and tabs, as nearly
// all text is.
func harmless(body string) bool {
	for i := range len(body) {
		if b := body[i]; b >= 0x7f || b < 0x20 && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

// wash is Text without the quoting. Each step sees what the one before it has left, so
// that nothing can hide from a step behind a character that another removes.
func wash(body string) (string, int) {
	runes, replaced := decode(body)
	total := len(runes)
	runes = filter(runes, func(r rune) bool { return !invisible(r) && !plainControl(r) })
	runes = withoutSequences(runes)
	runes, breaks := unifyBreaks(runes)
	runes = withoutStrays(runes)
	return string(runes), replaced + breaks + total - len(runes)
}

// decode turns body into characters, U+FFFD for each byte that is not part of one, and
// counts those.
func decode(body string) (runes []rune, invalid int) {
	runes = make([]rune, 0, len(body))
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRuneInString(body[i:])
		if r == utf8.RuneError && size == 1 {
			invalid++
		}
		runes = append(runes, r)
		i += size
	}
	return runes, invalid
}

func filter(runes []rune, keep func(rune) bool) []rune {
	kept := runes[:0]
	for _, r := range runes {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// plainControl reports whether r is a control character that neither breaks a line nor
// begins, ends or aborts a sequence: it means nothing and terminals obey or skip it even
// in the middle of a sequence.
func plainControl(r rune) bool {
	switch r {
	case '\n', '\t', '\r', '\v', '\f', esc, bel, can, sub, nel:
		return false
	case ss2, ss3, dcs, sos, csi, st, osc, pm, apc:
		return false
	}
	return r < 0x20 || r >= 0x7f && r <= 0x9f
}

// lineBreak reports whether r ends a line, in any of the ways that text has for it.
func lineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', nel, 0x2028, 0x2029:
		return true
	}
	return false
}

// unifyBreaks makes \n of everything that breaks a line; CR LF is one. It counts what it
// replaces but not what it removes.
func unifyBreaks(runes []rune) (out []rune, replaced int) {
	out = runes[:0]
	for i, r := range runes {
		switch {
		case r == '\r' && i+1 < len(runes) && runes[i+1] == '\n':
		case r != '\n' && lineBreak(r):
			out = append(out, '\n')
			replaced++
		default:
			out = append(out, r)
		}
	}
	return out, replaced
}

// dropHead takes away the head that the sink is about to write.
func dropHead(body, head string) string {
	if head == "" || !forged(head) {
		return body
	}
	rest, ok := strings.CutPrefix(body, head)
	if !ok {
		return body
	}
	return strings.TrimLeft(rest, " \t\n")
}
