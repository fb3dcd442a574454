package sanitise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Leads reports whether a head that is not one of the sidecar's own may stand at the beginning of typed text.
// There, clients treat many characters as commands: `/`, `!`, `#`, `@`, `$`, `&`, `?`, `:`, and a menu takes a
// digit. Letters and opening brackets mean nothing to any of them.
func Leads(head string) bool {
	first, _ := utf8.DecodeRuneInString(head)
	return first != utf8.RuneError && (unicode.IsLetter(first) || strings.ContainsRune("[(<«", first))
}

// Head cleans a head that is not one of the sidecar's own, as Text cleans a body. Its first line may look like one
// of the sidecar's heads, since it stands in the place of one.
func Head(head string, opt Options) (clean string, changed int) {
	if !harmless(head) {
		head, changed = wash(head)
	}
	head, active := neutralise(head, opt)
	first, rest, more := strings.Cut(head, "\n")
	if !more {
		return head, changed + active
	}
	rest, quoted := quote(rest, opt.Pictures, nil)
	return first + "\n" + rest, changed + active + quoted
}
