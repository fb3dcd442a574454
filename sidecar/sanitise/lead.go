package sanitise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Leads reports whether a head that is none of the sidecar's own may stand at the beginning
// of what is typed. There, clients take many a character for a command: `/`, `!`, `#`, `@`,
// `$`, `&`, `?`, `:`, and a menu takes a digit. A letter and an opening bracket mean nothing
// to any of them.
func Leads(head string) bool {
	first, _ := utf8.DecodeRuneInString(head)
	return first != utf8.RuneError && (unicode.IsLetter(first) || strings.ContainsRune("[(<«", first))
}

// Head makes a head fit that is none of the sidecar's own, as Text does with a body. Its first
// line may look as one of theirs: it stands in its place.
func Head(head string, opt Options) (clean string, changed int) {
	if !harmless(head) {
		head, changed = wash(head)
	}
	head, active := neutralise(head, opt)
	first, rest, more := strings.Cut(head, "\n")
	if !more {
		return head, changed + active
	}
	rest, quoted := quote(rest, opt.Pictures)
	return first + "\n" + rest, changed + active + quoted
}
