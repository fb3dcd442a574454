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

// menu is one that a key may have opened, or what else chooses what that key begins next.
type menu struct {
	key    int64 // activity of the client then
	opened time.Time
	closed bool // something was chosen, or the key opened none
}

const (
	keyWithin  = 2 * time.Second // between a key and what it starts; tmux tells whole seconds
	menuWithin = time.Minute     // how long one may look at a menu

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
	open := !last.closed && last.key == key && now.Sub(last.opened) <= menuWithin
	if !open && !near(key, now) && !near(key, now.Add(-top.Age())) {
		return false
	}
	k.note(client, menu{key: key, closed: true}) // with what is chosen
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
	k := &s.keys
	k.mu.Lock()
	before := k.menus[from.Client]
	k.mu.Unlock()
	if s.caller(ctx, from).kind != relay.Person {
		return none, nil // what it asks for next is refused, and says why
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// Something may have been chosen before this is heard of.
	if now := k.menus[from.Client]; req.Menu && now.closed && (before.key != now.key || !before.closed) {
		k.note(from.Client, menu{key: now.key, opened: time.Now()})
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
