package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// succeed starts a headless sidecar after that of a tmux server has ended, if what it may have served is the person's
// and still wanted, and no other sidecar is there to take it over.
func (a *app) succeed(p api.Paths) {
	// A process that has the place by now serves it. An abandoned sidecar still has the place itself.
	taken := func() bool { pid := api.Holder(p.Lock); return pid > 0 && pid != os.Getpid() }
	if p.Server == "" || !a.wanted(p) || anotherServes(context.Background(), p) || taken() {
		return
	}
	headless, err := api.Places(a.Getenv, "")
	if err != nil {
		return
	}
	if child, err := a.spawn(headless); err == nil {
		child.told.file.Close()
	}
}

// wanted reports whether the person wants a port served, or the messages of a repository processed,
// whichever tmux servers there are.
func (a *app) wanted(p api.Paths) bool { return a.persists(p) != nil }

// Who serves what persists.
const (
	byHeadless = "headless" // the sidecar without tmux
	byOther    = "another"  // the sidecar of another tmux server
)

// persisted is what a person wants served, whichever tmux servers there are.
type persisted struct {
	Ports        []int    `json:"ports,omitempty"`
	Repositories []string `json:"repositories,omitempty"`
	By           string   `json:"by,omitempty"` // headless, another, or "": none until the next sidecar starts
}

// says describes k; on says that the sidecar that served it has just ended.
func (k persisted) says(on bool) string {
	var what []string
	for _, port := range k.Ports {
		what = append(what, "talk port "+strconv.Itoa(port))
	}
	for _, path := range k.Repositories {
		what = append(what, "repository "+path)
	}
	text, served := strings.Join(what, ", "), "served"
	if on {
		served = "served on"
	}
	switch k.By {
	case byHeadless:
		return text + ": " + served + " by a sidecar without tmux; intercom down --all ends that as well"
	case byOther:
		return text + ": " + served + " by the sidecar of another tmux server; intercom down --all ends that as well"
	}
	return text + ": not served until the next sidecar starts; to end it for good: " + k.ending()
}

// ending returns a line for a shell that ends the serving for good.
func (k persisted) ending() string {
	var all []string
	for _, port := range k.Ports {
		all = append(all, "intercom talk listen stop --port "+strconv.Itoa(port))
	}
	for _, path := range k.Repositories {
		all = append(all, "intercom aea monitor stop"+inRepository(path))
	}
	return strings.Join(all, " && ")
}

// persists returns what a person wants served whatever runs; nil for nothing.
func (a *app) persists(p api.Paths) *persisted {
	var k persisted
	if ports, _ := talkHome(a.Getenv); ports.Dir != "" { // without a home there are none
		for _, w := range ports.Wishes() {
			k.Ports = append(k.Ports, w.Port)
		}
	}
	wishes, _ := repository.EnabledIn(filepath.Dir(p.State)).List()
	for _, w := range wishes {
		if w.Monitor == repository.MonitorOn {
			k.Repositories = append(k.Repositories, w.Path)
		}
	}
	if len(k.Ports)+len(k.Repositories) == 0 {
		return nil
	}
	return &k
}

// servedBy returns what the process who serves of that now. The sidecar of a tmux server may belong to another home,
// such as the demo's; of several sidecars of one home, each serves what no other does.
func (a *app) servedBy(p api.Paths, who process.Process) *persisted {
	k := a.persists(p)
	if k == nil {
		return nil
	}
	ports, _ := talkHome(a.Getenv)
	k.Ports = slices.DeleteFunc(k.Ports, func(number int) bool {
		l, ok := ports.Port(number).Listening()
		return !ok || l.PID != who.PID
	})
	enabled := repository.EnabledIn(filepath.Dir(p.State))
	k.Repositories = slices.DeleteFunc(k.Repositories, func(path string) bool {
		d, err := repository.Open(path)
		return err != nil || !enabled.Served(path) || d.PID() != who.PID
	})
	if len(k.Ports)+len(k.Repositories) == 0 {
		return nil
	}
	return k
}

// servedOn sets in k who serves it after the sidecar at p has ended, just now or earlier.
func (a *app) servedOn(ctx context.Context, p api.Paths, k *persisted, justNow bool) *persisted {
	if k == nil {
		return nil
	}
	headless, err := api.Places(a.Getenv, "")
	// The successor may take the headless place at any moment, so that is looked at before the others, and not as one of them.
	vacant := err == nil && p.Server != "" && free(headless.Lock)
	ours := err == nil && p.Server != "" && serves(ctx, p, headless.Lock)
	another := !ours && slices.ContainsFunc(others(p), func(lock string) bool { return lock != headless.Lock && serves(ctx, p, lock) })
	switch {
	case ours, justNow && !another && vacant:
		k.By = byHeadless
	case another:
		k.By = byOther
	}
	return k
}

// otherRuns reports whether another sidecar of this user runs.
func otherRuns(p api.Paths) bool { return len(others(p)) > 0 }

// others returns the locks that other sidecars of this user hold.
func others(p api.Paths) []string {
	return slices.DeleteFunc(own.Glob(p.Runtime, "*.lock"), func(lock string) bool {
		return filepath.Base(lock) == filepath.Base(p.Lock) || free(lock)
	})
}

// anotherServes reports whether another sidecar runs that serves what the one at p does. The sidecars of several homes
// may share a runtime directory; each serves the ports and repositories of its own home.
func anotherServes(ctx context.Context, p api.Paths) bool {
	return slices.ContainsFunc(others(p), func(lock string) bool { return serves(ctx, p, lock) })
}

// homeWithin is how long another sidecar may take to say where its journal is.
const homeWithin = 500 * time.Millisecond

// serves reports whether a sidecar of the home of p holds the lock; the place of its journal tells its home. A sidecar
// that does not answer counts as one: it may only be slow.
func serves(ctx context.Context, p api.Paths, lock string) bool {
	if free(lock) {
		return false
	}
	asking, cancel := context.WithTimeout(ctx, homeWithin)
	defer cancel()
	ours := make(chan bool, 1)
	go func() { // a call to a sidecar that hangs may take longer than homeWithin
		status, err := api.Call(asking, &api.Client{Socket: strings.TrimSuffix(lock, ".lock") + ".sock"}, api.ShowStatus, api.None{})
		ours <- err != nil || status.Journal == "" || sameFile(filepath.Dir(filepath.Dir(status.Journal)), filepath.Dir(p.State))
	}()
	select {
	case is := <-ours:
		return is
	case <-asking.Done():
		return true
	}
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return a == b || err == nil && err2 == nil && os.SameFile(one, other)
}
