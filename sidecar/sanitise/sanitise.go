// Package sanitise cleans everything that goes to a pane as text: it all passes through Text, so that the words of
// a peer press no key, move no cursor, hide nothing from the reader and cannot pass for the sidecar's own words.
// The journal, files and all other receivers keep the original.
//
// The package is pure: no state, no goroutine, the same result for the same text.
package sanitise

import (
	"strings"
	"unicode/utf8"
)

// Options describes the place that the text goes to. The zero value is right for every pane whose program has no
// syntax of its own. No option allows more than the zero value does.
type Options struct {
	// Head is the header or attribution that the sink puts before the text, without the separator. If a sender has
	// written exactly this at the very beginning of its text, as some protocols require, Text removes it there,
	// once, with the blanks after it, and does not count that as a change. Anywhere else, or with any difference,
	// it is a forgery like any other. A Head that is neither a header nor an attribution is ignored.
	Head string

	// Own is the person's own form of attribution, with {name} and {number}; "" if there is none. Lines that look like
	// it are quoted as those are that look like the built-in one.
	Own string

	// The remaining options name what the client takes for more than words. The zero value neutralises nothing;
	// profile.Active says which client needs which.

	// At puts a backslash before each unescaped `@`: the client reads the file named after one.
	At bool
	// Closes are characters that have an effect anywhere in the last word of a text: they open a list that takes
	// Enter, or turn Enter into a line break. Text appends one blank to such a text.
	Closes string
	// Skills are the names that a client loads wherever `$name` stands, whatever surrounds it. Text separates the
	// two by a blank. If there are any names, it does the same where the text of a link is a `$name`, known or not,
	// since the link's target may be a skill.
	Skills []string
	// Keywords change how a client works wherever they stand, in any case of their letters. Each is given with the
	// one hyphen that Text inserts: `ultracode` becomes `ultra-code`.
	Keywords []string
	// Pictures quotes each line that consists only of an absolute path of a picture, or of such paths among others:
	// the client reads the files and puts the result before everything else.
	Pictures bool
}

// Text cleans body for a terminal whose program reads it as keys. It removes
//
//   - escape sequences with their payload (CSI, OSC, DCS, APC, PM, SOS, tmux passthrough,
//     in the forms with ESC and with C1), an unterminated string up to the end of its
//     line; every other ESC;
//   - control characters except line break and Tab; DEL; C1;
//   - invisible characters: directional formatting, zero-width and other characters that
//     Unicode calls ignorable, variation selectors and tags, except the joiners between
//     letters of scripts that need them and inside emoji, the two presentation selectors
//     behind an emoji, and the tags of a flag;
//
// It replaces CR LF, CR, VT, FF, NEL, U+2028 and U+2029 by \n, and every byte that is not UTF-8 by U+FFFD. It puts
// "> " before each line that looks like a header or an attribution of the sidecar's, including the first line. Once
// nothing is left that could hide it, Text neutralises what Options name. It does so visibly: it adds a character,
// and never removes one.
//
// changed counts the characters that were removed, replaced or added for the client, and the quoted lines. 0 means
// that clean equals body, except for Options.Head. Applying Text to its own result, with the same Options, changes
// nothing.
func Text(body string, opt Options) (clean string, changed int) {
	if !harmless(body) {
		body, changed = wash(body)
	}
	body = dropHead(body, opt.Head)
	body, active := neutralise(body, opt)
	body, quoted := quote(body, opt.Pictures, own(opt.Own))
	clean, closed := closeLast(body, opt.Closes)
	return clean, changed + active + quoted + closed
}

// harmless reports whether body is printable ASCII with line breaks and tabs, as nearly all text is.
func harmless(body string) bool {
	for i := range len(body) {
		if b := body[i]; b >= 0x7f || b < 0x20 && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

// wash is Text without neutralising and quoting. Each step works on the result of the one before it, so that
// nothing can hide from a step behind a character that another step removes.
func wash(body string) (string, int) {
	runes, replaced := decode(body)
	total := len(runes)
	runes = filter(runes, func(r rune) bool { return !invisible(r) && !plainControl(r) })
	runes = withoutSequences(runes)
	runes, breaks := unifyBreaks(runes)
	runes = withoutStrays(runes)
	return string(runes), replaced + breaks + total - len(runes)
}

// decode converts body to characters, with U+FFFD for each invalid byte, and counts these.
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

// plainControl reports whether r is a control character that neither breaks a line nor begins, ends or aborts a
// sequence. It has no meaning, and terminals obey or skip it even in the middle of a sequence.
func plainControl(r rune) bool {
	switch r {
	case '\n', '\t', '\r', '\v', '\f', esc, bel, can, sub, nel:
		return false
	case ss2, ss3, dcs, sos, csi, st, osc, pm, apc:
		return false
	}
	return r < 0x20 || r >= 0x7f && r <= 0x9f
}

// lineBreak reports whether r ends a line.
func lineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', nel, 0x2028, 0x2029:
		return true
	}
	return false
}

// unifyBreaks replaces every line break by \n; CR LF is one. It counts what it replaces but not what it removes.
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

// dropHead removes the head that the sink is about to write.
func dropHead(body, head string) string {
	if head == "" || !forged(head, nil) {
		return body
	}
	rest, ok := strings.CutPrefix(body, head)
	if !ok {
		return body
	}
	return strings.TrimLeft(rest, " \t\n")
}
