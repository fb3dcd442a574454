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

// When files are checked.
const (
	every    = 2 * time.Second        // interval of polling, for containers and network file systems, which report no changes
	quiet    = 40 * time.Millisecond  // how long a file that is being saved must stay the same
	patience = 250 * time.Millisecond // how long a half-written file may be wrong

	rest = 10 // after a failed try, wait this many times as long as it took: tests must not become a steady load
)

// Run puts saved files into use, and goes back from a set that fails, until ctx ends.
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
	p.changed(ctx)         // files saved since Begin, which no event reported
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
			drain(watcher.Events)   // events about the same change
			p.watch(watcher)        // the file that an editor has put in place of another, before it is read
			seen = p.read().stamp() // before the try, so that a change during it is noticed
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
			p.agentConfigs(ctx, p.workplaces()) // so that errors in them are reported even if no message comes
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

// foreignTo reports whether a changed path is not in the directory of policies, nor on the way to it, nor the target of
// a link in it.
func (p *Live) foreignTo(path string) bool {
	return !p.linked[path] && !within(path, p.Config) && !within(p.Config, path)
}

// within reports whether a path is a directory or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// watch watches the directories that exist, and the directories of the files to which links in them lead. If the
// person's own directory does not exist, it watches the nearest existing one above it. Adding a path twice has no
// effect. It does not watch the files themselves: when a file is replaced, the event about the old one may end the
// watch of the new one.
func (p *Live) watch(watcher *fsnotify.Watcher) {
	if watcher.Events == nil {
		return
	}
	p.linked = map[string]bool{}
	for _, dir := range []string{p.Config, filepath.Join(p.Config, "policies"), filepath.Join(p.Config, "policies", "lib")} {
		entries, _ := theirs.List(dir) // reading the files reports errors
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

// changed puts the current files into use once they have stopped changing.
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
		// An editor may be in the middle of saving.
		if !p.Now().Before(until) {
			p.refused(err)
			return
		}
		if !sleep(ctx, quiet) {
			return
		}
	}
}

// take puts files into use. If the person's own cannot be used, the error says why, and those in use stay. The files of
// projects are put into use either way.
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
	default: // the files that were left are there again, and no other error applies
		p.left(p.kept.Refused, "")
	}
	if p.running == nil || !slices.Equal(now.projects, p.files.projects) || !slices.Equal(now.dirs, p.files.dirs) {
		why = errors.Join(why, p.join(ctx, now))
	}
	_, passes := errors.AsType[passing](why)
	p.again.Store(passes)
	return why
}

// join puts changed files of projects into use, together with the person's own files that are in use.
func (p *Live) join(ctx context.Context, now files) error {
	f := now.beside(p.files.own)
	set, err := p.compile(ctx, f)
	if err != nil {
		return err
	}
	var tried policy.Trial
	if p.running != nil && slices.ContainsFunc(f.projects, func(s policy.Source) bool {
		return !s.GuardsOnly && !slices.Contains(p.files.projects, s)
	}) { // it may loosen decisions
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

// accepted notes that the current files are in use again, after a time when they may not have been.
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

// failedTooOften is the reason why a failing set was left without a person's request.
const failedTooOften = "it failed too often"

// leave goes back from a failing set to an earlier one that is good. Two kinds of failing sets stay in use. One has
// itself proven good: its failures come from the messages, and whoever sends those must not choose which set is in use.
// The other holds messages by its failures, which the set before it might let go.
func (p *Live) leave(ctx context.Context) {
	if p.lock(ctx) != nil {
		return
	}
	defer p.unlock()
	p.mu.Lock()
	failing, keeps := p.failing, p.keeps
	p.failing = false
	p.mu.Unlock()
	if !failing { // the previous set failed, and has been replaced since
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
	p.kept.add(p.files.own, p.running.Generation, p.Now()) // it is the newest again, before the one that failed
	p.save()
	p.Shown("policy: the new policies failed too often; the previous ones are in use again: intercom policy log")
}

// Rollback goes back to the person's previous files, until the current ones change. If sure is false, it only reports
// what it would do. It returns ErrNoOther if there is no earlier set.
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

// differences lists how the files of an earlier set differ from those in use.
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

// returned tells the person which files are in use again after a rollback: whoever changed one of them may have
// forgotten the others.
func (p *Live) returned(before, now policy.Files) {
	is := strings.NewReplacer(": back", " is in use again", ": changed", " is in use as it is now", ": gone", " is no longer in use")
	if changes := differences(before, now); len(changes) > 0 {
		p.Shown("policy: " + is.Replace(strings.Join(changes, ", ")))
	}
}

// back puts an earlier set into use. Unless the current files are that set, they stay unused until they change.
func (p *Live) back(ctx context.Context, to keptSet, why string) error {
	now := p.read()
	f := now.beside(to.Files)
	set, err := p.compile(ctx, f)
	if err != nil {
		return fmt.Errorf("policies %s: %w", to.Generation, err)
	}
	from := p.files.own.Generation()
	p.use(set, f, policy.Trial{}, "")
	theirs := now.err == nil && now.own.Generation() == to.Files.Generation() // the current files are the set to which this goes back
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
	p.status.RolledBack = "" // forget the earlier rollback
	p.mu.Unlock()
	if theirs {
		p.settled()
	} else {
		p.left(from, trouble)
	}
	p.record(policy.Entry{Event: "rolled back", Generation: set.Generation, Error: why})
	return nil
}

// left notes that the current files stay unused, in favour of earlier ones, until they change. trouble is "" if a
// person asked for it: then it is no error.
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
	return p.proves() || i >= 0 && p.kept.Sets[i].Good // the first set may not be recorded yet
}

// proves reports whether the set has proven good since it came into use.
func (p *Live) proves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked-p.bad >= goodAfter
}

// proven records that the set in use is good.
func (p *Live) proven(ctx context.Context) {
	if p.lock(ctx) != nil {
		return
	}
	defer p.unlock()
	if !p.proves() { // the previous set has proven good
		return
	}
	if i := p.kept.find(p.files.own.Generation()); i >= 0 && !p.kept.Sets[i].Good {
		p.kept.Sets[i].Good = true
		p.save()
	}
}

// Diff says what would change if the files of another directory were the person's own.
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

// Explain returns what the set in use would decide about a message now. It has no effects.
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
