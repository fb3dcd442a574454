package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// state is a machine in which one file was run. It serves one message and is thrown away, so that nothing survives in
// the locals of a file, unless its script left it untouched. A machine in which something failed is not used again.
type state struct {
	machine *lua.LState
	meter   meter
	script  *script
	set     *set

	// While the file runs.
	loading  bool
	module   *module               // the module being run for it
	required map[string]lua.LValue // results of the modules that were run; nil while a module runs

	hooks       map[policy.Hook][]registered
	ignored     []policy.Problem // registrations that the file may not make
	settings    *policy.Settings
	configured  int // the line of intercom.configure
	decisions   []policy.Decision
	expressions []*pattern
	agents      []policy.Agent // found by ctx.agent
	objects     map[string]*lua.LTable
	message     *lua.LUserData
	context     *lua.LUserData
	config      lua.LValue
	imprint     *imprint // after loading the file; nil: not compared

	// While a hook runs.
	now    *evaluation
	chance *rand.Rand

	tests *testRun // set in the machine of a file of tests
}

// registered is one function or rule of a script.
type registered struct {
	fn   *lua.LFunction
	rule *rule
	line int
}

// The limits of one machine.
const (
	maxCalls   = 128      // nested calls
	registry   = 1 << 8   // initial number of values
	maxStackOf = 32 << 10 // values on the stack of the machine
	maxHooks   = 256      // functions and rules of one file
)

// newState makes a machine and runs the script's file in it.
func newState(of *set, script *script) (*state, *policy.Failure) {
	return newStateWith(of, script, (*state).install)
}

// newStateWith is newState with other globals.
func newStateWith(of *set, script *script, install func(*state)) (*state, *policy.Failure) {
	s := &state{
		script: script, set: of, loading: true,
		hooks: map[policy.Hook][]registered{}, objects: map[string]*lua.LTable{}, required: map[string]lua.LValue{},
		machine: lua.NewState(lua.Options{
			SkipOpenLibs: true, CallStackSize: maxCalls, RegistrySize: registry, RegistryMaxSize: maxStackOf, RegistryGrowStep: 4 * registry,
		}),
	}
	s.openLibraries()
	install(s)
	s.seal()
	s.meter.Context, s.meter.machine = context.Background(), s.machine
	if of.visit != nil {
		s.meter.visit = func(line int) {
			if s.chunk(0) == script.source.Name { // and not a module
				of.visit(line)
			}
		}
	}
	s.machine.SetContext(&s.meter)
	limit, within := loadInstructions, loadTime
	if script.source.GuardsOnly {
		// Machines are made between messages, and the next message waits for them: a file of others must not take
		// longer to load than it may take for a message.
		limit, within = hookInstructions, hookTime
	}
	_, failure := s.call(limit, within, s.machine.NewFunctionFromProto(script.proto))
	s.loading = false
	if failure == nil && !script.keeps {
		s.imprint = imprintOf(s)
	}
	return s, failure
}

// seal makes the use of an undefined global an error.
func (s *state) seal() {
	globals := s.machine.G.Global
	seal := s.machine.CreateTable(0, 2)
	seal.RawSetString("__index", s.machine.NewFunction(func(L *lua.LState) int {
		name := L.Get(2).String()
		var names []string
		globals.ForEach(func(key, _ lua.LValue) { names = append(names, key.String()) })
		slices.Sort(names)
		L.RaiseError("undefined global %q%s", clip(name, 64), meant(name, names))
		return 0
	}))
	seal.RawSetString("__newindex", s.machine.NewFunction(func(L *lua.LState) int {
		L.RaiseError("%s", unset(clip(L.Get(2).String(), 64)))
		return 0
	}))
	s.machine.SetMetatable(globals, seal)
}

// unset returns the error about setting a global, with what to write instead.
func unset(name string) string {
	if settingsClass.find(name) != nil {
		return fmt.Sprintf("global %q cannot be set: in init.lua, write intercom.configure { %s = ... }", name, name)
	}
	return fmt.Sprintf("global %q cannot be set: use local %s", name, name)
}

// call runs a function within limits. After a failure the state must not be used again.
func (s *state) call(limit int, within time.Duration, fn *lua.LFunction, args ...lua.LValue) (value lua.LValue, failure *policy.Failure) {
	end := s.meter.begin(limit, within)
	defer end()
	// The interpreter's own error handler can panic.
	defer func() {
		if p := recover(); p != nil {
			value, failure = lua.LNil, s.failed(fmt.Sprint(p))
		}
	}()
	err := s.machine.CallByParam(lua.P{Fn: fn, NRet: 1, Protect: true}, args...)
	if err != nil {
		text := err.Error()
		if raised, ok := err.(*lua.ApiError); ok { //nolint:errorlint // what PCall returns is never wrapped
			text = "the error is a " + raised.Object.Type().String()
			if lua.LVCanConvToString(raised.Object) {
				text = lua.LVAsString(raised.Object)
			}
		}
		return lua.LNil, s.failed(text)
	}
	// An error handler of the script may have swallowed the meter's last error and returned.
	if s.meter.expired != "" {
		return lua.LNil, s.failed("")
	}
	value = s.machine.Get(-1)
	s.machine.SetTop(0)
	return value, nil
}

// failed returns the failure for an error whose text may begin with file and line.
func (s *state) failed(text string) *policy.Failure {
	f := &policy.Failure{Script: s.script.source.Name, Kind: policy.Raised}
	if s.meter.expired != "" {
		f.Kind, f.Line, f.Text = s.meter.expired, s.meter.line, s.meter.text()
		return f
	}
	if rest, ok := strings.CutPrefix(text, f.Script+":"); ok {
		number, words, _ := strings.Cut(rest, ":")
		if n, err := strconv.Atoi(number); err == nil {
			f.Line, text = n, strings.TrimPrefix(words, " ")
		}
	}
	f.Text = printable(text, 500)
	return f
}

// where returns the line of the script that called the running function of ours.
func (s *state) where() int { return line(s.machine, 1) }

// chunk returns the file of the function at a level of the stack: the script, or one of its modules.
func (s *state) chunk(level int) string {
	if frame, ok := s.machine.GetStack(level); ok {
		if _, err := s.machine.GetInfo("S", frame, lua.LNil); err == nil && frame.Source != "" {
			return frame.Source
		}
	}
	return s.script.source.Name
}

// by returns the place in the script from which a function of ours was called.
func (s *state) by() string { return fmt.Sprintf("%s:%d", s.chunk(1), s.where()) }
