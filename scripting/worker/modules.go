package worker

import (
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// A module is a file with functions and values that policies share. It is no policy: it is asked nothing, and registers
// nothing. Each machine itself runs the modules that its file requires, within the limits of that file, so that
// machines share nothing.

// module is a compiled module.
type module struct {
	source policy.Source
	proto  *lua.FunctionProto
}

// loadModules compiles all modules. A broken one keeps the set from being used, even if no file requires it.
func (of *set) loadModules(sources []policy.Source, announce func(name string)) []policy.Problem {
	of.modules = map[string]*module{}
	var all []policy.Problem
	for _, source := range sources {
		announce(source.Name)
		proto, problems := compileSource(source, libraries())
		all = append(all, problems...)
		if proto != nil && !slices.ContainsFunc(problems, func(p policy.Problem) bool { return !p.Warning }) {
			of.modules[source.Module()] = &module{source: source, proto: proto}
		}
	}
	return all
}

// require implements require(name): it returns the value of the module, the same one each time within one machine.
func (s *state) require(L *lua.LState) int {
	name := L.CheckString(1)
	m := s.set.modules[name]
	switch value, running := s.required[name]; {
	case !s.loading:
		L.RaiseError("require must be at the top of the file")
	case s.script.source.Project != "":
		L.RaiseError("a project's policy has no modules: those in policies/lib are a person's own")
	case m == nil:
		L.RaiseError("no module %q in policies/lib%s", clip(name, 64), meant(name, sortedKeys(s.set.modules)))
	case value != nil:
		L.Push(value)
		return 1
	case running:
		L.RaiseError("module %q requires itself", name)
	}
	outer := s.module
	s.module, s.required[name] = m, nil
	defer func() { // even if it raises an error, which the file may catch
		if s.module = outer; s.required[name] == nil {
			delete(s.required, name)
		}
	}()
	L.Push(L.NewFunctionFromProto(m.proto))
	L.Call(0, 1)
	value := L.Get(-1)
	if value == lua.LNil {
		value = lua.LTrue
	}
	s.required[name] = value
	L.Push(value)
	return 1
}
