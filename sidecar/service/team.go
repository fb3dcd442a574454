package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// Teams serves the handshakes of teams and the sessions of teammates. Beside its operations, Run keeps the
// files of the teams whose members have their sessions here.
type Teams struct {
	Callers *Callers
	Relay   interface {
		asked
		Protocols() relay.Protocols
		Settled(ctx context.Context, id string, what relay.Owed) error
		EndFailed(ctx context.Context, id, why string) error
		LineTaken(ctx context.Context, id message.ID, times int) error
		SeatLeft(ctx context.Context, dir, name string, holder message.ID) error
		Join(ctx context.Context, peer message.Peer) (message.Peer, error)
		Gone(ctx context.Context, id message.ID, why message.Reason) error
		Receive(ctx context.Context, m message.Envelope) (fresh bool, err error)
		Killing(ctx context.Context, session message.ID) error
		KillFailed(ctx context.Context, session message.ID) error
		NotifyOf(ctx context.Context, chat message.ID, text string) error
	}
	Journal interface {
		messages
		receipts
		Record(ctx context.Context, kind, id string) (message.Record, error)
	}
	// Sessions starts and ends programs; nil where the sidecar is headless.
	Sessions interface {
		Start(ctx context.Context, from api.Caller, req api.StartSessionRequest) (api.StartedSession, error)
		// Quit ends the program of a session, including what is left of one that has ended, and returns when
		// none of its processes is left. again says that its agent was told to quit before.
		Quit(ctx context.Context, session message.ID, again bool) error
	}
	Policies *Policies
	Claims   string // directory of the claims on teams
	Bell     *Bell
	Log      *slog.Logger
	// Gap is called between two steps of a handshake that a crash may separate. It may be nil.
	Gap func(request, moment string)

	spawning sync.Mutex // held during a spawn
	lines    sync.Mutex // guards wrote and vouched, and ensures that each line is written once
	wrote    map[string]bool
	vouched  map[message.ID]relay.By // the proven author of a line, by lineID
	mu       sync.Mutex              // guards claims
	claims   map[string]*claim.Claim
	keeper   keeper
}

// Offer registers the operations with a server.
func (s *Teams) Offer(server *api.Server) {
	api.Handle(server, api.RequestShutdown, s.RequestShutdown)
	api.Handle(server, api.AnswerShutdown, s.AnswerShutdown)
	api.Handle(server, api.ShutdownStatus, s.ShutdownStatus)
	api.Handle(server, api.SubmitPlan, s.SubmitPlan)
	api.Handle(server, api.ReviewPlan, s.ReviewPlan)
	api.Handle(server, api.AwaitPlan, s.AwaitPlan)
	api.Handle(server, api.PlanGate, s.PlanGate)
	api.Handle(server, api.SpawnMember, s.Spawn)
	api.Handle(server, api.SendToTeam, s.Send)
	api.Handle(server, api.TeamInbox, s.Inbox)
}

// Spawn starts a teammate in a session of its own.
func (s *Teams) Spawn(ctx context.Context, from api.Caller, req api.SpawnRequest) (api.Spawned, error) {
	by, err := s.Callers.verified(ctx, from, "spawn a teammate")
	if err != nil {
		return api.Spawned{}, err
	}
	if s.Sessions == nil {
		return api.Spawned{}, api.Errorf(api.CodeUsage, "no tmux server: this sidecar starts no sessions").WithHint("run it in tmux, or name the server's socket: --server SOCKET")
	}
	if req.Name == team.Lead {
		return api.Spawned{}, api.Errorf(api.CodeUsage, "%q is the lead's name", req.Name)
	}
	d, err := project(req.Dir)
	if err != nil {
		return api.Spawned{}, err
	}
	s.spawning.Lock()
	defer s.spawning.Unlock()
	if err := d.MayEnlist(req.Name, req.Role); err != nil {
		return api.Spawned{}, teamWire(err)
	}
	if _, err := s.Relay.Do(ctx, relay.Spawning{By: by, Dir: d.Path, Name: req.Name}); errors.Is(err, relay.ErrActive) {
		return api.Spawned{}, teamWire(d.Busy(req.Name)) // idle, but its session still runs
	} else if err != nil {
		return api.Spawned{}, teamWire(err)
	}
	if err := s.hold(d.Path); err != nil {
		return api.Spawned{}, err
	}
	seat := relay.Seat{Dir: d.Path, Name: req.Name, Role: req.Role, RequirePlan: req.RequirePlan || s.Policies.teamSettings().RequirePlan}
	_, err = team.Open(d.Path)
	made := errors.Is(err, fs.ErrNotExist)
	if err := d.Make(); err != nil { // before the start: nobody could seat what was started
		return api.Spawned{}, err
	}
	unmake := func() {
		if made {
			_ = os.Remove(filepath.Join(d.Path, team.Folder)) // only if it is still empty
		}
	}
	started, err := s.Sessions.Start(ctx, from, api.StartSessionRequest{
		Dir: d.Path, Agent: req.Agent, Command: req.Command, As: req.As, Title: req.Name, Message: welcome(seat, req.Prompt),
		Seat: &message.StartSeat{Dir: seat.Dir, Name: seat.Name, Role: seat.Role, RequirePlan: seat.RequirePlan},
	})
	if err != nil {
		unmake()
		return api.Spawned{}, err
	}
	spawned := api.Spawned{Status: string(started.Status), Session: started.Session, Why: started.Why}
	if started.Status == api.StartHeld {
		unmake()
		spawned.Text = fmt.Sprintf("Spawning '%s' waits for a person's approval", req.Name)
		return spawned, nil
	}
	spawned.Text = fmt.Sprintf("Spawned '%s' (role: %s)", req.Name, req.Role)
	if seat.RequirePlan {
		spawned.Note = heldBy(req.Name, started.Session)
	}
	if _, err := s.Relay.Do(ctx, relay.TakeSeat{By: by, Seat: seat, Peer: started.Session.ID}); err != nil {
		if one, ok := s.Relay.Snapshot().Peer(started.Session.ID); !ok || one.Ended != nil {
			return api.Spawned{}, api.Errorf(api.CodeFailed, "spawn %q: its program ended at once", req.Name).WithHint("start it by hand in a pane there: it says why")
		}
		return api.Spawned{}, teamWire(err)
	}
	err = d.Enlist(req.Name, req.Role)
	s.keeper.wake()
	return spawned, teamWire(err)
}

// Seated begins to keep the files of a team after a teammate was started by a person's yes, or by an earlier
// life.
func (s *Teams) Seated(seat message.StartSeat) error {
	if err := s.hold(seat.Dir); err != nil {
		return err
	}
	if err := (team.Dir{Path: seat.Dir}).Make(); err != nil {
		return teamWire(err)
	}
	s.keeper.wake()
	return nil
}

// Send puts a message into inboxes of a team in which the caller has a part. If the caller has the seat of the
// named author, the message is proven to be the author's.
func (s *Teams) Send(ctx context.Context, from api.Caller, req api.TeamMessage) (sent api.TeamSent, err error) {
	d, err := s.of(relay.By{}, req.Dir)
	if err != nil {
		return sent, err
	}
	by := s.Callers.by(ctx, from)
	if !s.hasPart(ctx, from, by, d) {
		return sent, s.notPart(ctx, from, d, "write to")
	}
	if own := s.seatOf(by, d.Path); own != "" && own != req.From {
		s.Log.Warn("refused to an agent", "what", "write to its team by another's name", "agent", by.Peer, "own", own, "name", req.From)
		return sent, api.Errorf(api.CodeUsage, "send as %q: the caller is %q in this team", req.From, own).WithHint("leave out who sends it")
	}
	if own := s.seatOf(by, d.Path); own != "" && own == req.To {
		return sent, api.Errorf(api.CodeUsage, "send to %q: that is the caller itself", own).WithHint("intercom team list shows who else is in the team")
	}
	m := team.Message{Type: req.Type, From: req.From, Content: req.Content, At: time.Now()}
	if req.To == "" {
		m.Type = team.TypeBroadcast
	}
	if s.speaks(by, d.Path, req.From) {
		text, err := m.Text()
		if err != nil {
			return sent, teamWire(err)
		}
		s.lines.Lock()
		if s.vouched == nil || len(s.vouched) >= maxVouched {
			s.vouched = make(map[message.ID]relay.By)
		}
		s.vouched[lineID(d.Path, req.To, text)] = by
		s.lines.Unlock()
	}
	defer s.keeper.wake()
	if req.To == "" {
		sent.Teammates, err = d.Broadcast(m)
		return sent, teamWire(err)
	}
	sent.Teammates = 1
	if err := d.Send(req.To, m); err != nil {
		return sent, teamWire(err)
	}
	if s.absent(d.Path, req.To) {
		sent.Note = fmt.Sprintf("'%s' has no session: the message stays in its inbox until intercom team spawn starts a teammate of that name", req.To)
	}
	return sent, nil
}

// absent reports whether a teammate has no session while other members of the team have theirs here.
func (s *Teams) absent(dir, name string) bool {
	here := false
	for _, seat := range s.Relay.Protocols().Seats {
		if seat.Dir == dir && seat.Name == name && !seat.Gone {
			return false
		}
		here = here || seat.Dir == dir
	}
	return here && name != team.Lead
}

// lineID returns the key of a line that its author wrote to a member of a team, or, with to "", to all of them.
// Whoever reads the line can write the same text elsewhere: there it is not its author's.
func lineID(dir, to, text string) message.ID {
	return message.DerivedID(time.Time{}, "line", dir, to, text)
}

// speaks reports whether the caller is the member of the team with that name.
func (s *Teams) speaks(by relay.By, dir, name string) bool {
	lead := false
	for _, seat := range s.Relay.Protocols().Seats {
		if seat.Dir == dir && seat.Name == name && !seat.Gone {
			return by.Kind != relay.Unverified && seat.Holder.Peer == by.Peer && seat.Holder.Person == by.Person()
		}
		lead = lead || seat.Dir == dir && seat.Name == team.Lead
	}
	return by.Person() && name == team.Lead && !lead
}

// seatOf returns the name of an agent in a team, "" if it has no seat there.
func (s *Teams) seatOf(by relay.By, dir string) string {
	for _, seat := range s.Relay.Protocols().Seats {
		if by.Kind == relay.Agent && seat.Dir == dir && !seat.Gone && seat.Holder.Peer == by.Peer {
			return seat.Name
		}
	}
	return ""
}

// Inbox says whose inbox a caller means. It refuses an inbox that the caller may not empty, and refuses an
// agent any inbox of another team.
func (s *Teams) Inbox(ctx context.Context, from api.Caller, req api.InboxRequest) (owner api.InboxOwner, err error) {
	d, err := s.of(relay.By{}, req.Dir)
	if err != nil {
		return owner, err
	}
	by, mine, theirs, teamwork := s.Callers.by(ctx, from), team.Lead, false, false
	for _, seat := range s.Relay.Protocols().Seats {
		if seat.Dir != d.Path || seat.Gone {
			continue
		}
		if teamwork = true; by.Kind == relay.Agent && seat.Holder.Peer == by.Peer {
			mine = seat.Name
		} else if seat.Name == req.Name {
			theirs = true
		}
	}
	owner.Name, owner.Part = cmp.Or(req.Name, mine), s.hasPart(ctx, from, by, d)
	owner.Sure = owner.Part || !teamwork
	if by.Kind == relay.Agent && !owner.Part {
		return owner, s.notPart(ctx, from, d, "use")
	}
	switch {
	case req.Peek, !teamwork:
		return owner, nil
	case by.Person(), by.Kind == relay.Agent && owner.Name == mine && s.speaks(by, d.Path, mine):
		if s.typedInto(d.Path, owner.Name) {
			owner.Typing = s.awaitTyped(ctx, d.Path, owner.Name)
		}
		return owner, nil
	case theirs, owner.Name == team.Lead:
		s.Log.Warn("refused to who does not own an inbox", "what", "empty the inbox of "+owner.Name, "caller", s.Callers.caller(ctx, from).place, "pid", from.PID, "dir", d.Path)
		return owner, api.Errorf(api.CodeRefused, "empty the inbox of %q: it is not the caller's", owner.Name).WithHint("intercom team inbox %s --peek leaves the messages where they are", owner.Name)
	}
	return owner, nil
}

// typedInto reports whether lines for that member of a team are typed into a pane.
func (s *Teams) typedInto(dir, name string) bool {
	return slices.ContainsFunc(s.Relay.Protocols().Seats, func(seat relay.Seat) bool {
		return seat.Dir == dir && seat.Name == name && seat.Holder.Peer != "" && !seat.Gone
	})
}

// hasPart reports whether the caller is proven to be in a team, to work in its project, or to be a person.
func (s *Teams) hasPart(ctx context.Context, from api.Caller, by relay.By, d team.Dir) bool {
	member := func(seat relay.Seat) bool {
		return seat.Dir == d.Path && !seat.Gone && seat.Holder.Peer == by.Peer
	}
	return by.Person() || by.Kind == relay.Agent && (slices.ContainsFunc(s.Relay.Protocols().Seats, member) || s.worksIn(ctx, from, d))
}

func (s *Teams) notPart(ctx context.Context, from api.Caller, d team.Dir, what string) error {
	s.Log.Warn("refused to who has no part in a team", "what", what, "caller", s.Callers.caller(ctx, from).place, "pid", from.PID, "dir", d.Path)
	return api.Errorf(api.CodeRefused, "%s the team in %q: the caller is not in it, and does not work in its project", what, d.Path).
		WithHint("send_message, or intercom send, reaches a teammate whose session runs")
}

// worksIn reports whether an agent's working directory is in a team's project.
func (s *Teams) worksIn(ctx context.Context, from api.Caller, d team.Dir) bool {
	session, ok := s.Callers.callerSession(ctx, from)
	if !ok {
		return false
	}
	own, err := project(workingDir(session))
	return err == nil && own.Path == d.Path
}

// project returns the team of a directory: that of the nearest directory at or above it that has one, or the
// team that the directory itself would become.
func project(dir string) (team.Dir, error) {
	whole, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return team.Dir{}, api.Errorf(api.CodeUsage, "team: %w", err)
	}
	return team.Dir{Path: cmp.Or(repository.Nearest(whole, team.Folder), whole)}, nil
}

// of returns the team that a request is about: that of a directory, or the caller's.
func (s *Teams) of(by relay.By, dir string) (d team.Dir, err error) {
	if dir != "" {
		if d, err = project(dir); err != nil {
			return d, err
		}
	} else if d.Path, err = s.callersTeam(by); err != nil {
		return d, err
	}
	if _, err := team.Open(d.Path); err != nil {
		return d, api.Errorf(api.CodeNotFound, "%q is in no project that has a %s directory", d.Path, team.Folder).WithHint("intercom team spawn makes it with the first teammate")
	}
	return d, nil
}

// callersTeam returns the directory of the only team in which the caller is.
func (s *Teams) callersTeam(by relay.By) (dir string, err error) {
	for _, seat := range s.Relay.Protocols().Seats {
		if seat.Holder.Peer != by.Peer || seat.Holder.Person != by.Person() || seat.Gone || seat.Dir == dir {
			continue
		}
		if dir != "" {
			return "", api.Errorf(api.CodeUsage, "the caller is in more than one team").WithHint("say which: --dir DIR")
		}
		dir = seat.Dir
	}
	if dir == "" {
		return "", api.Errorf(api.CodeNotFound, "the caller is in no team").WithHint("say which is meant: --dir DIR; spawn_teammate, or intercom team spawn, begins one")
	}
	return dir, nil
}

// hold claims the team in a directory for this sidecar, among all sidecars of this person.
func (s *Teams) hold(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.claims[dir]; have != nil && have.Intact() {
		return nil
	}
	c, err := claim.Take(filepath.Join(s.Claims, string(message.DerivedID(time.Time{}, "team", dir))+".lock"))
	if errors.Is(err, claim.ErrHeld) {
		return api.Errorf(api.CodeRefused, "another sidecar keeps the team in %q", dir).WithHint("run it in the tmux server in which its teammates are")
	}
	if err != nil {
		return err
	}
	if s.claims == nil {
		s.claims = make(map[string]*claim.Claim)
	}
	s.claims[dir] = c
	return nil
}

// release gives up the claims on teams of which nothing is left here.
func (s *Teams) release(p relay.Protocols) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := make(map[string]bool)
	for _, one := range p.Seats {
		used[one.Dir] = used[one.Dir] || one.Name != team.Lead
	}
	for _, one := range p.Affairs {
		used[one.Team] = true
	}
	for dir, held := range s.claims {
		if !used[dir] {
			_ = held.Release()
			delete(s.claims, dir)
		}
	}
}

// teamSettings returns the settings of init.lua for teams.
func (s *Policies) teamSettings() policy.Team {
	if s.Set == nil {
		return policy.Team{}
	}
	return s.Set.Settings().Team
}

// teamWire gives an error of a team its code and a hint.
func teamWire(err error) error {
	if err == nil {
		return nil
	}
	if said, ok := errors.AsType[*team.DocumentError](err); ok {
		return api.Errorf(api.CodeFailed, "%s", said.Text).WithHint("%s", said.Hint).About(api.Worded, "")
	}
	if of, ok := errors.AsType[*team.NameError](err); ok {
		return api.Errorf(api.CodeUsage, "%w", of).WithHint("a name is that of a file, of at most 64 bytes, and begins with neither . nor -")
	}
	if of, ok := errors.AsType[*team.TwinError](err); ok {
		return api.Errorf(api.CodeUsage, "%w", of).WithHint("choose another name")
	}
	if of, ok := errors.AsType[*team.UnknownError](err); ok {
		return api.Errorf(api.CodeNotFound, "%w", of).WithHint("intercom team list shows who is in the team; lead is its lead")
	}
	if of, ok := errors.AsType[*relay.NotLeadError](err); ok {
		return api.Errorf(api.CodeRefused, "%w", of).WithHint("ask the lead: team_send, or intercom team send lead TEXT --from NAME")
	}
	return handshakeWire(err)
}
