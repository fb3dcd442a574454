package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Options of a pane that name the session in it. They belong to the pane, so they outlive the sidecar.
const (
	sessionOption = "@intercom-session"
	nameOption    = "@intercom-name"
	agentOption   = "@intercom-agent"
	titleOption   = "@intercom-title"
)

// Sessions adopts and releases panes.
type Sessions struct {
	Callers *Callers
	Names   *Names
	Relay   interface {
		asked
		Adopt(ctx context.Context, session message.Peer) (message.Peer, error)
		Gone(ctx context.Context, session message.ID, why message.Reason) error
	}
	Journal interface {
		backlog
		LastIn(ctx context.Context, pane string, except message.Reason) (message.Peer, error)
	}
	// Panes and Tmux are nil where the sidecar is headless.
	Panes interface {
		Adopt(ctx context.Context, r pane.Request) (message.Peer, error)
		Start(ctx context.Context, session message.Peer, past pane.Past) error
		Still(ctx context.Context) error
		Rename(ctx context.Context, session message.ID, name string) error
	}
	Tmux interface {
		panes
		SetPaneOptions(ctx context.Context, pane string, options map[string]string) error
	}
	// Starts holds the programs that were started and are not recognised yet; nil there too.
	Starts interface {
		Adopt(ctx context.Context, session message.ID, r pane.Request) error
	}
	Server message.Process // the tmux server
	Log    *slog.Logger

	refusals refusals
}

// Offer registers the operations with a server.
func (s *Sessions) Offer(server *api.Server) {
	api.Handle(server, api.Adopt, s.Adopt)
	api.Handle(server, api.Release, s.Release)
	api.Handle(server, api.MayRelease, s.MayRelease)
	api.Handle(server, api.Rename, s.Rename)
	api.Handle(server, api.Sessions, s.List)
	api.Handle(server, api.Introduce, s.Introduce)
	api.Handle(server, api.Refused, s.Refused)
}

// Adopt adopts a pane.
func (s *Sessions) Adopt(ctx context.Context, from api.Caller, req api.AdoptRequest) (message.Peer, error) {
	if err := s.Callers.personOnly(ctx, from, "adopt a pane"); err != nil {
		return message.Peer{}, err
	}
	if s.Tmux == nil {
		return message.Peer{}, api.Errorf(api.CodeUsage, "no tmux server: this sidecar has no panes").WithHint("name the server's socket: --server SOCKET")
	}
	if req.Name != "" {
		if err := registry.CheckName(req.Name); err != nil {
			return message.Peer{}, api.Errorf(api.CodeUsage, "%w", err)
		}
		if err := s.notAPerson(req.Name); err != nil {
			return message.Peer{}, err
		}
	}
	old, err := s.Relay.Snapshot().Find(req.Pane)
	adopted := err == nil && old.Pane == req.Pane
	switch starting := adopted && old.Starting && s.Starts != nil; {
	case starting && req.As == "":
		return message.Peer{}, api.Errorf(api.CodeRefused, "pane %s is already adopted, as %q: %s", req.Pane, old.Name, old.StateWhy).
			WithHint("intercom adopt %s --as line, if its program reads lines: what waits for it goes there then", req.Pane)
	case adopted && !starting && req.As != "" && req.As != old.Profile:
		// Only the person's word proves what runs there, and the waiting messages were meant for the agent.
		return message.Peer{}, api.Errorf(api.CodeRefused, "pane %s is already adopted, as %q, which is taken for %s", req.Pane, old.Name, old.Profile).
			WithHint("intercom release %s, then intercom adopt %s --as %s; what waits for it is not delivered then", req.Pane, req.Pane, req.As)
	case adopted && !starting:
		return message.Peer{}, api.Errorf(api.CodeRefused, "pane %s is already adopted, as %q", req.Pane, old.Name).
			WithHint("intercom name %s NAME gives it another name; intercom release %s gives it back", req.Pane, req.Pane)
	}
	if err := s.notHere(ctx, from, req.Pane); err != nil {
		return message.Peer{}, err
	}
	if adopted {
		return s.adoptStarting(ctx, from, old, req)
	}
	return s.adopt(ctx, req)
}

// adoptStarting adopts a started program as the profile that a person names. It keeps the session under which
// the program was started.
func (s *Sessions) adoptStarting(ctx context.Context, from api.Caller, old message.Peer, req api.AdoptRequest) (message.Peer, error) {
	switch err := s.Starts.Adopt(ctx, old.ID, pane.Request{Pane: req.Pane, Profile: req.As, Prompt: req.Prompt}); {
	case errors.Is(err, launch.ErrAwaited):
		return message.Peer{}, api.Errorf(api.CodeRefused, "adopt %s: %w", req.Pane, err).WithHint("intercom explain %s says how it is there by now", req.Pane)
	case err != nil:
		return message.Peer{}, wire(err)
	}
	if req.Name != "" && req.Name != old.Name {
		return s.Rename(ctx, from, api.RenameRequest{Pane: string(old.ID), Name: req.Name})
	}
	session, _ := s.Relay.Snapshot().Peer(old.ID)
	s.mark(ctx, session.Pane, session)
	return session, nil
}

// adopt adopts a pane whose adoption is permitted.
func (s *Sessions) adopt(ctx context.Context, req api.AdoptRequest) (message.Peer, error) {
	session, err := s.Panes.Adopt(ctx, pane.Request{Pane: req.Pane, Profile: req.As, Prompt: req.Prompt})
	if err != nil {
		return message.Peer{}, wire(err)
	}
	session.ID, session.Name, session.Adopted, session.Server = message.NewID(), req.Name, now(), s.Server
	if _, agent := profile.AgentByName(session.Profile); agent && session.Name == "" {
		session.Name = session.Profile // its title is that of the conversation, and changes
	}
	if session.Name == "" {
		session.Name = cmp.Or(registry.NameFrom(ownTitle(session.Title)), registry.NameFrom(session.Foreground.Name))
		if s.notAPerson(session.Name) != nil {
			session.Name = s.Relay.Snapshot().FreeName(session.Name, session.Name)
		}
	}
	if session, err = s.Relay.Adopt(context.WithoutCancel(ctx), session); err != nil {
		return message.Peer{}, wire(err)
	}
	if err := s.Panes.Start(ctx, session, pane.Past{}); err != nil {
		if gone := s.Relay.Gone(context.WithoutCancel(ctx), session.ID, message.PaneMissing); gone != nil {
			s.Log.Warn("take the adoption back", "pane", session.Pane, "err", gone)
		}
		return message.Peer{}, wire(err)
	}
	s.mark(ctx, session.Pane, session)
	return session, nil
}

// notAPerson refuses the name that signs a person's own words.
func (s *Sessions) notAPerson(name string) error {
	if !strings.EqualFold(name, registry.NameFrom(s.Callers.Person)) {
		return nil
	}
	return api.Errorf(api.CodeRefused, "name taken: %q signs your own messages", name).WithHint("choose another, for example %s-2", name)
}

// notHere refuses the pane in which the command itself runs and waits for the reply.
func (s *Sessions) notHere(ctx context.Context, from api.Caller, pane string) error {
	panes, err := s.Tmux.Panes(ctx)
	i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == pane })
	if err != nil || i < 0 || from.PID == 0 || !process.HasTerminal(from.PID, panes[i].TTY) {
		return nil // other errors are found later
	}
	below := ""
	if line, err := process.Ancestors(from.PID); err == nil && len(line) > 0 && from.PID != panes[i].PID {
		below = " (and below it " + line[0].Name + ")"
	}
	return api.Errorf(api.CodeRefused, "adopt %s: this pane runs intercom itself%s", pane, below).
		WithHint("start a line program in another pane, and name that one; tmux list-panes -a lists them").
		About(api.Unadoptable, pane)
}

// ownTitle returns title if somebody gave it to the pane, else "": tmux's own default is the name of the
// computer.
func ownTitle(title string) string {
	host, err := os.Hostname()
	if short, _, _ := strings.Cut(host, "."); err == nil && (title == host || title == short) {
		return ""
	}
	return title
}

// markWithin is how long mark may take: the adoption or release has happened already, and its caller must not
// wait long for the reply.
const markWithin = time.Second

// mark writes the session that lives in a pane to the pane's options; a zero Peer clears them. It does nothing
// without a pane. If tmux does not answer, the options stay as they were.
func (s *Sessions) mark(ctx context.Context, pane string, by message.Peer) {
	if pane == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, markWithin)
	defer cancel()
	err := s.Tmux.SetPaneOptions(ctx, pane, map[string]string{sessionOption: string(by.ID), nameOption: by.Name, agentOption: by.Profile, titleOption: by.Title})
	if err != nil && !errors.Is(err, tmux.ErrNoPane) {
		s.Log.Warn("mark pane", "pane", pane, "err", err)
	}
}

// Rename gives a session another name.
func (s *Sessions) Rename(ctx context.Context, from api.Caller, req api.RenameRequest) (message.Peer, error) {
	if err := s.Callers.personOnly(ctx, from, "rename a session"); err != nil {
		return message.Peer{}, err
	}
	if err := s.notAPerson(req.Name); err != nil {
		return message.Peer{}, err
	}
	answer, err := s.Relay.Do(ctx, relay.Rename{By: s.Callers.by(ctx, from), Peer: req.Pane, Name: req.Name})
	if err != nil {
		return message.Peer{}, s.Names.notFound(ctx, err, req.Pane)
	}
	if s.Panes != nil {
		if err := s.Panes.Rename(ctx, answer.Peer.ID, answer.Peer.Name); err != nil {
			s.Log.Warn("the pane goes on under its old name", "session", answer.Peer.ID, "err", err)
		}
	}
	s.mark(ctx, answer.Peer.Pane, answer.Peer)
	return answer.Peer, nil
}

// List lists the sessions that are present.
func (s *Sessions) List(context.Context, api.Caller, api.None) ([]message.Peer, error) {
	return inPanes(s.Relay.Snapshot()), nil
}

// inPanes returns the peers that live in panes.
func inPanes(snap registry.Snapshot) []message.Peer {
	return slices.DeleteFunc(snap.Peers(), func(p message.Peer) bool { return p.Kind != message.PeerPane })
}

// stillWithin is how long the reply to a stop or a pause waits for typing that was permitted just before. A
// tmux server that answers at all takes a few milliseconds.
const stillWithin = 2 * time.Second

// recognised adopts those of the named panes that nobody has adopted yet; a person named them, and an agent
// must be recognised there. names maps a pane to its session's name, if that is not to come from the program.
// It returns the new sessions, with an error those adopted so far.
func (s *Sessions) recognised(ctx context.Context, from api.Caller, refs []string, names map[string]string) (adopted []message.Peer, err error) {
	for _, ref := range refs {
		_, err := s.Relay.Snapshot().Find(ref)
		if err == nil || !strings.HasPrefix(ref, "%") || s.Names.noPane(ctx, ref) {
			continue // the code that uses it reports the error
		}
		if err := s.Callers.personOnly(ctx, from, "adopt a pane"); err != nil {
			return adopted, err
		}
		session, err := s.Adopt(ctx, from, api.AdoptRequest{Pane: ref, Name: names[ref]})
		if err != nil {
			return adopted, err
		}
		adopted = append(adopted, session)
	}
	return adopted, nil
}

// giveBack releases sessions that were adopted for a request that failed, or that needs them no more.
func (s *Sessions) giveBack(ctx context.Context, from api.Caller, adopted []message.Peer) {
	for _, session := range adopted {
		if _, err := s.release(context.WithoutCancel(ctx), from, string(session.ID), message.GivenBack); err != nil {
			s.Log.Warn("give a pane back", "pane", session.Pane, "err", err)
		}
	}
}

// still waits until all typing that was permitted before has ended. If tmux does not confirm that in time, the
// error begins with what, which says that the request was carried out all the same.
func (s *Sessions) still(ctx context.Context, what string) error {
	if s.Panes == nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, stillWithin)
	defer cancel()
	if err := s.Panes.Still(within); err != nil {
		s.Log.Warn("wait until nothing is being typed", "err", err)
		return api.Errorf(api.CodeUncertain, "%s, but a keystroke that was under way may still arrive: %w", what, err)
	}
	return nil
}
