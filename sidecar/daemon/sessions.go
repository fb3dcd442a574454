package daemon

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Options of a pane that say which session lives in it. They go with the pane, so that
// they outlive the sidecar.
const (
	sessionOption = "@intercom-session"
	nameOption    = "@intercom-name"
	agentOption   = "@intercom-agent"
)

// ShowStatus says how the sidecar is.
func (s *sidecar) ShowStatus(ctx context.Context, _ api.Caller, _ api.None) (api.Status, error) {
	snap := s.relay.Snapshot()
	st := api.Status{
		PID: os.Getpid(), Version: s.cfg.Version, API: api.Version, Server: s.cfg.Paths.Server, Started: s.started,
		Computer: message.LocalComputer, Journal: s.journal.Path(), Log: s.cfg.Paths.Log, Stopped: s.relay.Stopped(), Sessions: snap.Sessions(), Chats: open(snap),
	}
	if s.client != nil {
		info := s.client.Info()
		st.Tmux, st.TmuxPID, st.Transport, st.Why, st.Trigger = info.Version, info.PID, info.Transport, info.Why, s.client.Trigger()
	}
	if s.policies != nil {
		st.Computer = cmp.Or(s.policies.Settings().Computer, st.Computer)
		if problem := s.policies.Problem(); problem != "" {
			st.Degraded = append(st.Degraded, "policy: "+problem)
		} else if s.policies.Left() {
			st.Degraded = append(st.Degraded, "policy: earlier ones are in use; the files as they are stay out of use until they are changed")
		}
	}
	if err := s.relay.Trouble(); err != nil {
		st.Degraded = append(st.Degraded, troubleOf(err))
	}
	if notice := s.journal.Notice(); notice != "" {
		st.Degraded = append(st.Degraded, notice)
	}
	var err error
	if st.Returned, err = s.returnedNow(ctx); err != nil {
		s.log.Warn("look for agents that are back", "err", err)
	}
	if st.Held, err = s.journal.Held(ctx); err != nil {
		return st, err
	}
	st.Needs, err = s.needs(ctx)
	return st, err
}

// Down ends the sidecar.
func (s *sidecar) Down(ctx context.Context, from api.Caller, _ api.None) (none api.None, _ error) {
	if !s.succeeds(ctx, from) {
		if err := s.personOnly(ctx, from, "end the sidecar"); err != nil {
			return none, err
		}
	}
	s.log.Info("asked to end", "by", from.PID)
	s.down()
	return none, nil
}

// Adopt takes a pane on.
func (s *sidecar) Adopt(ctx context.Context, from api.Caller, req api.AdoptRequest) (message.Session, error) {
	if err := s.personOnly(ctx, from, "adopt a pane"); err != nil {
		return message.Session{}, err
	}
	if s.client == nil {
		return message.Session{}, api.Errorf(api.CodeUsage, "no tmux server: this sidecar has no panes").WithHint("name the server's socket: --server SOCKET")
	}
	if req.Name != "" {
		if err := registry.CheckName(req.Name); err != nil {
			return message.Session{}, api.Errorf(api.CodeUsage, "%w", err)
		}
		if err := s.notAPerson(req.Name); err != nil {
			return message.Session{}, err
		}
	}
	if old, err := s.relay.Snapshot().Find(req.Pane); err == nil && old.Pane == req.Pane {
		return message.Session{}, api.Errorf(api.CodeRefused, "pane %s is adopted already, as %q", req.Pane, old.Name).
			WithHint("intercom release %s", req.Pane)
	}
	if err := s.notHere(ctx, from, req.Pane); err != nil {
		return message.Session{}, err
	}
	session, err := s.panes.Adopt(ctx, pane.Request{Pane: req.Pane, Profile: req.As, Prompt: req.Prompt})
	if err != nil {
		return message.Session{}, refusal(err)
	}
	session.ID, session.Name, session.Adopted, session.Server = message.NewID(), req.Name, s.now(), s.server()
	if _, agent := profile.AgentByName(session.Profile); agent && session.Name == "" {
		session.Name = session.Profile // its title is the conversation's, and changes
	}
	if session.Name == "" {
		session.Name = cmp.Or(registry.NameFrom(ownTitle(session.Title)), registry.NameFrom(session.Foreground.Name))
		if s.notAPerson(session.Name) != nil {
			session.Name = s.relay.Snapshot().FreeName(session.Name, session.Name)
		}
	}
	if session, err = s.relay.Adopt(ctx, session); err != nil {
		return message.Session{}, wire(err)
	}
	if err := s.panes.Start(ctx, session, pane.Past{}); err != nil {
		if gone := s.relay.Gone(context.WithoutCancel(ctx), session.ID, message.PaneMissing); gone != nil {
			s.log.Warn("take the adoption back", "pane", session.Pane, "err", gone)
		}
		return message.Session{}, wire(err)
	}
	s.mark(ctx, session)
	return session, nil
}

// notAPerson refuses the name with which a person's own words are signed.
func (s *sidecar) notAPerson(name string) error {
	if !strings.EqualFold(name, registry.NameFrom(s.cfg.Person)) {
		return nil
	}
	return api.Errorf(api.CodeRefused, "name taken: %q is how your own words are signed", name).WithHint("choose another, for example %s-2", name)
}

// notHere refuses the pane in which the command itself runs: it waits for the answer there.
func (s *sidecar) notHere(ctx context.Context, from api.Caller, pane string) error {
	panes, err := s.client.Panes(ctx)
	i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == pane })
	if err != nil || i < 0 || from.PID == 0 || !tmux.HasTerminal(from.PID, panes[i].TTY) {
		return nil // what else is wrong is found later
	}
	below := ""
	if line, err := tmux.Ancestors(from.PID); err == nil && len(line) > 0 && from.PID != panes[i].PID {
		below = " (and below it " + line[0].Name + ")"
	}
	return api.Errorf(api.CodeRefused, "adopt %s: this pane runs intercom itself%s", pane, below).
		WithHint("start a line program in another pane, and name that one; tmux list-panes -a lists them")
}

// ownTitle is a title that somebody gave the pane: what tmux gives it by itself is the
// name of the computer.
func ownTitle(title string) string {
	host, err := os.Hostname()
	if short, _, _ := strings.Cut(host, "."); err == nil && (title == host || title == short) {
		return ""
	}
	return title
}

// mark writes who lives in the pane into the pane's own options.
func (s *sidecar) mark(ctx context.Context, session message.Session) {
	err := s.client.SetPaneOptions(ctx, session.Pane, map[string]string{
		sessionOption: string(session.ID), nameOption: session.Name, agentOption: session.Profile,
	})
	if err != nil {
		s.log.Warn("mark pane", "pane", session.Pane, "err", err)
	}
}

// Release gives a pane back.
func (s *sidecar) Release(ctx context.Context, from api.Caller, req api.ReleaseRequest) (message.Session, error) {
	if err := s.personOnly(ctx, from, "release a pane"); err != nil {
		return message.Session{}, err
	}
	session, err := s.relay.Snapshot().Find(req.Pane)
	if err != nil {
		return message.Session{}, s.notFound(ctx, err, req.Pane)
	}
	answer, err := s.do(ctx, relay.Release{By: s.by(ctx, from), Session: string(session.ID)})
	if err != nil {
		return message.Session{}, wire(err)
	}
	if err := s.still(ctx, "released"); err != nil {
		return message.Session{}, err
	}
	if err := s.client.SetPaneOptions(ctx, session.Pane, map[string]string{sessionOption: "", nameOption: "", agentOption: ""}); err != nil && !errors.Is(err, tmux.ErrNoPane) {
		s.log.Warn("unmark pane", "pane", session.Pane, "err", err)
	}
	return answer.Session, nil
}

// Rename gives a session another name.
func (s *sidecar) Rename(ctx context.Context, from api.Caller, req api.RenameRequest) (message.Session, error) {
	by, err := s.verified(ctx, from, "rename somebody")
	if err != nil {
		return message.Session{}, err
	}
	if err := s.notAPerson(req.Name); err != nil {
		return message.Session{}, err
	}
	answer, err := s.do(ctx, relay.Rename{By: by, Session: req.Pane, Name: req.Name})
	if err != nil {
		return message.Session{}, s.notFound(ctx, err, req.Pane)
	}
	s.mark(ctx, answer.Session)
	return answer.Session, nil
}

// Sessions lists who is here.
func (s *sidecar) Sessions(context.Context, api.Caller, api.None) ([]message.Session, error) {
	return s.relay.Snapshot().Sessions(), nil
}

// refusal puts a pane's refusal on the wire, with its hint.
func refusal(err error) error {
	if r, ok := errors.AsType[*pane.Refusal](err); ok {
		return api.Errorf(api.CodeRefused, "%w", r).WithHint("%s", r.Hint).About(api.Unadoptable, r.Pane)
	}
	return wire(err)
}

// wire gives the errors of the relay and the registry their codes.
func wire(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, registry.ErrUnknown), errors.Is(err, registry.ErrEnded):
		return about(api.Errorf(api.CodeNotFound, "%w", err)).WithHint("intercom status lists who is here")
	case errors.Is(err, registry.ErrAmbiguous):
		return api.Errorf(api.CodeUsage, "%w", err).WithHint("give the whole id")
	case errors.Is(err, relay.ErrInChat):
		return inChat(err)
	case errors.Is(err, relay.ErrStopped):
		return api.Errorf(api.CodeRefused, "everything is stopped").WithHint("intercom chat resume --all")
	case errors.Is(err, relay.ErrEnded):
		return api.Errorf(api.CodeNotFound, "%w", err).WithHint("intercom chat list --ended").About(api.ChatEnded, "")
	case isBraked(err):
		return api.Errorf(api.CodeUnsure, "%w", err).WithHint("intercom chat resume, in a pane that is not adopted, and y there")
	case errors.Is(err, relay.ErrPersonOnly):
		return api.Errorf(api.CodeRefused, "%w", err).WithHint("do it from a pane that is not adopted")
	case errors.Is(err, relay.ErrNothingSaid):
		return api.Errorf(api.CodeRefused, "%w", err).WithHint("let it answer something first; intercom send says something of your own")
	case errors.Is(err, relay.ErrUnfiltered):
		return api.Errorf(api.CodeRefused, "%w", err).WithHint("intercom policy log shows what failed: once it is mended the message is decided anew; or send your own words by intercom inbox edit")
	case errors.Is(err, relay.ErrAdopted):
		return api.Errorf(api.CodeRefused, "%w", err)
	case errors.Is(err, registry.ErrName):
		if taken, ok := errors.AsType[*registry.TakenError](err); ok {
			return api.Errorf(api.CodeRefused, "%w", taken).WithHint("choose another; intercom status lists the names")
		}
		return api.Errorf(api.CodeUsage, "%w", err)
	case errors.Is(err, relay.ErrRequest):
		return api.Errorf(api.CodeUsage, "%w", err)
	}
	if full, ok := errors.AsType[*message.UnwritableError](err); ok {
		return api.Errorf(api.CodeFailed, "%w", full).WithHint("make room there; what is held goes on by itself")
	}
	return err
}

// about tells of which kind a lookup's error is.
func about(err *api.Error) *api.Error {
	lookup, ok := errors.AsType[*registry.LookupError](err)
	if !ok {
		return err
	}
	kinds := map[bool]api.Kind{false: api.NoSession, true: api.SessionEnded}
	if lookup.Kind == "chat" {
		kinds = map[bool]api.Kind{false: api.NoChat, true: api.ChatEnded}
	}
	return err.About(kinds[errors.Is(lookup, registry.ErrEnded)], lookup.Ref)
}

func isBraked(err error) bool {
	_, braked := errors.AsType[*relay.BrakedError](err)
	return braked
}

// inChat says in which chat a session is, and how it comes out of it.
func inChat(err error) error {
	in, ok := errors.AsType[*relay.InChatError](err)
	told := api.Errorf(api.CodeRefused, "%w", err)
	switch {
	case !ok:
		return told.WithHint("intercom chat stop ends it").About(api.InChat, "")
	case in.Same:
		return told.WithHint("intercom chat stop %s ends it", called(in.Chat)).About(api.InChat, in.Session)
	}
	return told.WithHint("intercom chat remove %s %s takes it out of there", called(in.Chat), in.Session).About(api.InChat, in.Session)
}
