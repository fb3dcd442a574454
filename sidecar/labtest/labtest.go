// Package labtest starts real agents for tests: Claude Code, Codex, opencode and Gemini
// CLI, each in a pane of a private tmux server, with a HOME of its own, without an account,
// and with no network but loopback. A mock plays their models: it answers by
// directives in the user's text, or converses (Talk), or follows a script (Model.Script),
// and records word for word what every agent's model received and answered, which is the oracle
// of a test.
//
//	lab := labtest.New(t, labtest.Claude)
//	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
//	claude := lab.Start(server, labtest.Claude)
//	claude.Prompt("[[say hello]]")
//	claude.WaitForAnswer("hello")
//	assert.Equal(t, []string{"[[say hello]]"}, claude.Received())
//
// The lab is off unless INTERCOM_LAB is set. .ci/agents installs its agents, in
// the versions that the profiles name; a skipped test says what is missing. `make lab`
// does both. INTERCOM_LAB_DIR=DIR keeps all homes, transcripts and logs below DIR. After
// INTERCOM_LAB_UNTIL, in seconds since 1970, tests are skipped.
//
// Apart from tmuxtest and those versions, this package does not depend on the project. The Model can be
// used alone, with agents that were started elsewhere.
//
// # Directives
//
// The user's text may contain any number of directives, [[name arguments]], anywhere;
// other text is ignored:
//
//	[[say TEXT]]               the words are TEXT
//	[[lines N]]                the words are N numbered lines, each a paragraph of its own
//	[[bash COMMAND]]           asks for the agent's shell: a permission dialog
//	[[read FILE]]              has the agent read a file, by its own tool for that
//	[[write FILE TEXT]]        asks for a file to be written: another permission dialog
//	[[ask QUESTION | A | B]]   asks the user a question with answers to choose from; Codex
//	                           does that in its mode for plans only (/plan)
//	[[plan TEXT]]              shows a plan that the user has to approve, in the agent's
//	                           mode for plans
//	[[tool NAME JSON]]         asks for any other tool
//	[[before TEXT]]            the words before the first tool call
//	[[slow SECONDS]]           the words take that long; 2.5 and 1m are durations too
//	[[hold]]                   half of the words, then nothing until Release
//	[[stall]]                  nothing until Release
//	[[error STATUS]]           an error instead, however often the client asks
//	[[error STATUS TIMES]]     an error that often
//
// The tool calls are made one after the other. The words (of say or lines, or a sentence of the
// mock's own) come when all calls are answered, so a text with one call gives
// text–tool–text.
//
// # Goroutines
//
// The Model's server has one for each connection; the Model's mutex guards what they share.
// Each starting agent has one that watches it, since few may start at a time. Everything
// else happens in the goroutine of the test. Everything ends with the test: every process that
// an agent has left is killed by its pid.
package labtest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Lab has the agents of one test, and their models.
type Lab struct {
	Model *Model
	Dir   string // directory of everything, including the Model's log
	// Open says why the agents are in the network of this machine, where only their settings keep them from calling
	// home. It is empty if they have a network of their own.
	Open string

	t       testing.TB
	network network
	agents  map[string]*Agent
}

// New returns a lab for agents of those kinds. It skips the test if the lab is off or an agent is not installed.
func New(t testing.TB, kinds ...Kind) *Lab {
	t.Helper()
	if os.Getenv("INTERCOM_LAB") == "" {
		t.Skip("the lab is off: make lab, or INTERCOM_LAB=1")
	}
	if until, err := strconv.ParseInt(os.Getenv("INTERCOM_LAB_UNTIL"), 10, 64); err == nil && time.Now().Unix() >= until {
		t.Skip("no time left: INTERCOM_LAB_UNTIL is over")
	}
	for _, k := range kinds {
		if err := k.check(k.Version()); err != nil {
			t.Skip(err)
		}
	}
	l := &Lab{t: t, agents: map[string]*Agent{}}
	l.makeDir()
	n, err := newNetwork()
	if err != nil {
		t.Fatalf("network of the lab: %v", err)
	}
	l.network, l.Open = n, n.open
	if l.Open != "" {
		t.Logf("the agents are in the network of this machine: %s", l.Open)
	}
	t.Cleanup(n.close)
	l.Model, err = NewModel(n.listener, l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Model.Close(); err != nil {
			t.Errorf("model: %v", err)
		}
	})
	return l
}

// makeDir creates a directory with a short name, because agents create sockets in it.
func (l *Lab) makeDir() {
	if keep := os.Getenv("INTERCOM_LAB_DIR"); keep != "" {
		l.Dir = filepath.Join(keep, strings.ReplaceAll(l.t.Name(), "/", "_"))
		if err := os.RemoveAll(l.Dir); err != nil {
			l.t.Fatalf("directory: %v", err)
		}
		if err := os.MkdirAll(l.Dir, 0o700); err != nil {
			l.t.Fatalf("directory: %v", err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "il")
	if err != nil {
		l.t.Fatalf("directory: %v", err)
	}
	// Resolved, because the agents use the resolved path.
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	l.Dir = dir
	l.t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			l.t.Errorf("directory: %v", err)
		}
	})
}

// An Option changes how an agent is started.
type Option func(*start)

type start struct {
	name, version string
	width, height int
	work, home    string
	daemon        bool
	arguments     []string
	environ       []string
	shell         bool
	wrap          func(program string) string
	begin         func(command string) (pane string, pid int)
	change        []func(*Agent)
}

// Name gives an agent a name: the model's log uses it, and the texts of Talk begin with it. The default is the kind,
// with a number for a further one: claude-2.
func Name(name string) Option { return func(s *start) { s.name = name } }

// Version selects another version of the agent than that of its profile. .ci/agents NAME@VERSION installs it.
func Version(version string) Option { return func(s *start) { s.version = version } }

// Size sets the size of the pane's window. The default is 120×40.
func Size(width, height int) Option {
	return func(s *start) { s.width, s.height = width, height }
}

// Work sets the directory in which the agent works, such as that of another agent. It must exist. By default the agent
// has an empty one of its own.
func Work(dir string) Option { return func(s *start) { s.work = dir } }

// Home sets the agent's home, such as that of another agent. As with two agents of one person, files that exist there
// stay as they are. By default the agent has a home of its own. All agents that share a home must be given it,
// including the first.
func Home(dir string) Option { return func(s *start) { s.home = dir } }

// Daemon lets the agent use its background process, if it has one; only Codex has. Agents that share the process use
// the model of the first.
func Daemon() Option { return func(s *start) { s.daemon = true } }

// Arguments adds arguments to the command line.
func Arguments(arguments ...string) Option {
	return func(s *start) { s.arguments = append(s.arguments, arguments...) }
}

// Environ adds variables, NAME=value.
func Environ(variables ...string) Option {
	return func(s *start) { s.environ = append(s.environ, variables...) }
}

// InShell starts the agent from an interactive shell, as if typed by hand; it returns to that shell.
func InShell() Option { return func(s *start) { s.shell = true } }

// Wrapped starts another program instead of the agent's own, with the same arguments: f returns its path, given the
// path of the agent's program.
func Wrapped(f func(program string) string) Option { return func(s *start) { s.wrap = f } }

// Begun makes f start the agent. command is a program without arguments. Size and InShell then have no effect, and f
// returns the pane and the pid of its leader.
func Begun(f func(command string) (pane string, pid int)) Option {
	return func(s *start) { s.begin = f }
}

// Configured calls f after the agent's home is written and before the agent starts, so that f can change or extend it:
// hooks, MCP servers, a status line. Pane and PID are not known yet.
func Configured(f func(a *Agent)) Option {
	return func(s *start) { s.change = append(s.change, f) }
}

// Start starts an agent in a new window of the server's session "base" and waits for its composer. The agent ends with
// the test.
func (l *Lab) Start(server *tmuxtest.Server, kind Kind, options ...Option) *Agent {
	l.t.Helper()
	a := l.Launch(server, kind, options...)
	a.WaitForIdle()
	return a
}

// Launch is Start without waiting, for a test of what an agent shows before it is ready.
func (l *Lab) Launch(server *tmuxtest.Server, kind Kind, options ...Option) *Agent {
	l.t.Helper()
	s := start{version: kind.Version(), width: 120, height: 40}
	for _, o := range options {
		o(&s)
	}
	if err := kind.check(s.version); err != nil {
		l.t.Skip(err)
	}
	a := &Agent{Kind: kind, Name: l.free(cmp.Or(s.name, string(kind))), lab: l, server: server}
	a.Dir = filepath.Join(l.Dir, a.Name)
	a.Home, a.Work, a.tmp = cmp.Or(s.home, filepath.Join(a.Dir, "home")), cmp.Or(s.work, filepath.Join(a.Dir, "work")), filepath.Join(a.Dir, "tmp")
	a.shared = s.home != ""
	a.URL = l.Model.URL(a.Name)
	for _, dir := range []string{a.Home, a.Work, a.tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			l.t.Fatalf("directory of %s: %v", a.Name, err)
		}
	}
	install, err := kind.InstalledAt(s.version)
	if err != nil {
		l.t.Skip(err)
	}
	program, err := a.kind().program(install)
	if err != nil {
		l.t.Fatalf("%s: %v", a.Name, err)
	}
	if s.wrap != nil {
		program[0] = s.wrap(program[0])
	}
	environ, err := a.kind().configure(a)
	if err != nil {
		l.t.Fatalf("home of %s: %v", a.Name, err)
	}
	for _, f := range s.change {
		f(a)
	}
	if more := a.kind().daemonless; more != "" && !s.daemon {
		program = append(program, more)
	}
	if more := a.kind().at; more != nil && a.shared && !s.daemon {
		program = append(program, more(a.URL)...)
	}
	l.agents[a.Name] = a
	started := a.awaitTurn()
	a.run(append(program, s.arguments...), append(environ, s.environ...), s)
	started()
	return a
}

// free returns the name itself, or the name with the first number that no agent has.
func (l *Lab) free(name string) string {
	for n, tried := 2, name; ; n++ {
		if l.agents[tried] == nil {
			return tried
		}
		tried = fmt.Sprintf("%s-%d", name, n)
	}
}

// Capture returns the current screen of an agent.
func (l *Lab) Capture(a *Agent) Screen {
	l.t.Helper()
	s, err := a.capture()
	if err != nil {
		l.t.Fatalf("capture of %s: %v", a.Name, err)
	}
	return s
}
