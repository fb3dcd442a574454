package scripting

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// How long to wait for a worker.
const (
	messageTime = time.Second            // for one message, in all; timeFor extends it for long ones
	firstTime   = 600 * time.Millisecond // for the first try; the rest is for waiting until a worker is ready
	leastTime   = 50 * time.Millisecond  // least time left for another try to be worthwhile
	suspicious  = 300 * time.Millisecond // a script that ran longer than this is blamed for a late worker
	loadTime    = 2 * time.Second        // to load one file
	setTime     = 10 * time.Second       // to load all files
)

// When to stop starting workers.
const (
	deathsWithin = time.Minute
	tooMany      = 5
)

// timeFor returns how long a message may take in all, and how long its first try may take. Both grow with the length of
// the body times the number of recipients, as each recipient may get a different text. The longest messages have four
// times as long, which is still less than the asker's patience.
func timeFor(in policy.Input) (all, first time.Duration) {
	size := min(len(in.Message.Body)*max(1, len(in.To)), message.MaxBody)
	longer := func(d time.Duration) time.Duration { return d + 3*d*time.Duration(size)/message.MaxBody }
	return longer(messageTime), longer(firstTime)
}

// Set is a set of compiled scripts with a worker that has loaded them. A worker that ended is replaced at once.
type Set struct {
	Generation string           // equal for equal files
	Scripts    []policy.Script  // in the order they are asked
	Problems   []policy.Problem // warnings
	Settings   policy.Settings  // of init.lua
	Lines      policy.Lines     // the lines at which it names them

	command []string
	files   policy.Files
	now     func() time.Time

	life context.Context // for work while nobody waits
	stop context.CancelFunc

	turn  chan struct{} // holds one token; its taker owns the fields below
	ended bool

	worker     *process
	unstarted  policy.Failure // why the last worker could not be started
	known      known
	slow       time.Duration // the constant of that name, except in tests
	alone      int           // number of messages still to be asked about one by one
	pause      int           // last initial value of alone; 0 once asking ahead has succeeded throughout
	avoid      []string      // files that no worker survives loading
	quarantine []string
	suspects   map[string]int
	deaths     []time.Time
	safe       time.Time // no worker is started before then
}

// known is what the worker has been sent, apart from its files.
type known struct {
	sent   map[string]int // versions of the memories that were sent
	told   policy.Peers   // the peers that it knows
	config map[string]any // the last config that a message carried
}

// ProblemsError says why files cannot be used.
type ProblemsError []policy.Problem

func (p ProblemsError) Error() string {
	texts := make([]string, len(p))
	for i, problem := range p {
		texts[i] = problem.String()
	}
	return strings.Join(texts, "\n")
}

// compile starts a worker that loads the files.
func compile(ctx context.Context, command []string, files policy.Files, now func() time.Time) (*Set, error) {
	if err := files.Validate(); err != nil {
		return nil, fmt.Errorf("reading policies: %w", err)
	}
	s := &Set{
		Generation: files.Generation(), command: command, files: files, now: now, slow: slow,
		turn: make(chan struct{}, 1), suspects: map[string]int{},
	}
	s.life, s.stop = context.WithCancel(context.Background())
	loaded, failure := s.load(ctx, now().Add(setTime))
	switch {
	case failure != nil && failure.Script == "":
		return nil, errors.New(failure.Text)
	case failure != nil:
		return nil, ProblemsError{{File: failure.Script, Text: failure.Text}}
	case slices.ContainsFunc(loaded.Problems, func(p policy.Problem) bool { return !p.Warning }):
		s.worker.close()
		return nil, ProblemsError(loaded.Problems)
	}
	s.Scripts, s.Problems, s.Settings, s.Lines = loaded.Scripts, loaded.Problems, loaded.Settings, loaded.Lines
	s.turn <- struct{}{}
	return s, nil
}

// load starts a worker and gives it the files, at the latest by until. It leaves out a project's file that no worker
// survives or that has changed its behaviour: the guard of such a file counts as failed from then on.
func (s *Set) load(ctx context.Context, until time.Time) (wire.Loaded, *policy.Failure) {
	for {
		loaded, failure := s.loadOnce(ctx, until)
		if failure == nil || slices.Contains(s.avoid, failure.Script) || !slices.ContainsFunc(s.files.Sources, func(f policy.Source) bool {
			return f.GuardsOnly && f.Name == failure.Script
		}) {
			return loaded, failure
		}
		s.avoid = append(s.avoid, failure.Script)
	}
}

func (s *Set) loadOnce(ctx context.Context, until time.Time) (wire.Loaded, *policy.Failure) {
	if err := ctx.Err(); err != nil {
		return wire.Loaded{}, &policy.Failure{Kind: policy.NoWorker, Text: err.Error()}
	}
	worker, err := start(s.command)
	if err != nil {
		return wire.Loaded{}, &policy.Failure{Kind: policy.NoWorker, Text: err.Error()}
	}
	defer context.AfterFunc(ctx, func() { _ = worker.cmd.Process.Kill() })() // harmless if the worker has ended
	file := ""
	fileUntil := func() time.Time { return earliest(s.now().Add(loadTime), until) }
	// No file is to blame before the worker says that it loads one: a busy computer takes its time to start a program.
	reply, _, failure := worker.ask(wire.Request{Load: &wire.Load{Files: s.files, Generation: s.Generation, Avoid: s.avoid}}, nil, until, func(r wire.Running) time.Time {
		file = r.Script
		return fileUntil()
	})
	if failure == nil && reply.Loaded == nil {
		failure = worker.gone(errors.New("no answer to load"))
	}
	if failure == nil {
		if failure = s.other(reply.Loaded.Scripts); failure != nil {
			worker.kill()
			return wire.Loaded{}, failure
		}
	}
	if failure != nil {
		worker.kill()
		if failure.Kind != policy.NoWorker {
			failure.Script = file
		}
		return wire.Loaded{}, failure
	}
	s.worker, s.known = worker, known{sent: map[string]int{}}
	return *reply.Loaded, nil
}

// other returns a failure if a worker has loaded something other than it was given, or something other than the first
// worker did. Without its filter, a text could leave that must not.
func (s *Set) other(loaded []policy.Script) *policy.Failure {
	for i, source := range s.files.Sources {
		if len(loaded) != len(s.files.Sources) || loaded[i].Name != source.Name {
			return &policy.Failure{Kind: policy.Died, Text: "the policy worker answered nonsense: other files than it was given"}
		}
		want := map[policy.Hook][]int{policy.Guard: {0}}
		if !slices.Contains(s.avoid, source.Name) {
			if s.Scripts == nil {
				continue
			}
			want = s.Scripts[i].Hooks
		}
		if !reflect.DeepEqual(loaded[i].Hooks, want) {
			return &policy.Failure{Script: source.Name, Kind: policy.Died, Text: source.Name + ": the file does not do what it did when the set was compiled"}
		}
	}
	return nil
}

// ErrLater is wrapped by the error about a message for which no script was asked. A script may be available a little
// later, so evaluate the message anew then.
var ErrLater = errors.New("not asked")

// ready waits until there is a worker; the caller owns it until it calls done. If there is no worker, ready has one
// started, once. The start goes on even if the caller stops waiting.
func (s *Set) ready(ctx context.Context, until time.Time) *policy.Failure {
	late := time.NewTimer(until.Sub(s.now()))
	defer late.Stop()
	for started := false; ; started = true {
		why := policy.Failure{Kind: policy.NoWorker}
		select {
		case <-s.turn:
		case <-ctx.Done():
			why.Text = ctx.Err().Error()
			return &why
		case <-late.C:
			why.Text = "the policy worker is busy, or is being started"
			return &why
		}
		switch {
		case s.ended:
			why.Text = "the set is no longer in use"
		case s.worker != nil:
			return nil
		case s.now().Before(s.safe):
			why.Text = "safe mode: the policy worker died too often"
		case started:
			why = s.unstarted
		default:
			s.done()
			continue
		}
		s.turn <- struct{}{}
		return &why
	}
}

// done passes the turn on, as soon as there is a worker or none can be started.
func (s *Set) done() {
	if s.worker != nil || s.ended || s.now().Before(s.safe) {
		s.turn <- struct{}{}
		return
	}
	go func() {
		if _, failure := s.load(s.life, s.now().Add(setTime)); failure != nil {
			s.died(*failure)
			s.unstarted = *failure
		}
		s.turn <- struct{}{}
	}()
}

// evaluate asks the scripts about a message. remembered returns the memories that changed since the given versions.
func (s *Set) evaluate(ctx context.Context, in policy.Input, remembered func(since map[string]int) (policy.Memories, map[string]int)) (policy.Verdict, error) {
	begun := s.now()
	var failures []policy.Failure
	undecided := func(why policy.Failure) (policy.Verdict, error) {
		v := policy.Undecided(in, s.Generation, s.hooks(), why)
		v.Failures = append(failures, why)
		v.Took = s.now().Sub(begun)
		return v, fmt.Errorf("policies about message %s: %s", in.Message.ID, why.Text)
	}
	later := func(why policy.Failure) (policy.Verdict, error) {
		if why.Kind == policy.Killed {
			why.Kind = policy.NoWorker // the file is not to blame if there was no time to load it
		}
		v, err := undecided(why)
		return v, fmt.Errorf("%w: %w", err, ErrLater)
	}
	all, first := timeFor(in)
	until := begun.Add(all)
	if failure := s.ready(ctx, until.Add(-first)); failure != nil {
		return later(*failure)
	}
	defer s.done()
	for try := 1; ; try++ {
		if s.worker == nil {
			if _, failure := s.load(ctx, until); failure != nil {
				if failure.Kind != policy.Killed { // it had only the time left for the message
					s.died(*failure)
				}
				return later(*failure)
			}
		}
		deadline := until
		if try == 1 {
			deadline = s.now().Add(first)
		}
		v, failure := s.try(in, remembered, deadline, len(failures) > 0)
		if failure == nil {
			v.Failures = append(failures, v.Failures...)
			v.Took = s.now().Sub(begun)
			s.deaths = s.recent()
			clear(s.suspects)
			return v, nil
		}
		s.died(*failure)
		if s.worker == nil && failure.Kind == policy.NoWorker {
			if try == 3 || until.Sub(s.now()) < leastTime {
				return later(*failure)
			}
			continue
		}
		if failure.Kind == policy.Killed && failure.Script == "" && until.Sub(s.now()) < leastTime {
			return later(*failure) // the machine stalled: no script is known to be at fault, and none can be asked in time
		}
		if failure.Kind == policy.NoWorker || try == 3 || until.Sub(s.now()) < leastTime || ctx.Err() != nil {
			return undecided(*failure)
		}
		failures = append(failures, *failure)
	}
}

// try asks the worker once; again says that the message was tried before. After a failure the worker is gone, unless
// the failure is that it was not asked.
func (s *Set) try(in policy.Input, remembered func(map[string]int) (policy.Memories, map[string]int), until time.Time, again bool) (policy.Verdict, *policy.Failure) {
	memories, versions := remembered(s.known.sent)
	var running wire.Running
	var since time.Time
	reply, texts, failure := s.worker.ask(s.request(in, memories, again), [][]byte{[]byte(in.Message.Body)}, until, func(r wire.Running) time.Time {
		running, since = r, s.now()
		return until
	})
	var v policy.Verdict
	if failure == nil {
		var err error
		if v, err = s.believe(in, reply, texts); err != nil {
			failure = s.worker.gone(err)
		}
	}
	if failure == nil {
		s.asked(in, versions)
		return v, nil
	}
	if running.Script != "" && failure.Kind != policy.NoWorker {
		failure.Script, failure.Hook = running.Script, running.Hook
		failure.Text = fmt.Sprintf("%s: %s: %s", running.Script, running.Hook, failure.Text)
		if failure.Kind != policy.Killed || s.now().Sub(since) > suspicious {
			s.suspect(running.Script, again)
		}
	}
	return policy.Verdict{}, failure
}

// request returns the request about a message, without its body and without anything that the worker already knows.
func (s *Set) request(in policy.Input, memories policy.Memories, again bool) wire.Request {
	q := wire.Evaluate{Input: in, Others: in.Others.Since(s.known.told), Memories: memories, Avoid: s.quarantine, Announce: again || len(s.deaths) > 0}
	q.Input.Message.Body = ""
	if in.Config != nil && reflect.DeepEqual(in.Config, s.known.config) {
		q.Input.Config, q.SameConfig = nil, true
	}
	return wire.Request{Evaluate: &q}
}

// asked notes what the worker knows after a request about a message.
func (s *Set) asked(in policy.Input, versions map[string]int) {
	s.known.sent, s.known.told = versions, in.Others
	if in.Config != nil {
		s.known.config = in.Config
	}
}

// suspect blames the script that was running for the end of a worker. The script is quarantined if the message was
// tried before, or if the script has ended a worker before.
func (s *Set) suspect(script string, again bool) {
	if s.suspects[script]++; again || s.suspects[script] > 1 {
		s.quarantine = append(s.quarantine, script)
	}
}

// died records that a worker has ended.
func (s *Set) died(f policy.Failure) {
	if f.Kind == policy.NoWorker {
		if s.worker != nil && s.worker.over() { // it was killed without being at fault
			s.worker = nil
		}
		return
	}
	s.worker = nil
	s.deaths = append(s.recent(), s.now())
	if len(s.deaths) >= tooMany {
		s.safe = s.now().Add(deathsWithin)
		// After that minute, the next death is again one too many.
		s.deaths = slices.Repeat([]time.Time{s.safe}, tooMany-1)
	}
}

// recent returns the deaths that still count.
func (s *Set) recent() []time.Time {
	return slices.DeleteFunc(s.deaths, func(at time.Time) bool { return s.now().Sub(at) > deathsWithin })
}

// hooks returns all hooks that the scripts use.
func (s *Set) hooks() []policy.Hook {
	var hooks []policy.Hook
	for _, h := range policy.Hooks {
		if slices.ContainsFunc(s.Scripts, func(script policy.Script) bool { return len(script.Hooks[h]) > 0 }) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// Close waits for the running evaluation and ends the worker. The set can no longer be used.
func (s *Set) Close() {
	s.stop()
	<-s.turn
	if s.ended = true; s.worker != nil {
		s.worker.close()
		s.worker = nil
	}
	s.turn <- struct{}{}
}

// earliest returns the earlier of two points in time.
func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
