package service

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// The tmux server starts the programs behind the plugin's keys, but it also starts what an agent asks it to
// run. A program started by a key names the client at which the key was pressed, and tmux tells when that
// client's last key came. tmux does not count keys that a menu or a popup takes for itself: so keys notes a
// menu when it opens, and a popup for as long as its program runs.
type keys struct {
	mu    sync.Mutex
	menus map[string]menu // the last of each client
	hands map[int]uint64  // start times, by pid, of the processes that a key has proven
}

// menu is a menu that a key may have opened, or the time that `plugin unfit` takes to find out what the key
// starts.
type menu struct {
	key    int64 // the client's activity time then
	until  time.Time
	closed bool            // something was chosen, or the key opened none
	by     process.Process // the process that closed it and was proven by it
}

const (
	keyWithin  = 2 * time.Second  // between a key and the program it starts; tmux tells whole seconds
	menuWithin = time.Minute      // how long a person may look at a menu
	nextWithin = 15 * time.Second // between a key and the program it starts once `plugin unfit` has found that out, on a busy machine

	pressedWithin = 10 * time.Second // how long tmux may take to report the key
)

// UsedOption is the tmux option that names the program which the plugin runs.
const UsedOption = "@intercom-bin-used"

// prove reports whether a key of the plugin is behind a caller that the tmux server started: the client that
// the caller names had a key pressed just before, or has had a menu open since.
func (k *keys) prove(o origin, client string, clients func() []tmux.Attached) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range o.below() {
		if start, ok := k.hands[r.PID]; ok && start == r.Start {
			return true
		}
	}
	top, ok := o.started()
	if !ok || client == "" {
		return false
	}
	all := clients()
	i := slices.IndexFunc(all, func(c tmux.Attached) bool { return c.Name == client && !c.Control && !c.Suspended && c.Session != "" })
	if i < 0 {
		return false
	}
	key, now := all[i].Activity, time.Now()
	last := k.menus[client]
	open := !last.closed && last.key == key && !now.After(last.until)
	if !open && !near(key, now) && !near(key, now.Add(-top.Age())) {
		return false
	}
	k.note(client, menu{key: key, closed: true, by: top.Process}) // the choice closes it
	k.remember(top.Process)
	return true
}

// near reports whether a moment is shortly after a key, or just before it: tmux gives the second in which a key
// came, and a process may appear to begin up to a tick early.
func near(key int64, moment time.Time) bool {
	after := moment.Sub(time.Unix(key, 0))
	return after >= -keyWithin && after < keyWithin+time.Second
}

func (k *keys) note(client string, m menu) {
	if k.menus == nil {
		k.menus = map[string]menu{}
	}
	k.menus[client] = m
}

// remember notes that a process acts for a person, and forgets those that have ended.
func (k *keys) remember(p process.Process) {
	for pid, start := range k.hands {
		if now, err := process.Start(pid); err != nil || now != start {
			delete(k.hands, pid)
		}
	}
	if k.hands == nil {
		k.hands = map[int]uint64{}
	}
	k.hands[p.PID] = p.Start
}

// Offer registers the operations with a server.
func (s *Callers) Offer(server *api.Server) {
	api.Handle(server, api.Pressed, s.Pressed)
	api.Handle(server, api.WhoIs, s.WhoIs)
	api.Handle(server, api.MayChange, s.MayChange)
}

// Pressed notes that a key of the plugin was pressed at the client that the caller names.
func (s *Callers) Pressed(ctx context.Context, from api.Caller, req api.PressedRequest) (none api.None, _ error) {
	if s.Tmux == nil {
		return none, nil
	}
	// The plugin may stop waiting before a busy tmux answers, but the program that the key opens makes its
	// requests all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pressedWithin)
	defer cancel()
	if s.caller(ctx, from).kind != relay.Person {
		return none, nil // its next request is refused, with the reason
	}
	k := &s.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	within := menuWithin
	if req.Next {
		within = nextWithin
	}
	line, _ := process.Lineage(from.PID, 0)
	proven := func(by process.Process) bool {
		return slices.ContainsFunc(line, func(r process.Relative) bool { return r.PID == by.PID && r.Start == by.Start })
	}
	// A choice may have been made before this call arrives: then that choice closed the menu.
	if now := k.menus[from.Client]; (req.Menu || req.Next) && now.closed && proven(now.by) {
		k.note(from.Client, menu{key: now.key, until: time.Now().Add(within)})
	}
	if line, err := process.Lineage(req.Successor, 0); err == nil && len(line) > 0 && line[0].Parent == from.PID {
		k.remember(line[0].Process)
	}
	return none, nil
}

// succeeds reports whether the caller is the plugin's own program in another build than this sidecar: after an
// update tmux has started it to take the sidecar's place.
func (s *Callers) succeeds(ctx context.Context, from api.Caller) bool {
	if s.Tmux == nil || s.caller(ctx, from).kind != relay.Unverified {
		return false
	}
	options, err := tmux.Ask(ctx, s.Server, UsedOption)
	used := options[UsedOption]
	return err == nil && used != "" && process.Runs(from.PID, used) && !process.Runs(os.Getpid(), used)
}
