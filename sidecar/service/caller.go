package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// caller is who makes a request, as the caller's processes prove it. What the caller says of
// itself never makes it a person: a client that it names counts only where that client pressed
// a key (see keys).
type caller struct {
	kind    relay.Kind
	session message.Peer // of an adopted agent
	pane    string       // of a recognised agent that called by MCP, where nobody has adopted it
	place   string       // what it runs inside, or why it is not verified, for a person
}

// by is the caller of a request to the relay. An agent in a pane that nobody has adopted has
// no session by whose name it could speak.
func (c caller) by(person string) relay.By {
	switch {
	case c.kind == relay.Person:
		return relay.By{Kind: relay.Person, Name: person}
	case c.kind == relay.Agent && c.session.ID != "":
		return relay.By{Kind: relay.Agent, Peer: c.session.ID}
	}
	return relay.By{Kind: relay.Unverified}
}

// Callers judges who calls.
type Callers struct {
	Person string // how a person's own words are signed
	Relay  present
	// Tmux and Panes are nil where the sidecar is headless.
	Tmux interface {
		terminals
		Info() tmux.Info
	}
	Panes interface {
		AgentIn(p tmux.Pane, below ...process.Relative) string
	}
	Server tmux.Options // of the tmux server, to ask it what its options say
	Log    *slog.Logger

	keys keys
}

// by says who called.
func (s *Callers) by(ctx context.Context, from api.Caller) relay.By {
	return s.caller(ctx, from).by(s.Person)
}

// callerSession is the session of an adopted agent that called.
func (s *Callers) callerSession(ctx context.Context, from api.Caller) (message.Peer, bool) {
	c := s.caller(ctx, from)
	return c.session, c.session.ID != ""
}

// caller judges who called. Elsewhere than on Linux the system does not tell of a process what
// this takes: there whoever reaches the socket is taken for the person.
func (s *Callers) caller(ctx context.Context, from api.Caller) caller {
	if from.Agent != nil {
		return s.viaMCP(ctx, from)
	}
	server, above := s.serverProcess()
	line, err := process.Lineage(from.PID, server.PID)
	switch {
	case errors.Is(err, process.ErrUnsupported):
		return caller{kind: relay.Person}
	case len(line) == 0:
		return caller{kind: relay.Unverified, place: "its process has ended"}
	}
	o := newOrigin(line, server, above)
	if len(o.line) == 0 {
		return caller{kind: relay.Person} // it is above the server itself
	}
	if session, ok := o.inside(s.Relay.Snapshot().Peers()); ok {
		return caller{kind: relay.Agent, session: session, place: fmt.Sprintf("%q", session.Name)}
	}
	var panes []tmux.Pane
	if s.Tmux != nil && o.needsPanes() {
		if panes, err = s.Tmux.Panes(ctx); err != nil {
			s.Log.Warn("list panes", "err", err)
			return caller{kind: relay.Unverified, place: "tmux cannot list its panes"}
		}
		if p, ok := o.paneOf(panes); ok {
			if agent := s.Panes.AgentIn(p, o.below()...); agent != "" {
				return caller{kind: relay.Agent, place: fmt.Sprintf("pane %s, in which %s runs", p.ID, agent)}
			}
		}
	}
	kind, place := o.judge(panes)
	if s.Tmux == nil && o.belowTmux() {
		// Whether an agent runs in that pane only the server's own sidecar knows.
		kind, place = relay.Unverified, "it runs in tmux, and this sidecar knows no panes"
	}
	if kind == relay.Unverified && s.keys.prove(o, from.Client, s.clients(ctx)) {
		return caller{kind: relay.Person}
	}
	return caller{kind: kind, place: place}
}

// serverProcess is the process by whose age callers are judged, and its parents: the tmux
// server, or the headless sidecar itself. Whatever loses its parents below the server is
// taken in by one of the server's own.
func (s *Callers) serverProcess() (server process.Process, above []int) {
	pid := os.Getpid()
	if s.Tmux != nil {
		pid = s.Tmux.Info().PID
	}
	line, err := process.Lineage(pid, 0)
	if err != nil || len(line) == 0 {
		return process.Process{PID: pid}, nil
	}
	for _, p := range line[1:] {
		above = append(above, p.PID)
	}
	return line[0].Process, above
}

// clients lists the terminals at the tmux server, when it is asked to.
func (s *Callers) clients(ctx context.Context) func() []tmux.Attached {
	return func() []tmux.Attached {
		if s.Tmux == nil {
			return nil
		}
		clients, err := s.Tmux.Clients(ctx)
		if err != nil {
			s.Log.Warn("list clients", "err", err)
		}
		return clients
	}
}

// origin is where a process comes from.
type origin struct {
	line   []process.Relative // itself and its parents, without the tmux server and what is above it
	lead   []process.Relative // the same of its session's leader, where that is not among its parents
	server process.Process
}

// newOrigin parts a lineage at the tmux server, or at what takes in those who lost their
// parents: the first process of the system, and the server's own parents.
func newOrigin(line []process.Relative, server process.Process, above []int) origin {
	o := origin{server: server}
	leader := line[0].Leader
	o.line = lowerPart(line, server.PID, above)
	if !slices.ContainsFunc(line, func(r process.Relative) bool { return r.PID == leader }) {
		if lead, err := process.Lineage(leader, server.PID); err == nil {
			o.lead = lowerPart(lead, server.PID, above)
		}
	}
	return o
}

func lowerPart(line []process.Relative, server int, above []int) []process.Relative {
	for i, r := range line {
		usersOwn := r.Name == "systemd" && r.Parent == 1 // it takes in those of its user, and starts what anybody asks it to
		if r.PID == server || r.PID == 1 || usersOwn || slices.Contains(above, r.PID) {
			return line[:i]
		}
	}
	return line
}

// started is what the tmux server itself started, the last of those from which the caller
// comes; none if it does not come from the server.
func (o origin) started() (process.Relative, bool) {
	for _, line := range [][]process.Relative{o.line, o.lead} {
		if n := len(line); n > 0 && line[n-1].Parent == o.server.PID {
			return line[n-1], true
		}
	}
	return process.Relative{}, false
}

// below are all processes of the origin.
func (o origin) below() []process.Relative { return slices.Concat(o.line, o.lead) }

// inside finds the session below whose pane's process the caller is, or at whose terminal, or
// in whose pane it or a parent was started. A job in the background loses its parents, but not
// its terminal, nor what it was started with. Nobody is inside of what lives in no pane.
func (o origin) inside(peers []message.Peer) (message.Peer, bool) {
	sessions := slices.DeleteFunc(slices.Clone(peers), func(p message.Peer) bool { return p.Pane == "" })
	for _, r := range o.below() {
		for _, session := range sessions {
			if r.PID == session.PaneProc.PID || r.PID == session.Foreground.PID {
				return session, true
			}
		}
	}
	for i, r := range o.below() {
		for _, session := range sessions {
			if o.tells(i, r) && r.Pane == session.Pane || r.Terminal && process.HasTerminal(r.PID, session.TTY) {
				return session, true
			}
		}
	}
	return message.Peer{}, false
}

// tells reports whether the environment of a process says where it was started. What the
// tmux server starts beside its panes has that of the server, which may have been started in
// a pane of another one.
func (o origin) tells(i int, r process.Relative) bool {
	return i == 0 || r.Parent != o.server.PID
}

// needsPanes reports whether the caller may come from a pane of the tmux server.
func (o origin) needsPanes() bool {
	if _, ok := o.started(); ok {
		return true
	}
	return slices.ContainsFunc(o.below(), func(r process.Relative) bool { return r.Pane != "" })
}

// paneOf is the pane from which the caller comes.
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

// judge tells a person from a caller of whom nobody knows who started it. It comes below no
// agent.
func (o origin) judge(panes []tmux.Pane) (kind relay.Kind, why string) {
	top, fromServer := o.started()
	i := -1
	if fromServer {
		i = slices.IndexFunc(panes, func(p tmux.Pane) bool { return !p.Dead && p.PID == top.PID })
	}
	switch {
	case fromServer && !o.typed(i >= 0 && !panes[i].Started):
		return relay.Unverified, "tmux started it, without an interactive shell"
	case fromServer && !o.line[0].Terminal:
		return relay.Unverified, "it left its terminal"
	case o.line[0].Terminal, o.older():
		return relay.Person, ""
	}
	return relay.Unverified, "who started it is unknown"
}

// typed reports whether what tmux started comes from a shell at which somebody types: one
// that was started with nothing to do by itself, or the default shell of a pane.
func (o origin) typed(byDefault bool) bool {
	parents := o.below()[1:]
	return byDefault && len(parents) > 0 || slices.ContainsFunc(parents, func(r process.Relative) bool { return r.Shell })
}

// older reports whether all of this began before the tmux server: a login, a service, a job of
// cron or CI.
func (o origin) older() bool {
	oldest := o.line[len(o.line)-1]
	return oldest.Start > 0 && o.server.Start > 0 && oldest.Start < o.server.Start
}

// belowTmux reports whether some tmux server started it, or what leads its session.
func (o origin) belowTmux() bool {
	return slices.ContainsFunc(o.below(), func(r process.Relative) bool { return strings.HasPrefix(r.Name, "tmux") })
}

// mayEnd refuses to end the sidecar to whoever is not the person. One that knows no panes cannot
// tell who calls from tmux, and holds no pane that an agent could want to be rid of.
func (s *Callers) mayEnd(ctx context.Context, from api.Caller) error {
	if c := s.caller(ctx, from); s.Tmux == nil && c.kind == relay.Unverified {
		return nil
	}
	return s.personOnly(ctx, from, "end the sidecar")
}

// personOnly refuses what only a person may do to everybody else, and logs that.
func (s *Callers) personOnly(ctx context.Context, from api.Caller, what string) error {
	if c := s.caller(ctx, from); c.kind != relay.Person {
		return s.refuse(c, from, what)
	}
	return nil
}

// refuse refuses something to an agent, or to somebody who may be one.
func (s *Callers) refuse(c caller, from api.Caller, what string) error {
	if c.kind == relay.Agent {
		s.Log.Warn("refused to an agent", "what", what, "inside", c.place, "pid", from.PID)
		return api.Errorf(api.CodeRefused, "%s: only a person may, and this runs inside %s", what, c.place).
			WithHint("do it from a pane that is not adopted, and in which no agent runs")
	}
	s.Log.Warn("refused to an unverified caller", "what", what, "why", c.place, "pid", from.PID)
	return api.Errorf(api.CodeRefused, "%s: only a person may, and this process is not verified: %s", what, c.place).
		WithHint("run it in the shell of a pane, or in a terminal outside tmux; the plugin's keys work too")
}

// verified is the caller of a request that only an agent or a person may make. It refuses
// others, and logs that.
func (s *Callers) verified(ctx context.Context, from api.Caller, what string) (relay.By, error) {
	c := s.caller(ctx, from)
	if by := c.by(s.Person); by.Kind != relay.Unverified {
		return by, nil
	}
	return relay.By{Kind: relay.Unverified}, s.refuse(c, from, what)
}

// atTerminal refuses what only a person at a terminal may do; command is how it is done.
func (s *Callers) atTerminal(ctx context.Context, from api.Caller, what, command string) error {
	if err := s.personOnly(ctx, from, what); err != nil {
		return err
	}
	if from.PID != 0 && !process.AtTerminal(from.PID) {
		s.Log.Warn("refused without a terminal", "what", what, "pid", from.PID)
		return api.Errorf(api.CodeRefused, "%s: only a person at a terminal may", what).
			WithHint("intercom %s, in a pane that is not adopted", command)
	}
	return nil
}

// person is who calls, as far as the kernel and tmux tell, for the log. What cannot be found
// out is left out: the decision does not depend on it.
func (s *Callers) person(ctx context.Context, from api.Caller) message.Person {
	who := message.Person{Name: s.Person, UID: from.UID, PID: from.PID}
	if from.PID == 0 || s.Tmux == nil {
		return who
	}
	who.Terminal = process.TerminalOf(from.PID)
	panes, err := s.Tmux.Panes(ctx)
	if err != nil {
		s.Log.Warn("list panes", "err", err)
	}
	session := ""
	for _, p := range panes {
		if who.Terminal != "" && p.TTY == who.Terminal && !p.Dead {
			who.Pane, session = p.ID, p.SessionID
		}
	}
	clients, err := s.Tmux.Clients(ctx)
	if err != nil {
		s.Log.Warn("list clients", "err", err)
	}
	for _, c := range clients {
		if !c.Control && c.SessionID == session {
			who.Client = c.Name
			break
		}
	}
	return who
}

// below is the session below whose process a caller runs, "" if there is none.
func (s *Callers) below(from api.Caller) message.ID {
	line, err := process.Ancestors(from.PID)
	if err != nil {
		return ""
	}
	for _, proc := range line {
		for _, session := range s.Relay.Snapshot().Peers() {
			if proc.PID == session.PaneProc.PID || proc.PID == session.Foreground.PID {
				return session.ID
			}
		}
	}
	return ""
}
