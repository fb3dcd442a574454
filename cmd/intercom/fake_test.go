package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// fakeSidecar is a program that only answers, to test how commands start it. Its status lists what it has inherited.
func fakeSidecar() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	inherited := []string{"env"}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		inherited = append(inherited, name)
	}
	fds := []string{"fds"}
	for fd := 3; fd < 64; fd++ {
		// Nothing of ours is open yet. Files of the Go runtime, for its poller and control group, are not inherited.
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/sys/") {
			fds = append(fds, target)
		}
	}
	stdin, _ := os.Readlink("/proc/self/fd/0")
	stdout, _ := os.Readlink("/proc/self/fd/1")
	dir, _ := os.Getwd()
	session, _, _ := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	p, err := api.Places(os.Getenv, strings.TrimPrefix(os.Args[2], "--server="))
	if err == nil && os.Getenv("INTERCOM_FAKE") == "fail" {
		err = fmt.Errorf("something is wrong\nintercom: hint: mend it")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "warning: of no interest\nintercom: error: %v\n", err)
		os.Exit(1)
	}
	ln, err := api.Listen(p.Runtime, p.Key)
	if err != nil {
		os.Exit(0) // another sidecar runs
	}
	version := built().Version
	if v := os.Getenv("INTERCOM_FAKE_VERSION"); v != "" {
		version = v
	}
	down := stop
	if os.Getenv("INTERCOM_FAKE") == "stay" {
		down = func() {}
	}
	if os.Getenv("INTERCOM_FAKE") == "late" { // like a sidecar whose last keystroke does not finish
		down = func() { time.AfterFunc(daemon.EndWithin, stop) }
	}
	b := &fakeBackend{down: down, receipt: message.Receipt{State: message.Submitted}, status: api.Status{
		PID: os.Getpid(), Version: version, Server: p.Server, API: api.Version, Sessions: []message.Peer{}, Chats: []message.Chat{},
		Degraded: []string{
			strings.Join(inherited, " "), strings.Join(fds, " "),
			fmt.Sprint("stdio ", stdin, " ", stdout), "dir " + dir, fmt.Sprint("own session ", int(session) == os.Getpid()),
		},
	}}
	s := b.offered(&api.Server{Logger: slog.New(slog.DiscardHandler)})
	if err := s.Serve(ctx, ln); err != nil {
		os.Exit(1)
	}
	_ = ln.Release()
	if exe := os.Getenv("INTERCOM_FAKE_SUCCEEDS"); exe != "" { // the real sidecar does this last
		(&app{env: env{Getenv: os.Getenv, Environ: os.Environ, Executable: exe}}).succeed(p)
	}
}

// fakeBackend answers with what it was given.
type fakeBackend struct {
	down     func()
	status   api.Status
	sessions []message.Peer
	chats    []message.Chat
	log      []message.Event
	coming   []message.Event // of a stream; nil: the log once more
	receipt  message.Receipt

	adopted  *message.Peer // nil: as requested
	recorded api.Recording

	asked     api.Asked
	inquire   func(n int, q api.AskedQuery) (api.Asked, error) // instead of asked, at the n-th call
	computers []api.Computer
	peers     []api.Peer
	held      []api.Held

	detail  api.ChatDetail
	changed api.MemberRequest // the last change of a chat's participants
	said    api.Said
	behind  message.Reason
	later   *message.Receipt // the receipt when a message is asked about again

	err      error // for requests about a chat or a pane
	unwanted error // for requests that would change a person's files

	endAsks func(req api.EndSessionRequest) (api.EndAsked, error) // nil: nobody needs to be asked
	decides func(req api.DecideRequest) api.Decided               // nil: it was decided before
	release func() message.Peer                                   // what a release does; nil: nothing

	mu       sync.Mutex             // guards the fields below, and what streamed changes
	last     any                    // the last request
	ended    *api.EndSessionRequest // the last request to end a session
	queries  []api.AskedQuery       // about a question
	gate     api.Gate
	hooks    []told // the hooks that came, with their callers
	silent   bool   // hooks get no answer
	streamed func() // called once, when a stream of events has ended; may be nil
}

func (b *fakeBackend) take(req any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = req
}

func (b *fakeBackend) took() any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

func (b *fakeBackend) ShowStatus(context.Context, api.Caller, api.None) (api.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status, nil
}

func (b *fakeBackend) Down(context.Context, api.Caller, api.None) (none api.None, _ error) {
	if b.down == nil {
		return none, api.Errorf(api.CodeRefused, "only a person may")
	}
	b.down()
	return none, nil
}

func (b *fakeBackend) RollbackPolicy(context.Context, api.Caller, api.RollbackPolicyRequest) (policy.Status, error) {
	return policy.Status{}, nil
}

func (b *fakeBackend) DiffPolicy(_ context.Context, _ api.Caller, req api.DiffPolicyRequest) (policy.Trial, error) {
	b.take(req)
	return policy.Trial{}, nil
}

func (b *fakeBackend) ExplainPolicy(_ context.Context, _ api.Caller, req api.ExplainPolicyRequest) (policy.Explained, error) {
	b.take(req)
	return policy.Explained{}, nil
}

func (b *fakeBackend) Adopt(_ context.Context, _ api.Caller, req api.AdoptRequest) (message.Peer, error) {
	b.take(req)
	if b.adopted != nil {
		return *b.adopted, nil
	}
	return message.Peer{PaneOf: message.PaneOf{Pane: req.Pane, Profile: req.As, Prompt: "> "}, Name: req.Name}, nil
}

func (b *fakeBackend) Pressed(context.Context, api.Caller, api.PressedRequest) (none api.None, _ error) {
	return none, nil
}

func (b *fakeBackend) MayChange(context.Context, api.Caller, api.MayChangeRequest) (none api.None, _ error) {
	return none, b.unwanted
}

func (b *fakeBackend) Release(_ context.Context, _ api.Caller, req api.ReleaseRequest) (message.Peer, error) {
	b.take(req)
	if b.release != nil {
		return b.release(), b.err
	}
	return message.Peer{PaneOf: message.PaneOf{Pane: req.Pane}}, b.err
}

func (b *fakeBackend) Rename(_ context.Context, _ api.Caller, req api.RenameRequest) (message.Peer, error) {
	b.take(req)
	return message.Peer{PaneOf: message.PaneOf{Pane: req.Pane}, Name: req.Name}, nil
}

func (b *fakeBackend) Sessions(context.Context, api.Caller, api.None) ([]message.Peer, error) {
	return b.sessions, nil
}

func (b *fakeBackend) StartSession(_ context.Context, _ api.Caller, req api.StartSessionRequest) (api.StartedSession, error) {
	b.take(req)
	s := api.StartedSession{Status: api.StartDone, Session: message.Peer{ID: message.NewID(), Name: req.Agent, Title: req.Title}}
	if req.Command != nil {
		s.Status, s.Session.Name, s.Why = api.StartUnrecognised, "one", "no agent is recognised in it"
	}
	return s, nil
}

func (b *fakeBackend) SpawnMember(ctx context.Context, by api.Caller, req api.SpawnRequest) (api.Spawned, error) {
	s, err := b.StartSession(ctx, by, api.StartSessionRequest{Agent: req.Agent, Command: req.Command})
	return api.Spawned{Text: "Spawned", Status: string(s.Status), Session: s.Session, Why: s.Why}, err
}

func (b *fakeBackend) EndSession(_ context.Context, _ api.Caller, req api.EndSessionRequest) (api.EndedSession, error) {
	b.take(req)
	b.mu.Lock()
	b.ended = &req
	b.mu.Unlock()
	return api.EndedSession{Status: api.EndDone, Session: message.Peer{ID: message.NewID(), Name: req.Session}, How: "quit"}, nil
}

func (b *fakeBackend) EndAsks(_ context.Context, _ api.Caller, req api.EndSessionRequest) (api.EndAsked, error) {
	if b.endAsks != nil {
		return b.endAsks(req)
	}
	return api.EndAsked{Session: req.Session}, nil
}

func (b *fakeBackend) StopNotices(_ context.Context, _ api.Caller, req api.StopNoticesRequest) (api.StoppedNotices, error) {
	return api.StoppedNotices{Status: api.NoticesStopped, Session: message.Peer{ID: message.NewID(), Name: req.Session}}, nil
}

func (b *fakeBackend) SessionData(_ context.Context, _ api.Caller, q api.SessionDataQuery) (api.SessionWords, error) {
	return api.SessionWords{Session: api.Session{Name: q.Session}, Words: "done"}, nil
}

func (b *fakeBackend) ListSessions(context.Context, api.Caller, api.None) ([]api.Session, error) {
	return []api.Session{{ID: message.NewID(), Name: "worker"}}, nil
}

func (b *fakeBackend) StartChat(_ context.Context, _ api.Caller, req api.StartChatRequest) (message.Chat, error) {
	b.take(req)
	in := []message.Participant{}
	for _, s := range b.sessions {
		if slices.Contains(req.Panes, s.Pane) {
			in = append(in, message.Participant{Peer: s.ID, Name: s.Name, Number: len(in) + 1, MaySpeak: true})
		}
	}
	return message.Chat{ID: message.NewID(), Name: req.Name, State: message.ChatOn, Participants: in, Turns: req.Turns, Limits: message.Limits{Depth: 20}}, nil
}

func (b *fakeBackend) Chats(_ context.Context, _ api.Caller, q api.ChatsQuery) ([]message.Chat, error) {
	return slices.DeleteFunc(slices.Clone(b.chats), func(c message.Chat) bool { return (c.State == message.ChatOver) != q.Ended }), nil
}

func (b *fakeBackend) change(which api.ChatRef) ([]message.Chat, error) {
	b.take(which)
	return b.chats, b.err
}

func (b *fakeBackend) StopChat(_ context.Context, _ api.Caller, w api.ChatRef) ([]message.Chat, error) {
	return b.change(w)
}

func (b *fakeBackend) PauseChat(_ context.Context, _ api.Caller, w api.ChatRef) ([]message.Chat, error) {
	return b.change(w)
}

func (b *fakeBackend) ResumeChat(_ context.Context, _ api.Caller, w api.ChatRef) ([]message.Chat, error) {
	return b.change(w)
}

func (b *fakeBackend) ShowChat(_ context.Context, _ api.Caller, q api.ChatQuery) (api.ChatDetail, error) {
	b.take(q.Chat)
	if b.err != nil || b.detail.ID != "" || len(b.detail.Participants) > 0 || len(b.chats) == 0 {
		return b.detail, b.err
	}
	for _, c := range b.chats {
		if c.ID.Is(q.Chat) || strings.EqualFold(c.Name, q.Chat) {
			return api.ChatDetail{Chat: c}, nil
		}
	}
	return api.ChatDetail{}, api.Errorf(api.CodeNotFound, "no chat %q", q.Chat).About(api.NoChat, q.Chat)
}

func (b *fakeBackend) member(req api.MemberRequest) (message.Chat, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = req
	return b.detail.Chat, b.err
}

func (b *fakeBackend) AddMember(_ context.Context, _ api.Caller, req api.MemberRequest) (message.Chat, error) {
	return b.member(req)
}

func (b *fakeBackend) RemoveMember(_ context.Context, _ api.Caller, req api.MemberRequest) (message.Chat, error) {
	return b.member(req)
}

func (b *fakeBackend) MuteMember(_ context.Context, _ api.Caller, req api.MemberRequest) (message.Chat, error) {
	return b.member(req)
}

func (b *fakeBackend) Say(_ context.Context, _ api.Caller, req api.SayRequest) (api.Said, error) {
	b.take(req)
	said := b.said
	said.Message, said.Deliveries = message.NewID(), []message.ID{message.NewID()}
	return said, b.err
}

func (b *fakeBackend) Ask(_ context.Context, _ api.Caller, req api.AskRequest) (message.Chat, error) {
	b.take(req)
	return b.asked.Chat, b.err
}

func (b *fakeBackend) AwaitAnswers(_ context.Context, _ api.Caller, q api.AskedQuery) (api.Asked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queries = append(b.queries, q)
	if b.inquire != nil {
		return b.inquire(len(b.queries), q)
	}
	return b.asked, nil
}

func (b *fakeBackend) Inbox(context.Context, api.Caller, api.None) ([]api.Held, error) {
	return b.held, b.err
}

func (b *fakeBackend) Vouch(_ context.Context, _ api.Caller, req api.VouchRequest) (api.Held, error) {
	return api.Held{Waiting: api.Waiting{Delivery: message.ID(req.ID)}}, b.err
}

func (b *fakeBackend) Decide(_ context.Context, _ api.Caller, req api.DecideRequest) (api.Decided, error) {
	if b.decides != nil {
		return b.decides(req), b.err
	}
	return api.Decided{Message: message.ID(req.ID), Choice: req.Choice, Already: true}, b.err
}

func (b *fakeBackend) Peers(context.Context, api.Caller, api.None) ([]api.Peer, error) {
	return b.peers, b.err
}

func (b *fakeBackend) Computers(context.Context, api.Caller, api.None) ([]api.Computer, error) {
	if b.computers != nil {
		return b.computers, b.err
	}
	return []api.Computer{{Name: "laptop", Local: true, Present: true}, {Name: "raspi", Present: true, RoundTrip: 1.5, Sessions: 2, Waiting: 1, May: []string{"send", "answer"}}}, b.err
}

func (b *fakeBackend) ForgetComputer(_ context.Context, _ api.Caller, req api.ForgetComputerRequest) (api.ForgottenComputer, error) {
	b.take(req)
	return api.ForgottenComputer{Failed: 2, Uncertain: 1}, b.err
}

func (b *fakeBackend) Stats(_ context.Context, _ api.Caller, q api.ChatQuery) (message.Stats, error) {
	b.take(q.Chat)
	return message.Stats{Chat: message.NewID(), Deliveries: map[message.ReceiptState]int{message.Submitted: 3}, LatencyP50: 12 * time.Millisecond}, nil
}

func (b *fakeBackend) Explain(_ context.Context, _ api.Caller, req api.ExplainRequest) (message.Explanation, error) {
	b.take(req)
	return b.recorded.Explanation, b.err
}

func (b *fakeBackend) Record(_ context.Context, _ api.Caller, req api.ExplainRequest) (api.Recording, error) {
	b.take(req)
	return b.recorded, b.err
}

// told is a hook with its caller.
type told struct {
	api.HookRequest
	from api.Caller
	at   time.Time
}

func (b *fakeBackend) Hook(ctx context.Context, from api.Caller, req api.HookRequest) (none api.None, _ error) {
	b.mu.Lock()
	b.hooks = append(b.hooks, told{req, from, time.Now()})
	silent := b.silent
	b.mu.Unlock()
	if silent {
		<-ctx.Done()
	}
	return none, b.err
}

func (b *fakeBackend) PlanGate(ctx context.Context, _ api.Caller, _ api.None) (api.Gate, error) {
	b.mu.Lock()
	silent := b.silent
	b.mu.Unlock()
	if silent {
		<-ctx.Done()
	}
	return b.gate, b.err
}

// setSilent makes hooks wait for an answer that does not come, or ends that.
func (b *fakeBackend) setSilent(silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = silent
}

// told are the hooks that have come, in order.
func (b *fakeBackend) told() []told {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.hooks)
}

func (b *fakeBackend) Send(_ context.Context, _ api.Caller, req api.SendRequest) (api.Sent, error) {
	before, again := b.took().(api.SendRequest)
	b.take(req)
	if again && before.ID == req.ID && b.later != nil {
		return api.Sent{Message: req.ID, Receipt: *b.later}, b.err
	}
	return api.Sent{Message: req.ID, Receipt: b.receipt, Behind: b.behind}, b.err
}

func (b *fakeBackend) Log(_ context.Context, _ api.Caller, q api.LogQuery) ([]message.Event, error) {
	b.take(q)
	log := b.log
	if q.Since > 0 { // events without a number are always included
		log = slices.DeleteFunc(slices.Clone(log), func(e message.Event) bool { return e.Seq <= q.Since })
	}
	if q.Before > 0 {
		log = slices.DeleteFunc(slices.Clone(log), func(e message.Event) bool { return e.Seq >= q.Before })
	}
	if over := len(log) - q.Limit; q.Limit > 0 && over > 0 {
		if q.Oldest {
			return log[:q.Limit], nil
		}
		return log[over:], nil
	}
	return log, nil
}

func (b *fakeBackend) Events(_ context.Context, _ api.Caller, q api.EventsQuery) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		b.mu.Lock()
		log := b.log
		if b.coming != nil {
			log = b.coming
		}
		b.mu.Unlock()
		for _, e := range log {
			e.Seq += q.Since
			if !yield(e, nil) {
				return
			}
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.streamed != nil {
			b.streamed()
			b.streamed = nil
		}
	}
}

// stateFile is where a sidecar of the world writes its errors.
func (w *world) stateFile(server string) string {
	p, err := api.Places(w.getenv, server)
	if err != nil {
		return ""
	}
	return filepath.Join(p.State, "stderr.log")
}

// offered has a server serve everything that b answers.
func (b *fakeBackend) offered(s *api.Server) *api.Server {
	api.Handle(s, api.ShowStatus, b.ShowStatus)
	api.Handle(s, api.Down, b.Down)
	api.Handle(s, api.Adopt, b.Adopt)
	api.Handle(s, api.Release, b.Release)
	api.Handle(s, api.Rename, b.Rename)
	api.Handle(s, api.Pressed, b.Pressed)
	api.Handle(s, api.MayChange, b.MayChange)
	api.Handle(s, api.Sessions, b.Sessions)
	api.Handle(s, api.Peers, b.Peers)
	api.Handle(s, api.Computers, b.Computers)
	api.Handle(s, api.ForgetComputer, b.ForgetComputer)
	api.Handle(s, api.StartSession, b.StartSession)
	api.Handle(s, api.SpawnMember, b.SpawnMember)
	api.Handle(s, api.EndSession, b.EndSession)
	api.Handle(s, api.EndAsks, b.EndAsks)
	api.Handle(s, api.StopNotices, b.StopNotices)
	api.Handle(s, api.SessionData, b.SessionData)
	api.Handle(s, api.ListSessions, b.ListSessions)
	api.Handle(s, api.StartChat, b.StartChat)
	api.Handle(s, api.Chats, b.Chats)
	api.Handle(s, api.StopChat, b.StopChat)
	api.Handle(s, api.PauseChat, b.PauseChat)
	api.Handle(s, api.ResumeChat, b.ResumeChat)
	api.Handle(s, api.ShowChat, b.ShowChat)
	api.Handle(s, api.Stats, b.Stats)
	api.Handle(s, api.Say, b.Say)
	api.Handle(s, api.AddMember, b.AddMember)
	api.Handle(s, api.RemoveMember, b.RemoveMember)
	api.Handle(s, api.MuteMember, b.MuteMember)
	api.Handle(s, api.Ask, b.Ask)
	api.Handle(s, api.AwaitAnswers, b.AwaitAnswers)
	api.Handle(s, api.Inbox, b.Inbox)
	api.Handle(s, api.Vouch, b.Vouch)
	api.Handle(s, api.Decide, b.Decide)
	api.Handle(s, api.RollbackPolicy, b.RollbackPolicy)
	api.Handle(s, api.DiffPolicy, b.DiffPolicy)
	api.Handle(s, api.ExplainPolicy, b.ExplainPolicy)
	api.Handle(s, api.Explain, b.Explain)
	api.Handle(s, api.Record, b.Record)
	api.Handle(s, api.Hook, b.Hook)
	api.Handle(s, api.PlanGate, b.PlanGate)
	api.Handle(s, api.Send, b.Send)
	api.Handle(s, api.Log, b.Log)
	api.Feed(s, api.Events, b.Events)
	return s
}
