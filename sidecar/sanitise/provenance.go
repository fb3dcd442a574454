package sanitise

import (
	"regexp"
	"strings"
	"sync"
)

// quoteMark stands before a line that falsely looks like the sidecar's own.
const quoteMark = "> "

// Break stands for a line break in a program that reads lines.
const Break = " ⏎ "

// ours matches what the sidecar writes at the beginning of a line: the header `AI[…] |`, the attribution `[Name]
// (3):`, and the bracketed words that mark its own messages. It matches broadly, because a reader does so too: any
// case, any blanks, any digits.
var ours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^` + blank + `*(?:` +
		`AI` + blank + `*\[[^\]\n]*\]` + blank + `*[|│∣ǀ]` + `|` +
		`\[[^\]\n]+\]` + blank + `*\(` + blank + `*\pN+` + blank + `*\)` + blank + `*:` + `|` +
		`\[` + blank + `*(?:relay|notice)` + blank + `*\])`)
})

// blank matches what is invisible at the beginning of a line; U+2800 is the Braille blank.
const blank = `[\pZ\t\x{2800}]`

// own matches the lines that look like a person's form of attribution, in which {name} and {number} stand for those of
// a speaker; nil for no form. What counts is the first line of the form with one of the two, in any case, with any
// blanks. A line may go on behind it, unless the form's line ends with the name or the number.
func own(form string) *regexp.Regexp {
	if strings.TrimSpace(form) == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(form), "\n")
	line := strings.TrimSpace(lines[0])
	for _, l := range lines {
		if strings.Contains(l, "{name}") || strings.Contains(l, "{number}") {
			line = strings.TrimSpace(l)
			break
		}
	}
	var b strings.Builder
	b.WriteString(`(?i)^` + blank + `*`)
	for i, word := range strings.Fields(narrow(line)) {
		if i > 0 {
			b.WriteString(blank + `*`)
		}
		b.WriteString(strings.NewReplacer(`\{name\}`, blank+`*[\pL\pN._/-]{1,130}`+blank+`*`, `\{number\}`, blank+`*\pN+`+blank+`*`).Replace(regexp.QuoteMeta(word)))
	}
	if strings.HasSuffix(line, "}") {
		b.WriteString(blank + `*$`)
	}
	return regexp.MustCompile(b.String())
}

// narrow replaces full-width forms by the characters that they look like.
func narrow(line string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0xff01 && r <= 0xff5e {
			return r - 0xff01 + '!'
		}
		return r
	}, line)
}

// forged reports whether line begins like the sidecar's own words, or like the person's form of attribution.
// Full-width forms count as the characters that they look like.
func forged(line string, also *regexp.Regexp) bool {
	if also != nil && also.MatchString(narrow(line)) {
		return true
	}
	return strings.ContainsAny(line, "[［") && ours().MatchString(narrow(line))
}

// Headed reports whether a text begins as only the sidecar's own texts do: with a header, an attribution, or one of
// the bracketed words.
func Headed(text string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(text, " \n"), "\n")
	return forged(first, nil)
}

// Quote puts "> " before each line that begins as only the sidecar's own lines do, and changes nothing else. It is
// for text that is read beside an attribution that stands elsewhere.
func Quote(text string) string {
	text, _ = quote(text, false, nil)
	return text
}

// quote puts the mark before each forged line and, with pictures set, before each line that a client would take for
// pictures. It counts them.
func quote(body string, pictures bool, also *regexp.Regexp) (string, int) {
	if !pictures && also == nil && !strings.ContainsAny(body, "[［") {
		return body, 0
	}
	lines := strings.Split(body, "\n")
	n := 0
	for i, line := range lines {
		if forged(line, also) || pictures && dropped(line) {
			lines[i] = quoteMark + line
			n++
		}
	}
	if n == 0 {
		return body, 0
	}
	return strings.Join(lines, "\n"), n
}

// Line joins body, which Text has cleaned, into one line for a program that reads lines. mark replaces a line
// break, or a run of them with only blanks between. An empty mark means Break; any other one is cleaned as Text
// does. Line breaks at both ends are dropped. Line quotes whatever looks like a header or an attribution where a
// line seems to begin: after a mark, or after an equal text that the body itself contains. Applying Line to its own
// result changes nothing. form is Options.Own.
func Line(body, mark, form string) string {
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
	return quoteSegments(b.String(), strings.TrimSpace(mark), own(form))
}

// quoteSegments quotes whatever is forged at the beginning of line and after each sign of a line break in it. A
// sign that ends like a quote mark already quotes.
func quoteSegments(line, sign string, also *regexp.Regexp) string {
	if sign == "" || strings.HasSuffix(sign, ">") {
		if forged(line, also) {
			return quoteMark + line
		}
		return line
	}
	segments := strings.Split(line, sign)
	for i, s := range segments {
		if forged(s, also) {
			rest := strings.TrimLeft(s, " ")
			segments[i] = s[:len(s)-len(rest)] + quoteMark + rest
		}
	}
	return strings.Join(segments, sign)
}
