package brakes

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	readBytes  = 16 << 10 // of a message; what is so long is hardly courtesy
	mostKeys   = 512      // of each kind that are kept of a message
	shingle    = 4        // runes of a piece by which texts are compared
	shortWords = 6        // runes by which longer words are told apart: endings do not count
)

// key stands for a word, a number or a piece of text.
type key = uint64

// keyOf hashes by FNV-1a: the same in every run, for what is replayed.
func keyOf(kind byte, text string) key {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ key(kind)) * prime
	for i := range len(text) {
		h = (h ^ key(text[i])) * prime
	}
	return h
}

// reading is what one message consists of.
type reading struct {
	whole     key   // the folded text
	words     []key // of content, in their order, repeated ones too
	artefacts []key // code, paths, identifiers, addresses
	numbers   []key // together with the word before each
	pieces    []key // shingles of the folded text
	roles     [progress + 1]int
	tokens    int // words, numbers and artefacts
	pictures  int // emoji and other symbols
}

// read takes a message apart.
func read(body string) *reading {
	if len(body) > readBytes {
		body = strings.ToValidUTF8(body[:readBytes], "")
	}
	r := &reading{}
	fenced := false
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			if code := strings.TrimSpace(line); code != "" {
				r.artefact(code)
			}
			continue
		}
		r.line(line)
	}
	folded := fold(body)
	r.whole = keyOf('=', strings.Join(strings.FieldsFunc(folded, isBreak), " "))
	r.pieces = pieces(folded)
	return r
}

// line reads a line of prose, with code and quotations in it: what is quoted is the matter,
// whatever it says.
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

// closing has the mark that ends what another began.
var closing = map[rune]rune{'`': '`', '"': '"', '“': '”', '„': '“', '«': '»', '「': '」', '『': '』'}

func (r *reading) prose(text string) {
	var words []string
	flush := func() {
		r.sentence(words)
		words = words[:0]
	}
	before := ""
	for _, field := range strings.Fields(text) {
		r.symbols(field)
		bare := strings.TrimFunc(field, isOutside)
		if isArtefact(field, bare) {
			flush()
			r.artefact(bare)
			before = ""
			continue
		}
		if isRhetoric(strings.ToLower(bare)) {
			r.count(vague)
			continue
		}
		for _, word := range strings.FieldsFunc(fold(bare), isBreak) {
			word = strings.Trim(word, "'-.:/,")
			switch {
			case word == "":
			case !strings.ContainsFunc(word, unicode.IsDigit):
				words = append(words, word)
				before = word
			default:
				r.tokens++
				if len(r.numbers) < mostKeys {
					r.numbers = append(r.numbers, keyOf('#', stemOf(before)+" "+word))
				}
			}
		}
		if last, _ := utf8.DecodeLastRuneInString(field); strings.ContainsRune(".!?;:", last) {
			flush()
		}
	}
	flush()
}

// sentence gives each word its role, those of phrases first.
func (r *reading) sentence(words []string) {
	for len(words) > 0 {
		if role, n := known.phraseAt(words); n > 0 {
			r.count(role)
			words = words[n:]
			continue
		}
		word := words[0]
		words = words[1:]
		if first, _ := utf8.DecodeRuneInString(word); isUnspaced(first) {
			r.unspaced(word)
			continue
		}
		r.word(word)
	}
}

func (r *reading) word(word string) {
	role := known.of(word)
	if role == content && strings.Contains(word, "-") {
		for _, part := range strings.Split(word, "-") {
			r.word(part)
		}
		return
	}
	r.count(role)
	if role == content && len(r.words) < mostKeys {
		r.words = append(r.words, keyOf('w', stemOf(word)))
	}
}

// unspaced reads a run of a script that puts no space between words: what the lexicon knows,
// the longest first, and of the rest two characters count for one word.
func (r *reading) unspaced(text string) {
	runes := []rune(text)
	var rest []rune
	flush := func() {
		for i := 0; i < len(rest); i += 2 {
			r.count(content)
			if len(r.words) < mostKeys {
				r.words = append(r.words, keyOf('w', string(rest[i:min(i+2, len(rest))])))
			}
		}
		rest = rest[:0]
	}
next:
	for i := 0; i < len(runes); {
		for n := min(known.widest, len(runes)-i); n > 0; n-- {
			if role, ok := known.unspaced[string(runes[i:i+n])]; ok {
				flush()
				r.count(role)
				i += n
				continue next
			}
		}
		if unicode.Is(unicode.Hiragana, runes[i]) {
			flush() // endings and particles
		} else if unicode.IsLetter(runes[i]) {
			rest = append(rest, runes[i])
		}
		i++
	}
	flush()
}

func (r *reading) count(role role) {
	r.roles[role]++
	r.tokens++
}

func (r *reading) artefact(text string) {
	r.tokens++
	if len(r.artefacts) < mostKeys {
		r.artefacts = append(r.artefacts, keyOf('a', text))
	}
}

// symbols counts what is drawn rather than written.
func (r *reading) symbols(field string) {
	for _, c := range field {
		if unicode.Is(unicode.So, c) {
			r.pictures++
		}
	}
}

// isArtefact reports whether a field is no word of a language: a path, an identifier, a
// call, an option, an address. The field is as it stands, bare without punctuation around.
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

// hasExtension reports whether there is a dot inside, as in main.go or message.Envelope,
// and not merely a space missing behind a sentence.
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
		return false // a blank is missing between two sentences
	}
	return len(end) <= 5 || unicode.IsLower(first) && strings.ContainsFunc(s, unicode.IsUpper) || !strings.ContainsFunc(s, unicode.IsUpper)
}

// isHash reports whether s looks like the name of a commit.
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

// isCamel reports whether there is a capital letter inside a word with a small one before it.
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

// isRhetoric reports whether a word with digits says nothing that counts: a time of the day,
// a date, or a way to say all, always and very much.
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

// stemOf is what tells a word apart from others.
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

// pieces are the shingles of a folded text, sorted.
func pieces(folded string) []key {
	runes := []rune(strings.Join(strings.FieldsFunc(folded, isBreak), " "))
	var out []key
	for i := 0; i+shingle <= len(runes) && len(out) < mostKeys; i++ {
		out = append(out, keyOf('s', string(runes[i:i+shingle])))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fold makes letters small and takes the accents off those of Latin script.
func fold(s string) string {
	return strings.Map(func(c rune) rune {
		c = unicode.ToLower(c)
		if c == '’' || c == '‘' || c == 'ʼ' {
			return '\''
		}
		if c < 0xc0 || c > 0x24f && (c < 0x1e00 || c > 0x1eff) {
			return c
		}
		return unaccented(c)
	}, ligatures.Replace(s))
}

var ligatures = strings.NewReplacer("ß", "ss", "ẞ", "ss", "œ", "oe", "æ", "ae", "Æ", "ae", "Œ", "oe")

// accents has, for each plain letter, its accented forms.
var accents = func() map[rune]rune {
	out := make(map[rune]rune)
	for _, row := range []string{
		"aàáâãäåāăąạảấầẩẫậắằẳẵặ", "cçćĉċč", "dďđð", "eèéêëēĕėęěẹẻẽếềểễệ", "gĝğġģ", "hĥħ", "iìíîïĩīĭįıỉị", "jĵ", "kķ", "lĺļľŀł", "nñńņň",
		"oòóôõöøōŏőọỏốồổỗộớờởỡợơ", "rŕŗř", "sśŝşšș", "tţťŧț", "uùúûüũūŭůűųụủứừửữựư", "wŵ", "yýÿŷỳỵỷỹ", "zźżž",
	} {
		runes := []rune(row)
		for _, c := range runes[1:] {
			out[c] = runes[0]
		}
	}
	return out
}()

func unaccented(c rune) rune {
	if plain, ok := accents[c]; ok {
		return plain
	}
	return c
}

// isBreak reports whether a character ends a word. Those that are parts of words, numbers
// and times do not.
func isBreak(c rune) bool {
	return !isWordRune(c) && !strings.ContainsRune("'-.:%", c) && !unicode.Is(unicode.Mark, c)
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
