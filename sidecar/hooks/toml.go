package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An entry is one key with its value in a TOML text.
type entry struct {
	table []string // its table; none at the top
	key   []string // of several parts if it is dotted
	// start and end are its lines, with the last line's end; value and valueEnd the value.
	start, end      int
	value, valueEnd int
	strings         []string // of a list that has strings alone
}

// parseTOML are the entries of text. It takes what TOML 1.1 allows; of keys that collide it
// refuses those that are written down twice.
func parseTOML(text []byte) ([]entry, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("invalid TOML: not UTF-8")
	}
	s := tomlScanner{text: text, seen: map[string]bool{}}
	if err := s.all(); err != nil {
		return nil, fmt.Errorf("invalid TOML, line %d: %w", 1+bytes.Count(text[:s.at], []byte("\n")), err)
	}
	return s.entries, nil
}

type tomlScanner struct {
	text    []byte
	at      int
	entries []entry

	table   []string
	section int             // counts the tables of lists of tables, each of which has keys of its own
	seen    map[string]bool // tables and keys
}

func (s *tomlScanner) all() error {
	for s.at < len(s.text) {
		start := s.at
		s.blanks()
		switch {
		case s.lineEnds():
		case s.next("["):
			if err := s.header(); err != nil {
				return err
			}
		default:
			if err := s.entry(start); err != nil {
				return err
			}
		}
		if err := s.endLine(); err != nil {
			return err
		}
		if n := len(s.entries); n > 0 && s.entries[n-1].end == 0 {
			s.entries[n-1].end = s.at
		}
	}
	return nil
}

func (s *tomlScanner) next(what string) bool { return bytes.HasPrefix(s.text[s.at:], []byte(what)) }

func (s *tomlScanner) skip(what string) bool {
	if !s.next(what) {
		return false
	}
	s.at += len(what)
	return true
}

func (s *tomlScanner) blanks() {
	for s.next(" ") || s.next("\t") {
		s.at++
	}
}

// lineEnds reports whether nothing but a comment is left of the line.
func (s *tomlScanner) lineEnds() bool {
	return s.at == len(s.text) || s.next("\n") || s.next("\r\n") || s.next("#")
}

func (s *tomlScanner) comment() error {
	if s.next("#") {
		for s.at < len(s.text) && !s.next("\n") && !s.next("\r\n") {
			if c := s.text[s.at]; c < ' ' && c != '\t' || c == 0x7f {
				return fmt.Errorf("character %#x in a comment", c)
			}
			s.at++
		}
	}
	return nil
}

// endLine takes the rest of a line, in which only a comment may stand.
func (s *tomlScanner) endLine() error {
	s.blanks()
	if err := s.comment(); err != nil {
		return err
	}
	if s.at == len(s.text) || s.skip("\n") || s.skip("\r\n") {
		return nil
	}
	return s.unexpected("")
}

// space takes what may stand between the elements of a list: line breaks and comments too.
func (s *tomlScanner) space() error {
	for {
		s.blanks()
		if err := s.comment(); err != nil {
			return err
		}
		if !s.skip("\n") && !s.skip("\r\n") {
			return nil
		}
	}
}

func (s *tomlScanner) unexpected(wanted string) error {
	have := "the end"
	if r, _ := utf8.DecodeRune(s.text[s.at:]); s.at < len(s.text) {
		have = strconv.QuoteRune(r)
	}
	if wanted != "" {
		wanted = " where " + wanted + " was expected"
	}
	return fmt.Errorf("%s%s", have, wanted)
}

// once refuses what is written down a second time.
func (s *tomlScanner) once(kind string, path []string) error {
	name := kind + strings.Join(path, "\x00")
	if s.seen[name] {
		return fmt.Errorf("%q occurs twice", strings.Join(path, "."))
	}
	s.seen[name] = true
	return nil
}

func (s *tomlScanner) header() error {
	closing, list := "]", s.skip("[[")
	if list {
		closing = "]]"
	} else {
		s.skip("[")
	}
	s.blanks()
	path, err := s.key()
	if err != nil {
		return err
	}
	s.blanks()
	if !s.skip(closing) {
		return s.unexpected(closing)
	}
	s.table = path
	if list {
		s.section++
		return nil
	}
	return s.once(fmt.Sprintf("table %d ", s.section), path)
}

func (s *tomlScanner) entry(start int) error {
	key, err := s.key()
	if err != nil {
		return err
	}
	if err := s.once(fmt.Sprintf("key %d %q ", s.section, s.table), key); err != nil {
		return err
	}
	s.blanks()
	if !s.skip("=") {
		return s.unexpected("=")
	}
	s.blanks()
	e := entry{table: s.table, key: key, start: start, value: s.at}
	if e.strings, err = s.valueOf(); err != nil {
		return err
	}
	e.valueEnd = s.at
	s.entries = append(s.entries, e)
	return nil
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+`)

// key takes a key, whose parts dots divide.
func (s *tomlScanner) key() ([]string, error) {
	var parts []string
	for {
		switch bare := bareKey.Find(s.text[s.at:]); {
		case bare != nil:
			parts = append(parts, string(bare))
			s.at += len(bare)
		case s.next(`"`) || s.next(`'`):
			part, err := s.line()
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		default:
			return nil, s.unexpected("a key")
		}
		at := s.at
		if s.blanks(); !s.skip(".") {
			s.at = at
			return parts, nil
		}
		s.blanks()
	}
}

// valueOf takes a value, and returns the strings of a list that has nothing else.
func (s *tomlScanner) valueOf() ([]string, error) {
	switch {
	case s.next("["):
		return s.list()
	case s.next("{"):
		return nil, s.inline()
	case s.next(`"`) || s.next(`'`):
		_, err := s.str()
		return nil, err
	}
	return nil, s.bare()
}

func (s *tomlScanner) list() (all []string, err error) {
	s.skip("[")
	only := true
	for {
		if err := s.space(); err != nil {
			return nil, err
		}
		if s.skip("]") {
			break
		}
		if s.next(`"`) || s.next(`'`) {
			says, err := s.str()
			if err != nil {
				return nil, err
			}
			all = append(all, says)
		} else {
			only = false
			if _, err := s.valueOf(); err != nil {
				return nil, err
			}
		}
		if err := s.space(); err != nil {
			return nil, err
		}
		if !s.skip(",") && !s.next("]") {
			return nil, s.unexpected(", or ]")
		}
	}
	if !only {
		return nil, nil
	}
	return all, nil
}

func (s *tomlScanner) inline() error {
	s.skip("{")
	for {
		if err := s.space(); err != nil {
			return err
		}
		if s.skip("}") {
			return nil
		}
		if _, err := s.key(); err != nil {
			return err
		}
		s.blanks()
		if !s.skip("=") {
			return s.unexpected("=")
		}
		s.blanks()
		if _, err := s.valueOf(); err != nil {
			return err
		}
		if err := s.space(); err != nil {
			return err
		}
		if !s.skip(",") && !s.next("}") {
			return s.unexpected(", or }")
		}
	}
}

// Whatever is no string, list or table.
var (
	bareText   = regexp.MustCompile(`^(?:\d{4}-\d\d-\d\d \d\d:)?[A-Za-z0-9_+:.-]+`)
	bareValues = regexp.MustCompile(`^(?:true|false` +
		`|[+-]?(?:0|[1-9](?:_?\d)*)|0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*` +
		`|[+-]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?|[+-]?(?:inf|nan)` +
		`|\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$`)
)

func (s *tomlScanner) bare() error {
	word := bareText.Find(s.text[s.at:])
	if word == nil {
		return s.unexpected("a value")
	}
	if !bareValues.Match(word) {
		return fmt.Errorf("%q is not a value", word)
	}
	s.at += len(word)
	return nil
}

// str takes a string of any kind.
func (s *tomlScanner) str() (string, error) {
	for _, quotes := range []string{`"""`, `'''`} {
		if s.skip(quotes) {
			return s.lines(quotes)
		}
	}
	return s.line()
}

// line takes a string of one line.
func (s *tomlScanner) line() (string, error) {
	quote := s.text[s.at]
	var b strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			return b.String(), nil
		case c == '\\' && quote == '"':
			if err := s.escape(&b); err != nil {
				return "", err
			}
		case c < ' ' && c != '\t' || c == 0x7f:
			return "", fmt.Errorf("character %#x in a string", c)
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("unterminated string")
}

// lines takes the rest of a string of many lines. What it says of blanks at the ends of its
// lines nobody here needs to know.
func (s *tomlScanner) lines(quotes string) (string, error) {
	var b strings.Builder
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case s.next(quotes):
			s.at += len(quotes)
			for n := 0; n < 2 && s.next(quotes[:1]); n++ { // quotes of its own before the end
				s.at++
			}
			return b.String(), nil
		case c == '\\' && quotes == `"""`:
			if rest := bytes.TrimLeft(s.text[s.at+1:], " \t\r"); len(rest) > 0 && rest[0] == '\n' {
				continue
			}
			if err := s.escape(&b); err != nil {
				return "", err
			}
		case c < ' ' && c != '\t' && c != '\n' && !s.next("\r\n") || c == 0x7f:
			return "", fmt.Errorf("character %#x in a string", c)
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("unterminated string")
}

var (
	escapes    = map[byte]rune{'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r', 'e': 0x1b, '"': '"', '\\': '\\'}
	escapeText = regexp.MustCompile(`^\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[btnfre"\\])`)
)

// escape takes an escape but for its last character.
func (s *tomlScanner) escape(b *strings.Builder) error {
	found := escapeText.Find(s.text[s.at:])
	if found == nil {
		return errors.New("invalid escape sequence")
	}
	s.at += len(found) - 1
	if r, short := escapes[found[1]]; short {
		b.WriteRune(r)
		return nil
	}
	code, err := strconv.ParseUint(string(found[2:]), 16, 32)
	if err != nil || !utf8.ValidRune(rune(code)) {
		return fmt.Errorf("%s is not a character", found)
	}
	b.WriteRune(rune(code))
	return nil
}
