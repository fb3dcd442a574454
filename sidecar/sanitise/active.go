package sanitise

import (
	"regexp"
	"strings"
	"sync"
)

// neutralise changes what the client would take for more than words, and counts the places. Nothing that it inserts
// activates anything else, so one pass is enough.
func neutralise(body string, opt Options) (string, int) {
	changed := 0
	for _, form := range opt.Keywords {
		var n int
		body, n = partKeyword(body, form)
		changed += n
	}
	if opt.At {
		var n int
		body, n = escapeAt(body)
		changed += n
	}
	if len(opt.Skills) > 0 {
		var n int
		body, n = partSkills(body, opt.Skills)
		changed += n
	}
	return body, changed
}

// partKeyword inserts the hyphen of form into each occurrence of the word without it. Like clients, it ignores the
// case of ASCII letters.
func partKeyword(body, form string) (string, int) {
	first, rest, ok := strings.Cut(form, "-")
	if !ok || first == "" || rest == "" || strings.Contains(rest, "-") {
		return body, 0
	}
	var b strings.Builder
	n, from := 0, 0
	for i := 0; i+len(first)+len(rest) <= len(body); i++ {
		cut := i + len(first)
		if sameLetters(body[i:cut], first) && sameLetters(body[cut:cut+len(rest)], rest) {
			b.WriteString(body[from:cut] + "-")
			n, from, i = n+1, cut, cut-1
		}
	}
	if n == 0 {
		return body, 0
	}
	return b.String() + body[from:], n
}

// sameLetters reports whether two strings of equal length are the same except for the case of ASCII letters.
func sameLetters(a, b string) bool {
	for i := range len(a) {
		if x, y := a[i], b[i]; x != y && (x|0x20 != y|0x20 || x|0x20 < 'a' || x|0x20 > 'z') {
			return false
		}
	}
	return true
}

// escapeAt puts a backslash before each `@` that follows an even number of backslashes. Then both a client that
// checks only one character and a client that counts leave the `@` alone.
func escapeAt(body string) (string, int) {
	var b strings.Builder
	n, from, slashes := 0, 0, 0
	for i := range len(body) {
		switch {
		case body[i] == '\\':
			slashes++
			continue
		case body[i] == '@' && slashes%2 == 0:
			b.WriteString(body[from:i] + `\`)
			n, from = n+1, i
		}
		slashes = 0
	}
	if n == 0 {
		return body, 0
	}
	return b.String() + body[from:], n
}

// partSkills puts a blank after each `$` that names a skill. Nothing around the two protects them from the client:
// no backslash, no back-ticks, no other letters.
func partSkills(body string, names []string) (string, int) {
	var b strings.Builder
	n, from := 0, 0
	for i := range len(body) {
		if body[i] == '$' && (namesSkill(body[i+1:], names) || i > 0 && linked().MatchString(body[i-1:])) {
			b.WriteString(body[from:i+1] + " ")
			n, from = n+1, i+1
		}
	}
	if n == 0 {
		return body, 0
	}
	return b.String() + body[from:], n
}

// namesSkill reports whether text begins with one of the names, and not with a longer word.
func namesSkill(text string, names []string) bool {
	for _, name := range names {
		rest, ok := strings.CutPrefix(text, name)
		if ok && name != "" && name[0] != ' ' && (rest == "" || !nameByte(rest[0])) {
			return true
		}
	}
	return false
}

// nameByte reports whether b continues a skill's name. A colon does not: some names contain one, and others end
// before one.
func nameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// linked matches the beginning of a link whose text is a `$name`. There the client uses the link's target, which
// may be any skill's file, whatever the name.
var linked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[\$[A-Za-z0-9_:-]+\][ \t\n]*\(`) })

// picture matches a line that is the absolute path of a picture, or several of them separated by blanks, or one
// among other paths, escaped or quoted as terminals do with dropped files. Remove its backslashes first.
var picture = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^["'\s\pZ]*(?:/|[a-z]:).*\.(?:png|jpe?g|gif|webp)["']?[\s\pZ]*(?:$|[\s\pZ]["']?(?:/|[a-z]:))`)
})

// dropped reports whether a client would take line for files dropped on it.
func dropped(line string) bool {
	if !strings.Contains(line, ".") {
		return false
	}
	return picture().MatchString(strings.ReplaceAll(line, `\`, ""))
}

// closeLast appends a blank to a text whose last word contains one of the characters. A blank or line break at the
// end, which clients cut off, closes a word as well.
func closeLast(body, closes string) (string, int) {
	last := body[strings.LastIndexAny(body, " \t\n")+1:]
	if !strings.ContainsAny(last, closes) {
		return body, 0
	}
	return body + " ", 1
}
