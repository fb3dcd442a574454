package policyset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// When files are looked at.
const (
	every    = 2 * time.Second        // where nothing tells of a change: containers, network file systems
	quiet    = 40 * time.Millisecond  // so long, a file that is being saved must stay the same
	patience = 250 * time.Millisecond // so long, one that is half written may be wrong
)

// Run brings what is saved into use, and goes back from what fails, until ctx ends.
func (p *InUse) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		p.Log.Warn("policies are looked at every now and then only", "err", err)
		watcher = &fsnotify.Watcher{}
	} else {
		defer watcher.Close()
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	seen := ""
	for {
		p.watch(watcher)
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			p.changed(ctx)
			seen = p.stamp()
			drain(watcher.Events) // which told of the same
		case err := <-watcher.Errors:
			p.Log.Warn("watching policies", "err", err)
		case <-ticker.C:
			if now := p.stamp(); p.look() || now != seen {
				p.changed(ctx)
				seen = now
			}
			p.mu.Lock()
			rooms := p.rooms
			p.mu.Unlock()
			p.agentConfigs(ctx, rooms) // so that what is wrong with them is told of without a message
		case <-p.failed:
			p.leave(ctx)
		case <-p.ripe:
			p.proven()
		}
	}
}

func drain(events <-chan fsnotify.Event) {
	for {
		select {
		case <-events:
		default:
			return
		}
	}
}

// watch has the directories watched that are there. To watch one twice is no more than once.
func (p *InUse) watch(watcher *fsnotify.Watcher) {
	if watcher.Events == nil {
		return
	}
	for _, dir := range []string{p.Config, filepath.Join(p.Config, "policies")} {
		if err := watcher.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.Log.Warn("watching policies", "err", err)
		}
	}
}

// stamp is different once the files are, or their tests, or whom of their authors a person
// trusts.
func (p *InUse) stamp() string {
	files, err := p.read()
	text := fmt.Sprint(files.Generation(), err)
	tests, err := scripting.ReadTests(p.Config)
	for _, t := range tests {
		text += t.Tests.Hash()
	}
	return fmt.Sprint(text, err)
}

// changed brings the files into use as they are now, once they hold still.
func (p *InUse) changed(ctx context.Context) {
	p.change.Lock()
	defer p.change.Unlock()
	var failed error
	for until := p.Now().Add(patience); ; {
		files, err := p.still(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			switch files.Generation() {
			case p.kept.Refused:
				return
			case p.own.Generation():
				p.accepted()
				return
			}
			err = p.apply(ctx, files)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		// An editor may be half way through.
		if failed = err; !p.Now().Before(until) {
			break
		}
		if !sleep(ctx, quiet) {
			return
		}
	}
	p.mu.Lock()
	holds := oldStays
	if p.unread != "" {
		holds = allAsk
	}
	p.mu.Unlock()
	p.refused(failed, holds)
}

// accepted notes that the files are those in use, which they may not have been for a while.
func (p *InUse) accepted() {
	p.mu.Lock()
	was := p.status.Error
	p.status.Error = ""
	p.mu.Unlock()
	if was != "" {
		p.Failed("")
	}
}

// still reads the files until they are twice the same.
func (p *InUse) still(ctx context.Context) (policy.Files, error) {
	files, err := p.read()
	for {
		if !sleep(ctx, quiet) {
			return files, ctx.Err()
		}
		again, errAgain := p.read()
		same := fmt.Sprint(err) == fmt.Sprint(errAgain) && files.Generation() == again.Generation()
		files, err = again, errAgain
		if same {
			return files, err
		}
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

// leave goes back to a set that was good from one that fails.
func (p *InUse) leave(ctx context.Context) {
	p.change.Lock()
	defer p.change.Unlock()
	to := p.kept.before(true)
	if to == nil {
		p.Shown("policy: the policies fail; no earlier ones are known to be good: intercom policy log")
		return
	}
	if err := p.back(ctx, *to, "it failed too often"); err != nil {
		p.Log.Warn("going back to earlier policies", "err", err)
		return
	}
	p.kept.add(p.own, p.Now()) // it is the latest again, and what failed lies before it
	p.save()
	p.Shown("policy: the new policies failed too often; those before them are in use again: intercom policy log")
}

// Rollback goes back to the set that was in use before, until the files are changed.
func (p *InUse) Rollback(ctx context.Context) (policy.Status, error) {
	p.change.Lock()
	to := p.kept.before(false)
	err := ErrNoOther
	if to != nil {
		err = p.back(ctx, *to, "a person went back")
	}
	p.change.Unlock()
	return p.Status(), err
}

// back brings an earlier set into use, and leaves the files as they are alone until they change.
func (p *InUse) back(ctx context.Context, to keptSet, why string) error {
	set, err := p.engine.Compile(ctx, p.whole(to.Files))
	if err != nil {
		return fmt.Errorf("policies %s: %w", to.Generation, err)
	}
	from := p.own.Generation()
	p.use(set, to.Files, policy.Trial{})
	if files, err := p.read(); err == nil {
		p.kept.Refused = files.Generation()
	}
	p.kept.InUse = to.Generation
	p.save()
	text := fmt.Sprintf("%s, and the files stay out of use until they are changed", why)
	p.mu.Lock()
	p.status.RolledBack, p.status.Error = from, text
	p.mu.Unlock()
	p.Failed(text)
	p.record(policy.Entry{Event: "rolled back", Generation: set.Generation, Error: why})
	return nil
}

// proven notes that the set in use is good.
func (p *InUse) proven() {
	p.change.Lock()
	defer p.change.Unlock()
	if i := p.kept.find(p.own.Generation()); i >= 0 && !p.kept.Sets[i].Good {
		p.kept.Sets[i].Good = true
		p.save()
	}
}

// Diff says what the files of another directory would change, as the person's own.
func (p *InUse) Diff(ctx context.Context, dir string) (policy.Trial, error) {
	p.change.Lock()
	defer p.change.Unlock()
	files, err := scripting.Read(scripting.Places{Config: dir})
	if err != nil {
		return policy.Trial{}, err
	}
	for _, s := range p.own.Sources { // those of projects stay
		if s.Project != "" {
			files.Sources = append(files.Sources, s)
		}
	}
	set, err := p.engine.Compile(ctx, p.whole(files))
	if err != nil {
		return policy.Trial{}, err
	}
	defer set.Close()
	return p.try(ctx, set)
}

// Explain says what the set in use would decide about a message now. Nothing of it happens.
func (p *InUse) Explain(ctx context.Context, q relay.Question) (policy.Verdict, error) {
	p.change.Lock()
	defer p.change.Unlock()
	if p.running == nil {
		return policy.Verdict{}, ErrNone
	}
	p.mu.Lock()
	rooms := p.rooms
	p.mu.Unlock()
	in := p.inputOf(ctx, q, rooms)
	in.Traced = true
	return p.engine.Try(ctx, p.running, in)
}
