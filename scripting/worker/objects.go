package worker

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// class is a kind of value that scripts see: its fields and its functions. One table serves the machine, the check and
// the annotations.
type class struct {
	name    string // in the annotations
	doc     string
	noun    string // in errors: a message, a chat
	members []member
	// Scripts write values of this class as tables; their fields are only described here.
	table bool
}

// member is a field or a function of a class.
type member struct {
	name string
	doc  string
	// The type of a field, as annotations write it.
	typ string
	get func(s *state, self int) lua.LValue
	// The parameters and the result of a function; overloads are whole types.
	params    []param
	returns   string
	overloads []string
	call      func(s *state, L *lua.LState) int
	method    bool // called with a colon
}

type param struct{ name, typ string }

func (m member) function() bool { return m.typ == "" }

func (c *class) find(name string) *member {
	i := slices.IndexFunc(c.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &c.members[i]
}

func (c *class) names() []string {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		names[i] = m.name
	}
	return names
}

// unknown returns the error about a name that a class does not have.
func (c *class) unknown(name string) string {
	return c.noun + " has no field \"" + clip(name, 64) + "\"" + meant(name, c.names())
}

// handle is the only content of an object: a number with a meaning only to its state, so that printing an object
// reveals nothing else.
type handle int

// object makes a value of a class that scripts can read but not change.
func (s *state) object(c *class, self int) *lua.LUserData {
	return &lua.LUserData{Value: handle(self), Env: s.machine.Env, Metatable: s.metatable(c)}
}

func (s *state) metatable(c *class) *lua.LTable {
	if meta, ok := s.objects[c.name]; ok {
		return meta
	}
	L := s.machine
	meta := L.CreateTable(0, 4)
	s.objects[c.name] = meta
	functions := map[string]*lua.LFunction{}
	meta.RawSetString("__metatable", lua.LString("locked"))
	meta.RawSetString("__tostring", L.NewFunction(func(L *lua.LState) int {
		L.Push(lua.LString(c.noun))
		return 1
	}))
	meta.RawSetString("__newindex", L.NewFunction(func(L *lua.LState) int {
		switch c.name {
		case messageClass:
			L.RaiseError("messages are read-only; return a decision or use a filter hook")
		case contextClass:
			L.RaiseError("ctx is read-only; use ctx.set to remember a value")
		}
		L.RaiseError("%s is read-only", c.noun)
		return 0
	}))
	meta.RawSetString("__index", L.NewFunction(func(L *lua.LState) int {
		name := L.Get(2).String()
		m := c.find(name)
		switch {
		case m == nil:
			L.RaiseError("%s", c.unknown(name))
		case m.function():
			fn := functions[name]
			if fn == nil {
				fn = s.function(c, m)
				functions[name] = fn
			}
			L.Push(fn)
		default:
			L.Push(m.get(s, held(L.Get(1))))
		}
		return 1
	}))
	return meta
}

// function returns a function of a class, as scripts call it.
func (s *state) function(c *class, m *member) *lua.LFunction {
	return s.machine.NewFunction(func(L *lua.LState) int {
		called := s.is(L.Get(1), c)
		if m.method && !called {
			L.RaiseError("%s is called with a colon: %s:%s(…)", m.name, c.noun, m.name)
		}
		if !m.method && called {
			L.RaiseError("%s is called with a dot: %s.%s(…)", m.name, c.noun, m.name)
		}
		return m.call(s, L)
	})
}

// is reports whether a value is of a class.
func (s *state) is(v lua.LValue, c *class) bool {
	u, ok := v.(*lua.LUserData)
	return ok && u.Metatable == s.objects[c.name] && u.Metatable != nil
}

// held returns the number in an object.
func held(v lua.LValue) int {
	if u, ok := v.(*lua.LUserData); ok {
		h, _ := u.Value.(handle)
		return int(h)
	}
	return 0
}

// list returns a new table of strings.
func (s *state) list(texts []string) *lua.LTable {
	t := s.machine.CreateTable(len(texts), 0)
	for _, text := range texts {
		t.Append(lua.LString(text))
	}
	return t
}

// value converts a JSON value to a Lua value.
func (s *state) value(v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		t := s.machine.CreateTable(len(v), 0)
		for _, of := range v {
			t.Append(s.value(of))
		}
		return t
	case map[string]any:
		t := s.machine.CreateTable(0, len(v))
		for _, key := range sortedKeys(v) { // pairs goes in the order of insertion
			t.RawSetString(key, s.value(v[key]))
		}
		return t
	}
	return lua.LNil
}
