package policyset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	theirs "github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// When files are looked at.
const (
	every    = 2 * time.Second        // where nothing tells of a change: containers, network file systems
	quiet    = 40 * time.Millisecond  // so long, a file that is being saved must stay the same
	patience = 250 * time.Millisecond // so long, one that is half written may be wrong

	rest = 10 // times as long as a try took in vain, until the next one: what tests take is no steady load
)

// Run brings what is saved into use, and goes back from what fails, until ctx ends.
func (p *Live) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		p.Log.Warn("policies are looked at every now and then only", "err", err)
		watcher = &fsnotify.Watcher{}
	} else {
		defer watcher.Close()
	}
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	p.watch(watcher)
	seen := p.read().stamp()
	p.changed(ctx)         // what was saved since Begin, of which nobody told
	var tryAgain time.Time // not before
	for {
		p.watch(watcher)
		select {
		case <-ctx.Done():
			return nil
		case event := <-watcher.Events:
			if p.foreignTo(event.Name) {
				continue
			}
			drain(watcher.Events)   // which tell of the same
			p.watch(watcher)        // what an editor has put in the place of a file, before it is read
			seen = p.read().stamp() // before it is tried: what is saved meanwhile is seen to differ
			p.changed(ctx)
		case err := <-watcher.Errors:
			p.Log.Warn("watching policies", "err", err)
		case <-ticker.C:
			again := p.again.Load() && !p.Now().Before(tryAgain)
			if now := p.read().stamp(); p.look() || now != seen || again {
				seen = now
				began := p.Now()
				p.changed(ctx)
				tryAgain = p.Now().Add(rest * p.Now().Sub(began))
			}
			p.agentConfigs(ctx, p.workplaces()) // so that what is wrong with them is told of without a message
			if p.due() {
				p.Used(p.Settings())
			}
		case <-p.failed:
			p.leave(ctx)
		case <-p.ripe:
			p.proven(ctx)
		}
	}
}

func drain[T any](events <-chan T) {
	for {
		select {
		case <-events:
		default:
			return
		}
	}
}

// foreignTo reports whether a path that changed is neither in the directory of policies, nor on the
// way to it, nor a file to which a link in it leads.
func (p *Live) foreignTo(path string) bool {
	return !p.linked[path] && !within(path, p.Config) && !within(p.Config, path)
}

// within reports whether a path is a directory, or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// watch has the directories watched that are there, and those of the files to which links in them
// lead; of the person's own, where it is not there yet, the nearest above it that is. To watch one
// twice is no more than once. A file itself is not watched: what is told of one that was replaced
// may end the watch of the file in its place.
func (p *Live) watch(watcher *fsnotify.Watcher) {
	if watcher.Events == nil {
		return
	}
	p.linked = map[string]bool{}
	for _, dir := range []string{p.Config, filepath.Join(p.Config, "policies"), filepath.Join(p.Config, "policies", "lib")} {
		entries, _ := theirs.List(dir) // the reading tells of errors
		paths := []string{dir}
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			if entry.Type()&fs.ModeSymlink == 0 || filepath.Ext(path) != ".lua" {
				continue
			}
			if file, err := filepath.EvalSymlinks(path); err == nil {
				p.linked[file] = true
				paths = append(paths, filepath.Dir(file))
			}
		}
		for _, path := range paths {
			err := watcher.Add(path)
			for above := path; errors.Is(err, fs.ErrNotExist) && path == p.Config && above != filepath.Dir(above); {
				above = filepath.Dir(above)
				err = watcher.Add(above)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				p.Log.Warn("watching policies", "path", path, "err", err)
			}
		}
	}
}

// changed brings the files into use as they are now, once they hold still.
func (p *Live) changed(ctx context.Context) {
	if p.lock(ctx) != nil {
		return
	}
	defer p.unlock()
	for until := p.Now().Add(patience); ; {
		now, err := p.still(ctx)
		if err == nil {
			err = p.take(ctx, now)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		// An editor may be half way through.
		if !p.Now().Before(until) {
			p.refused(err)
			return
		}
		if !sleep(ctx, quiet) {
			return
		}
	}
}

// take brings files into use. Where it cannot be the person's own, the error says why, and
// those that are stay; what projects say holds either way.
func (p *Live) take(ctx context.Context, now files) error {
	p.mu.Lock()
	none := p.unread != "" || p.running == nil
	p.mu.Unlock()
	why := now.err
	switch {
	case why != nil:
	case none || now.own.Generation() != p.files.own.Generation() && now.own.Generation() != p.kept.Refused:
		if why = p.apply(ctx, now); why == nil {
			p.again.Store(false)
			return nil
		}
	case now.own.Generation() == p.files.own.Generation():
		p.accepted()
	default: // what was left is there again, and whatever was wrong since is gone
		p.left(p.kept.Refused, "")
	}
	if p.running == nil || !slices.Equal(now.projects, p.files.projects) || !slices.Equal(now.dirs, p.files.dirs) {
		why = errors.Join(why, p.join(ctx, now))
	}
	_, passes := errors.AsType[passing](why)
	p.again.Store(passes)
	return why
}

// join brings the files of other projects into use, beside what is in use of the person's own.
func (p *Live) join(ctx context.Context, now files) error {
	f := now.beside(p.files.own)
	set, err := p.compile(ctx, f)
	if err != nil {
		return err
	}
	var tried policy.Trial
	if p.running != nil && slices.ContainsFunc(f.projects, func(s policy.Source) bool {
		return !s.GuardsOnly && !slices.Contains(p.files.projects, s)
	}) { // it may let more through
		if tried, err = p.replay(ctx, p.running, set); err != nil {
			p.Log.Warn("policies of a project", "err", err)
		}
	}
	p.mu.Lock()
	unread := p.unread
	p.mu.Unlock()
	p.use(set, f, tried, unread)
	p.succeeded(tried)
	return nil
}

// accepted notes that the files are those in use, which they may not have been for a while.
func (p *Live) accepted() {
	if p.kept.Refused != "" {
		p.kept.Refused = ""
		p.save()
	}
	if p.Problem() != "" || p.Left() {
		p.settled()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// failedTooOften is why a set is left that nobody took back.
const failedTooOften = "it failed too often"

// leave goes back to a set that was good from one that fails. One that has proven good itself stays:
// what it fails at now is the messages' doing, and whoever sends those must not choose what is in use. So does one
// whose failures keep messages: the set before it might let them go.
func (p *Live) leave(ctx context.Context) {
	if p.lock(ctx) != nil {
		return
	}
	defer p.unlock()
	p.mu.Lock()
	failing, keeps := p.failing, p.keeps
	p.failing = false
	p.mu.Unlock()
	if !failing { // it was the set before, which somebody has taken out of use since
		return
	}
	if p.good() {
		p.Shown("policy: your policies keep failing, and stay in use, since they were good before: intercom policy log")
		return
	}
	if keeps {
		p.Shown("policy: your policies keep failing, and stay in use; what they fail at waits: intercom policy log")
		return
	}
	to := p.kept.before(true)
	if to == nil {
		p.Shown("policy: your policies keep failing, and no earlier set is known to be good: intercom policy log")
		return
	}
	if err := p.back(ctx, *to, failedTooOften); err != nil {
		p.Log.Warn("going back to earlier policies", "err", err)
		return
	}
	p.kept.add(p.files.own, p.running.Generation, p.Now()) // it is the latest again, and what failed lies before it
	p.save()
	p.Shown("policy: the new policies failed too often; the previous ones are in use again: intercom policy log")
}

// Rollback goes back to the person's files that were in use before, until theirs are changed; or
// says, where nobody is sure yet, whether that is possible. The error is ErrNoOther if not.
func (p *Live) Rollback(ctx context.Context, sure bool) (policy.Status, error) {
	if err := p.lock(ctx); err != nil {
		return policy.Status{}, err
	}
	to := p.kept.before(false)
	var err error
	var earlier *policy.Earlier
	switch {
	case to == nil:
		err = ErrNoOther
	case sure:
		err = p.back(ctx, *to, "rolled back by a person")
	default:
		earlier = &policy.Earlier{Kept: to.Kept, Changes: differences(p.files.own, to.Files)}
	}
	p.unlock()
	status := p.Status()
	status.Earlier = earlier
	return status, err
}

// differences are the files in which a set is another than the one in use.
func differences(now, then policy.Files) (out []string) {
	all := func(f policy.Files) []policy.Source { return slices.Concat(f.Sources, f.Modules) }
	find := func(in []policy.Source, name string) *policy.Source {
		if i := slices.IndexFunc(in, func(s policy.Source) bool { return s.Name == name }); i >= 0 {
			return &in[i]
		}
		return nil
	}
	for _, s := range all(now) {
		switch was := find(all(then), s.Name); {
		case was == nil:
			out = append(out, s.Name+": gone")
		case was.Text != s.Text:
			out = append(out, s.Name+": changed")
		}
	}
	for _, s := range all(then) {
		if find(all(now), s.Name) == nil {
			out = append(out, s.Name+": back")
		}
	}
	return out
}

// returned tells that the files are in use again that were left for earlier ones, by name: whoever
// changed one of them may have forgotten the others.
func (p *Live) returned(before, now policy.Files) {
	is := strings.NewReplacer(": back", " is in use again", ": changed", " is in use as it is now", ": gone", " is no longer in use")
	if changes := differences(before, now); len(changes) > 0 {
		p.Shown("policy: " + is.Replace(strings.Join(changes, ", ")))
	}
}

// back brings an earlier set into use, and leaves the files as they are alone until they change, unless they are that set.
func (p *Live) back(ctx context.Context, to keptSet, why string) error {
	now := p.read()
	f := now.beside(to.Files)
	set, err := p.compile(ctx, f)
	if err != nil {
		return fmt.Errorf("policies %s: %w", to.Generation, err)
	}
	from := p.files.own.Generation()
	p.use(set, f, policy.Trial{}, "")
	theirs := now.err == nil && now.own.Generation() == to.Files.Generation() // which were left for what is left now
	switch {
	case theirs:
		p.kept.Refused = ""
	case now.err == nil:
		p.kept.Refused = now.own.Generation()
	}
	p.kept.again(to.Generation, set.Generation, p.Now())
	p.save()
	trouble := ""
	if why == failedTooOften {
		trouble = why + "; the current files stay unused until they change"
	}
	p.mu.Lock()
	p.status.RolledBack = "" // whatever was left before
	p.mu.Unlock()
	if theirs {
		p.settled()
	} else {
		p.left(from, trouble)
	}
	p.record(policy.Entry{Event: "rolled back", Generation: set.Generation, Error: why})
	return nil
}

// left notes that the files as they are are left alone, for earlier ones, until they change.
// trouble is "" where a person wanted that: it is no error then.
func (p *Live) left(generation, trouble string) {
	p.mu.Lock()
	known := p.status.RolledBack != ""
	if !known {
		p.status.RolledBack, p.status.Error = generation, trouble
	}
	p.mu.Unlock()
	if !known {
		p.Failed(trouble)
	}
}

// good reports whether the set in use has proven good.
func (p *Live) good() bool {
	i := p.kept.find(p.files.own.Generation())
	return p.proves() || i >= 0 && p.kept.Sets[i].Good // the first may not be noted yet
}

// proves reports whether the set in use has proven good since it came into use.
func (p *Live) proves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked-p.bad >= goodAfter
}

// proven notes that the set in use is good.
func (p *Live) proven(ctx context.Context) {
	if p.lock(ctx) != nil {
		return
	}
	defer p.unlock()
	if !p.proves() { // it was the set before
		return
	}
	if i := p.kept.find(p.files.own.Generation()); i >= 0 && !p.kept.Sets[i].Good {
		p.kept.Sets[i].Good = true
		p.save()
	}
}

// Diff says what the files of another directory would change, as the person's own.
func (p *Live) Diff(ctx context.Context, dir string) (policy.Trial, error) {
	if err := p.lock(ctx); err != nil {
		return policy.Trial{}, err
	}
	defer p.unlock()
	own, err := scripting.Read(dir)
	if err != nil {
		return policy.Trial{}, err
	}
	set, err := p.compile(ctx, p.files.beside(own))
	if err != nil {
		return policy.Trial{}, err
	}
	defer set.Close()
	tried, err := p.try(ctx, set)
	if err == nil && p.running != nil {
		tried.Settings = p.running.Settings.Differ(set.Settings)
	}
	return tried, err
}

// Explain says what the set in use would decide about a message now. Nothing of it happens.
func (p *Live) Explain(ctx context.Context, q relay.Question) (policy.Verdict, error) {
	if err := p.lock(ctx); err != nil {
		return policy.Verdict{}, err
	}
	defer p.unlock()
	if p.running == nil {
		return policy.Verdict{}, ErrNone
	}
	in := p.inputOf(ctx, q, p.workplaces())
	in.Traced = true
	return p.engine.Try(ctx, p.running, in)
}
