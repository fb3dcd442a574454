package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/policyset"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// agentsWithin is how long after its start a sidecar waits for the agents of repositories to be
// adopted before it says that there is none.
const agentsWithin = 5 * time.Second

// services are the operations of the API, and the parts that run beside them.
type services struct {
	bell     *service.Bell
	returns  *comeback.Returns
	launcher *launch.Launcher // nil if headless
	launches *service.Launches
	policies *service.Policies
	face     *service.Face
	ports    *talk.Keeper // nil if no ports are served
	repos    *repository.Peers
	talkers  *talk.Peers // likewise
	teams    *service.Teams
	link     *link.Link
	offered  []interface{ Offer(*api.Server) }
}

// assemble makes the services and connects them with the parts that they need.
func (s *sidecar) assemble(ctx context.Context) {
	var (
		cfg     = s.cfg
		server  = s.server()
		options = tmux.Options{Socket: cfg.Paths.Server, Bin: cfg.Tmux}
		asked   = service.Logged{Relay: s.relay, Log: s.log}
	)
	s.bell = service.NewBell()
	s.returns = &comeback.Returns{Relay: s.relay, Journal: s.journal, Bell: s.bell, Server: server, Options: options, Log: s.log}
	callers := &service.Callers{Person: cfg.Person, Relay: s.relay, Journal: s.journal, Server: options, Log: s.log, Others: func() []string {
		return slices.DeleteFunc(api.Sockets(cfg.Paths.Runtime), func(socket string) bool { return socket == cfg.Paths.Socket })
	}}
	names := &service.Names{Relay: s.relay, Journal: s.journal, Ended: s.returns}
	waits := &service.Waits{Callers: callers, Relay: s.relay, Journal: s.journal}
	s.policies = &service.Policies{Callers: callers, Names: names, Relay: s.relay, Journal: s.journal, Bell: s.bell, Log: s.log}
	s.face = service.NewFace(service.Face{Waits: waits, Unpublished: s.cfg.Unpublished, Policies: s.policies, Relay: s.relay, Server: options, Bell: s.bell, Log: s.log})
	status := &service.Status{
		Callers: callers, Waits: waits, Returns: s.returns, Relay: s.relay, Journal: s.journal, Policies: s.policies, End: s.down, Log: s.log,
		About: api.Status{PID: os.Getpid(), Version: cfg.Version, API: api.Version, Server: cfg.Paths.Server, Started: time.Now(), Log: cfg.Paths.Log},
	}
	sessions := &service.Sessions{Callers: callers, Names: names, Relay: asked, Journal: s.journal, Server: server, Log: s.log}
	chats := &service.Chats{Callers: callers, Names: names, Sessions: sessions, Returns: s.returns, Relay: asked, Journal: s.journal, Log: s.log}
	launches := &service.Launches{
		Callers: callers, Names: names, Sessions: sessions, Relay: asked, Journal: s.journal, Bell: s.bell, Settings: s.policies.Settings, Amend: s.policies.Amended,
		Recognised: cfg.Recognised, Gap: cfg.Gap, Log: s.log,
	}
	s.launches = launches
	away := filepath.Join(filepath.Dir(cfg.Paths.State), "link")
	s.link = &link.Link{
		Relay: s.relay, Journal: s.journal, Dir: away, Lock: filepath.Join(away, "lock"), Key: cfg.Paths.Key, Spare: s.client == nil, Log: s.log.With("part", "link"), Now: cfg.Now,
		Config:   func() link.Config { return service.LinkOf(s.policies.Settings()) },
		May:      func(computer, what string) bool { return s.policies.Settings().May(computer, what) },
		Pinned:   func(computer string) string { return s.policies.Settings().Computers[computer].Key },
		Sessions: func() []link.Session { return service.ToldOf(s.relay.Snapshot()) },
		Peers:    func() []message.Peer { return s.relay.Snapshot().Peers() },
		Chats:    func() []message.Chat { return s.relay.Snapshot().Chats() },
	}
	computers := &service.Computers{Callers: callers, Relay: s.relay, Link: s.link, Settings: s.policies.Settings, Started: time.Now(), Log: s.log}
	launches.Elsewhere, chats.Elsewhere, s.policies.Elsewhere = computers, computers, computers
	launches.Serve()
	notices := &service.Notices{Callers: callers, Names: names, Relay: asked, Elsewhere: computers}
	notices.Serve()
	panes := &service.Panes{Elsewhere: computers, Callers: callers, Names: names, Relay: s.relay, Journal: s.journal, Log: s.log}
	inbox := &service.Inbox{Callers: callers, Names: names, Relay: asked, Journal: s.journal, Log: s.log}
	if cfg.Talk.Dir != "" {
		panes.Ports = cfg.Talk
	}
	if s.client != nil {
		s.returns.Tmux, s.returns.Panes = s.client, s.panes
		callers.Tmux, callers.Panes = s.client, s.panes
		sessions.Tmux, sessions.Panes = s.client, s.panes
		panes.Tmux, panes.Panes = s.client, s.panes
		names.Tmux, s.policies.Tmux, s.face.Tmux, status.Tmux = s.client, s.client, s.client, s.client
		chats.Panes, inbox.Panes = s.panes, s.panes
		s.panes.Amend, s.panes.Door = s.policies.Amended, s.house
		s.house.Heard = s.panes.Heard
		s.launcher = &launch.Launcher{Relay: s.relay, Panes: s.panes, Tmux: s.client, Server: server, Command: cfg.Launcher, Log: s.log.With("part", "launch")}
		launches.Launcher, launches.Panes, sessions.Starts = s.launcher, s.panes, s.launcher
		inbox.Starts, waits.Starts = launches, launches
	}
	left := func() []message.Peer { return s.relay.Snapshot().Peers() }
	sinks := map[message.PeerKind]relay.Sink{message.PeerRemote: s.link}
	if cfg.Talk.Dir != "" {
		places := talk.NewPlaces()
		s.talkers = &talk.Peers{Home: cfg.Talk, Relay: s.relay, Log: s.log.With("part", "talk"), Left: left, Places: places}
		s.ports = &talk.Keeper{Home: cfg.Talk, Log: s.log.With("part", "talk"), Heard: s.talkers.Heard, Places: places}
		sinks[message.PeerPort] = s.talkers
		s.offered = append(s.offered, &service.Talk{Home: cfg.Talk, Keeper: s.ports, Peers: s.talkers})
	}
	working := &service.Repositories{Relay: s.relay, Policies: s.policies}
	s.repos = &repository.Peers{
		Enabled: repository.EnabledIn(filepath.Dir(cfg.Paths.State)), Registry: repository.Registry{Path: cfg.Registry}, By: cfg.Paths.Key, User: cfg.Person,
		Relay: s.relay, Journal: s.journal, Agents: working.Agents, Command: working.Command, Log: s.log.With("part", "repositories"), Now: cfg.Now,
		Grace: agentsWithin, Left: left, Runs: func(by string) bool { return api.Holder(filepath.Join(cfg.Paths.Runtime, by+".lock")) > 0 },
	}
	sinks[message.PeerRepository], inbox.Files, panes.Files = s.repos, s.repos, s.repos
	s.relay.Sinks = sinks
	s.relay.Troubled = s.face.Troubled
	s.relay.Publish = func(events []message.Event) {
		s.bell.Ring()
		chats.Hear(ctx, events)
		s.repos.Hear(events)
		s.link.Hear(events)
		s.face.Hear(events)
	}
	s.teams = &service.Teams{
		Callers: callers, Relay: s.relay, Journal: s.journal, Policies: s.policies, Bell: s.bell, Log: s.log.With("part", "teams"), Gap: cfg.Gap,
		Claims: filepath.Join(filepath.Dir(cfg.Paths.State), "teams"),
	}
	launches.Consent = s.teams
	if s.client != nil {
		s.teams.Sessions = launches
	}
	s.offered = append(s.offered, s.teams, status, waits, callers, sessions, launches, panes, chats, inbox, s.policies,
		&service.Questions{Callers: callers, Names: names, Chats: chats, Relay: s.relay, Journal: s.journal, Bell: s.bell, Log: s.log},
		&service.Sending{Callers: callers, Names: names, Sessions: sessions, Chats: chats, Relay: asked, Journal: s.journal, Bell: s.bell, Elsewhere: computers},
		&service.Messages{Callers: callers, Relay: asked, Bell: s.bell},
		notices, computers,
		&service.Log{Names: names, Journal: s.journal, Bell: s.bell})
}

// offer makes server serve all operations.
func (s *sidecar) offer(server *api.Server) {
	for _, service := range s.offered {
		service.Offer(server)
	}
}

// legislate puts the person's policies into use, if Lua is to be asked; repeal ends them.
func (s *sidecar) legislate(ctx context.Context) (repeal func(), err error) {
	p := s.cfg.Policies
	if !p.Lua {
		return func() {}, nil
	}
	record, err := openLog(s.cfg.Paths.PolicyLog)
	if err != nil {
		return nil, err
	}
	memories, err := s.journal.Memories(ctx)
	if err != nil {
		return nil, errors.Join(err, record.Close())
	}
	s.policies.Begin(ctx, policyset.Options{
		Config: s.cfg.Paths.Config, State: s.cfg.Paths.State, Shipped: p.Shipped, Command: p.Worker, Memories: memories, Trusted: p.Trusted, Record: record,
	})
	s.relay.Policy, s.relay.Limits = s.policies.Set, s.policies.Limits()
	return func() {
		s.policies.Set.End()
		_ = record.Close() // nothing depends on it
	}, nil
}
