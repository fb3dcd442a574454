package sanitise

import (
	"regexp"
	"strings"
	"sync"
)

// quoteMark stands before a line that only looks as if the sidecar had written it.
const quoteMark = "> "

// Break stands for a line break where a program reads lines.
const Break = " ⏎ "

// ours is what the sidecar writes at the beginning of a line: the header `AI[…] |`, the
// attribution `[Name] (3):`, and the words in brackets by which it speaks itself. It is
// taken widely, since a reader takes it so too: any case, any blanks, any digits.
var ours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^` + blank + `*(?:` +
		`AI` + blank + `*\[[^\]\n]*\]` + blank + `*[|│∣ǀ]` + `|` +
		`\[[^\]\n]+\]` + blank + `*\(` + blank + `*\pN+` + blank + `*\)` + blank + `*:` + `|` +
		`\[` + blank + `*(?:relay|notice)` + blank + `*\])`)
})

// blank is what does not show at the beginning of a line; U+2800 is Braille's blank.
const blank = `[\pZ\t\x{2800}]`

// forged reports whether line begins as the sidecar's own words do. Full-width forms
// count as the characters that they look like.
func forged(line string) bool {
	if !strings.ContainsAny(line, "[［") {
		return false
	}
	return ours().MatchString(strings.Map(func(r rune) rune {
		if r >= 0xff01 && r <= 0xff5e {
			return r - 0xff01 + '!'
		}
		return r
	}, line))
}

// Headed reports whether a text begins as only the sidecar's own do: with a header, an
// attribution, or the word by which it speaks itself.
func Headed(text string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(text, " \n"), "\n")
	return forged(first)
}

// Quote puts "> " before each line of a text that begins as only the sidecar's own do, and changes
// nothing else: for what is read beside an attribution that stands elsewhere.
func Quote(text string) string {
	text, _ = quote(text, false)
	return text
}

// quote puts the mark before each line that is forged and, if it is to, before each that a
// client would take for pictures; it counts them.
func quote(body string, pictures bool) (string, int) {
	if !pictures && !strings.ContainsAny(body, "[［") {
		return body, 0
	}
	lines := strings.Split(body, "\n")
	n := 0
	for i, line := range lines {
		if forged(line) || pictures && dropped(line) {
			lines[i] = quoteMark + line
			n++
		}
	}
	if n == 0 {
		return body, 0
	}
	return strings.Join(lines, "\n"), n
}

// Line makes one line of body, which Text has cleaned, for a program that reads lines.
// mark stands for a line break, or for a run of them with nothing but blanks between; it
// is Break if it is empty, and is cleaned as Text does. Line breaks at both ends go. What
// looks like a header or an attribution where a line seems to begin, behind a mark or
// behind what the body itself has of its kind, is quoted. Line of its own result changes
// nothing.
func Line(body, mark string) string {
	if mark == "" {
		mark = Break
	}
	mark, _ = Text(mark, Options{})
	mark = strings.ReplaceAll(mark, "\n", " ")
	var b strings.Builder
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimRight(line, " \t")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(mark)
		}
		b.WriteString(line)
	}
	return quoteSegments(b.String(), strings.TrimSpace(mark))
}

// quoteSegments quotes whatever is forged at the beginning of line and behind each sign
// of a line break in it. A sign that ends as quotes begin quotes by itself.
func quoteSegments(line, sign string) string {
	if sign == "" || strings.HasSuffix(sign, ">") {
		if forged(line) {
			return quoteMark + line
		}
		return line
	}
	segments := strings.Split(line, sign)
	for i, s := range segments {
		if forged(s) {
			rest := strings.TrimLeft(s, " ")
			segments[i] = s[:len(s)-len(rest)] + quoteMark + rest
		}
	}
	return strings.Join(segments, sign)
}
