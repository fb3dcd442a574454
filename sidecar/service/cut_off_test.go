package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// answering is a relay in which alice answers a request right after its state was first read.
type answering struct {
	*relay.Relay
	answers func(id string)
}

func (a *answering) Do(ctx context.Context, r relay.Request) (relay.Answer, error) {
	done, err := a.Relay.Do(ctx, r)
	if show, ok := r.(relay.ShowHandshake); ok && a.answers != nil {
		answers := a.answers
		a.answers = nil
		answers(show.ID)
	}
	return done, err
}

// A teammate that refuses to end is not ended, even if its answer rings no bell, or comes after the last look
// at the request.
func TestTeam_WhoRefusesIsNotEnded(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		k := newKept(t)
		answers := func(id string) {
			_, err := k.relay.Do(t.Context(), relay.AnswerHandshake{
				By: relay.By{Kind: relay.Agent, Peer: k.alice.ID}, Answer: handshake.Answer{Kind: handshake.Shutdown, ID: id, Note: "not yet"},
			})
			require.NoError(t, err)
		}
		if late {
			k.Gap = func(id, moment string) {
				if moment == "waited" {
					answers(id)
				}
			}
		} else {
			k.Relay = &answering{Relay: k.relay, answers: answers}
		}
		may, reason, err := k.MayEnd(t.Context(), ada, k.alice, 10*time.Millisecond)
		require.NoError(t, err)
		assert.False(t, may)
		assert.Equal(t, "not yet", reason)
		assert.Empty(t, k.relay.Protocols().Seats[0].End)
	}
}

// hasty is a relay in which a request to end expires almost at once.
type hasty struct{ *relay.Relay }

func (h hasty) Do(ctx context.Context, r relay.Request) (relay.Answer, error) {
	if ask, ok := r.(relay.AskShutdown); ok {
		ask.Patience = time.Nanosecond
		r = ask
	}
	return h.Relay.Do(ctx, r)
}

// A teammate that does not answer in time is ended, and the journal says that it was killed, even if its
// request has expired before that. It can no longer answer after that.
func TestTeam_WhoDoesNotAnswerIsKilled(t *testing.T) {
	t.Parallel()
	for _, expires := range []bool{false, true} {
		k := newKept(t)
		id := ""
		k.Gap = func(request, _ string) { id = request }
		if expires {
			k.Relay = hasty{k.relay}
			k.Gap = func(request, moment string) {
				if id = request; moment == "asked" {
					require.Eventually(t, func() bool {
						a, err := k.relay.Do(t.Context(), relay.ShowHandshake{By: ada, Kind: handshake.Shutdown, ID: id})
						return err == nil && a.Handshake.State == handshake.Expired
					}, time.Minute, 10*time.Millisecond)
				}
			}
		}
		may, _, err := k.MayEnd(t.Context(), ada, k.alice, 10*time.Millisecond)
		require.NoError(t, err)
		assert.True(t, may)
		all := k.relay.Protocols().Seats
		i := slices.IndexFunc(all, func(seat relay.Seat) bool { return seat.Name == "alice" })
		assert.Equal(t, relay.EndKilled, all[i].End, "expired: %v", expires)
		_, err = k.relay.Do(t.Context(), relay.AnswerHandshake{
			By: relay.By{Kind: relay.Agent, Peer: k.alice.ID}, Answer: handshake.Answer{Kind: handshake.Shutdown, ID: id},
		})
		assert.IsType(t, new(handshake.SettledError), err)
		tracker, err := k.ShutdownStatus(t.Context(), api.Caller{}, api.HandshakeQuery{RequestID: id})
		require.NoError(t, err)
		assert.Equal(t, api.Tracker{Target: "alice", Status: "pending", Expired: true}, tracker)
	}
	// A team's timeout does not shorten the time for which the answer is awaited.
	assert.Equal(t, 30*time.Second, answerable(10*time.Second, 30*time.Second))
	assert.Equal(t, time.Minute, answerable(time.Minute, 30*time.Second))
	assert.Zero(t, answerable(0, 30*time.Second), "it is off")
}

// forgetting is a relay whose first Settled is cut off.
type forgetting struct {
	*relay.Relay
	cut bool
}

func (f *forgetting) Settled(ctx context.Context, id string, what relay.Owed) error {
	if f.cut {
		f.cut = false
		return context.Canceled
	}
	return f.Relay.Settled(ctx, id, what)
}

// A teammate that approved its end is ended, even if the sidecar was cut off right after it wrote the answer.
func TestTeam_WhatWasWrittenIsNoted(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	f := &forgetting{Relay: k.relay}
	k.Relay, k.Callers = f, &Callers{Person: "ada", Relay: k.relay}
	h, err := k.askToEnd(t.Context(), ada, k.Dir, "alice", 0)
	require.NoError(t, err)
	a, err := k.relay.Do(t.Context(), relay.AnswerHandshake{
		By: relay.By{Kind: relay.Agent, Peer: k.alice.ID}, Answer: handshake.Answer{Kind: handshake.Shutdown, ID: h.ID, Approve: true},
	})
	require.NoError(t, err)
	f.cut = true
	require.Error(t, k.write(t.Context(), relay.Affair{Handshake: a.Handshake, Team: a.Team}, relay.OwedAnswer, false))
	k.looksUntil(func() bool {
		one, _, err := k.recorded(t.Context(), h.ID)
		require.NoError(t, err)
		return assert.ObjectsAreEqual([]relay.Owed{relay.OwedEnd}, one.Owed)
	})
	lead, _, err := k.Peek("lead")
	require.NoError(t, err)
	assert.Len(t, lead, 1, "its answer is written once")
}

// whileStarting starts sessions, which takes time.
type whileStarting struct {
	unending
	meanwhile func()
}

func (w *whileStarting) Start(context.Context, api.Caller, api.StartSessionRequest) (api.StartedSession, error) {
	w.meanwhile()
	return api.StartedSession{}, errors.New("nothing is started")
}

// The claim on a team is not given up while its first teammate is being started.
func TestTeam_AClaimOutlastsTheStart(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	other := &Teams{Claims: k.Claims}
	dir := t.TempDir()
	k.Callers = &Callers{Person: "ada", Relay: k.relay, Tmux: itself{}, Log: slog.New(slog.DiscardHandler)}
	began := false
	k.Sessions = &whileStarting{meanwhile: func() {
		began = true
		k.looks(2)
		assert.Error(t, other.hold(dir))
	}}
	_, err := k.Spawn(t.Context(), api.Caller{PID: os.Getpid()}, api.SpawnRequest{Dir: dir, Name: "bob", Role: "dev"})
	require.ErrorContains(t, err, "nothing is started")
	require.True(t, began)
	k.looks(1)
	assert.NoError(t, other.hold(dir), "nothing of it is left here")
}

// itself is a tmux server in this very process: its callers are the person.
type itself struct{}

func (itself) Info() tmux.Info                                  { return tmux.Info{PID: os.Getpid()} }
func (itself) Panes(context.Context) ([]tmux.Pane, error)       { return nil, nil }
func (itself) Clients(context.Context) ([]tmux.Attached, error) { return nil, nil }

// opens is a Launcher that records what it should open, and opens nothing.
type opens struct {
	*launch.Launcher
	all chan message.StartOrder
}

func (o *opens) Open(_ context.Context, order message.StartOrder) (message.Peer, error) {
	o.all <- order
	return message.Peer{}, errors.New("no window")
}

// hangsUpAt cancels its caller while a record of a kind is being written.
type hangsUpAt struct {
	hangsUp
	kind string
}

func (j *hangsUpAt) Commit(_ context.Context, steps ...message.Step) error {
	for _, s := range steps {
		for _, one := range s.Records {
			if one.Kind == j.kind && j.hangUp != nil {
				j.hangUp()
			}
		}
	}
	return nil
}

// An approved start is carried out even if its approver goes while the approval is being written.
func TestStart_whoeverApprovedHasGone(t *testing.T) {
	kind, _ := relay.StartRecord("")
	j := &hangsUpAt{kind: kind}
	s, _, opened, dir := askedToStart(t, j)
	ctx, hangUp := context.WithCancel(t.Context())
	j.hangUp = hangUp
	err := approves(t, ctx, s)
	require.Error(t, ctx.Err())
	require.ErrorContains(t, err, "no window")
	require.Len(t, opened.all, 1)
	assert.Equal(t, dir, (<-opened.all).Dir)
}

// An approved start whose beginning could not be written begins as soon as it can be, in the same life.
func TestStart_approvedWhileNothingCanBeWritten(t *testing.T) {
	s, r, opened, dir := askedToStart(t, &hangsUpAt{})
	full := &fullOnce{Relay: r}
	s.Relay = full
	var later sync.WaitGroup
	ctx, end := context.WithCancel(t.Context())
	defer later.Wait()
	defer end()
	s.TakeUp(ctx, later.Go)
	require.ErrorContains(t, approves(t, t.Context(), s), message.DiskFull)
	select {
	case o := <-opened.all:
		assert.Equal(t, dir, o.Dir)
	case <-time.After(time.Minute):
		require.Fail(t, "it has not begun")
	}
	require.Eventually(t, func() bool { return len(r.Protocols().Orders) == 0 }, time.Minute, time.Millisecond, "that it has failed is written down")
}

// fullOnce is a relay that cannot write the first beginning of a start.
type fullOnce struct {
	*relay.Relay
	was atomic.Bool
}

func (r *fullOnce) Do(ctx context.Context, req relay.Request) (relay.Answer, error) {
	if _, begins := req.(relay.BeginStart); begins && r.was.CompareAndSwap(false, true) {
		return relay.Answer{}, &message.UnwritableError{Why: message.DiskFull}
	}
	return r.Relay.Do(ctx, req)
}

// askedToStart returns a Launches with a start that an agent has asked for and that waits for a person.
func askedToStart(t *testing.T, j relay.Journal) (s *Launches, r *relay.Relay, opened *opens, dir string) {
	t.Helper()
	r = &relay.Relay{Journal: j, Sink: nowhere{}}
	running, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(running) }()
	t.Cleanup(func() { end(); assert.NoError(t, <-done) })
	boss, err := r.Adopt(t.Context(), message.Peer{Name: "boss", PaneOf: message.PaneOf{Pane: "%1"}})
	require.NoError(t, err)
	dir, err = filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	o := message.StartOrder{Dir: dir, What: "claude", Program: []string{"/bin/claude"}, Name: "helper", From: message.Address{Computer: message.LocalComputer, Peer: boss.ID, Name: "boss"}}
	_, err = r.Do(t.Context(), relay.AskStart{By: relay.By{Kind: relay.Agent, Peer: boss.ID}, Order: o})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	opened = &opens{all: make(chan message.StartOrder, 8)}
	return &Launches{
		Callers: &Callers{Person: "ada", Relay: r, Tmux: itself{}, Log: log}, Relay: r, Launcher: opened, Log: log, Settings: (&Policies{}).Settings,
	}, r, opened, dir
}

// approves says yes to the only waiting start.
func approves(t *testing.T, ctx context.Context, s *Launches) error {
	t.Helper()
	all := s.Waiting()
	require.Len(t, all, 1)
	_, err := s.Decide(ctx, api.Caller{PID: os.Getpid()}, api.DecideRequest{ID: string(all[0].Message), Choice: api.ChoiceApprove, Sure: true}, all[0])
	return err
}

// repositories takes a person's word and cancels the person's call. It is also a relay that refuses callers
// that are gone.
type repositories struct {
	those
	hangUp context.CancelFunc
	all    []relay.Request
}

func (r *repositories) TakeWord(context.Context, message.Envelope, message.Verb, message.Person) (*repository.Word, error) {
	r.hangUp()
	return nil, nil
}

func (r *repositories) Do(ctx context.Context, req relay.Request) (relay.Answer, error) {
	if err := ctx.Err(); err != nil {
		return relay.Answer{}, err
	}
	r.all = append(r.all, req)
	return relay.Answer{}, nil
}

// A decision about a message that came as a file is carried out even if its caller goes once the word is
// recorded: a second decision would be told that the first one was made.
func TestInbox_whoeverDecidedHasGone(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	r := &repositories{hangUp: hangUp}
	s := &Inbox{Files: r, Relay: r, Log: slog.New(slog.DiscardHandler)}
	d := api.Decided{Message: "m", Waiting: []api.Held{{}}}
	_, err := s.carryOut(ctx, ada, api.DecideRequest{ID: "m", Choice: api.ChoiceApprove, Sure: true}, d, nil)
	require.NoError(t, err)
	assert.Equal(t, []relay.Request{relay.DecideHeld{By: ada, Message: "m", Verb: message.VerbDeliver}}, r.all)
}

// A teammate whose team cannot be used is not started, and a start that fails leaves no new .team.
func TestTeam_SpawnChecksTheTeamFirst(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Callers = &Callers{Person: "ada", Relay: k.relay, Tmux: itself{}, Log: slog.New(slog.DiscardHandler)}
	starts := 0
	k.Sessions = &whileStarting{meanwhile: func() { starts++ }}
	dir := t.TempDir()
	bob := api.SpawnRequest{Dir: dir, Name: "bob", Role: "dev"}
	_, err := k.Spawn(t.Context(), api.Caller{PID: os.Getpid()}, bob)
	require.ErrorContains(t, err, "nothing is started")
	require.Equal(t, 1, starts)
	assert.NoDirExists(t, filepath.Join(dir, team.Folder))

	require.NoError(t, os.Mkdir(filepath.Join(dir, team.Folder), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, team.Folder), 0o777))
	_, err = k.Spawn(t.Context(), api.Caller{PID: os.Getpid()}, bob)
	require.ErrorContains(t, err, "can be written by everybody")
	assert.Equal(t, 1, starts)
	assert.DirExists(t, filepath.Join(dir, team.Folder))
}
