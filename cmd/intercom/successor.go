package main

import (
	"path/filepath"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// succeed starts a headless sidecar when that of a tmux server has ended, what it may have served is
// the person's and still wanted, and no other sidecar is there to take it over.
func (a *app) succeed(p api.Paths) {
	if p.Server == "" || !a.wanted(p) || otherRuns(p) {
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
func (a *app) wanted(p api.Paths) bool {
	ports, _ := talkHome(a.Getenv) // without a home there are none
	return ports.Dir != "" && len(ports.Wishes()) > 0 || monitors(repository.EnabledIn(filepath.Dir(p.State)))
}

// monitors reports whether a person wants the messages of any repository processed whatever runs.
func monitors(list repository.Enabled) bool {
	all, err := list.List()
	return err == nil && slices.ContainsFunc(all, func(w repository.Wish) bool { return w.Monitor == repository.MonitorOn })
}

// otherRuns reports whether another sidecar of this user runs.
func otherRuns(p api.Paths) bool {
	return slices.ContainsFunc(own.Glob(p.Runtime, "*.lock"), func(lock string) bool {
		return filepath.Base(lock) != filepath.Base(p.Lock) && !free(lock)
	})
}
