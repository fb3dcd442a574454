package worker

import (
	"reflect"

	lua "github.com/yuin/gopher-lua"
)

// A machine serves one message, so that nothing survives in the locals of a file. Making a machine is two thirds of the
// cost of a verdict, and most scripts leave theirs as they found it: such a machine is as good as a new one. The code
// below detects this: it records everything that a script can reach once its file has run, and compares it after a
// message. A script that keeps anything gets a new machine each time.

// maxImprint is how many values are compared for each message; above that, a new machine costs less.
const maxImprint = 4096

// imprint is what a script can reach: tables with their contents, and the variables that its functions share.
type imprint struct {
	tables    []printed
	upvalues  []kept
	decisions int // of the state
	agents    int
	size      int
	seen      map[any]bool // only while the imprint is taken
	unfit     bool         // it cannot be compared
}

// printed is the recorded content of a table.
type printed struct {
	of        *lua.LTable
	metatable lua.LValue
	array     []lua.LValue // from 1 on
	keys      []lua.LValue // the other keys, in the order of pairs
	values    []lua.LValue
}

// kept is the recorded value of a variable of a file's functions.
type kept struct {
	of    *lua.Upvalue
	value lua.LValue
}

// imprintOf records what a state's script can reach now. It returns nil if that cannot be compared.
func imprintOf(s *state) *imprint {
	p := &imprint{seen: map[any]bool{}, decisions: len(s.decisions), agents: len(s.agents)}
	p.take(s.machine.G.Global)
	for _, all := range s.hooks {
		for _, r := range all {
			if r.fn != nil {
				p.take(r.fn)
			}
		}
	}
	for _, v := range s.required {
		p.take(v)
	}
	if p.seen = nil; p.unfit {
		return nil
	}
	return p
}

// take records a value and everything reachable from it.
func (p *imprint) take(v lua.LValue) {
	switch v := v.(type) {
	case *lua.LTable:
		if p.seen[v] || p.unfit {
			return
		}
		p.seen[v] = true
		p.table(v)
	case *lua.LFunction:
		if p.seen[v] || p.unfit {
			return
		}
		p.seen[v] = true
		if !v.IsG { // our own functions have nothing that a script could change
			p.take(v.Env)
		}
		for _, u := range v.Upvalues {
			if p.seen[u] {
				continue
			}
			p.seen[u] = true
			p.upvalues = append(p.upvalues, kept{u, u.Value()})
			p.count(1)
			p.take(u.Value())
		}
	case *lua.LState, lua.LChannel:
		p.unfit = true // scripts have none
	}
}

func (p *imprint) table(t *lua.LTable) {
	one := printed{of: t, metatable: t.Metatable}
	array, keys, ok := sizes(t)
	if !ok {
		p.unfit = true
		return
	}
	if p.count(array + keys + 1); p.unfit {
		return
	}
	for i := range array {
		one.array = append(one.array, t.RawGetInt(i+1))
	}
	at := lua.LValue(lua.LNil)
	if array > 0 {
		at = lua.LNumber(array)
	}
	for {
		key, value := t.Next(at)
		if key == lua.LNil {
			break
		}
		one.keys, one.values = append(one.keys, key), append(one.values, value)
		at = key
	}
	if len(one.keys) != keys { // some keys were removed: the order in which they would come back cannot be seen
		p.unfit = true
		return
	}
	p.tables = append(p.tables, one)
	p.take(t.Metatable)
	for _, v := range one.array {
		p.take(v)
	}
	for i := range one.keys {
		p.take(one.keys[i])
		p.take(one.values[i])
	}
}

func (p *imprint) count(n int) {
	if p.size += n; p.size > maxImprint {
		p.unfit = true
	}
}

// untouched reports whether a script left its machine as it was after loading its file. If so, it discards what was
// made for the last message.
func (s *state) untouched() bool {
	p := s.imprint
	if p == nil {
		return false
	}
	for _, u := range p.upvalues {
		if u.of.Value() != u.value {
			return false
		}
	}
	for i := range p.tables {
		if !p.tables[i].same() {
			return false
		}
	}
	clear(s.decisions[p.decisions:])
	clear(s.agents[p.agents:])
	s.decisions, s.agents = s.decisions[:p.decisions], s.agents[:p.agents]
	s.config, s.now, s.chance = nil, nil, nil
	return true
}

func (one *printed) same() bool {
	array, keys, ok := sizes(one.of)
	if !ok || array != len(one.array) || keys != len(one.keys) || one.of.Metatable != one.metatable {
		return false
	}
	for i, v := range one.array {
		if one.of.RawGetInt(i+1) != v {
			return false
		}
	}
	for i, key := range one.keys {
		if one.of.RawGet(key) != one.values[i] {
			return false
		}
	}
	return true
}

// The fields of a table that say how many values it has in its array, and how many other keys it has ever had: the
// interpreter keeps removed keys, in the order in which they came.
var tableArray, tableKeys = fieldOf("array"), fieldOf("keys")

func fieldOf(name string) []int {
	f, ok := reflect.TypeFor[lua.LTable]().FieldByName(name)
	if !ok || f.Type.Kind() != reflect.Slice {
		return nil
	}
	return f.Index
}

// sizes returns how many values a table has in its array, and how many other keys it has ever had. It returns false if
// the interpreter's fields are not as expected.
func sizes(t *lua.LTable) (array, keys int, ok bool) {
	if tableArray == nil || tableKeys == nil {
		return 0, 0, false
	}
	v := reflect.ValueOf(t).Elem()
	return v.FieldByIndex(tableArray).Len(), v.FieldByIndex(tableKeys).Len(), true
}
