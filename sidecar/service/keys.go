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

// What a key of the plugin runs is started by the tmux server, as what an agent has it run is.
// It names the client at which the key was pressed, and that client tells, through tmux, when
// its last key came. tmux counts no key that a menu or a popup takes for itself: a menu is
// noted when it opens, and a popup for as long as its program runs.
type keys struct {
	mu    sync.Mutex
	menus map[string]menu // by client: the last of each
	hands map[int]uint64  // processes that a key has proven: start times by pid
}

// menu is one that a key may have opened, or the time that `plugin unfit` takes to find out what its key begins.
type menu struct {
	key    int64 // activity of the client then
	until  time.Time
	closed bool            // something was chosen, or the key opened none
	by     process.Process // that closed it, with which it was proven
}

const (
	keyWithin  = 2 * time.Second  // between a key and what it starts; tmux tells whole seconds
	menuWithin = time.Minute      // how long one may look at a menu
	nextWithin = 15 * time.Second // between a key and what it begins once that is known, on a machine that is busy

	pressedWithin = 10 * time.Second // how long tmux may take to tell of it
)

// UsedOption is the option of tmux that names the program which the plugin runs.
const UsedOption = "@intercom-bin-used"

// prove reports whether a key of the plugin stands behind a caller that the tmux server
// started: the client that it names pressed one just before, or has a menu open since.
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
	k.note(client, menu{key: key, closed: true, by: top.Process}) // with what is chosen
	k.remember(top.Process)
	return true
}

// near reports whether a moment is not long after a key, or right before it: tmux tells the
// second in which a key came, and a process begins up to a tick before its time.
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

// remember notes that a process is a person's, and forgets those that have ended.
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

// Offer has a server serve the operations.
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
	// The plugin waits for less than a busy tmux may take, and what the key opens asks for something all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pressedWithin)
	defer cancel()
	if s.caller(ctx, from).kind != relay.Person {
		return none, nil // what it asks for next is refused, and says why
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
	// Something may have been chosen before this is heard of: then it was that which closed it.
	if now := k.menus[from.Client]; (req.Menu || req.Next) && now.closed && proven(now.by) {
		k.note(from.Client, menu{key: now.key, until: time.Now().Add(within)})
	}
	if line, err := process.Lineage(req.Successor, 0); err == nil && len(line) > 0 && line[0].Parent == from.PID {
		k.remember(line[0].Process)
	}
	return none, nil
}

// succeeds reports whether the plugin's own program asks, one of another build than this
// sidecar: after an update it takes the sidecar's place, and tmux has started it for that.
func (s *Callers) succeeds(ctx context.Context, from api.Caller) bool {
	if s.Tmux == nil || s.caller(ctx, from).kind != relay.Unverified {
		return false
	}
	options, err := tmux.Ask(ctx, s.Server, UsedOption)
	used := options[UsedOption]
	return err == nil && used != "" && process.Runs(from.PID, used) && !process.Runs(os.Getpid(), used)
}
