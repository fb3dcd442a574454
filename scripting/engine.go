package scripting

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// Options are how an engine works. The zero value is right outside of tests.
type Options struct {
	// Command starts a worker; nil is this program, as `intercom policy-worker`.
	Command []string
	// Memories are what scripts had remembered when they were last asked.
	Memories policy.Memories

	now func() time.Time
}

// Engine asks the set that is in use. All methods may be called from any goroutine.
type Engine struct {
	command []string
	now     func() time.Time

	mu       sync.Mutex // guards what follows
	set      *Set
	memories policy.Memories
	versions map[string]int // of each script's memory
}

// New makes an engine that has no set yet. It starts nothing.
func New(o Options) *Engine {
	e := &Engine{command: o.Command, now: o.now, memories: policy.Memories{}, versions: map[string]int{}}
	if e.now == nil {
		e.now = time.Now
	}
	for script, memory := range o.Memories {
		e.memories[script], e.versions[script] = clone(memory), 1
	}
	return e
}

// Compile starts a worker with the files of a set, which is not in use yet. Files that cannot
// be used are a ProblemsError. Each set is to be closed.
func (e *Engine) Compile(ctx context.Context, files policy.Files) (*Set, error) {
	command := e.command
	if command == nil {
		program, err := ourselves()
		if err != nil {
			return nil, err
		}
		command = []string{program, "policy-worker"}
	}
	return compile(ctx, command, files, e.now)
}

// Use makes a set the one that is asked, and returns the one that was; nil for none. What is
// being evaluated is still decided by that one, which the caller closes, or uses again.
func (e *Engine) Use(set *Set) (previous *Set) {
	e.mu.Lock()
	defer e.mu.Unlock()
	previous, e.set = e.set, set
	return previous
}

var errNoSet = errors.New("no policies are in use")

// Evaluate asks the set in use what becomes of a message. The verdict is always whole: where
// the scripts could not say, an error tells why, and the verdict asks a person or holds; with
// ErrLater the scripts may be able to a little later. It takes a second at most, and up to four for a long text. The end of ctx
// is heeded while it waits.
func (e *Engine) Evaluate(ctx context.Context, in policy.Input) (policy.Verdict, error) {
	e.mu.Lock()
	set := e.set
	e.mu.Unlock()
	if set == nil {
		return policy.Undecided(in, "", policy.Hooks, policy.Failure{Kind: policy.NoWorker, Text: errNoSet.Error()}), errNoSet
	}
	return e.Try(ctx, set, in)
}

// Try is Evaluate with a set that is not in use, to see what it would say.
func (e *Engine) Try(ctx context.Context, set *Set, in policy.Input) (policy.Verdict, error) {
	return set.evaluate(ctx, in, e.remembered)
}

// remembered are the memories that changed since the versions that are given, and the versions that they have now.
func (e *Engine) remembered(since map[string]int) (changed policy.Memories, versions map[string]int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for script, version := range e.versions {
		if since[script] != version {
			if changed == nil {
				changed = policy.Memories{}
			}
			changed[script] = clone(e.memories[script])
		}
	}
	return changed, maps.Clone(e.versions)
}

// Commit lets scripts remember what a verdict says they should. Call it once the verdict is
// written down. What would not fit into a script's memory is left out.
func (e *Engine) Commit(v policy.Verdict) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, effect := range v.Effects {
		if e.memories[effect.Script].Check(effect, nil) == nil {
			e.memories.Apply([]policy.Effect{effect})
			e.versions[effect.Script]++
		}
	}
}

// Memories are what scripts remember now: a copy, to be kept for the next engine.
func (e *Engine) Memories() policy.Memories {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := policy.Memories{}
	for script, memory := range e.memories {
		all[script] = clone(memory)
	}
	return all
}

// Status is how an engine is.
type Status struct {
	Generation  string    `json:"generation"` // "" without a set
	Quarantined []string  `json:"quarantined,omitempty"`
	Safe        time.Time `json:"safe,omitzero"` // no worker is started until then
}

// Status waits for the evaluation that is under way.
func (e *Engine) Status() Status {
	e.mu.Lock()
	set := e.set
	e.mu.Unlock()
	if set == nil {
		return Status{}
	}
	<-set.turn
	defer func() { set.turn <- struct{}{} }()
	status := Status{Generation: set.Generation, Quarantined: slices.Clone(set.quarantine)}
	if e.now().Before(set.safe) {
		status.Safe = set.safe
	}
	return status
}

// Close ends the set in use.
func (e *Engine) Close() {
	if set := e.Use(nil); set != nil {
		set.Close()
	}
}

func clone(m policy.Memory) policy.Memory {
	c := policy.Memory{Values: maps.Clone(m.Values), Counts: map[string]policy.Window{}}
	for key, w := range m.Counts {
		c.Counts[key] = policy.Window{Wide: w.Wide, At: slices.Clone(w.At)}
	}
	return c
}
