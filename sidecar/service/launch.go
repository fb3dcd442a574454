package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Launches starts and ends sessions.
type Launches struct {
	Callers  *Callers
	Names    *Names
	Sessions *Sessions
	Relay    interface {
		asked
		Protocols() relay.Protocols
		Stopped() bool
	}
	// Launcher is nil where the sidecar is headless.
	Launcher interface {
		Open(ctx context.Context, o message.StartOrder) (message.Peer, error)
		Find(ctx context.Context, o message.StartOrder) (message.Peer, error)
		Close(ctx context.Context, id message.ID)
		Resume(ctx context.Context, session message.Peer) error
		End(ctx context.Context, session message.Peer, quit func(context.Context) bool, within time.Duration) (launch.How, error)
		EndRest(ctx context.Context, session message.ID) error
	}
	// Panes is nil if the sidecar is headless, too.
	Panes interface {
		Explain(ctx context.Context, session message.ID, pane, as string) (pane.Instant, error)
		Recent(ctx context.Context, session message.ID) ([]pane.Said, error)
	}
	Journal interface {
		events
		holding
		receipts
		Record(ctx context.Context, kind, id string) (message.Record, error)
	}
	Bell      *Bell
	Consent   Consent    // nil: there are no teams
	Elsewhere *Computers // nil: there are no other computers
	Settings  func() policy.Settings
	Amend     func(profile.Profile) profile.Profile
	// Recognised is how long the reply to a start waits for an agent to be recognised in a command; 0 is half a
	// second.
	Recognised time.Duration
	// Gap is called between the steps of a start, with its id. It is nil outside tests.
	Gap func(id, moment string)
	Log *slog.Logger

	later func(func(context.Context)) // set by TakeUp: runs a function in this life of the sidecar; nobody waits for it
}

// Offer registers the operations with a server.
func (s *Launches) Offer(server *api.Server) {
	api.Handle(server, api.StartSession, s.Start)
	api.Handle(server, api.EndSession, s.End)
	api.Handle(server, api.EndAsks, s.EndAsks)
	api.Handle(server, api.SessionData, s.Data)
	api.Handle(server, api.ListSessions, s.List)
}

// lookWithin is how long it may take to check a directory: its file system may not answer.
const lookWithin = 3 * time.Second

// Start starts a session.
func (s *Launches) Start(ctx context.Context, from api.Caller, req api.StartSessionRequest) (api.StartedSession, error) {
	by, err := s.Callers.verified(ctx, from, "start a session")
	if err != nil {
		return api.StartedSession{}, err
	}
	token, _, err := s.Elsewhere.where(req.Computer, "")
	if err != nil {
		return api.StartedSession{}, err
	}
	if token != "" {
		return s.startElsewhere(ctx, from, token, req)
	}
	if s.Launcher == nil {
		return api.StartedSession{}, api.Errorf(api.CodeUsage, "no tmux server: this sidecar has no panes").WithHint("name the server's socket: --server SOCKET")
	}
	caller, _ := s.Callers.callerSession(ctx, from)
	wanted, err := s.wanted(ctx, by, caller, req)
	if err != nil {
		if !by.Person() {
			s.Log.Warn("refused to an agent", "what", "start a session", "agent", caller.Name, "wanted", req.Agent, "command", req.Command, "dir", req.Dir, "why", err)
		}
		return api.StartedSession{}, err
	}
	if why := s.mayStart(by, caller, wanted); why != "" {
		s.Log.Warn("an agent may not start that by itself", "agent", caller.Name, "what", wanted.What, "dir", wanted.Dir, "why", why)
		return s.hold(ctx, by, wanted, why)
	}
	started, err := s.start(ctx, by, wanted.StartOrder)
	if many, ok := errors.AsType[*relay.TooManyError](err); ok {
		s.Log.Warn("an agent may not start that by itself", "agent", caller.Name, "what", wanted.What, "dir", wanted.Dir, "why", many)
		return s.hold(ctx, by, wanted, many.Error())
	}
	return started, err
}

// wanted is a start that a request asks for.
type wanted struct {
	message.StartOrder
	agent string // the profile, or the program's path; "" for a command
}

// wanted returns the start that a request asks for.
func (s *Launches) wanted(ctx context.Context, by relay.By, caller message.Peer, req api.StartSessionRequest) (w wanted, err error) {
	w = wanted{agent: req.Agent, StartOrder: message.StartOrder{Message: req.Message, Title: req.Title, Near: req.Near, Seat: req.Seat}}
	w.From = message.Address{Computer: message.LocalComputer, Peer: caller.ID, Name: caller.Name}
	if by.Person() {
		w.From.Name = s.Callers.Person
	}
	if w.Near == "" {
		w.Near = caller.Pane
	}
	if req.Thinking != "" && !slices.Contains(profile.Thinkings, req.Thinking) {
		return w, api.Errorf(api.CodeUsage, "unknown thinking mode %q", req.Thinking).WithHint("they are %s", strings.Join(profile.Thinkings, ", "))
	}
	switch {
	case len(req.Command) > 0 && !by.Person():
		return w, api.Errorf(api.CodeRefused, "start a command: only a person may").WithHint("name an agent; sessions.allow of init.lua says which")
	case len(req.Command) > 0:
		err = w.command(req.Command, req.As)
	case w.agent == "":
		if w.agent, err = s.own(by, caller); err == nil {
			err = s.agent(&w, req.Thinking)
		}
	default:
		err = s.agent(&w, req.Thinking)
	}
	if err == nil {
		w.Dir, err = directory(ctx, req.Dir)
	}
	if err != nil {
		return w, err
	}
	name := w.Profile
	if _, ok := profile.AgentByName(name); !ok {
		name = filepath.Base(w.Program[0])
	}
	if title := registry.NameFrom(req.Title); title != "" {
		name = title
	}
	w.Name = s.Relay.Snapshot().FreeName(name, registry.NameFrom(s.Callers.Person))
	return w, nil
}

// own returns the agent to start when the request names none: one of the caller's own kind.
func (s *Launches) own(by relay.By, caller message.Peer) (string, error) {
	if by.Person() {
		return "", api.Errorf(api.CodeUsage, "name an agent or a command").WithHint("%s", s.ways())
	}
	if p, ok := profile.Known(caller.Profile); ok && len(s.Amend(p).Start) > 0 {
		return p.Name, nil
	}
	allowed := s.allowed(caller)
	if len(allowed) == 0 {
		return "", api.Errorf(api.CodeUsage, "name an agent: nothing tells how %s was started, and sessions.allow of init.lua names none", caller.Name)
	}
	return "", api.Errorf(api.CodeUsage, "name an agent: nothing tells how %s was started", caller.Name).WithHint("allowed are %s", strings.Join(allowed, ", "))
}

// ways lists how a person may say what to start: the agents that are installed here, or a command.
func (s *Launches) ways() string {
	var here []string
	for _, name := range startable() {
		if p, ok := profile.Known(name); ok {
			if p = s.Amend(p); len(p.Start) > 0 {
				if _, err := process.Find(p.Start[0]); err == nil {
					here = append(here, "--agent "+name)
				}
			}
		}
	}
	if len(here) == 0 {
		return fmt.Sprintf("-- COMMAND starts a program; none of %s is in the PATH of the sidecar", strings.Join(startable(), ", "))
	}
	return strings.Join(here, ", ") + ", or -- COMMAND"
}

// startable returns the agents that can be started by their profile.
func startable() (names []string) {
	for _, a := range profile.Agents() {
		names = append(names, a.Name)
	}
	return append(names, profile.Aider().Name)
}

// agent fills in how to start an agent: by its profile, or by the path of a program. A program that is not
// named like an agent is started without arguments.
func (s *Launches) agent(w *wanted, thinking string) error {
	w.What = w.agent
	if filepath.IsAbs(w.agent) {
		w.Profile = profile.Line().Name
		path, err := filepath.EvalSymlinks(w.agent)
		if err == nil {
			path, err = process.Find(path)
		}
		if err != nil {
			return api.Errorf(api.CodeFailed, "start %q: %w", w.agent, bare(err)).WithHint("name a program that can be run")
		}
		w.Program = []string{path}
		if _, ok := profile.AgentByName(filepath.Base(w.agent)); ok { // another copy than the one in the PATH
			p, _ := profile.Known(filepath.Base(w.agent))
			p = s.Amend(p)
			w.Profile, w.Program = p.Name, slices.Concat(w.Program, p.Start[min(1, len(p.Start)):], p.Thinking[thinking])
		}
		return nil
	}
	p, ok := profile.Known(w.agent)
	p = s.Amend(p)
	if !ok || len(p.Start) == 0 {
		return api.Errorf(api.CodeNotFound, "no agent %q can be started", w.agent).WithHint("agents: %s; or the absolute path of a program", strings.Join(startable(), ", "))
	}
	path, err := process.Find(p.Start[0])
	if err != nil {
		return api.Errorf(api.CodeFailed, "start %s: no program %q in the PATH of the sidecar", w.agent, p.Start[0]).
			WithHint("install it; or, if your shell finds it, run intercom down and intercom up there; or set profiles = { %s = { start = { \"/path/to/%s\" } } } in init.lua", w.agent, p.Start[0])
	}
	w.Profile, w.Program = p.Name, slices.Concat([]string{path}, p.Start[1:], p.Thinking[thinking])
	return nil
}

// command fills in a person's own command.
func (w *wanted) command(words []string, as string) error {
	if _, ok := profile.Known(as); as != "" && !ok {
		return api.Errorf(api.CodeUsage, "no profile %q", as).WithHint("intercom adopt --help lists them")
	}
	path, err := process.Find(words[0])
	if err != nil {
		return api.Errorf(api.CodeFailed, "start %q: %w", words[0], bare(err)).WithHint("name a program in the PATH, or its absolute path")
	}
	if why, _, refused := profile.Refuse(filepath.Base(path)); refused && as != "" && bareShell(words[1:]) {
		return api.Errorf(api.CodeRefused, "start %q as %s: %s", words[0], as, why).WithHint("leave --as out: what is sent waits until an agent is started there by hand")
	}
	w.What, w.Profile, w.Program = strings.Join(words, " "), as, slices.Concat([]string{path}, words[1:])
	return nil
}

// bareShell reports whether a shell or an interpreter with these arguments reads what it runs from the
// terminal.
func bareShell(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") }) // the command of -c is an argument without a dash
}

// bare returns the system's error from an error about a path, for a text that names the path already.
func bare(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// directory resolves links and dots in the path of a directory, and checks that a program may be started there.
func directory(ctx context.Context, dir string) (string, error) {
	type looked struct {
		dir string
		err error
	}
	done := make(chan looked, 1)
	go func() {
		whole, err := filepath.EvalSymlinks(dir)
		var info fs.FileInfo
		if err == nil {
			info, err = os.Stat(whole)
		}
		if err == nil && !info.IsDir() {
			err = errors.New("not a directory")
		}
		done <- looked{whole, err}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, lookWithin, errors.New("its file system does not answer"))
	defer cancel()
	var found looked
	select {
	case found = <-done:
	case <-ctx.Done():
		found.err = context.Cause(ctx)
	}
	switch {
	case errors.Is(found.err, fs.ErrNotExist):
		return "", api.Errorf(api.CodeNotFound, "no directory %q", dir).WithHint("name one that exists")
	case found.err != nil:
		return "", api.Errorf(api.CodeFailed, "directory %q: %w", dir, bare(found.err)).WithHint("name a directory that can be entered")
	case strings.ContainsFunc(found.dir, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", api.Errorf(api.CodeRefused, "directory %q: its path has control characters", dir)
	}
	return found.dir, nil
}

// allowed returns what an agent may start.
func (s *Launches) allowed(caller message.Peer) []string {
	if set := s.Settings().Sessions; set.Allow != nil {
		return set.Allow
	}
	if p, ok := profile.Known(caller.Profile); ok && len(p.Start) > 0 {
		return []string{p.Name}
	}
	return nil
}

// roots returns the directories below which an agent may start something. If init.lua names none, that is the
// agent's own working directory, unless that is the root, the home directory, or above the home directory.
func (s *Launches) roots(caller message.Peer) []string {
	roots := s.Settings().Sessions.Roots
	if roots == nil {
		dir := workingDir(caller)
		if home, err := os.UserHomeDir(); dir == "" || dir == "/" || err == nil && within(home, dir) {
			return nil
		}
		roots = []string{dir}
	}
	var whole []string
	for _, root := range roots {
		if dir, err := filepath.EvalSymlinks(root); err == nil {
			whole = append(whole, dir)
		}
	}
	return whole
}

// within reports whether path is dir or below it; both are resolved paths.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// mayStart returns the reason why an agent may not start something by itself, "" if it may. A person may start
// anything.
func (s *Launches) mayStart(by relay.By, caller message.Peer, w wanted) string {
	if by.Person() {
		return ""
	}
	if allowed := s.allowed(caller); !slices.Contains(allowed, w.agent) {
		return fmt.Sprintf("%s is not among what it may start: %s", w.agent, orNone(allowed))
	}
	roots := s.roots(caller)
	if !slices.ContainsFunc(roots, func(root string) bool { return within(w.Dir, root) }) {
		return fmt.Sprintf("it is not below %s", orNone(roots))
	}
	return ""
}

// mostStarted is how many sessions started by agents may exist at once before the next one waits for a person,
// if init.lua does not say.
const mostStarted = 8

func (s *Launches) most() int {
	if most := s.Settings().Sessions.Most; most != nil {
		return *most
	}
	return mostStarted
}

func orNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
