package agent

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Kind is a kind of agent, by the name of its profile.
type Kind string

// A format is what one kind of agent writes down about itself, and where. Each agent's file
// registers its own, so that nothing else here knows which agents there are. What a format
// leaves out, its agent does not have.
type format struct {
	npm      string // of its package: the path of a script that runs it holds this
	packaged bool   // that package tells its version, and nothing else does

	// home is where it keeps its files, by the variables of its environment that tell.
	home      func(env map[string]string) string
	variables []string
	// desk is Agent.Desk.
	desk func(a Agent, t *Transcript) string
	// status reads its status file, which is looked at in every look.
	status func(a Agent) (Status, error)
	// skills looks for its skills, in all places.
	skills func(a Agent, s *skillSearch)

	// parser reads one transcript, record by record.
	parser func() parser
	// ask finds the transcript by the process.
	ask func(f *Follower) (Transcript, error)
	// watch names the directories in which something changes as it writes; bound is the path of
	// its transcript, "" while there is none.
	watch func(a Agent, bound string, now time.Time) []spot

	// Of an agent that keeps each conversation in a file: pattern is where those are, of one
	// conversation or of all ("*"), "" where that is not known, and head reads what the first
	// line tells, nil where every record does. wrote is when who lives in one wrote there last; nil
	// where nobody else writes there.
	pattern func(a Agent, thread string) string
	head    func(path string) (head, bool)
	wrote   func(path string, modified time.Time) time.Time
	// archive is where one that does not keeps them.
	archive func(a Agent) archive

	begins  bool                                           // it begins a conversation as it starts
	shows   bool                                           // its screen may be all that tells in which one it is
	witness func(m *Machine, since, now time.Time) Outcome // takes the screen's word for the end of a turn
	// background tells a process that serves all panes from one in a pane, by its arguments.
	background func(args []string) bool
}

// spot is a directory, or while that is not there the nearest one above it, down from top.
type spot struct{ dir, top string }

// parser reads the records of one transcript, in their order.
type parser interface {
	record(line []byte, r *Reader) []Event
}

// parse is a parser that remembers nothing.
type parse func(line []byte, r *Reader) []Event

func (p parse) record(line []byte, r *Reader) []Event { return p(line, r) }

var formats = map[Kind]format{}

// register makes the format of a kind of agent known.
func register(k Kind, f format) { formats[k] = f }

// format is how agents of that kind write. One that is not known writes nothing that can be
// read.
func (k Kind) format() format {
	if f, known := formats[k]; known {
		return f
	}
	return format{
		home:    func(map[string]string) string { return "" },
		desk:    func(Agent, *Transcript) string { return "" },
		parser:  func() parser { return parse(unknownRecord) },
		ask:     func(f *Follower) (Transcript, error) { return Transcript{}, f.Agent.unknown() },
		watch:   func(Agent, string, time.Time) []spot { return nil },
		archive: func(a Agent) archive { return noArchive{a} },
	}
}

// unknown is the error of an agent of a kind of which nothing is known.
func (a Agent) unknown() error {
	return fmt.Errorf("transcripts of agents of the kind %q are not known: %w", a.Kind, ErrNoTranscript)
}

// Verified is the newest version of an agent whose transcripts this package was tried on, ""
// for one whose transcripts it cannot read. Other versions are read as well, as far as they can
// be: see UnreadableError.
func (k Kind) Verified() string {
	a, _ := profile.AgentByName(string(k))
	return a.Verified
}

// ShowsConversation reports whether the screen of an agent of that kind may be all that tells in
// which conversation it is: see Follower.Show.
func (k Kind) ShowsConversation() bool { return k.format().shows }

// kindOf judges by the name of a process and its arguments. A script's interpreter says
// nothing; the file that it runs does.
func kindOf(name string, args []string) (Kind, bool) {
	names := []string{name}
	if len(args) > 0 && !strings.HasPrefix(args[0], "npm ") { // it calls itself "npm exec @openai/codex", and only starts that
		names = append(names, filepath.Base(args[0]))
	}
	if script := scriptOf(name, args); script != "" {
		names = append(names, filepath.Base(script))
		for kind, f := range formats {
			if strings.Contains(script, f.npm) {
				return kind, true
			}
		}
	}
	for _, n := range names {
		k := Kind(strings.TrimPrefix(strings.TrimSuffix(n, ".js"), "."))
		if _, known := formats[k]; known {
			return k, true
		}
	}
	return "", false
}

// homeOf says where the agent of that kind that a process is keeps its files, "" where that is
// not known.
func homeOf(kind Kind, pid int, dir string) string {
	return homeIn(kind, environment(pid, append([]string{"HOME"}, kind.format().variables...)...), dir)
}

// homeIn is homeOf by a process's environment.
func homeIn(kind Kind, env map[string]string, dir string) string {
	home := kind.format().home(env)
	if home == "" {
		return ""
	}
	if !filepath.IsAbs(home) && dir != "" {
		home = filepath.Join(dir, home)
	}
	return filepath.Clean(home)
}

// resolved is a path as the system tells that of an open file: without links, as far as it is there.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
