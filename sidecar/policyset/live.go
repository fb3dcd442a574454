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
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// When a set counts as good, and when as failing.
const (
	goodAfter   = 20 // evaluations without a failure
	failsInARow = 3  // or within its first goodAfter evaluations: then it is left for an earlier good set, unless it is good itself
)

// Options configure a Live. Shipped, Command, Memories, Trusted, Workplaces with Dir, Enter, Check and Now are
// optional.
type Options struct {
	Config   string          // directory of init.lua and policies/
	State    string          // directory for the sets that were in use
	Shipped  []policy.Source // asked after the person's own
	Command  []string        // starts a policy worker; nil means this program
	Memories map[string][]byte
	// Trusted reports whether a person trusts a project's file, given its place in the project and the hash of its
	// content.
	Trusted func(place, hash string) bool
	// Workplaces returns where all sessions work now. Dir returns where one works, which costs less.
	Workplaces func() map[message.ID]Workplace
	Dir        func(message.Peer) string
	// Enter makes a session of another computer a peer here when a policy routes a message to it. It returns the peer's
	// name and the new snapshot. It is nil if there are no other computers.
	Enter func(ctx context.Context, ref string) (string, registry.Snapshot, error)
	// Check returns an error for settings that make no sense.
	Check func(policy.Settings) error
	// Recent returns the newest decided messages with their recipients, oldest first.
	Recent func(ctx context.Context, most int) ([]relay.Question, error)
	// Used is called when another set comes into use, and when the messages about which no policy could be asked may be
	// decided anew. It must not wait for a Decide.
	Used func(policy.Settings)
	// Shown is called with each thing that a person must know, once.
	Shown func(text string)
	// Failed is called with the reason why the current files are not in use, and with "" once they are.
	Failed func(problem string)
	// Record receives one line of JSON for each decision and each change of sets.
	Record io.Writer
	Log    *slog.Logger
	Now    func() time.Time
}

// Workplace is where a session works, and the directories above it to which it belongs, "" for none.
type Workplace struct {
	Dir        string
	Project    string // the project, if it has a policy of its own
	Repository string // the repository, which may have an agent-config.yaml
	Bypasses   bool   // the agent acts without asking its person
}

// Live is the set in use. Its methods may be called from any goroutine.
type Live struct {
	Options
	engine *scripting.Engine
	every  time.Duration
	tests  time.Duration   // testsTime, except in tests
	trial  time.Duration   // replayTime, except in tests
	linked map[string]bool // targets of links; owned by Run
	failed chan struct{}   // the set in use has failed too often
	ripe   chan struct{}   // the set in use has proven good

	again atomic.Bool // the files could not be used, through no fault of theirs

	change  chan struct{} // holds a token while sets are exchanged; its holder owns the fields up to mu
	kept    kept
	running *scripting.Set
	files   files // the files of running

	mu       sync.Mutex // guards the fields up to repositories
	status   policy.Status
	settings policy.Settings
	listed   []policy.Kept
	covered  []string // projects whose files the set in use includes
	unread   string   // why none of the person's own policies is in use
	places   map[message.ID]Workplace
	foreign  map[string]bool // scripts whose failures do not count against the set: see foreign
	asked    int             // evaluations since the set came into use
	bad      int             // failed ones of those
	row      int             // failed ones in a row
	keeps    bool            // a failure has kept a message, and not only cost its look
	failing  bool            // the set has failed too often
	anew     time.Time       // when to decide anew the messages about which no policy could be asked; zero: none
	pause    time.Duration   // time until then; it grows with each attempt in vain

	repositories repositories
	others       everybody
}

// New returns a Live that decides nothing yet.
func New(o Options) *Live {
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
	p := &Live{
		Options: o, every: every, tests: testsTime, trial: replayTime, engine: scripting.New(scripting.Options{Command: o.Command, Memories: memories}),
		failed: make(chan struct{}, 1), ripe: make(chan struct{}, 1), change: make(chan struct{}, 1), kept: readKept(o.State, o.Log),
	}
	p.listed = p.kept.list()
	return p
}

// lock waits for a running exchange of sets. Its error is that of ctx.
func (p *Live) lock(ctx context.Context) error {
	select {
	case p.change <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Live) unlock() { <-p.change }

// Begin puts the person's policies into use: the current files or, if those cannot be used, the last ones that were in
// use. If neither works, the shipped policies are asked, and all that they let through is held until the person's own
// can be used: no approval releases what their filters have not seen.
func (p *Live) Begin(ctx context.Context) {
	if p.lock(ctx) != nil {
		return
	}
	defer p.unlock()
	p.look()
	now := p.read()
	if last := p.kept.last(); last != nil && (now.err != nil || last.Generation != now.own.Generation()) {
		// A change is measured against the set that was in use.
		f := now.beside(last.Files)
		set, err := p.compile(ctx, f)
		if err == nil {
			p.use(set, f, policy.Trial{}, "")
		} else {
			p.Log.Warn("the last policies cannot be used any more", "generation", last.Generation, "err", err)
		}
	}
	err := now.err
	switch {
	case err != nil:
	case p.running != nil && now.own.Generation() == p.kept.Refused:
		p.left(p.kept.Refused, "")
	case p.running == nil || now.own.Generation() != p.files.own.Generation():
		err = p.apply(ctx, now)
	}
	if err != nil && p.running == nil {
		p.shippedAlone(ctx, now, firstLine(err.Error()))
	}
	if err != nil {
		_, passes := errors.AsType[passing](err)
		p.again.Store(passes || p.running == nil)
		p.refused(err)
	}
}

// What applies while the current files cannot be used.
const (
	oldStays = "the previous policies stay in use"
	allWait  = "until it is fixed, what agents say is held"
)

// shippedAlone puts only the shipped policies into use, and holds whatever they let through.
func (p *Live) shippedAlone(ctx context.Context, now files, why string) {
	why = "your policies cannot be asked: " + why
	f := now.beside(policy.Files{})
	set, err := p.compile(ctx, f)
	if err == nil {
		p.use(set, f, policy.Trial{}, why)
		return
	}
	p.Log.Error("no policy can be asked", "err", err)
	p.mu.Lock()
	p.unread = why
	p.mu.Unlock()
}

// End ends the worker.
func (p *Live) End() {
	p.change <- struct{}{}
	defer p.unlock()
	p.engine.Close()
}

// apply puts changed files of the person into use, if nothing speaks against them.
func (p *Live) apply(ctx context.Context, f files) error {
	set, err := p.compile(ctx, f)
	if err != nil {
		return err
	}
	tried, err := p.try(ctx, set)
	if err == nil && f.own.Generation() != p.kept.InUse { // a test that was saved later must not take the last set out of use
		err = p.tested(ctx, f)
	}
	if err == nil && len(tried.Failures) > 0 {
		err = fmt.Errorf("it failed on %d of the last %d messages: %s", len(tried.Failures), tried.Tried, tried.Failures[0])
	}
	if err != nil {
		set.Close()
		return err
	}
	before, left := p.files.own, p.Left()
	p.use(set, f, tried, "")
	if left {
		p.returned(before, f.own)
	}
	p.kept.add(f.own, set.Generation, p.Now())
	p.kept.Refused = ""
	p.save()
	p.settled()
	p.succeeded(tried)
	return nil
}

// settled notes that the current files are in use.
func (p *Live) settled() {
	p.mu.Lock()
	p.status.Error, p.status.RolledBack = "", ""
	p.mu.Unlock()
	p.Failed("")
}

// try checks a set's settings and asks it about the last messages.
func (p *Live) try(ctx context.Context, set *scripting.Set) (policy.Trial, error) {
	if err := CheckAttribution(set.Settings.Attribution); err != nil {
		return policy.Trial{}, scripting.ProblemsError{set.Lines.Wrong(err)}
	}
	if p.Check != nil {
		if err := p.Check(set.Settings); err != nil {
			return policy.Trial{}, scripting.ProblemsError{set.Lines.Wrong(err)}
		}
	}
	if p.running == nil {
		return policy.Trial{}, nil
	}
	return p.replay(ctx, p.running, set)
}

// use makes a set decide from now on. The worker of the previous set ends once it has finished its message. unread says
// why the person's own policies are not in the set; "" if they are.
func (p *Live) use(set *scripting.Set, f files, tried policy.Trial, unread string) {
	previous := p.engine.Use(set)
	p.running, p.files = set, f
	p.mu.Lock()
	names := make([]string, len(set.Scripts))
	for i, s := range set.Scripts {
		names[i] = s.Name
	}
	p.status.Generation, p.status.Since, p.status.Files = set.Generation, p.Now(), names
	p.status.Warnings, p.status.Loosened, p.covered = slices.Concat(set.Problems, f.lonely), tried.Loosened, f.dirs
	if short := tried.Short(); short != "" {
		p.status.Warnings = append(p.status.Warnings, policy.Problem{File: "policies", Text: short, Warning: true})
	}
	p.settings, p.unread, p.foreign, p.asked, p.bad, p.row, p.keeps, p.failing = set.Settings, unread, foreign(set), 0, 0, 0, false, false
	drain(p.failed) // signals of the previous set
	drain(p.ripe)
	p.mu.Unlock()
	if previous != nil {
		go previous.Close()
	}
	p.Used(set.Settings)
}

// refused notes why the current files are not in use, and tells the person once, with what applies instead.
func (p *Live) refused(err error) {
	text, holds := err.Error(), oldStays
	p.mu.Lock()
	known := p.status.Error == text
	p.status.Error, p.status.RolledBack = text, "" // these are other files than those that were left
	if p.unread != "" {
		holds = allWait
	}
	p.mu.Unlock()
	if known {
		return
	}
	p.Log.Warn("policies", "refused", text)
	p.record(policy.Entry{Event: "refused", Error: text})
	p.Failed(firstLine(text))
	p.Shown("policy: " + holds + ": " + firstLine(text)) // what applies comes first: the text may be long
}

// succeeded logs that other policies are in use, and tells the person what matters of it.
func (p *Live) succeeded(tried policy.Trial) {
	p.mu.Lock()
	generation := p.status.Generation
	p.mu.Unlock()
	p.Log.Info("policies", "in use", generation, "tried with", tried.Tried, "of", max(tried.Tried, tried.Of), "changed", len(tried.Changed), "loosened", len(tried.Loosened))
	p.record(policy.Entry{Event: "in use", Generation: generation, Tried: tried.Tried, Of: tried.Of, Changed: tried.Changed, Loosened: tried.Loosened})
	var says []string
	if len(tried.Loosened) > 0 {
		says = append(says, fmt.Sprintf("it lets more of the last %d messages through: %s", tried.Tried, list(tried.Loosened)))
	}
	if short := tried.Short(); short != "" {
		says = append(says, short)
	}
	if len(says) > 0 {
		p.Shown("policy: the new set is in use; " + strings.Join(says, "; "))
	}
}

// list describes the first few changes.
func list(changes []policy.Change) string {
	var words []string
	for i, c := range changes {
		if i == 5 {
			words = append(words, fmt.Sprintf("and %d more", len(changes)-i))
			break
		}
		words = append(words, fmt.Sprintf("%s (%s)", c.Message.Short(), c.Verbs()))
	}
	return strings.Join(words, ", ")
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// Decide lets the scripts decide about a message. It is not relay.Wide: there is one worker, and what scripts remember
// goes to disk with their verdicts, in the same order. So an author waits for the scripts that work on somebody else's
// message: a second at most, four for a long text. If the scripts are quick, the author may wait for a few messages,
// but not for all of them.
func (p *Live) Decide(ctx context.Context, q relay.Question) (message.Verdict, error) {
	if p.strange(concerned(q)) {
		p.look()
	}
	if p.uncovered(concerned(q)) {
		p.changed(ctx)
	}
	p.mu.Lock()
	workplaces, form, unread, none := p.places, p.settings.Attribution, p.unread, p.status.Generation == ""
	p.mu.Unlock()
	var in policy.Input
	var v policy.Verdict
	var out message.Verdict
	if none { // then no filter has run either
		out = message.Verdict{
			Message: q.Message.ID, Decision: message.Decision{Verb: message.VerbHold, Reason: unread, By: policy.BuiltIn, Notify: true}, Unfiltered: true,
		}
	} else {
		in = p.inputOf(ctx, q, workplaces)
		var err error
		v, err = p.engine.Evaluate(ctx, in)
		p.later(ctx.Err() != nil || errors.Is(err, scripting.ErrLater)) // the relay holds a message whose decision takes too long
		if err != nil && ctx.Err() != nil {
			return message.Verdict{}, ctx.Err()
		}
		if err != nil {
			p.Log.Error("policies", "msg", q.Message.ID, "err", err)
		}
		out = p.took(ctx, q, v, form)
	}
	switch {
	case q.Message.Origin == message.OriginHuman || q.Message.OfSidecar():
	case unread != "":
		out = unseen(out, unread)
	case p.uncovered(concerned(q)) || p.unasked(q, in, v):
		out = asked(out, "its project's policy cannot be asked")
	}
	p.recordVerdict(v, out)
	return out, nil
}

// took turns the verdict of a set into the verdict on a message.
func (p *Live) took(ctx context.Context, q relay.Question, v policy.Verdict, form string) message.Verdict {
	q, v = p.entered(ctx, q, v)
	out := verdictOf(q, v, form)
	p.remember(&out, v)
	p.count(v)
	return out
}

// entered makes peers of the sessions of other computers to which a verdict routes a message.
func (p *Live) entered(ctx context.Context, q relay.Question, v policy.Verdict) (relay.Question, policy.Verdict) {
	for i, name := range v.Route {
		if _, err := q.Snapshot.Find(name); !errors.Is(err, registry.ErrUnknown) || p.Enter == nil {
			continue
		}
		id, now, err := p.Enter(ctx, name)
		if err != nil {
			p.Log.Warn("a policy routes to a session that is not known", "msg", q.Message.ID, "session", name, "err", err)
			continue
		}
		v.Route = slices.Clone(v.Route)
		v.Route[i], q.Snapshot = id, now
	}
	return q, v
}

// How long after a message about which no policy could be asked all such messages are decided anew.
const (
	soon = time.Second // by then the message is held, and can be found
	late = time.Minute
)

// later notes whether a message has to be decided anew.
func (p *Live) later(again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !again {
		p.pause = 0
		return
	}
	p.anew = p.Now().Add(max(p.pause, soon))
}

// due reports whether it is time to decide anew the messages about which no policy could be asked.
func (p *Live) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.anew.IsZero() || p.Now().Before(p.anew) {
		return false
	}
	p.anew, p.pause = time.Time{}, min(max(2*p.pause, 2*soon), late)
	return true
}

// otherwise returns the verb that applies if no script decides. Normally a shipped script has the last word; without
// one, all messages in question are between a person's own agents.
func (p *Live) otherwise() message.Verb {
	if len(p.Shipped) == 0 {
		return message.VerbDeliver
	}
	return message.VerbAsk
}

// remember stores what scripts want to remember, here and, with the verdict, on disk.
func (p *Live) remember(out *message.Verdict, v policy.Verdict) {
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

// count judges the set in use by the results of its evaluations.
func (p *Live) count(v policy.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.Generation != p.status.Generation {
		return // a verdict of the previous set
	}
	p.asked++
	if !failedIn(v, p.foreign) {
		p.row = 0
		if p.asked-p.bad == goodAfter { // once
			signal(p.ripe)
		}
		return
	}
	p.bad++
	p.keeps = p.keeps || slices.ContainsFunc(v.Failures, func(f policy.Failure) bool { return toBlame(f, p.foreign) && f.Hook.Failure() != "" })
	if p.row++; p.row >= failsInARow || p.asked <= goodAfter && p.bad >= failsInARow {
		p.row, p.failing = 0, true
		signal(p.failed)
	}
}

// failedIn reports whether a script of the set's own is to blame for a failure in a verdict.
func failedIn(v policy.Verdict, foreign map[string]bool) bool {
	return slices.ContainsFunc(v.Failures, func(f policy.Failure) bool { return toBlame(f, foreign) })
}

// toBlame reports whether a script of the set's own is to blame for a failure.
func toBlame(f policy.Failure, foreign map[string]bool) bool {
	return f.Kind != policy.NoWorker && f.Script != "" && !foreign[f.Script]
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

// Status returns the state of the policies. It waits for the running evaluation.
func (p *Live) Status() policy.Status {
	engine := p.engine.Status()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Quarantined, s.Safe, s.Kept = engine.Quarantined, engine.Safe, p.listed
	return s
}

// Problem returns why the current files are not in use, "" if they are. It does not block.
func (p *Live) Problem() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status.Error
}

// Left reports whether the current files stay unused, in favour of earlier ones, until they change. It does not block.
func (p *Live) Left() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status.RolledBack != ""
}

// Settings returns the settings of the set in use.
func (p *Live) Settings() policy.Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

var (
	// ErrNoOther says that there is no set to go back to.
	ErrNoOther = errors.New("there is no earlier set of policies")
	// ErrNone says that there is no policy to ask.
	ErrNone = errors.New("no policy can be asked")
)
