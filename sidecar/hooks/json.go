package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// hujson keeps every blank and comment of a text in its tree. So the text that is written back differs only in the
// members that were added or removed here. Both changes also work on JSON with comments and trailing commas.

// strictJSON parses JSON without comments and trailing commas.
func strictJSON(text []byte) (hujson.Value, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
			line := 1 + bytes.Count(text[:min(int(wrong.Offset), len(text))], []byte("\n"))
			return hujson.Value{}, fmt.Errorf("invalid JSON, line %d: %w", line, err)
		}
		return hujson.Value{}, fmt.Errorf("invalid JSON: %w", err)
	}
	return hujson.Parse(bytes.Clone(text))
}

// looseJSON parses JSON that may have comments and trailing commas.
func looseJSON(text []byte) (hujson.Value, error) {
	root, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return root, fmt.Errorf("invalid JSON: %w", err)
	}
	return root, nil
}

// parserOf returns the parser for JSON with or without comments.
func parserOf(comments bool) func(text []byte) (hujson.Value, error) {
	if comments {
		return looseJSON
	}
	return strictJSON
}

// isObject and isList report the kind of a value; nil is neither.
func isObject(v *hujson.Value) bool { return v != nil && v.Value.Kind() == '{' }
func isList(v *hujson.Value) bool   { return v != nil && v.Value.Kind() == '[' }

// says returns the content of a string, or "" for another value or nil.
func says(v *hujson.Value) string {
	if v == nil || v.Value.Kind() != '"' {
		return ""
	}
	return v.Value.(hujson.Literal).String()
}

// member returns the value of an object's member, or nil if there is none. It returns an error if there are
// several, since readers disagree about which of them counts.
func member(v *hujson.Value, name string) (found *hujson.Value, err error) {
	if !isObject(v) {
		return nil, nil
	}
	object := v.Value.(*hujson.Object)
	for i := range object.Members {
		if says(&object.Members[i].Name) == name {
			if found != nil {
				return nil, fmt.Errorf("%q occurs twice", name)
			}
			found = &object.Members[i].Value
		}
	}
	return found, nil
}

// kids returns the members of an object, or the elements of a list as members without a name; what stands before an
// element then stands before its name. end is what stands after all of them.
func kids(v *hujson.Value) (all []hujson.ObjectMember, end hujson.Extra) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		return slices.Clone(v.Members), v.AfterExtra
	case *hujson.Array:
		for _, e := range v.Elements {
			before := e.BeforeExtra
			e.BeforeExtra = nil
			all = append(all, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before}, Value: e})
		}
		return all, v.AfterExtra
	}
	return nil, nil
}

func setKids(v *hujson.Value, all []hujson.ObjectMember, end hujson.Extra) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		v.Members, v.AfterExtra = all, end
	case *hujson.Array:
		v.Elements, v.AfterExtra = nil, end
		for _, kid := range all {
			kid.Value.BeforeExtra = kid.Name.BeforeExtra
			v.Elements = append(v.Elements, kid.Value)
		}
	}
}

// without removes the kids of v for which goes reports true, and reports whether it removed some and none is left.
// The blanks before the first kid go too, and what stands after the last kid stays, because our kids were added to
// an empty list. Comments before removed kids stay.
func without(v *hujson.Value, goes func(kid *hujson.ObjectMember) bool) (emptied bool) {
	all, end := kids(v)
	var left []hujson.ObjectMember
	var first, comments hujson.Extra // comments: before the kids removed since the last one left
	trailing := len(all) > 0 && all[len(all)-1].Value.AfterExtra != nil
	for i := range all {
		kid := all[i]
		before := kid.Name.BeforeExtra
		if goes(&kid) {
			if i == 0 {
				first = before
			}
			if !before.IsStandard() {
				comments = slices.Concat(comments, upToLastLine(before))
			}
			continue
		}
		switch {
		case comments != nil:
			kid.Name.BeforeExtra = joined(comments, before)
		case len(left) == 0 && i > 0 && before.IsStandard():
			kid.Name.BeforeExtra = first
		}
		left, comments = append(left, kid), nil
	}
	if len(left) == len(all) {
		return false
	}
	end = joined(comments, end)
	if n := len(left); n > 0 {
		last := &left[n-1].Value
		switch {
		case trailing && last.AfterExtra == nil:
			last.AfterExtra = hujson.Extra{}
		case !trailing:
			end = slices.Concat(last.AfterExtra, end)
			last.AfterExtra = nil
		}
	}
	setKids(v, left, end)
	return len(left) == 0
}

// joined returns comments followed by behind. It adds a line break if the last comment needs one.
func joined(comments, behind hujson.Extra) hujson.Extra {
	if all := slices.Concat(comments, behind); all.IsValid() {
		return all
	}
	return slices.Concat(comments, hujson.Extra("\n"), behind)
}

// upToLastLine returns what stands before a kid, without the beginning of the kid's own line.
func upToLastLine(before hujson.Extra) hujson.Extra {
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
		return bytes.TrimSuffix(before[:i], []byte("\r"))
	}
	return before
}

// style is the layout of a JSON text, which additions imitate.
type style struct {
	line   string // the line end
	indent string // one level
	space  string // after a colon, and after a comma within a line
}

func styleOf(text []byte, root *hujson.Value) style {
	s := style{line: lineBreak(text), indent: "  ", space: " "}
	if all, _ := kids(root); len(all) > 0 {
		if at, own := ownLine(root); own && at != "" {
			s.indent = at
		}
		if len(all[0].Value.BeforeExtra) == 0 {
			s.space = ""
		}
	}
	return s
}

// ownLine returns the indentation of the kids of v, and whether they stand on lines of their own. For an empty v,
// at is the indentation of its closing bracket.
func ownLine(v *hujson.Value) (at string, own bool) {
	all, gap := kids(v)
	if len(all) > 0 {
		gap = all[0].Name.BeforeExtra
	}
	i := bytes.LastIndexByte(gap, '\n')
	at = string(gap[i+1:])
	return at[:len(at)-len(strings.TrimLeft(at, " \t"))], i >= 0
}

// add appends the kids of what, a JSON text of the same kind as v, to v.
func (s style) add(v *hujson.Value, what string) {
	fresh, err := hujson.Parse([]byte(what))
	if err != nil {
		panic(fmt.Sprintf("hooks: %s: %v", what, err)) // we wrote it ourselves
	}
	all, end := kids(v)
	more, _ := kids(&fresh)
	at, own := ownLine(v)
	if own && len(all) == 0 {
		at += s.indent
	}
	for i := range more {
		s.layMember(&more[i], at, own, len(all) == 0 && i == 0)
	}
	if n := len(all); n > 0 {
		if all[n-1].Value.AfterExtra != nil { // a trailing comma
			more[len(more)-1].Value.AfterExtra = hujson.Extra{}
		}
		// A comment on the line of the last kid belongs to that kid.
		if comment := upToLineEnd(end); own && !comment.IsStandard() {
			more[0].Name.BeforeExtra = slices.Concat(comment, more[0].Name.BeforeExtra)
			end = end[len(comment):]
		}
	}
	setKids(v, append(all, more...), end)
}

// upToLineEnd returns the first line of what stands after something, or nil if a comment extends beyond that line
// or the line has no end.
func upToLineEnd(end hujson.Extra) hujson.Extra {
	i := bytes.IndexByte(end, '\n')
	if i < 0 || !end[:i+1].IsValid() {
		return nil
	}
	return bytes.TrimSuffix(end[:i], []byte("\r"))
}

// layMember sets the blanks before and inside a kid. at is the indentation of kids on lines of their own.
func (s style) layMember(kid *hujson.ObjectMember, at string, own, first bool) {
	switch {
	case own:
		kid.Name.BeforeExtra = hujson.Extra(s.line + at)
	case !first:
		kid.Name.BeforeExtra = hujson.Extra(s.space)
	}
	if kid.Name.Value != nil {
		kid.Value.BeforeExtra = hujson.Extra(s.space)
	}
	all, end := kids(&kid.Value)
	for i := range all {
		s.layMember(&all[i], at+s.indent, own, i == 0)
	}
	if own && len(all) > 0 {
		end = hujson.Extra(s.line + at)
	}
	setKids(&kid.Value, all, end)
}

// quoted returns text as a JSON string, which is also a basic string of TOML.
func quoted(text string) string {
	return strings.ReplaceAll(string(hujson.String(text)), "\x7f", `\u007f`)
}
