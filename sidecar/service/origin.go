package service

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// origin says where a process comes from.
type origin struct {
	line   []process.Relative // the process and its ancestors, without the tmux server and the server's ancestors
	lead   []process.Relative // the same for its session's leader, if that is not one of its ancestors
	behind process.Relative   // the agent's background process that it comes from, if any, whose own ancestors tell nothing
	taker  process.Relative   // the parent of the topmost of these, zero if the system shows none
	server process.Process
}

// newOrigin cuts a lineage at the tmux server, or at a process that inherits orphans: the first process of the
// system, or one of the server's own ancestors.
func newOrigin(line []process.Relative, server process.Process, above []int) origin {
	o := origin{server: server}
	leader := line[0].Leader
	o.line, o.taker = lowerPart(line, 1, server.PID, above)
	if i := slices.IndexFunc(o.line, func(r process.Relative) bool { return agent.Background(r.PID, r.Name) }); i >= 0 {
		o.line, o.behind = o.line[:i], o.line[i]
		return o
	}
	if !slices.ContainsFunc(line, func(r process.Relative) bool { return r.PID == leader }) {
		if lead, err := process.Lineage(leader, server.PID); err == nil {
			o.lead, o.taker = lowerPart(lead, 0, server.PID, above)
		}
	}
	return o
}

// lowerPart returns the part of a lineage below the tmux server, the server's ancestors, and other processes
// that inherit orphans. The first own entries never count as such a process: any process may give itself that
// name.
func lowerPart(line []process.Relative, own, server int, above []int) (lower []process.Relative, taker process.Relative) {
	for i, r := range line {
		if r.PID == server || slices.Contains(above, r.PID) || i >= own && (r.PID == 1 || usersOwn(r)) {
			return line[:i], r
		}
	}
	return line, process.Relative{}
}

// usersOwn reports whether a process is the service manager of its user. That process inherits orphans, and
// starts whatever it is asked to. Any process may take that name, and gains nothing by it: a caller below it is
// judged without it, as an orphan. Its executable is not checked, since a process may hide that, and the age of
// a service manager that was missed would count.
func usersOwn(r process.Relative) bool { return r.Name == "systemd" && r.Parent == 1 }

// takers returns the ancestors of a server that inherit orphaned processes. For a headless sidecar that was
// started in a pane, these are only the processes above the tmux server: those in the pane, and the tmux server
// itself, are judged like any others.
func takers(parents []process.Relative, headless bool) (pids []int) {
	for _, p := range slices.Backward(parents) {
		if headless && isTmux(p) {
			break
		}
		pids = append(pids, p.PID)
	}
	return pids
}

// started returns the process that the tmux server itself started and that the caller comes from; false if the
// caller does not come from the server.
func (o origin) started() (process.Relative, bool) {
	for _, line := range [][]process.Relative{o.line, o.lead} {
		if n := len(line); n > 0 && line[n-1].Parent == o.server.PID {
			return line[n-1], true
		}
	}
	return process.Relative{}, false
}

// below returns all processes of the origin.
func (o origin) below() []process.Relative { return slices.Concat(o.line, o.lead) }

// thread returns the conversation for which an agent's background process has started the caller: the one in
// the caller's environment, which the background process has set, else the one that the caller names. It is ""
// if the two differ.
func (o origin) thread(said string) string {
	var started string
	if n := len(o.line); n > 0 {
		started = agent.StartedFor(o.line[n-1].PID)
	}
	if started != "" && said != "" && said != started {
		return ""
	}
	return cmp.Or(started, said)
}

// inside finds the session that the caller runs in, by its ancestors or by their terminal: a background job
// loses its parents, but not its terminal. A session without a pane has no caller inside.
func (o origin) inside(peers []message.Peer) (message.Peer, bool) {
	for _, r := range o.below() {
		if i := slices.IndexFunc(peers, func(p message.Peer) bool { return isOf(r, p.PaneProc) || isOf(r, p.Foreground) }); i >= 0 {
			return peers[i], true
		}
	}
	for _, r := range o.below() {
		if i := slices.IndexFunc(peers, func(p message.Peer) bool { return r.Terminal && process.HasTerminal(r.PID, p.TTY) }); i >= 0 {
			return peers[i], true
		}
	}
	return message.Peer{}, false
}

// startedIn finds the session in whose pane the caller or one of its ancestors was started, by the environment,
// which a background job keeps as well. Whoever starts a process chooses its environment: so it proves that the
// caller is an agent, but not which one.
func (o origin) startedIn(peers []message.Peer) (message.Peer, bool) {
	for i, r := range o.below() {
		if at := slices.IndexFunc(peers, func(p message.Peer) bool { return r.Pane != "" && p.Pane == r.Pane && o.tells(i, r) }); at >= 0 {
			return peers[at], true
		}
	}
	return message.Peer{}, false
}

// tells reports whether the environment of a process says where it was started. A process that the tmux server
// starts outside its panes has the environment of the server, which may have been started in a pane of another
// server. A process that is older than the server was started in none of its panes: such as another tmux
// server, whose environment names a pane of an unknown server.
func (o origin) tells(i int, r process.Relative) bool {
	return !o.before(r) && (i == 0 || r.Parent != o.server.PID)
}

// needsPanes reports whether the caller may come from a pane of the tmux server.
func (o origin) needsPanes() bool {
	if _, ok := o.started(); ok {
		return true
	}
	return slices.ContainsFunc(o.below(), func(r process.Relative) bool { return r.Pane != "" })
}

// paneOf returns the pane from which the caller comes.
func (o origin) paneOf(panes []tmux.Pane) (tmux.Pane, bool) {
	if top, ok := o.started(); ok {
		if i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return !p.Dead && p.PID == top.PID }); i >= 0 {
			return panes[i], true
		}
	}
	for i, r := range o.below() {
		if at := slices.IndexFunc(panes, func(p tmux.Pane) bool { return !p.Dead && p.ID == r.Pane }); at >= 0 && o.tells(i, r) {
			return panes[at], true
		}
	}
	return tmux.Pane{}, false
}

// judge tells a person from a caller whose starter is unknown. The caller does not run below an
// agent. What the origin of a process in a pane proves, including what an agent may leave behind there:
//
//	started by the server, through a shell that is still there   that a person typed it
//	started by the server, and no shell between                  nothing: any client has tmux start things
//	at a pane's terminal, its parents have ended                 nothing: a job in the background of anybody's
//	below what was an agent's, whatever that runs by now         an agent
//	below another tmux server, through a shell                   as much as that server's own beginning
func (o origin) judge(panes []tmux.Pane) (kind relay.Kind, why string) {
	top, here := o.started()
	byDefault := here && slices.ContainsFunc(panes, func(p tmux.Pane) bool { return !p.Dead && p.StartCommand == "" && p.PID == top.PID })
	switch {
	case here && o.line[len(o.line)-1].Parent != o.server.PID:
		return relay.Unverified, "what started it in that pane has ended"
	case here && !typed(o.line) && (!byDefault || len(o.line) < 2):
		return relay.Unverified, "tmux started it, without an interactive shell"
	case here && !o.line[0].Terminal:
		return relay.Unverified, "it left its terminal"
	case here:
		return relay.Person, ""
	case o.elsewhere() && !o.typedElsewhere():
		return relay.Unverified, "another tmux server started it, without an interactive shell"
	case o.older():
		return relay.Person, ""
	case !o.line[0].Terminal:
		return relay.Unverified, "who started it is unknown"
	case o.anotherLogin(), o.atDisplay():
		return relay.Person, ""
	case o.elsewhere():
		return relay.Unverified, "it comes from another tmux server, and who started that is unknown"
	}
	return relay.Unverified, "it has a terminal of its own, and who started that is unknown"
}

// typed reports whether the first process of a lineage comes from a shell at which somebody types: one that was
// started without a command to run.
func typed(line []process.Relative) bool {
	return len(line) > 1 && slices.ContainsFunc(line[1:], func(r process.Relative) bool { return r.Shell })
}

// typedElsewhere is typed for a process of another tmux server. It also reports true if that server started the
// process before this server existed.
func (o origin) typedElsewhere() bool {
	for i, r := range o.line {
		if i > 0 && isTmux(r) {
			return typed(o.line[:i]) || o.before(o.line[i-1])
		}
	}
	return false
}

// top returns the oldest process that the caller comes from. If its session's leader has a lineage of its own,
// that counts: a terminal belongs to a session, and no process can join a session that others began.
func (o origin) top() process.Relative {
	line := o.line
	if len(o.lead) > 0 {
		line = o.lead
	}
	return line[len(line)-1]
}

// older reports whether the oldest of these processes began before the tmux server: a login, a service, a job
// of cron or CI.
func (o origin) older() bool { return o.before(o.line[len(o.line)-1]) }

func (o origin) before(r process.Relative) bool {
	return r.Start > 0 && o.server.Start > 0 && r.Start < o.server.Start
}

// A process that has a terminal and is younger than the server may have been started in a pane: a process that
// sheds its parents, leaves its session and opens a pty looks like a terminal program. The functions below
// check for things that such a process cannot make for itself.

// anotherLogin reports whether the caller comes from another login than the tmux server: below a process of
// another user (sshd, login, sudo), from outside this process's namespace (docker exec), or in another session
// of the system's audit, which is set at a login and never again. The user's service manager is a login of its
// own and starts what it is asked to, so its audit session proves nothing.
func (o origin) anotherLogin() bool {
	top := o.top()
	if top.Parent == 0 || process.OfAnother(top.PID) || o.taker.PID == 0 && process.OfAnother(top.Parent) {
		return true
	}
	ours, theirs := process.Login(o.server.PID), process.Login(top.PID)
	return o.taker.PID == 1 && ours != 0 && theirs != 0 && ours != theirs
}

// atDisplay reports whether the caller comes from a program with a window, that is a terminal program, on a
// display that existed before the tmux server. An agent may connect to the display as well, and then passes for
// a person: but where the display lets it in, as X11 does, it can press the person's keys anyway.
func (o origin) atDisplay() bool {
	began := process.Began(o.server.Start, time.Now())
	return slices.ContainsFunc(o.below(), func(r process.Relative) bool {
		since := process.Display(r.PID)
		return !since.IsZero() && !began.IsZero() && since.Before(began)
	})
}

// here reports whether the tmux server itself started the caller or its session's leader.
func (o origin) here() bool {
	_, here := o.started()
	return here
}

// elsewhere reports whether another tmux server started the caller or its session's leader.
func (o origin) elsewhere() bool {
	return !o.here() && slices.ContainsFunc(o.below(), isTmux)
}

// isTmux reports whether a process is tmux, a server or a client: both start what they are told to.
func isTmux(r process.Relative) bool { return strings.HasPrefix(r.Name, "tmux") }
