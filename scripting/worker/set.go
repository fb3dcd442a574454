package worker

import (
	"errors"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
)

// set is the scripts of one generation.
type set struct {
	scripts  []*script
	modules  map[string]*module
	config   map[string]any
	memories policy.Memories // the committed ones
	name     string
	served   map[*script]*state // the machines that served the last message
	visit    func(line int)     // called with each line that is run; nil except in tests of policies
}

// script is one file.
type script struct {
	source   policy.Source
	proto    *lua.FunctionProto
	patterns map[string]*pattern
	hooks    map[policy.Hook][]int // lines
	// registered has what the file registered when it was loaded. Its rules are data and serve all messages; its
	// functions belong to their machine.
	registered map[policy.Hook][]registered
	// broken says why the file cannot be run, in a set that is used all the same.
	broken *policy.Failure
	spare  *state
	used   bool // a message has needed a machine
	keeps  bool // it leaves changes in its machines, or they cannot be compared
}

// load compiles all files and runs each of them once. It calls announce with the name of each file before it reads it.
func load(q wire.Load, memories policy.Memories, announce func(name string)) (*set, wire.Loaded) {
	of := &set{config: q.Files.Config, memories: memories, name: q.Generation}
	loaded := wire.Loaded{Scripts: []policy.Script{}, Problems: of.loadModules(q.Files.Modules, announce)}
	for _, source := range q.Files.Sources {
		s := &script{source: source, patterns: map[string]*pattern{}, hooks: map[policy.Hook][]int{}}
		of.scripts = append(of.scripts, s)
		var problems []policy.Problem
		switch {
		case slices.Contains(q.Avoid, source.Name):
			problems = []policy.Problem{{File: source.Name, Text: "cannot be loaded: the policy worker died of it"}}
		case source.Broken != "":
			problems = []policy.Problem{{File: source.Name, Text: printable(source.Broken, 500)}}
		default:
			announce(source.Name)
			problems = s.load(of)
		}
		if s.spare != nil && s.spare.settings != nil {
			loaded.Settings, loaded.Lines = *s.spare.settings, settingLines(source, s.spare.configured)
		}
		if source.GuardsOnly {
			s.excuse(problems)
		}
		loaded.Problems = append(loaded.Problems, problems...)
		loaded.Scripts = append(loaded.Scripts, policy.Script{Name: source.Name, Hooks: s.hooks})
	}
	loaded.Problems = append(loaded.Problems, of.shadowed()...)
	return of, loaded
}

// load compiles the file and runs it for the first time.
func (s *script) load(of *set) []policy.Problem {
	proto, problems := compileSource(s.source, libraries())
	if proto == nil || slices.ContainsFunc(problems, func(p policy.Problem) bool { return !p.Warning }) {
		return problems
	}
	s.proto = proto
	first, failure := newState(of, s)
	problems = append(problems, first.ignored...)
	if failure != nil {
		wrong := policy.Problem{File: s.source.Name, Line: failure.Line, Text: failure.Text}
		if lines := settingLines(s.source, wrong.Line); s.source.Settings && wrong.Line == lines[""] { // the interpreter only knows where the call begins
			wrong.Line = lines.Wrong(errors.New(strings.TrimPrefix(wrong.Text, "each of "))).Line
		}
		return append(problems, wrong)
	}
	s.spare, s.registered = first, first.hooks
	for hook, all := range first.hooks {
		for _, r := range all {
			s.hooks[hook] = append(s.hooks[hook], r.line)
		}
	}
	return problems
}

// excuse lets a set be used although a project's file in it is broken: the guard of the file counts as failed.
func (s *script) excuse(problems []policy.Problem) {
	for i, p := range problems {
		if !p.Warning && s.broken == nil {
			s.broken = &policy.Failure{Script: s.source.Name, Line: p.Line, Kind: policy.Raised, Text: p.Text}
			s.hooks = map[policy.Hook][]int{policy.Guard: {p.Line}}
		}
		problems[i].Warning = true
	}
}

// prepare gets machines ready for the next message: those that the last message left untouched, and new ones.
func (of *set) prepare() {
	for script, s := range of.served {
		switch {
		case s == nil: // something failed in the machine
		case s.untouched():
			script.spare = s
		default:
			script.keeps = true
		}
	}
	of.served = nil
	for _, s := range of.scripts {
		if s.spare == nil && s.used {
			s.spare = s.fresh(of)
		}
	}
}

// fresh returns a new machine, or nil if the file fails now although it did not when it was loaded.
func (s *script) fresh(of *set) *state {
	made, failure := newState(of, s)
	if failure != nil {
		return nil
	}
	return made
}
