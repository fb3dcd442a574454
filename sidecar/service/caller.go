package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// caller says who makes a request, as the caller's processes prove it. What the caller says of itself never
// makes it a person: a tmux client that it names counts only if a key was pressed at that client (see keys).
type caller struct {
	kind    relay.Kind
	session message.Peer // of an adopted agent
	pane    string       // of a recognised agent that called through MCP, if nobody has adopted the pane
	place   string       // what it runs inside, or why it is not verified, for a person
	way     string       // how it could be verified, "" for the ordinary ways
	vouched bool         // it is not verified, but the sidecar of another tmux server takes it for the person
}

// by returns the caller of a request to the relay. An agent in a pane that nobody has adopted has no session
// under whose name it could speak.
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
	Person string // the name that signs a person's own words
	Relay  present
	// Tmux and Panes are nil where the sidecar is headless.
	Tmux interface {
		terminals
		Info() tmux.Info
	}
	Panes interface {
		AgentIn(p tmux.Pane, below ...process.Relative) string
		InThread(ctx context.Context, thread string, writer int) (message.ID, error)
	}
	Server tmux.Options // of the tmux server, to read its options
	// Others are the sockets of this person's other sidecars.
	Others func() []string
	// Journal knows the sessions of earlier lives of the sidecar; nil where there are none.
	Journal interface {
		EndedSessions(ctx context.Context, most int) ([]message.Peer, error)
	}
	Log *slog.Logger

	keys   keys
	former former
}

// by returns the caller for a request to the relay.
func (s *Callers) by(ctx context.Context, from api.Caller) relay.By {
	return s.caller(ctx, from).by(s.Person)
}

// callerSession returns the session of the adopted agent that called, if one did.
func (s *Callers) callerSession(ctx context.Context, from api.Caller) (message.Peer, bool) {
	c := s.caller(ctx, from)
	return c.session, c.session.ID != ""
}

// caller judges who called. On systems other than Linux the kernel does not tell enough about a process: there,
// any caller that reaches the socket is taken for the person.
func (s *Callers) caller(ctx context.Context, from api.Caller) caller {
	if from.Remote != "" {
		session, ok := s.Relay.Snapshot().Peer(from.Remote)
		if !ok || session.Kind != message.PeerRemote {
			return caller{kind: relay.Unverified, place: "nobody knows it"}
		}
		return caller{kind: relay.Agent, session: session, place: fmt.Sprintf("%q", session.Name)}
	}
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
	if o.behind.PID != 0 {
		return s.fromBehind(ctx, o, "")
	}
	switch {
	case len(o.line) == 0 && (s.Tmux != nil || line[0].PID == server.PID):
		return caller{kind: relay.Person} // it is the server itself, or one of its ancestors
	case len(o.line) == 0: // any process may start a headless sidecar, and then execute another program in its place
		return caller{kind: relay.Unverified, place: "it has started this sidecar, which proves nothing"}
	}
	peers := s.Relay.Snapshot().Peers()
	if session, ok := o.inside(peers); ok {
		return caller{kind: relay.Agent, session: session, place: fmt.Sprintf("%q", session.Name)}
	}
	if session, ok := o.startedIn(peers); ok {
		return caller{kind: relay.Agent, place: fmt.Sprintf("what was started in the pane of %q", session.Name)}
	}
	switch session, was, err := s.formerAgent(ctx, o); {
	case err != nil:
		s.Log.Warn("read the sessions that have ended", "err", err)
		return caller{kind: relay.Unverified, place: "the sessions that have ended cannot be read"}
	case was:
		return caller{kind: relay.Agent, place: fmt.Sprintf("what was %q until that session ended", session.Name)}
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
	vouched := false
	if o.elsewhere() {
		// If this sidecar has panes of its own, the word of another tmux server's sidecar alone makes nobody a
		// person: any process may start both.
		c, ok := s.vouched(ctx, from, line[0].Process)
		switch {
		case ok && (c.kind != relay.Person || s.Tmux == nil):
			return c
		case ok:
			vouched = true
		case s.Tmux == nil:
			// Only that server's own sidecar knows whether an agent runs in that pane.
			return caller{kind: relay.Unverified, place: "it runs in a tmux server that has no sidecar to speak for it", way: "run intercom up in that tmux server, then try again"}
		}
	}
	kind, place := o.judge(panes)
	if kind == relay.Unverified && s.keys.prove(o, from.Client, s.clients(ctx)) {
		return caller{kind: relay.Person}
	}
	return caller{kind: kind, place: place, vouched: vouched}
}

// fromBehind judges a caller that comes from an agent's background process, which serves several panes. Only
// the conversation tells which pane the caller belongs to: the one that the process shows, else the one that
// the caller names. Only agents start anything there.
func (s *Callers) fromBehind(ctx context.Context, o origin, said string) caller {
	c := caller{kind: relay.Agent, place: fmt.Sprintf("the background process of %s, which serves all of its panes", o.behind.Name)}
	thread := o.thread(said)
	if thread == "" || s.Panes == nil {
		return c
	}
	id, err := s.Panes.InThread(ctx, thread, o.behind.PID)
	if err != nil {
		s.Log.Debug("caller", "thread", thread, "err", err)
		return c
	}
	peers := s.Relay.Snapshot().Peers()
	if i := slices.IndexFunc(peers, func(p message.Peer) bool { return p.ID == id }); i >= 0 {
		c.session, c.place = peers[i], fmt.Sprintf("%q", peers[i].Name)
	}
	return c
}

// serverProcess returns the process by whose age callers are judged: the tmux server, or the headless sidecar
// itself. above has those of its ancestors that inherit orphaned processes.
func (s *Callers) serverProcess() (server process.Process, above []int) {
	pid := os.Getpid()
	if s.Tmux != nil {
		pid = s.Tmux.Info().PID
	}
	line, err := process.Lineage(pid, 0)
	if err != nil || len(line) == 0 {
		return process.Process{PID: pid}, nil
	}
	return line[0].Process, takers(line[1:], s.Tmux == nil)
}

// clients returns a function that lists the terminals at the tmux server when it is called.
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

// mayEnd refuses to end the sidecar for any caller but the person. A sidecar without panes cannot tell who
// calls from tmux, and holds no pane that an agent could want to be rid of: it lets an unverified caller end
// it.
func (s *Callers) mayEnd(ctx context.Context, from api.Caller) error {
	if c := s.caller(ctx, from); s.Tmux == nil && c.kind == relay.Unverified {
		return nil
	}
	return s.personOnly(ctx, from, "end the sidecar")
}

// personOnly refuses every caller but a person, and logs the refusal.
func (s *Callers) personOnly(ctx context.Context, from api.Caller, what string) error {
	if c := s.caller(ctx, from); c.kind != relay.Person {
		return s.refuse(c, from, what)
	}
	return nil
}

// MayChange returns an error if the caller's command must not change what a person has set. If another tmux
// server's sidecar says that the caller is a person, that is enough here: the files are the person's in either
// server, and the command asks that sidecar as well.
func (s *Callers) MayChange(ctx context.Context, from api.Caller, req api.MayChangeRequest) (none api.None, _ error) {
	c := s.caller(ctx, from)
	if c.kind == relay.Person || c.kind == relay.Unverified && c.vouched {
		return none, nil
	}
	return none, s.refuse(c, from, req.What)
}

// refuse logs and returns the error for an agent, or for an unverified caller, which may be an agent.
func (s *Callers) refuse(c caller, from api.Caller, what string) error {
	if c.kind == relay.Agent {
		s.Log.Warn("refused to an agent", "what", what, "inside", c.place, "pid", from.PID)
		return api.Errorf(api.CodeRefused, "%s: only a person may, and this runs inside %s", what, c.place).
			WithHint("do it from a pane that is not adopted, and in which no agent runs").About(api.PersonOnly, "")
	}
	s.Log.Warn("refused to an unverified caller", "what", what, "why", c.place, "pid", from.PID)
	if from.Agent != nil {
		return api.Errorf(api.CodeRefused, "%s: this process is not verified: %s", what, c.place).About(api.Unproven, "")
	}
	return api.Errorf(api.CodeRefused, "%s: only a person may, and this process is not verified: %s", what, c.place).
		WithHint("%s", cmp.Or(c.way, "run it in the shell of a pane, or in a terminal outside tmux; the plugin's keys work too"))
}

// verified returns the caller of a request that only an agent or a person may make. It refuses others, and logs
// the refusal.
func (s *Callers) verified(ctx context.Context, from api.Caller, what string) (relay.By, error) {
	c := s.caller(ctx, from)
	if by := c.by(s.Person); by.Kind != relay.Unverified {
		return by, nil
	}
	return relay.By{Kind: relay.Unverified}, s.refuse(c, from, what)
}

// atTerminal refuses every caller but a person at a terminal; command is the command that a person would use.
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

// person returns, for the log, who calls as far as the kernel and tmux tell. It leaves out what it cannot find
// out: the decision does not depend on it.
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

// below returns the session whose process is an ancestor of the caller, "" if there is none.
func (s *Callers) below(from api.Caller) message.ID {
	line, err := process.Ancestors(from.PID)
	if err != nil {
		return ""
	}
	for _, proc := range line {
		if agent.Background(proc.PID, proc.Name) {
			return "" // it may belong to any pane
		}
		for session := range s.Relay.Snapshot().Present() {
			if proc.PID == session.PaneProc.PID || proc.PID == session.Foreground.PID {
				return session.ID
			}
		}
	}
	return ""
}
