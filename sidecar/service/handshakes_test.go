package service

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

type noPanes struct{}

func (noPanes) Deliver(...message.Delivery)         {}
func (noPanes) Cancel([]message.ID, message.Reason) {}
func (noPanes) Forget(message.ID)                   {}

// Two hundred requests of both kinds at once, each answered by the session that was asked, while a keeper goes
// over them all the time: all are settled, on disk too, and each has its line and the line of its answer once.
// The id of an open request is not given again.
func TestP20_C17_TwoHundredAtOnce(t *testing.T) {
	t.Parallel()
	const most = 200
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	j, err := journal.Open(t.Context(), dir)
	require.NoError(t, err)
	defer j.Close()
	r := &relay.Relay{Journal: j, Sink: noPanes{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	s := &Teams{
		Callers: &Callers{Person: "ada"}, Relay: r, Journal: j, Policies: &Policies{}, Bell: NewBell(), Claims: filepath.Join(dir, "teams"), Log: slog.New(slog.DiscardHandler),
	}
	d := team.Dir{Path: t.TempDir()}
	require.NoError(t, d.Make())
	person := relay.By{Kind: relay.Person, Name: "ada"}
	var members []message.Peer
	for i := range 4 {
		p, err := r.Adopt(ctx, message.Peer{Name: fmt.Sprintf("m%d", i), PaneOf: message.PaneOf{Pane: fmt.Sprintf("%%%d", i)}})
		require.NoError(t, err)
		_, err = r.Do(ctx, relay.TakeSeat{By: person, Seat: relay.Seat{Dir: d.Path, Name: p.Name, Role: "dev"}, Peer: p.ID})
		require.NoError(t, err)
		require.NoError(t, d.Enlist(p.Name, "dev"))
		members = append(members, p)
	}
	keeping := make(chan error, 1)
	go func() { keeping <- s.Run(ctx) }()
	var mu sync.Mutex
	want := map[string]handshake.State{}
	var all sync.WaitGroup
	for i := range most {
		all.Go(func() {
			p := members[i%len(members)]
			mate := relay.By{Kind: relay.Agent, Peer: p.ID}
			kind, answerer := handshake.Shutdown, mate
			ask := func() (handshake.Handshake, error) { return s.askToEnd(ctx, person, d, p.Name, 0) }
			if i >= most/2 {
				kind, answerer = handshake.Plan, person
				ask = func() (handshake.Handshake, error) {
					return s.begin(ctx, func(id string) relay.Request {
						return relay.AskPlan{By: mate, ID: id, Dir: d.Path, Plan: fmt.Sprint(i)}
					}, d.Path)
				}
			}
			h, err := ask()
			if !assert.NoError(t, err) {
				return
			}
			a, err := r.Do(ctx, relay.AnswerHandshake{By: answerer, Answer: handshake.Answer{Kind: kind, ID: h.ID, Approve: i%8 < 4, Note: fmt.Sprint(i)}})
			if assert.NoError(t, err) {
				assert.NoError(t, s.write(ctx, relay.Affair{Handshake: a.Handshake, Team: a.Team}, relay.OwedAnswer, false))
			}
			mu.Lock()
			defer mu.Unlock()
			want[h.ID] = a.Handshake.State
		})
	}
	all.Wait()
	require.Len(t, want, most)

	open, err := s.askToEnd(ctx, person, d, "m0", 0)
	require.NoError(t, err)
	tries := 0
	other, err := s.begin(ctx, func(id string) relay.Request {
		if tries++; tries == 1 {
			id = open.ID // the one that was made collides
		}
		return relay.AskShutdown{By: person, ID: id, Dir: d.Path, Name: "m1"}
	}, d.Path)
	require.NoError(t, err)
	assert.Equal(t, 2, tries)
	assert.NotEqual(t, open.ID, other.ID)
	for _, h := range []handshake.Handshake{open, other} {
		one, found, err := s.recorded(ctx, h.ID)
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, h.Answerer, one.Handshake.Answerer, "it is still asked of the one that it was asked of")
	}
	stop()
	require.NoError(t, <-keeping)
	require.NoError(t, <-done)

	for id, state := range want {
		one, found, err := s.recorded(t.Context(), id)
		require.NoError(t, err)
		require.True(t, found)
		assert.Equal(t, state, one.Handshake.State)
		assert.NotContains(t, one.Owed, relay.OwedRequest)
		assert.NotContains(t, one.Owed, relay.OwedAnswer)
	}
	lines := map[string]int{}
	for _, name := range []string{team.Lead, "m0", "m1", "m2", "m3"} {
		inbox, _, err := d.Peek(name)
		require.NoError(t, err)
		for _, m := range inbox {
			lines[fmt.Sprint(m.Type, " ", m.RequestID, " is an answer: ", m.Approve != nil)]++
			assert.WithinDuration(t, time.Now(), m.At, time.Hour)
		}
	}
	assert.Len(t, lines, 2*most+2)
	for line, n := range lines {
		assert.Equal(t, 1, n, line)
	}
}

// Only one of a person's sidecars keeps a team. Another one is refused with an error that names the way, until
// the first has given up its claim.
func TestTeams_twoSidecarsAndOneTeam(t *testing.T) {
	t.Parallel()
	claims, dir := filepath.Join(t.TempDir(), "teams"), t.TempDir()
	keeps, other := &Teams{Claims: claims}, &Teams{Claims: claims}
	require.NoError(t, keeps.hold(dir))
	require.NoError(t, keeps.hold(dir), "it has it")
	told := api.AsError(other.hold(dir))
	assert.Equal(t, api.CodeRefused, told.Code)
	assert.Contains(t, told.Text, "another sidecar keeps the team")
	assert.NotEmpty(t, told.Hint)
	require.NoError(t, other.hold(t.TempDir()), "another team is nobody's")
	keeps.release(relay.Protocols{Seats: []relay.Seat{{Dir: dir, Name: "alice"}}})
	assert.Error(t, other.hold(dir), "one of its members is still there")
	keeps.release(relay.Protocols{})
	assert.NoError(t, other.hold(dir))
}

// seated is a relay with given seats.
type seated struct {
	*relay.Relay
	seats []relay.Seat
}

func (s seated) Protocols() relay.Protocols { return relay.Protocols{Seats: s.seats} }

// For a lead of teams in two projects, the team is the one that the teammate is in: its tool asks for no
// directory.
func TestTeams_whoLeadsTwo(t *testing.T) {
	boss, other := relay.By{Kind: relay.Agent, Peer: "boss"}, relay.By{Kind: relay.Agent, Peer: "other"}
	seat := func(dir, name string, holder message.ID, gone bool) relay.Seat {
		return relay.Seat{Dir: dir, Name: name, Holder: handshake.Party{Peer: holder}, Gone: gone}
	}
	s := &Teams{Relay: seated{seats: []relay.Seat{
		seat("/one", team.Lead, "boss", false), seat("/one", "alice", "a", false), seat("/one", "bob", "b", true), seat("/one", "both", "x", false),
		seat("/two", team.Lead, "boss", false), seat("/two", "bob", "c", false), seat("/two", "both", "y", false),
		seat("/three", team.Lead, "other", false), seat("/three", "alice", "d", false),
	}}}
	_, err := s.callersTeam(boss)
	require.Error(t, err, "it leads two")
	for name, want := range map[string]string{"alice": "/one", "bob": "/two", "both": "", "nobody": ""} {
		assert.Equal(t, want, s.ledWith(boss, name), name)
	}
	assert.Equal(t, "/three", s.ledWith(other, "alice"))
	assert.Empty(t, s.ledWith(relay.By{Kind: relay.Agent, Peer: "a"}, "bob"), "a teammate leads nothing")
}

// A person ends a teammate that an agent leads like any other, which is asked first. To ask it without ending it is
// still its lead's alone.
func TestTeams_aPersonEndsAnAgentsTeammate(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	d := team.Dir{Path: filepath.Join(t.TempDir(), "led")}
	require.NoError(t, os.Mkdir(d.Path, 0o700))
	require.NoError(t, d.Make())
	boss, err := k.relay.Adopt(t.Context(), message.Peer{Name: "boss", PaneOf: message.PaneOf{Pane: "%2"}})
	require.NoError(t, err)
	carol, err := k.relay.Adopt(t.Context(), message.Peer{Name: "carol", PaneOf: message.PaneOf{Pane: "%3"}})
	require.NoError(t, err)
	seat, lead := relay.Seat{Dir: d.Path, Name: "carol", Role: "dev"}, relay.By{Kind: relay.Agent, Peer: boss.ID}
	_, err = k.relay.Do(t.Context(), relay.TakeSeat{By: lead, Seat: seat, Peer: carol.ID})
	require.NoError(t, err)
	require.NoError(t, d.Enlist("carol", "dev"))

	_, err = k.askToEnd(t.Context(), ada, d, "carol", 0)
	require.ErrorContains(t, err, `only session "boss" leads the team`)
	may, _, err := k.MayEnd(t.Context(), ada, carol, time.Millisecond)
	require.NoError(t, err)
	assert.True(t, may, "it has not answered")
	asked, _, err := d.Peek("carol")
	require.NoError(t, err)
	require.Len(t, asked, 1)
	assert.Equal(t, handshake.TypeShutdownRequest, asked[0].Type)
}

// A restarted sidecar keeps the teams whose members have their sessions there, before anybody asks it for
// something.
func TestTeams_keptByTheNextLife(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	other := &Teams{Claims: k.Claims}
	assert.Error(t, other.hold(k.Path))
	k.leaves()
	k.looksUntil(func() bool { return other.hold(k.Path) == nil })
}

// What an earlier run owed when it was killed is done once, whether or not it had written the line.
func TestHandshake_WhatIsOwedIsWrittenOnce(t *testing.T) {
	for _, written := range []bool{false, true} {
		d := team.Dir{Path: t.TempDir()}
		require.NoError(t, d.Make())
		require.NoError(t, d.Enlist("alice", "dev"))
		h := handshake.Handshake{
			ID: "0000000a", Kind: handshake.Shutdown, Asker: handshake.Party{Person: true, Name: team.Lead}, Answerer: handshake.Party{Peer: "x", Name: "alice"},
			Asked: time.Now().UTC(), State: handshake.Pending,
		}
		one := relay.Affair{Handshake: h, Team: d.Path, Owed: []relay.Owed{relay.OwedRequest}}
		if written {
			to, m := line(h, relay.OwedRequest)
			require.NoError(t, d.Send(to, m))
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		s := &Teams{Relay: new(relay.Relay), Log: slog.New(slog.DiscardHandler)}
		_ = s.write(stopped, one, relay.OwedRequest, true) // nobody notes that it is there
		_ = s.write(stopped, one, relay.OwedRequest, true)
		all, _, err := d.Peek("alice")
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Equal(t, "Please shut down gracefully.", all[0].Content)
		again := &Teams{Relay: new(relay.Relay), Log: slog.New(slog.DiscardHandler)} // the next life
		_ = again.write(stopped, one, relay.OwedRequest, true)
		all, _, err = d.Peek("alice")
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
}

// A teammate that took a message and never showed a turn does not stay at work for ever.
func TestTeam_ATurnOutOfSightEnds(t *testing.T) {
	for _, c := range []struct {
		seat relay.Seat
		want bool
	}{
		{relay.Seat{}, false},
		{relay.Seat{Busy: true}, true},
		{relay.Seat{Busy: true, Taken: time.Now()}, true},
		{relay.Seat{Busy: true, Taken: time.Now().Add(-time.Minute)}, false},
	} {
		assert.Equal(t, c.want, atWork(c.seat), "%+v", c.seat)
	}
}
