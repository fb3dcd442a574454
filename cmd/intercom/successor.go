package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// succeed starts a headless sidecar when that of a tmux server has ended, what it may have served is
// the person's and still wanted, and no other sidecar is there to take it over.
func (a *app) succeed(p api.Paths) {
	// Who has the place by now serves it. One that is abandoned has it itself still.
	taken := func() bool { pid := api.Holder(p.Lock); return pid > 0 && pid != os.Getpid() }
	if p.Server == "" || !a.wanted(p) || otherRuns(p) || taken() {
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
	byOther    = "another"  // that of another tmux server
)

// persisted is what a person wants served whichever tmux servers there are.
type persisted struct {
	Ports        []int    `json:"ports,omitempty"`
	Repositories []string `json:"repositories,omitempty"`
	By           string   `json:"by,omitempty"` // headless, another, or, with "", none until the next starts
}

func (k persisted) String() string {
	var what []string
	for _, port := range k.Ports {
		what = append(what, "talk port "+strconv.Itoa(port))
	}
	for _, path := range k.Repositories {
		what = append(what, "repository "+path)
	}
	text := strings.Join(what, ", ")
	switch k.By {
	case byHeadless:
		return text + ": served on by a sidecar without tmux; intercom down --all ends that as well"
	case byOther:
		return text + ": served on by the sidecar of another tmux server; intercom down --all ends that as well"
	}
	return text + ": not served until the next sidecar starts"
}

// persists is what a person wants served whatever runs, nil for nothing.
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

// servedOn is what persists where the sidecar at p has ended, just now or before, and who serves it then.
func (a *app) servedOn(p api.Paths, justNow bool) *persisted {
	k := a.persists(p)
	if k == nil {
		return nil
	}
	headless, err := api.Places(a.Getenv, "")
	switch others := otherRuns(p); {
	case err == nil && p.Server != "" && (!free(headless.Lock) || justNow && !others):
		k.By = byHeadless
	case others:
		k.By = byOther
	}
	return k
}

// otherRuns reports whether another sidecar of this user runs.
func otherRuns(p api.Paths) bool {
	return slices.ContainsFunc(own.Glob(p.Runtime, "*.lock"), func(lock string) bool {
		return filepath.Base(lock) != filepath.Base(p.Lock) && !free(lock)
	})
}
