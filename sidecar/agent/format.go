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

// A format describes what one kind of agent writes down about itself, and where. The file of each agent registers
// its own format, so nothing else in this package knows which agents exist. A format leaves out what its agent does
// not have.
type format struct {
	npm      string // its package: the path of a script that runs the agent contains this
	packaged bool   // only that package tells its version

	// home returns the directory of its files, from these variables of its environment.
	home      func(env map[string]string) string
	variables []string
	// desk is Agent.Desk.
	desk func(a Agent, t *Transcript) string
	// status reads its status file, which is read again in every look.
	status func(a Agent) (Status, error)
	// skills searches all places for its skills.
	skills func(a Agent, s *skillSearch)

	// parser reads one transcript, record by record.
	parser func() parser
	// ask finds the transcript by the process.
	ask func(f *Follower) (Transcript, error)
	// watch returns the directories in which something changes as it writes; bound is the path of its transcript,
	// or "".
	watch func(a Agent, bound string, now time.Time) []spot

	// The next three are for an agent that keeps each conversation in a file. pattern returns the glob pattern of
	// the file of one conversation or of all ("*"), "" if not known. head reads the first line; nil if every record
	// tells it. wrote returns when the conversation's own agent last wrote to a file; nil if no other agent writes
	// there.
	pattern func(a Agent, thread string) string
	head    func(path string) (head, bool)
	wrote   func(path string, modified time.Time) time.Time
	// archive returns the archive of an agent that does not keep conversations in files.
	archive func(a Agent) archive

	begins  bool                                           // it begins a conversation when it starts
	shows   bool                                           // its screen may be the only sign of its current conversation
	witness func(m *Machine, since, now time.Time) Outcome // lets the screen end a turn
	// background distinguishes, by its arguments, a process that serves all panes from one in a pane.
	background func(args []string) bool
}

// spot is a directory to watch. While it does not exist, its nearest existing parent serves, but none above top.
type spot struct{ dir, top string }

// parser reads the records of one transcript in order.
type parser interface {
	record(line []byte, r *Reader) []Event
}

// parse is a stateless parser.
type parse func(line []byte, r *Reader) []Event

func (p parse) record(line []byte, r *Reader) []Event { return p(line, r) }

var formats = map[Kind]format{}

// register makes the format of a kind of agent known.
func register(k Kind, f format) { formats[k] = f }

// format returns the format of a kind. An unknown kind gets a format with nothing to read.
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

// unknown returns the error for an agent of an unknown kind.
func (a Agent) unknown() error {
	return fmt.Errorf("transcripts of agents of the kind %q are not known: %w", a.Kind, ErrNoTranscript)
}

// Verified returns the newest version of the agent whose transcripts this package was tried on, or "" if it cannot
// read the agent's transcripts. Other versions are read as far as possible: see UnreadableError.
func (k Kind) Verified() string {
	a, _ := profile.AgentByName(string(k))
	return a.Verified
}

// ShowsConversation reports whether the screen may be the only sign of the conversation that an agent of that kind
// is in: see Follower.Show.
func (k Kind) ShowsConversation() bool { return k.format().shows }

// kindOf recognises an agent by the name of a process and its arguments. The name of an interpreter says nothing;
// the file that it runs does.
func kindOf(name string, args []string) (Kind, bool) {
	names := []string{name}
	if len(args) > 0 && !strings.HasPrefix(args[0], "npm ") { // it calls itself "npm exec @openai/codex", but only starts the agent
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

// homeOf returns the directory in which the agent of that process keeps its files, or "" if it is not known.
func homeOf(kind Kind, pid int, dir string) string {
	return homeIn(kind, environment(pid, append([]string{"HOME"}, kind.format().variables...)...), dir)
}

// homeIn is homeOf for a given environment.
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

// resolved returns a path without links, as the system reports the path of an open file; unchanged if it does not
// exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
