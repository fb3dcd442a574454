package brakes

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	readBytes  = 16 << 10 // read of one message; a longer one is hardly courtesy
	mostKeys   = 512      // most keys of each kind kept per message
	shingle    = 4        // length in runes of the pieces by which texts are compared
	shortWords = 6        // runes of a word that count, so that endings do not
)

// key stands for a word, a number or a piece of text.
type key = uint64

// keyOf hashes with FNV-1a, which gives the same key in every run, as a replay needs.
func keyOf(kind byte, text string) key {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ key(kind)) * prime
	for i := range len(text) {
		h = (h ^ key(text[i])) * prime
	}
	return h
}

// reading holds the parts of one message.
type reading struct {
	whole     key   // the folded text
	content   []key // words other than grammar and courtesy, sorted, with repetitions
	artefacts []key // code, paths, identifiers, quotations, numbers; sorted
	pieces    []key // shingles of the folded text, sorted
	words     int
	courtesy  int
	personal  int
	work      bool // one of its words says that something is or was done
	question  bool
}

// read parses a message.
func read(body string) *reading {
	if len(body) > readBytes {
		body = strings.ToValidUTF8(body[:readBytes], "")
	}
	r := &reading{question: strings.ContainsAny(body, "?？؟")}
	fenced := false
	for line := range strings.Lines(body) {
		switch code := strings.TrimSpace(line); {
		case strings.HasPrefix(code, "```"):
			fenced = !fenced
		case !fenced:
			r.line(line)
		case code != "":
			r.artefact(code)
		}
	}
	folded := strings.Join(strings.FieldsFunc(fold(body), isBreak), " ")
	r.whole, r.pieces = keyOf('=', folded), pieces(folded)
	slices.Sort(r.content)
	slices.Sort(r.artefacts)
	return r
}

// line reads a line of prose, including code and quotations: a quoted text is an artefact, whatever
// it says.
func (r *reading) line(line string) {
	for line != "" {
		at := strings.IndexFunc(line, func(c rune) bool { return closing[c] != 0 })
		if at < 0 {
			break
		}
		open, width := utf8.DecodeRuneInString(line[at:])
		inside, rest, found := strings.Cut(line[at+width:], string(closing[open]))
		r.prose(line[:at])
		if !found {
			line = line[at+width:]
			continue
		}
		if inside = strings.TrimSpace(inside); inside != "" {
			r.artefact(inside)
		}
		line = rest
	}
	r.prose(line)
}

// closing maps an opening mark to the mark that closes it.
var closing = map[rune]rune{'`': '`', '"': '"', '“': '”', '„': '“', '«': '»', '「': '」', '『': '』'}

func (r *reading) prose(text string) {
	for field := range strings.FieldsSeq(text) {
		bare := strings.TrimFunc(field, isOutside)
		switch {
		case isRhetoric(strings.ToLower(bare)):
		case isArtefact(field, bare), strings.ContainsFunc(bare, unicode.IsDigit), isAcronym(bare):
			r.artefact(bare)
		default:
			for word := range strings.FieldsFuncSeq(fold(bare), isBreak) {
				if word = strings.Trim(word, "'-"); word != "" {
					r.word(word)
				}
			}
		}
	}
}

func (r *reading) word(word string) {
	if first, _ := utf8.DecodeRuneInString(word); isUnspaced(first) {
		// A script without spaces: two characters count as one word.
		for pair := range slices.Chunk([]rune(word), 2) {
			r.words++
			r.say(string(pair))
		}
		return
	}
	r.words++
	switch r.work = r.work || workWords()[word]; {
	case personalWords()[word]:
		r.personal++
	case courtesyWords()[word]:
		r.courtesy++
	case !functionWords()[word]:
		r.say(stemOf(word))
	}
}

func (r *reading) say(word string) {
	if len(r.content) < mostKeys {
		r.content = append(r.content, keyOf('w', word))
	}
}

func (r *reading) artefact(text string) {
	if len(r.artefacts) < mostKeys {
		r.artefacts = append(r.artefacts, keyOf('a', text))
	}
}

// isAcronym reports whether a field is a name such as PDF.
func isAcronym(s string) bool {
	return len(s) > 1 && s != "OK" && s != "AI" && !strings.ContainsFunc(s, func(c rune) bool { return c < 'A' || c > 'Z' })
}

// isArtefact reports whether a field is not a word of a language: a path, an identifier, a call, an
// option, an address. field is unchanged; bare has no punctuation around it.
func isArtefact(field, bare string) bool {
	if bare == "" || !strings.ContainsFunc(bare, unicode.IsLetter) {
		return false
	}
	switch {
	case strings.Contains(bare, "://"), strings.Contains(bare, "::"), strings.Contains(bare, "->"), strings.Contains(bare, "=="),
		strings.Contains(bare, "_"), strings.Contains(bare, "\\"), strings.Contains(bare, "@") && strings.Contains(bare, "."):
		return true
	case strings.ContainsAny(bare, "=<>{}[]|$") && !strings.HasPrefix(field, "*"):
		return true
	case strings.HasSuffix(strings.TrimRight(field, ".,;:!?"), "()"), strings.Contains(bare, "("):
		return strings.ContainsFunc(bare, isASCIILetter)
	case strings.HasPrefix(field, "--") && len(bare) > 1, strings.HasPrefix(field, "-") && len(bare) > 0 && isASCIILetter(rune(bare[0])) && len(field) == len(bare)+1:
		return isASCIILetter(rune(bare[0]))
	case strings.HasPrefix(field, "/") && len(bare) > 2, strings.HasPrefix(field, "./"), strings.HasPrefix(field, "~/"), strings.Count(bare, "/") > 1:
		return true
	}
	return hasExtension(bare) || isHash(bare) || isCamel(bare)
}

// hasExtension reports whether there is a dot inside, as in main.go or message.Envelope, and not
// merely a missing space after a sentence.
func hasExtension(s string) bool {
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || i == len(s)-1 {
		return false
	}
	stem, end := s[:i], s[i+1:]
	if !strings.ContainsFunc(stem, isWordRune) || strings.Contains(stem, "..") {
		return false
	}
	if len(stem) == 1 && len(end) == 1 { // e.g, i.e
		return false
	}
	if !isASCIILetter(rune(end[0])) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(end)
	if begin, _ := utf8.DecodeRuneInString(stem); unicode.IsUpper(begin) && unicode.IsUpper(first) {
		return false // a space is missing between two sentences
	}
	return len(end) <= 5 || unicode.IsLower(first) && strings.ContainsFunc(s, unicode.IsUpper) || !strings.ContainsFunc(s, unicode.IsUpper)
}

// isHash reports whether s looks like a commit hash.
func isHash(s string) bool {
	digits, letters := 0, 0
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f':
			letters++
		default:
			return false
		}
	}
	return digits > 0 && letters > 0 && digits+letters >= 6
}

// isCamel reports whether a capital letter follows a small one inside a word.
func isCamel(s string) bool {
	small := false
	for _, c := range s {
		if small && unicode.IsUpper(c) {
			return true
		}
		small = unicode.IsLower(c)
	}
	return false
}

// isRhetoric reports whether a word with digits does not count as a number: a time of day, a date,
// or a way to say all, always or very much.
func isRhetoric(word string) bool {
	switch word {
	case "24/7", "10/10", "11/10", "100", "100%", "110%", "1000%", "200%", "101%":
		return true
	}
	if strings.Count(word, ":") >= 1 && strings.Trim(word, "0123456789:.tz+") == "" { // a time
		return true
	}
	return strings.Count(word, "-") == 2 && strings.Trim(word, "0123456789-:.tz+") == "" // a date
}

// stemOf returns the part of a word that distinguishes it from others.
func stemOf(word string) string {
	runes := 0
	for i := range word {
		if runes == shortWords {
			return word[:i]
		}
		runes++
	}
	return word
}

// pieces returns the shingles of a folded text, sorted.
func pieces(folded string) []key {
	runes := []rune(folded)
	var out []key
	for i := 0; i+shingle <= len(runes) && len(out) < mostKeys; i++ {
		out = append(out, keyOf('s', string(runes[i:i+shingle])))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fold makes letters small and apostrophes uniform.
func fold(s string) string { return apostrophes.Replace(strings.ToLower(s)) }

var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'")

// isBreak reports whether a character ends a word.
func isBreak(c rune) bool {
	return !isWordRune(c) && c != '\'' && c != '-' && !unicode.Is(unicode.Mark, c)
}

func isWordRune(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

func isASCIILetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isOutside reports whether a character around a field is punctuation of the sentence.
func isOutside(c rune) bool {
	return !isWordRune(c) && c != '%' && !unicode.Is(unicode.Mark, c)
}

// isUnspaced reports whether a character belongs to a script without spaces.
func isUnspaced(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
