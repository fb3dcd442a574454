package tmux

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// output is the source that has tmux report each write, by control clients that receive %output.
// There is one client for each session with watched panes, since a client hears only of its own
// session. Such clients can crash a server before 3.8. They ask tmux to pause when we are slow, so
// that the server buffers nothing for us. tmux reports no respawn, so output also reads the list of
// panes once a second.
type output struct {
	client *Client
	edges  *edges
	wake   chan struct{}

	mu     sync.Mutex             // guards the fields below
	panes  map[string]int         // watched → pid
	conns  map[string]*connection // by session id
	paused []pausedPane
}

type pausedPane struct{ session, pane string }

// outputCheck is how often the list of panes is read.
const outputCheck = time.Second

func newOutput(c *Client, e *edges) *output {
	return &output{client: c, edges: e, wake: make(chan struct{}, 1), panes: map[string]int{}, conns: map[string]*connection{}}
}

// watch implements source. Nothing is missed while the control client attaches, since open then
// tells Lost.
func (o *output) watch(pane, _ string, now Look) error {
	ctx, cancel := context.WithTimeoutCause(o.client.ctx, o.client.deadline, errDeadline)
	defer cancel()
	replies, err := o.client.run(ctx, command.Expand(pane, command.Fields("|", command.DestroyUnattached, command.ExitUnattached)))
	if err != nil {
		return err
	}
	if destroy, exit, _ := strings.Cut(strings.TrimSpace(replies[0]), "|"); isSet(destroy) || isSet(exit) {
		return fmt.Errorf("its session ends with its last client, which must not be ours: %w", errWatchUnusable)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.panes[pane] = now.Facts.PID
	o.nudge()
	return nil
}

// forget implements source.
func (o *output) forget(pane string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.panes, pane)
	o.nudge()
}

func (o *output) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// serve implements source. It alone opens and closes connections.
func (o *output) serve(ctx context.Context) {
	tick := time.NewTicker(outputCheck)
	defer tick.Stop()
	defer func() {
		for _, conn := range o.conns {
			conn.close()
		}
	}()
	for {
		o.resume(ctx)
		o.adjust(ctx)
		select {
		case <-o.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// adjust opens and closes connections to fit the watched panes, and tells of panes that are gone.
func (o *output) adjust(ctx context.Context) {
	o.mu.Lock()
	idle := len(o.panes) == 0 && len(o.conns) == 0
	o.mu.Unlock()
	if idle {
		return
	}
	list, err := o.client.Panes(ctx)
	if err != nil {
		return
	}
	now := make(map[string]Pane, len(list))
	for _, p := range list {
		now[p.ID] = p
	}
	o.mu.Lock()
	needed := map[string]bool{}
	for pane, pid := range o.panes {
		if p, ok := now[pane]; ok && !p.Dead && p.PID == pid {
			needed[p.SessionID] = true
			continue
		}
		delete(o.panes, pane)
		o.edges.tell(Edge{Pane: pane, Kind: Gone})
	}
	var over []*connection
	for id, conn := range o.conns {
		select {
		case <-conn.closed:
		default:
			if needed[id] {
				delete(needed, id)
				continue
			}
		}
		delete(o.conns, id)
		over = append(over, conn)
	}
	o.mu.Unlock()
	for _, conn := range over {
		conn.close()
	}
	for id := range needed {
		o.open(ctx, id)
	}
}

// open attaches to a session. Nobody reports earlier writes, so open tells Lost.
func (o *output) open(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.client.deadline, errDeadline)
	defer cancel()
	conn, err := connect(ctx, o.client.short, id, "ignore-size,pause-after=1", func(line []byte) { o.hear(id, line) })
	if err != nil {
		o.client.log.Debug("output", "session", id, "err", err)
		return
	}
	o.mu.Lock()
	o.conns[id] = conn
	o.mu.Unlock()
	o.edges.tell(Edge{Kind: Lost})
}

// hear handles a notification. The reader of a connection calls it.
func (o *output) hear(session string, line []byte) {
	kind, rest, _ := bytes.Cut(line, []byte(" "))
	pane, _, _ := bytes.Cut(rest, []byte(" "))
	switch string(kind) {
	case "%output", "%extended-output":
		o.edges.tell(Edge{Pane: string(pane), Kind: Wrote})
	case "%pause":
		o.edges.tell(Edge{Pane: string(pane), Kind: Wrote})
		o.mu.Lock()
		o.paused = append(o.paused, pausedPane{session, string(pane)})
		o.mu.Unlock()
		o.nudge()
	case "%layout-change", "%session-window-changed", "%unlinked-window-close", "%window-close", "%sessions-changed":
		o.nudge()
	}
}

// resume continues paused panes.
func (o *output) resume(ctx context.Context) {
	o.mu.Lock()
	paused := o.paused
	o.paused = nil
	o.mu.Unlock()
	for _, p := range paused {
		o.mu.Lock()
		conn := o.conns[p.session]
		o.mu.Unlock()
		if conn == nil || checkPane(p.pane) != nil {
			continue
		}
		ctx, cancel := context.WithTimeoutCause(ctx, o.client.deadline, errDeadline)
		_, _ = conn.run(ctx, []command.Command{command.Continue(p.pane)})
		cancel()
	}
}

func (o *output) isOurs(pid int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, conn := range o.conns {
		if conn.cmd.Process.Pid == pid {
			return true
		}
	}
	return false
}
