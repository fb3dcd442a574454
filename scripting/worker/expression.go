package worker

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	maxPattern     = 4 << 10
	maxExpressions = 256
	maxMatches     = 1 << 16
	maxReplaced    = 2 << 20 // bytes of a text in which something was replaced
)

// expressions are RE2: the time that they take grows with the text, and not faster.
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
			doc: "The text with all matches replaced, and how many; $1 stands for a group, $$ for a dollar sign.",
			call: func(s *state, L *lua.LState) int {
				text, n := replace(L, s.expression(L), L.CheckString(2), L.CheckString(3))
				L.Push(lua.LString(text))
				L.Push(lua.LNumber(n))
				return 2
			},
		},
	},
}

// expression is what a method was called on.
func (s *state) expression(L *lua.LState) *pattern { return s.expressions[held(L.Get(1))] }

// compile is intercom.re: a pattern that does not compile is an error of the file.
func (s *state) compile(L *lua.LState) int {
	if !s.loading {
		L.RaiseError("intercom.re must be at the top of the file, where it is compiled once")
	}
	pattern := L.CheckString(1)
	L.Push(s.object(expressions, s.pattern(L, pattern)))
	return 1
}

// pattern keeps an expression; those of one file are compiled once for all its states.
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
		out = re.ExpandString(out, with, text, at)
		last = at[1]
		if len(out) > maxReplaced {
			L.RaiseError("replace would make more than %d bytes", maxReplaced)
		}
	}
	return string(append(out, text[last:]...)), len(found)
}
