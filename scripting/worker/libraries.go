package worker

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// base lists the functions of the base library that scripts have. None of them loads code, changes the environment of a
// function, or bypasses a metatable.
var base = []string{
	"assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "select", "setmetatable", "tonumber", "tostring",
	"type", "unpack", "xpcall",
}

// Limits of the library functions.
const (
	maxText   = 1 << 20 // bytes that one call of a library function may make
	maxUnpack = 8000    // values; the registry of the machine holds a few more
)

// entry is one name of a library.
type entry struct {
	name  string
	value lua.LValue
}

// opened returns Lua's own libraries as scripts have them, in the order in which pairs visits them; "" stands for the
// globals. Their functions have no state and serve all machines; to make them anew would be most of the cost of a
// machine.
var opened = sync.OnceValue(func() map[string][]entry {
	L := lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable, lua.OpenMath} {
		L.Push(L.NewFunction(open))
		L.Call(0, 0)
	}
	names := func(t *lua.LTable) []string {
		var names []string
		t.ForEach(func(key, v lua.LValue) {
			if _, ok := v.(*lua.LTable); !ok {
				names = append(names, key.String())
			}
		})
		slices.Sort(names)
		return names
	}
	all := map[string][]entry{}
	for library, change := range map[string]struct {
		gone []string
		ours map[string]lua.LGFunction
	}{
		"":       {ours: map[string]lua.LGFunction{"unpack": unpack}},
		"string": {gone: []string{"dump"}, ours: map[string]lua.LGFunction{"rep": rep, "format": format}},
		"table":  {ours: map[string]lua.LGFunction{"concat": concat}},
		"math":   {gone: []string{"randomseed"}},
	} {
		t := L.G.Global
		if library != "" {
			t = t.RawGetString(library).(*lua.LTable)
		}
		for _, name := range names(t) {
			e := entry{name, t.RawGetString(name)}
			if fn := change.ours[name]; fn != nil {
				e.value = L.NewFunction(fn)
			}
			if !slices.Contains(change.gone, name) && (library != "" || slices.Contains(base, name)) {
				all[library] = append(all[library], e)
			}
		}
	}
	return all
})

// openLibraries adds the permitted part of Lua's own libraries to a machine.
func (s *state) openLibraries() {
	for library, entries := range opened() {
		t := s.machine.G.Global
		if library != "" {
			t = s.machine.CreateTable(0, len(entries)+1)
			s.machine.G.Global.RawSetString(library, t)
		}
		for _, e := range entries {
			t.RawSetString(e.name, e.value)
		}
		switch library {
		case "":
			t.RawSetString("print", s.machine.NewFunction(s.print))
		case "math":
			t.RawSetString("random", s.machine.NewFunction(s.random))
		case "string":
			t.RawSetString("__index", t)
			s.machine.SetMetatable(lua.LString(""), t)
		}
	}
}

// print writes to the log of the policies.
func (s *state) print(L *lua.LState) int {
	words := make([]string, L.GetTop())
	for i := range words {
		words[i] = L.ToStringMeta(L.Get(i + 1)).String()
	}
	s.log(strings.Join(words, "\t"))
	return 0
}

// random is math.random. Its numbers are the same for the same message in the same script.
func (s *state) random(L *lua.LState) int {
	if s.chance == nil {
		L.RaiseError("math.random: there is no message yet, and no chance without one")
	}
	switch L.GetTop() {
	case 0:
		L.Push(lua.LNumber(s.chance.Float64()))
	default:
		low, high := int64(1), L.CheckInt64(1)
		if L.GetTop() > 1 {
			low, high = high, L.CheckInt64(2)
		}
		if low > high || high-low < 0 || high-low == math.MaxInt64 {
			L.ArgError(1, "interval is empty")
		}
		L.Push(lua.LNumber(low + s.chance.Int64N(high-low+1)))
	}
	return 1
}

func rep(L *lua.LState) int {
	text, n := L.CheckString(1), L.CheckNumber(2)
	if n < 1 || text == "" {
		L.Push(lua.LString(""))
		return 1
	}
	if float64(n) > float64(maxText/len(text)) {
		L.RaiseError("string.rep would make more than %d bytes", maxText)
	}
	L.Push(lua.LString(strings.Repeat(text, int(n))))
	return 1
}

func concat(L *lua.LState) int {
	t, between := L.CheckTable(1), L.OptString(2, "")
	first := L.OptInt(3, 1)
	last := t.Len()
	if L.GetTop() > 3 {
		last = L.CheckInt(4)
	}
	var text strings.Builder
	for i := first; i <= last; i++ {
		v := t.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			L.RaiseError("table.concat: value %d is a %s", i, v.Type())
		}
		if i > first {
			text.WriteString(between)
		}
		text.WriteString(lua.LVAsString(v))
		if text.Len() > maxText {
			L.RaiseError("table.concat would make more than %d bytes", maxText)
		}
	}
	L.Push(lua.LString(text.String()))
	return 1
}

func unpack(L *lua.LState) int {
	t, first := L.CheckTable(1), L.OptInt(2, 1)
	last := t.Len()
	if L.GetTop() > 2 {
		last = L.CheckInt(3)
	}
	if first > last {
		return 0
	}
	if n := last - first; n < 0 || n >= maxUnpack {
		L.RaiseError("unpack of more than %d values", maxUnpack)
	}
	for i := first; i <= last; i++ {
		L.Push(t.RawGetInt(i))
	}
	return last - first + 1
}

// format is string.format. The interpreter's own prints whatever Go value it is given, and does not limit the length.
func format(L *lua.LState) int {
	pattern := L.CheckString(1)
	var text strings.Builder
	next := 2
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			text.WriteByte(pattern[i])
			continue
		}
		spec, verb := directive(pattern[i+1:])
		i += len(spec) + 1
		if len(spec) > 8 || verb == 0 || !strings.ContainsRune("cdiouxXeEfgGqs%", rune(verb)) {
			L.RaiseError("string.format: unknown directive %%%s", clip(spec+string(verb), 16))
		}
		if verb == '%' {
			text.WriteByte('%')
			continue
		}
		if next > L.GetTop() {
			L.ArgError(next, "no value")
		}
		text.WriteString(formatted(L, next, spec, verb))
		next++
		if text.Len() > maxText {
			L.RaiseError("string.format would make more than %d bytes", maxText)
		}
	}
	if text.Len() > maxText {
		L.RaiseError("string.format would make more than %d bytes", maxText)
	}
	L.Push(lua.LString(text.String()))
	return 1
}

// directive splits the text after a percent sign into flags, width and precision, and the verb, which is 0 if there is
// none.
func directive(s string) (spec string, verb byte) {
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			if digits++; digits > 2 {
				return s[:i], 0
			}
		case c == '.':
			digits = 0
		case strings.IndexByte("-+ #", c) >= 0:
		default:
			return s[:i], c
		}
	}
	return s, 0
}

func formatted(L *lua.LState, n int, spec string, verb byte) string {
	switch verb {
	case 's':
		return fmt.Sprintf("%"+spec+"s", L.ToStringMeta(L.CheckAny(n)).String())
	case 'q':
		r := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\\n", "\r", "\\r", "\x00", "\\000")
		return "\"" + r.Replace(L.CheckString(n)) + "\""
	case 'c':
		return string([]byte{byte(L.CheckInt(n))})
	case 'e', 'E', 'f', 'g', 'G':
		return fmt.Sprintf("%"+spec+string(verb), float64(L.CheckNumber(n)))
	case 'i':
		verb = 'd'
	case 'u':
		return fmt.Sprintf("%"+spec+"d", uint64(L.CheckInt64(n)))
	}
	return fmt.Sprintf("%"+spec+string(verb), L.CheckInt64(n))
}

// clip shortens a text to n bytes of whole characters, and makes it valid UTF-8.
func clip(text string, n int) string {
	if len(text) > n {
		text = text[:n]
		return strings.ToValidUTF8(text, "") + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

// printable returns a text that fits on one line of a terminal.
func printable(text string, n int) string {
	text = clip(text, n)
	if quotedText := strconv.Quote(text); quotedText != "\""+text+"\"" {
		text = strings.Map(func(r rune) rune {
			if !strconv.IsPrint(r) {
				return ' '
			}
			return r
		}, text)
	}
	return text
}
