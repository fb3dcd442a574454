package scripting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// testsEnd is the suffix of the files that test the policy beside them.
const testsEnd = "_test.lua"

// IsTests reports whether a file of that name contains tests, not a policy.
func IsTests(name string) bool { return strings.HasSuffix(name, testsEnd) }

// Beside is one policy with its tests.
type Beside struct {
	Policy, Tests policy.Source
	Modules       []policy.Source // modules that the policy may require
}

// ReadTests reads the tests of a person's own policies, from the places where Read finds the policies: init_test.lua is
// beside init.lua, policies/x_test.lua beside policies/x.lua. If tests have no policy beside them, it returns a
// LonelyError that names them, together with all others.
func ReadTests(config string) ([]Beside, error) {
	names := []string{"init" + testsEnd}
	for _, path := range foreign.Glob(filepath.Join(globbed(config), "policies", "*"+testsEnd)) {
		if !strings.HasPrefix(filepath.Base(path), ".") {
			names = append(names, "policies/"+filepath.Base(path))
		}
	}
	var all []Beside
	var lonely LonelyError
	for i, name := range names {
		b, err := ReadBeside(filepath.Join(config, name), name)
		switch {
		case i == 0 && errors.Is(err, fs.ErrNotExist) && b.Tests.Name == "": // there need not be any
		case errors.Is(err, fs.ErrNotExist) && b.Policy.Name == "":
			lonely = append(lonely, name)
		case err != nil:
			return nil, err
		default:
			all = append(all, b)
		}
	}
	if lonely != nil {
		return all, lonely
	}
	return all, nil
}

// LonelyError names the tests that have no policy beside them.
type LonelyError []string

func (e LonelyError) Error() string {
	texts := make([]string, len(e))
	for i, tests := range e {
		texts[i] = fmt.Sprintf("reading a policy: %s: there is no %s.lua beside it", tests, strings.TrimSuffix(tests, testsEnd))
	}
	return strings.Join(texts, "; ")
}

// ReadBeside reads one file of tests and the policy beside it. Messages call the file by the given name.
func ReadBeside(path, name string) (Beside, error) {
	var b Beside
	var err error
	if b.Tests, err = readSource(path, name, foreign.Read); err != nil {
		return b, err
	}
	of := func(tests string) string { return strings.TrimSuffix(tests, testsEnd) + ".lua" }
	b.Policy, err = readSource(of(path), of(name), foreign.Read)
	b.Policy.Settings = filepath.Base(of(path)) == "init.lua"
	if err == nil {
		b.Modules, err = readAll(modulesOf(of(path)), modulesOf(of(name))+"/")
	}
	return b, err
}

// How long tests may take. Nobody waits for the message of a test, so each one gets more time than a real message, for
// a busy machine. The worker itself measures slow scripts.
const (
	testsTime       = time.Minute // all tests of one file
	testMessageTime = 3 * messageTime
)

// maxEnded is how many tests of one file may end a worker before the remaining ones are skipped.
const maxEnded = 5

// Test runs the tests of one policy in a worker of their own; each message in them has the limits of a real one. A test
// that ends the worker fails, and the others are run again. Faults in the files are part of the result; an error means
// that nothing could be run.
func (e *Engine) Test(ctx context.Context, b Beside, config map[string]any) (policy.Tested, error) {
	tested := policy.Tested{File: b.Tests.Name, Of: b.Policy.Name, Cases: []policy.Case{}}
	if err := (policy.Files{Sources: []policy.Source{b.Policy, b.Tests}, Modules: b.Modules}).Validate(); err != nil {
		return tested, fmt.Errorf("reading tests: %w", err)
	}
	set, err := e.Compile(ctx, policy.Files{Sources: []policy.Source{b.Policy}, Modules: b.Modules, Config: config})
	if problems, ok := errors.AsType[ProblemsError](err); ok {
		tested.Problems = problems
		return tested, nil
	}
	if err != nil {
		return tested, err
	}
	defer set.Close()
	until := e.now().Add(testsTime)
	if end, ok := ctx.Deadline(); ok {
		until = earliest(until, end)
	}
	ended := map[int]string{}
	for {
		if set.worker == nil {
			if _, failure := set.load(ctx, until); failure != nil {
				return tested, errors.New(failure.Text)
			}
		}
		next := func() time.Time { return earliest(e.now().Add(testMessageTime), until) }
		running := 0
		reply, _, failure := set.worker.ask(wire.Request{Test: &wire.Test{File: b.Tests, Ended: ended}}, nil, next(), func(r wire.Running) time.Time {
			running = r.Case
			return next()
		})
		if failure == nil && reply.Tested == nil {
			failure = set.worker.gone(errors.New("no answer to tests"))
		}
		if failure == nil {
			return *reply.Tested, nil
		}
		set.worker = nil
		if running == 0 || len(ended) == maxEnded || ctx.Err() != nil || !e.now().Before(until) {
			tested.Problems = []policy.Problem{{File: b.Tests.Name, Text: failure.Text}}
			return tested, nil
		}
		ended[running] = failure.Text
	}
}
