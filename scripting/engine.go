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

// Options configure an engine. The zero value is right outside of tests.
type Options struct {
	// Command starts a worker; nil means this program, as `intercom policy-worker`.
	Command []string
	// Memories are what the scripts remembered when the last engine stopped.
	Memories policy.Memories

	now func() time.Time
}

// Engine asks the set in use. Its methods may be called from any goroutine.
type Engine struct {
	command []string
	now     func() time.Time

	mu       sync.Mutex // guards the fields below
	set      *Set
	memories policy.Memories
	versions map[string]int // of each script's memory
}

// New returns an engine that has no set yet. It starts nothing.
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

// Compile starts a worker with the files of a set, without putting the set into use. It returns a ProblemsError for
// files that cannot be used. The caller must close each set.
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

// Use puts a set into use and returns the previous one, or nil. A running evaluation is still decided by the previous
// set, which the caller must close or use again.
func (e *Engine) Use(set *Set) (previous *Set) {
	e.mu.Lock()
	defer e.mu.Unlock()
	previous, e.set = e.set, set
	return previous
}

var errNoSet = errors.New("no policies are in use")

// Evaluate asks the set in use about a message. The verdict is always complete: if the scripts could not decide, an
// error says why, and the verdict asks a person or holds. If the error wraps ErrLater, the scripts may be able to decide a
// little later. Evaluate takes at most a second, or up to four for a long text. It heeds the end of ctx while it waits.
func (e *Engine) Evaluate(ctx context.Context, in policy.Input) (policy.Verdict, error) {
	e.mu.Lock()
	set := e.set
	e.mu.Unlock()
	if set == nil {
		return policy.Undecided(in, "", policy.Hooks, policy.Failure{Kind: policy.NoWorker, Text: errNoSet.Error()}), errNoSet
	}
	return e.Try(ctx, set, in)
}

// Try is Evaluate with a set that is not in use, to see what it would decide.
func (e *Engine) Try(ctx context.Context, set *Set, in policy.Input) (policy.Verdict, error) {
	return set.evaluate(ctx, in, e.remembered)
}

// remembered returns the memories that changed since the given versions, and the current versions.
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

// Commit stores what a verdict says the scripts should remember. Call it once the verdict is written down. It leaves
// out what does not fit into a script's memory.
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

// Memories returns a copy of what the scripts remember now, to be kept for the next engine.
func (e *Engine) Memories() policy.Memories {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := policy.Memories{}
	for script, memory := range e.memories {
		all[script] = clone(memory)
	}
	return all
}

// Status is the state of an engine.
type Status struct {
	Generation  string    `json:"generation"` // "" without a set
	Quarantined []string  `json:"quarantined,omitempty"`
	Safe        time.Time `json:"safe,omitzero"` // no worker is started until then
}

// Status waits for the running evaluation.
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
