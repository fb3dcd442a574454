package worker

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	maxPattern     = 4 << 10
	maxExpressions = 256
	maxMatches     = 1 << 16
	maxReplaced    = 2 << 20 // bytes of the result of replace
)

// expressions are RE2: matching takes time linear in the length of the text.
var expressions = &class{
	name: "intercom.Re", noun: "re", doc: "A regular expression (RE2): linear in the length of the text, whatever the pattern.",
	members: []member{
		{
			name: "test", method: true, params: []param{{"text", "string"}}, returns: "boolean", doc: "Whether it matches anywhere in the text.",
			call: func(s *state, L *lua.LState) int {
				L.Push(lua.LBool(s.expression(L).holds(L.CheckString(2))))
				return 1
			},
		},
		{
			name: "match", method: true, params: []param{{"text", "string"}}, returns: "string|nil ...",
			doc: "The groups of the first match, or all of it where there are no groups; nil where nothing matches.",
			call: func(s *state, L *lua.LState) int {
				re, text := s.expression(L), L.CheckString(2)
				var found []string
				if re.possible(text) {
					found = re.FindStringSubmatch(text)
				}
				if found == nil {
					L.Push(lua.LNil)
					return 1
				}
				if len(found) > 1 {
					found = found[1:]
				}
				for _, text := range found {
					L.Push(lua.LString(text))
				}
				return len(found)
			},
		},
		{
			name: "replace", method: true, params: []param{{"text", "string"}, {"with", "string"}}, returns: "string, integer",
			doc: "The text with all matches replaced, and how many; $1, or ${1} before a digit, stands for a group, ${name} for a named one, " +
				"$$ for a dollar sign.",
			call: func(s *state, L *lua.LState) int {
				text, n := replace(L, s.expression(L), L.CheckString(2), L.CheckString(3))
				L.Push(lua.LString(text))
				L.Push(lua.LNumber(n))
				return 2
			},
		},
	},
}

// expression returns the pattern that a method was called on.
func (s *state) expression(L *lua.LState) *pattern { return s.expressions[held(L.Get(1))] }

// compile implements intercom.re. A pattern that does not compile is an error of the file.
func (s *state) compile(L *lua.LState) int {
	if !s.loading {
		L.RaiseError("intercom.re must be at the top of the file, where it is compiled once")
	}
	pattern := L.CheckString(1)
	L.Push(s.object(expressions, s.pattern(L, pattern)))
	return 1
}

// pattern returns the index of an expression in this state. Expressions of one file are compiled once for all its
// states.
func (s *state) pattern(L *lua.LState, text string) int {
	if len(text) > maxPattern {
		L.RaiseError("a pattern of %d bytes, the most is %d", len(text), maxPattern)
	}
	if len(s.expressions) >= maxExpressions {
		L.RaiseError("more than %d patterns", maxExpressions)
	}
	re, ok := s.script.patterns[text]
	if !ok {
		var err error
		if re, err = newPattern(text); err != nil {
			L.RaiseError("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		s.script.patterns[text] = re
	}
	s.expressions = append(s.expressions, re)
	return len(s.expressions) - 1
}

func replace(L *lua.LState, re *pattern, text, with string) (string, int) {
	parts := replacement(L, re, with) // even if nothing matches, so that a mistake in it shows at once
	if !re.possible(text) {
		return text, 0
	}
	found := re.FindAllStringSubmatchIndex(text, maxMatches+1)
	if len(found) > maxMatches {
		L.RaiseError("more than %d matches", maxMatches)
	}
	if len(found) == 0 {
		return text, 0
	}
	out := make([]byte, 0, len(text))
	last := 0
	for _, at := range found {
		out = append(out, text[last:at[0]]...)
		for _, p := range parts {
			out = append(out, p.text...)
			if p.group >= 0 && at[2*p.group] >= 0 {
				out = append(out, text[at[2*p.group]:at[2*p.group+1]]...)
			}
		}
		last = at[1]
		if len(out) > maxReplaced {
			L.RaiseError("replace would make more than %d bytes", maxReplaced)
		}
	}
	return string(append(out, text[last:]...)), len(found)
}

// part is a piece of a replacement: a text, and the group that follows it, or -1 for none.
type part struct {
	text  string
	group int
}

// replacement parses the text that replaces a match. The name of a group that begins with a digit ends at the first
// character that is no digit, so a letter after it is a literal letter. A group that the pattern does not have is an
// error, not an empty text.
func replacement(L *lua.LState, re *pattern, with string) (parts []part) {
	var text strings.Builder
	for with != "" {
		before, after, found := strings.Cut(with, "$")
		text.WriteString(before)
		if !found {
			break
		}
		name, rest := groupOf(after)
		switch with = rest; {
		case name != "":
			parts = append(parts, part{text.String(), groupCalled(L, re, name)})
			text.Reset()
		case strings.HasPrefix(after, "$"):
			text.WriteString("$")
			with = after[1:]
		default:
			text.WriteString("$")
		}
	}
	return append(parts, part{text.String(), -1})
}

// groupOf returns the name of the group at the beginning of a text, or "", and the rest of the text.
func groupOf(text string) (name, rest string) {
	if in, ok := strings.CutPrefix(text, "{"); ok {
		if name, rest, ok = strings.Cut(in, "}"); ok && name != "" {
			return name, rest
		}
		return "", text
	}
	digit := func(r rune) bool { return '0' <= r && r <= '9' }
	letter := func(r rune) bool { return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
	of := digit
	if first := strings.TrimLeftFunc(text, letter); first != text {
		of = func(r rune) bool { return digit(r) || letter(r) }
	}
	rest = strings.TrimLeftFunc(text, of)
	return text[:len(text)-len(rest)], rest
}

// groupCalled returns the number of a group.
func groupCalled(L *lua.LState, re *pattern, name string) int {
	n, err := strconv.Atoi(name)
	if err != nil {
		n = re.SubexpIndex(name)
	}
	if n < 0 || n > re.NumSubexp() {
		L.RaiseError("the pattern has no group %q; write ${1} before a digit, and $$ for a dollar sign", clip(name, 64))
	}
	return n
}
