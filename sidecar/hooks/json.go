package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A node is a value of a JSON text, and where it stands.
type node struct {
	kind       byte // the first character: { [ " or another
	start, end int
	keys       []node   // of an object, in order
	names      []string // what the keys say
	kids       []node   // values of an object, elements of a list
}

// parseJSON is the value that text is, in places of text.
func parseJSON(text []byte) (node, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
			line := 1 + bytes.Count(text[:min(int(wrong.Offset), len(text))], []byte("\n"))
			return node{}, fmt.Errorf("invalid JSON, line %d: %w", line, err)
		}
		return node{}, fmt.Errorf("invalid JSON: %w", err)
	}
	// What follows reads a text that is known to be valid.
	s := jsonScanner{text: text}
	return s.value(), nil
}

type jsonScanner struct {
	text []byte
	at   int
}

func (s *jsonScanner) blanks() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *jsonScanner) value() node {
	s.blanks()
	n := node{kind: s.text[s.at], start: s.at}
	switch n.kind {
	case '{', '[':
		s.at++
		for s.blanks(); s.text[s.at] != '}' && s.text[s.at] != ']'; s.blanks() {
			if s.text[s.at] == ',' {
				s.at++
				s.blanks()
			}
			if n.kind == '{' {
				key := s.value()
				s.blanks()
				s.at++ // the colon
				n.keys, n.names = append(n.keys, key), append(n.names, key.text(s.text))
			}
			n.kids = append(n.kids, s.value())
		}
		s.at++
	case '"':
		for s.at++; s.text[s.at] != '"'; s.at++ {
			if s.text[s.at] == '\\' {
				s.at++
			}
		}
		s.at++
	default:
		for s.at < len(s.text) && strings.IndexByte(" \t\r\n,]}", s.text[s.at]) < 0 {
			s.at++
		}
	}
	n.end = s.at
	return n
}

// text is what a string says, "" for another value.
func (n node) text(of []byte) string {
	var says string
	if n.kind == '"' {
		_ = json.Unmarshal(of[n.start:n.end], &says)
	}
	return says
}

// member is the place of a member among the kids of an object, -1 for none, and an error if
// there are several: which of them holds is for each reader to say.
func (n node) member(name string) (int, error) {
	found := -1
	for i, have := range n.names {
		if have == name && n.kind == '{' {
			if found >= 0 {
				return -1, fmt.Errorf("%q occurs twice", name)
			}
			found = i
		}
	}
	return found, nil
}

// from is where a kid begins, with its key.
func (n node) from(kid int) int {
	if n.kind == '{' {
		return n.keys[kid].start
	}
	return n.kids[kid].start
}

// without are the edits that take some kids out of n, each with one comma. Of all of them
// what stands before the first one goes too, and what stands behind the last one stays: adding
// to an empty list is how they came.
func (n node) without(out func(kid int) bool) []edit {
	var edits []edit
	for i := 0; i < len(n.kids); i++ {
		if !out(i) {
			continue
		}
		last := i
		for last+1 < len(n.kids) && out(last+1) {
			last++
		}
		switch {
		case i > 0:
			edits = append(edits, edit{n.kids[i-1].end, n.kids[last].end, ""})
		case last+1 < len(n.kids):
			edits = append(edits, edit{n.from(i), n.from(last + 1), ""})
		default:
			edits = append(edits, edit{n.start + 1, n.kids[last].end, ""})
		}
		i = last
	}
	return edits
}

// A member is one of an object that is written anew, in the order in which they are to
// stand.
type member struct {
	name  string
	value any // string, []any or []member
}

// style is how a JSON text is laid out, as far as what is added to it shall look like it.
type style struct {
	line   string // how lines end
	indent string // one level
	space  string // behind a colon, and behind a comma within a line
}

// styleOf is the style of a text whose value is root.
func styleOf(text []byte, root node) style {
	s := style{line: lineBreak(text), indent: "  ", space: " "}
	if len(root.keys) == 0 {
		return s
	}
	if own, ok := ownLine(text, root); ok && own != "" {
		s.indent = own
	}
	if between := text[root.keys[0].end:root.kids[0].start]; between[len(between)-1] == ':' {
		s.space = ""
	}
	return s
}

// ownLine is the indentation of the kids of n if they have lines of their own, or would have:
// for an empty one it is that of the bracket which closes it.
func ownLine(text []byte, n node) (string, bool) {
	gap := text[n.start+1 : n.end-1]
	if len(n.kids) > 0 {
		gap = text[n.start+1 : n.from(0)]
	}
	i := bytes.LastIndexByte(gap, '\n')
	return string(gap[i+1:]), i >= 0
}

// added is the edit that adds to the end of n.
func added(text []byte, n node, s style, what ...any) edit {
	var b strings.Builder
	at, own := ownLine(text, n)
	if own && len(n.kids) == 0 {
		at += s.indent
	}
	place := n.start + 1
	for i, w := range what {
		if len(n.kids) > 0 || i > 0 {
			b.WriteByte(',')
		}
		switch {
		case own:
			b.WriteString(s.line + at)
		case len(n.kids) > 0 || i > 0:
			b.WriteString(s.space)
		}
		s.write(&b, w, at, own)
	}
	if len(n.kids) > 0 {
		place = n.kids[len(n.kids)-1].end
	}
	return edit{place, place, b.String()}
}

// write writes a value whose line begins with the indentation at; own says that what is in it
// gets lines of its own.
func (s style) write(b *strings.Builder, value any, at string, own bool) {
	item := func(i int, at string) {
		if i > 0 {
			b.WriteByte(',')
		}
		switch {
		case own:
			b.WriteString(s.line + at)
		case i > 0:
			b.WriteString(s.space)
		}
	}
	end := func(bracket byte) {
		if own {
			b.WriteString(s.line + at)
		}
		b.WriteByte(bracket)
	}
	switch v := value.(type) {
	case string:
		b.WriteString(quoted(v))
	case member:
		b.WriteString(quoted(v.name) + ":" + s.space)
		s.write(b, v.value, at, own)
	case []member:
		b.WriteByte('{')
		for i, m := range v {
			item(i, at+s.indent)
			s.write(b, m, at+s.indent, own)
		}
		end('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			item(i, at+s.indent)
			s.write(b, e, at+s.indent, own)
		}
		end(']')
	}
}

// quoted is text as a string of JSON, which is a basic string of TOML too.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always can be
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}
