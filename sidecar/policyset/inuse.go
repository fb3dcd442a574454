package policyset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// When a set is good, and when it is not.
const (
	goodAfter   = 20 // evaluations without a failure
	failsInARow = 3  // or within its first goodAfter: it is left for an earlier one that was good
)

// Options are where policies come from and whom they concern. Shipped, Command, Memories,
// Trusted, Rooms with Room, Check and Now may be missing.
type Options struct {
	Config   string          // directory of init.lua and policies/
	State    string          // directory for the sets that were in use
	Shipped  []policy.Source // asked after the person's own
	Command  []string        // starts a policy worker; nil is this program's own
	Memories map[string][]byte
	// Trusted says of a project's file, by its place in the project and the hash of its content,
	// whether a person trusts it.
	Trusted func(place, hash string) bool
	// Rooms is where all sessions work now, and Room where one does.
	Rooms func() map[message.ID]Room
	Room  func(message.Session) Room
	// Check refuses settings that make no sense.
	Check func(policy.Settings) error
	// Recent are the newest messages that were decided, with whom they were for, oldest first.
	Recent func(ctx context.Context, most int) ([]relay.Question, error)
	// Used is told when another set is in use. It must not wait for a Decide.
	Used func(policy.Settings)
	// Shown is told what a person must know: once for each thing.
	Shown func(text string)
	// Failed is told why the files as they are are not in use, "" once they are.
	Failed func(problem string)
	// Record takes one line of JSON for each decision and each change of sets.
	Record io.Writer
	Log    *slog.Logger
	Now    func() time.Time
}

// Room is where a session works: directories, "" for none.
type Room struct {
	Project    string // has a policy of its own
	Repository string // may have an agent-config.yaml
}

// InUse is the set in use. Its methods may be called from any goroutine.
type InUse struct {
	Options
	engine *scripting.Engine
	failed chan struct{} // the set in use has failed too often
	ripe   chan struct{} // it has proven good

	change  sync.Mutex // held while sets are exchanged; never while a message is decided
	kept    kept
	running *scripting.Set
	own     policy.Files // of it, without what is shipped

	mu       sync.Mutex // guards what follows
	status   policy.Status
	settings policy.Settings
	unread   string // why the person's own policies are not in use, and none of theirs is
	rooms    map[message.ID]Room
	foreign  map[string]bool // scripts whose failures are not the set's: see foreign
	asked    int             // since it came into use
	bad      int             // of those
	row      int             // that failed, one after the other

	repositories repositories
}

// New makes an InUse that decides nothing yet.
func New(o Options) *InUse {
	if o.Now == nil {
		o.Now = time.Now
	}
	memories := policy.Memories{}
	for script, doc := range o.Memories {
		var m policy.Memory
		if err := json.Unmarshal(doc, &m); err != nil {
			o.Log.Warn("what a policy remembered cannot be read", "script", script, "err", err)
			continue
		}
		memories[script] = m
	}
	return &InUse{
		Options: o, engine: scripting.New(scripting.Options{Command: o.Command, Memories: memories}),
		failed: make(chan struct{}, 1), ripe: make(chan struct{}, 1), kept: readKept(o.State, o.Log),
	}
}

// Begin brings the person's policies into use: the files as they are or, where those cannot
// be used, the last that were. Without either, what is shipped is asked, and everything
// waits for a person's yes.
func (p *InUse) Begin(ctx context.Context) {
	p.change.Lock()
	defer p.change.Unlock()
	p.look()
	files, err := p.read()
	if last := p.kept.last(); last != nil && (err != nil || last.Generation != files.Generation()) {
		// What was in use is what a change is measured by.
		if set, err := p.engine.Compile(ctx, p.whole(last.Files)); err == nil {
			p.use(set, last.Files, policy.Trial{})
		} else {
			p.Log.Warn("the last policies cannot be used any more", "generation", last.Generation, "err", err)
		}
	}
	switch {
	case err != nil:
	case p.running != nil && files.Generation() == p.kept.Refused:
		err = errLeft
	case p.running == nil || files.Generation() != p.own.Generation():
		err = p.apply(ctx, files)
	}
	switch {
	case err == nil:
	case p.running != nil:
		p.refused(err, oldStays)
	default:
		p.shippedAlone(ctx, firstLine(err.Error()))
		p.refused(err, allAsk)
	}
}

// What holds while the files as they are cannot be used.
const (
	oldStays = "what was in use stays in use"
	allAsk   = "until it is mended, what agents say waits for your yes"
)

// shippedAlone has what is shipped asked, and a person about whatever that lets go.
func (p *InUse) shippedAlone(ctx context.Context, why string) {
	set, err := p.engine.Compile(ctx, p.whole(policy.Files{}))
	if err != nil {
		p.Log.Error("no policy can be asked", "err", err)
	} else {
		p.use(set, policy.Files{}, policy.Trial{})
	}
	p.mu.Lock()
	p.unread = "your policies cannot be asked: " + why
	p.mu.Unlock()
}

// End ends the worker.
func (p *InUse) End() {
	p.change.Lock()
	defer p.change.Unlock()
	p.engine.Close()
}

// read reads the person's own files, and those of projects.
func (p *InUse) read() (policy.Files, error) {
	p.mu.Lock()
	rooms := p.rooms
	p.mu.Unlock()
	return scripting.Read(scripting.Places{Config: p.Config, Projects: directories(rooms, Room.project), Trusted: func(hash string) bool {
		return p.trusted(scripting.ProjectFile, hash)
	}})
}

// whole are files with what is shipped behind them.
func (p *InUse) whole(own policy.Files) policy.Files {
	own.Sources = append(slices.Clone(own.Sources), p.Shipped...)
	return own
}

// apply brings files into use, if nothing speaks against that.
func (p *InUse) apply(ctx context.Context, own policy.Files) error {
	set, err := p.engine.Compile(ctx, p.whole(own))
	if err != nil {
		return err
	}
	tried, err := p.try(ctx, set)
	if err == nil {
		err = p.tested(ctx)
	}
	if err == nil && len(tried.Failures) > 0 {
		err = fmt.Errorf("it failed at %d of the last %d messages: %s", len(tried.Failures), tried.Tried, tried.Failures[0])
	}
	if err != nil {
		set.Close()
		return err
	}
	p.use(set, own, tried)
	p.kept.add(own, p.Now())
	p.kept.Refused = ""
	p.save()
	p.succeeded(tried)
	return nil
}

// try checks a set's settings and asks it about the last messages.
func (p *InUse) try(ctx context.Context, set *scripting.Set) (policy.Trial, error) {
	if err := CheckAttribution(set.Settings.Attribution); err != nil {
		return policy.Trial{}, fmt.Errorf("init.lua: %w", err)
	}
	if p.Check != nil {
		if err := p.Check(set.Settings); err != nil {
			return policy.Trial{}, fmt.Errorf("init.lua: %w", err)
		}
	}
	if p.running == nil {
		return policy.Trial{}, nil
	}
	return p.replay(ctx, p.running, set)
}

// use has a set decide from now on. Its worker is ended that did so before, once it is done
// with what it is at.
func (p *InUse) use(set *scripting.Set, own policy.Files, tried policy.Trial) {
	previous := p.engine.Use(set)
	p.running, p.own = set, own
	p.mu.Lock()
	names := make([]string, len(set.Scripts))
	for i, s := range set.Scripts {
		names[i] = s.Name
	}
	p.status = policy.Status{
		Generation: set.Generation, Since: p.Now(), Files: names, Warnings: set.Problems, Loosened: tried.Loosened,
	}
	p.settings, p.foreign, p.unread, p.asked, p.bad, p.row = set.Settings, foreign(set), "", 0, 0, 0
	p.mu.Unlock()
	if previous != nil {
		go previous.Close()
	}
	p.Used(set.Settings)
}

// refused notes why the files as they are are not in use, and tells it once, with what holds.
func (p *InUse) refused(err error, holds string) {
	text := err.Error()
	p.mu.Lock()
	known := p.status.Error == text
	p.status.Error = text
	p.mu.Unlock()
	if known {
		return
	}
	p.Log.Warn("policies", "refused", text)
	p.record(policy.Entry{Event: "refused", Error: text})
	p.Failed(firstLine(text))
	p.Shown("policy: " + firstLine(text) + "; " + holds)
}

// succeeded tells that other policies are in use.
func (p *InUse) succeeded(tried policy.Trial) {
	p.mu.Lock()
	generation := p.status.Generation
	p.mu.Unlock()
	p.Log.Info("policies", "in use", generation, "tried with", tried.Tried, "changed", len(tried.Changed), "loosened", len(tried.Loosened))
	p.record(policy.Entry{Event: "in use", Generation: generation, Tried: tried.Tried, Changed: tried.Changed, Loosened: tried.Loosened})
	p.Failed("")
	if n := len(tried.Loosened); n > 0 {
		p.Shown(fmt.Sprintf("policy: the new set is in use; of the last %d messages it lets more through: %s", tried.Tried, list(tried.Loosened)))
	}
}

// list names changes, the first few of them.
func list(changes []policy.Change) string {
	var words []string
	for i, c := range changes {
		if i == 5 {
			words = append(words, fmt.Sprintf("and %d more", len(changes)-i))
			break
		}
		words = append(words, fmt.Sprintf("%s (%s to %s)", c.Message.Short(), c.Was, c.Is))
	}
	return strings.Join(words, ", ")
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// Decide has scripts decide about a message. It is called by one goroutine.
func (p *InUse) Decide(ctx context.Context, q relay.Question) (message.Verdict, error) {
	if p.strange(q) && p.look() {
		p.changed(ctx)
	}
	p.mu.Lock()
	rooms, form, unread, none := p.rooms, p.settings.Attribution, p.unread, p.status.Generation == ""
	p.mu.Unlock()
	var v policy.Verdict
	var out message.Verdict
	if none { // what is built in does the same as what is shipped, but for what filters take out
		out = message.Verdict{Message: q.Message.ID, Verb: message.VerbDeliver, By: policy.BuiltIn}
	} else {
		var err error
		v, err = p.engine.Evaluate(ctx, p.inputOf(ctx, q, rooms))
		if err != nil && ctx.Err() != nil {
			return message.Verdict{}, ctx.Err()
		}
		if err != nil {
			p.Log.Error("policies", "msg", q.Message.ID, "err", err)
		}
		out = verdictOf(q, v, form)
		p.remember(&out, v)
		p.count(v)
	}
	if unread != "" && q.Message.Origin != message.OriginHuman && q.Message.Origin != message.OriginSystem {
		out = asked(out, unread)
	}
	p.recordVerdict(v, out)
	return out, nil
}

// otherwise is what holds where no script decides. The last word is a script that is shipped;
// without it, everything that is asked about is between a person's own agents.
func (p *InUse) otherwise() message.Verb {
	if len(p.Shipped) == 0 {
		return message.VerbDeliver
	}
	return message.VerbAsk
}

// remember has scripts remember what they want to, here and, with the verdict, on disk.
func (p *InUse) remember(out *message.Verdict, v policy.Verdict) {
	if len(v.Effects) == 0 {
		return
	}
	p.engine.Commit(v)
	all := p.engine.Memories()
	out.Memory = map[string][]byte{}
	for _, e := range v.Effects {
		doc, err := json.Marshal(all[e.Script])
		if err != nil {
			p.Log.Error("what a policy remembers is not kept", "script", e.Script, "err", err)
			continue
		}
		out.Memory[e.Script] = doc
	}
}

// count judges the set in use by how its evaluations end.
func (p *InUse) count(v policy.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.Generation != p.status.Generation {
		return // of the set before
	}
	p.asked++
	if !failedIn(v, p.foreign) {
		p.row = 0
		if p.asked-p.bad == goodAfter {
			signal(p.ripe)
		}
		return
	}
	p.bad++
	if p.row++; p.row >= failsInARow || p.asked <= goodAfter && p.bad >= failsInARow {
		p.row = 0
		signal(p.failed)
	}
}

// failedIn reports whether scripts of the set's own are to blame for a failure.
func failedIn(v policy.Verdict, foreign map[string]bool) bool {
	return slices.ContainsFunc(v.Failures, func(f policy.Failure) bool {
		return f.Kind != policy.NoWorker && f.Script != "" && !foreign[f.Script]
	})
}

func failureText(f policy.Failure) string {
	where := f.Script
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", f.Script, f.Line)
	}
	return fmt.Sprintf("%s: %s: %s", where, f.Hook, f.Text)
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Status is how the policies are now. It waits for the message that scripts are asked about, and
// for a change of sets.
func (p *InUse) Status() policy.Status {
	engine := p.engine.Status()
	p.change.Lock()
	kept := p.kept.list()
	p.change.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Quarantined, s.Safe, s.Kept = engine.Quarantined, engine.Safe, kept
	return s
}

// Problem is why the files as they are are not in use, "" if they are. It waits for nothing.
func (p *InUse) Problem() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status.Error
}

// Settings are those of the set in use.
func (p *InUse) Settings() policy.Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// errLeft is why files are not in use that were left for earlier ones.
var errLeft = errors.New("the files were left for those before them, and stay out of use until they are changed")

var (
	// ErrNoOther is for going back where there is nothing to go back to.
	ErrNoOther = errors.New("no earlier set of policies is kept")
	// ErrNone is for asking policies of which none can be asked.
	ErrNone = errors.New("no policy can be asked")
)
