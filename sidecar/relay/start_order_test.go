package relay

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// orders returns the open starts, each with its stage.
func (r *rig) orders() (all []string) {
	for _, o := range r.s.protocols().Orders {
		how := "waits"
		switch {
		case o.Begun:
			how = "begun"
		case o.Approved != nil:
			how = "approved"
		}
		all = append(all, o.What+" "+how)
	}
	return all
}

// opened returns the session of the window of a start.
func opened(o message.StartOrder) message.Peer {
	return message.Peer{
		ID: o.ID, Name: o.Name, Caller: &o.From, PaneOf: message.PaneOf{Pane: "%9", Profile: "line", Starting: true},
	}
}

// A start is at the same stage after a restart as before: an approved one has no window, a begun
// one may have one, and a done or failed one is told once, and is over.
func TestStartOrder_OutlivesTheRun(t *testing.T) {
	r := newRig(t)
	asker := r.adopt("asker")[0]
	asks := func(what string) message.ID {
		return r.must(AskStart{By: agent(asker), Order: message.StartOrder{What: what, Dir: project, Program: []string{"/bin/" + what}, Message: "go"}}).Message
	}
	heard := func(text string) (n int) {
		for _, d := range r.made {
			if d.Target == asker.ID && strings.Contains(d.Message.Body, text) {
				n++
			}
		}
		return n
	}
	done, failed, waits := asks("done"), asks("failed"), asks("waits")
	for _, id := range []message.ID{done, failed} {
		yes := r.must(DecideStart{By: ada, ID: id, Yes: true, Who: message.Person{Name: "ada"}}).Orders[0]
		_, err := r.ask(DecideStart{By: ada, ID: id})
		require.ErrorIs(t, err, ErrDecided)
		r.restart(0)
		_, err = r.ask(FinishStart{By: agent(asker), Session: opened(yes)})
		require.ErrorIs(t, err, ErrNotStarted, "its window must not be there yet")
	}
	assert.Equal(t, []string{"done approved", "failed approved", "waits waits"}, r.orders())
	_, err := r.ask(BeginStart{Most: 8, By: agent(asker), Order: message.StartOrder{ID: waits}})
	require.ErrorIs(t, err, ErrNotStarted, "nobody has said yes")

	begun := r.must(BeginStart{Most: 8, By: agent(asker), Order: message.StartOrder{ID: done}}).Orders[0]
	r.must(BeginStart{Most: 8, By: agent(asker), Order: message.StartOrder{ID: failed}})
	r.restart(0)
	assert.Equal(t, []string{"done begun", "failed begun", "waits waits"}, r.orders())
	_, err = r.ask(BeginStart{Most: 8, By: agent(asker), Order: message.StartOrder{ID: done}})
	require.ErrorIs(t, err, ErrNotStarted, "never twice")

	before := len(r.commits)
	_, err = r.ask(FinishStart{By: agent(asker), Session: opened(begun), Late: "after a restart"})
	require.NoError(t, err)
	step := r.commits[before]
	assert.True(t, slices.ContainsFunc(step.Peers, func(p message.Peer) bool { return p.ID == done }))
	assert.True(t, slices.ContainsFunc(step.Received, func(m message.Envelope) bool { return m.Body == "go" && m.To[0].Peer == done }), "in one commit")
	r.must(FailStart{By: agent(asker), ID: failed, Why: "it ended at once", Resumed: true})
	r.restart(0)
	assert.Equal(t, []string{"waits waits"}, r.orders())
	for _, id := range []message.ID{done, failed} {
		_, err = r.ask(FinishStart{By: agent(asker), Session: message.Peer{ID: id}})
		require.ErrorIs(t, err, ErrNotStarted)
		_, err = r.ask(FailStart{By: agent(asker), ID: id})
		require.ErrorIs(t, err, ErrNotStarted)
	}
	assert.Equal(t, 1, heard("done was started in "+project+": session "+string(done)))
	assert.Equal(t, 1, heard("a person approved your start of failed in "+project+", but it failed: it ended at once"))
	assert.Contains(t, strings.Join(r.notices, "\n"), "the start of failed in "+project+", for asker, failed: it ended at once; intercom log ")
	r.must(DecideStart{By: ada, ID: waits, Say: "no"})
	assert.Empty(t, r.orders())
}

// A first message that cannot be sent is refused before anything is opened; if it turns out later
// that it cannot be sent, the session is there, and the caller is told.
func TestStartOrder_TheFirstMessage(t *testing.T) {
	r := newRig(t)
	asker := r.adopt("asker")[0]
	long := message.StartOrder{What: "x", Dir: project, Message: strings.Repeat("x", message.MaxBody+1)}
	_, err := r.ask(BeginStart{By: ada, Order: long})
	require.ErrorIs(t, err, ErrRequest)
	_, err = r.ask(AskStart{By: agent(asker), Order: long})
	require.ErrorIs(t, err, ErrRequest)
	assert.Empty(t, r.orders())

	o := r.must(BeginStart{Most: 8, By: agent(asker), Order: message.StartOrder{What: "x", Dir: project, Message: "go", From: address(r.s.present(asker.ID))}}).Orders[0]
	_, _ = r.step(Gone{Peer: asker.ID, Reason: message.AgentGone})
	answer, err := r.ask(FinishStart{By: agent(asker), Session: opened(o)})
	require.ErrorAs(t, err, new(*FirstMessageError))
	assert.Equal(t, o.ID, answer.Peer.ID)
	assert.NotNil(t, r.s.present(o.ID))
	assert.Empty(t, r.orders())
}

// The number of sessions that all agents together have started is limited: a person is asked about
// an agent that starts others which start others, whichever of them starts the next. What a person
// has approved, or starts, is not refused.
func TestStartOrder_M7_AsManyAsMayRun(t *testing.T) {
	r := newRig(t)
	asker := r.adopt("asker")[0]
	start := func(by By, most int) (message.StartOrder, error) {
		o := message.StartOrder{What: "x", Dir: project, From: message.Address{Peer: by.Peer, Name: "x"}}
		a, err := r.ask(BeginStart{By: by, Order: o, Most: most})
		if err != nil {
			return o, err
		}
		return a.Orders[0], nil
	}
	finish := func(by By, o message.StartOrder, name, pane string) message.Peer {
		session := opened(o)
		session.Name, session.Pane = name, pane
		return r.must(FinishStart{By: by, Session: session}).Peer
	}
	first, err := start(agent(asker), 2)
	require.NoError(t, err)
	worker := finish(agent(asker), first, "w1", "%11")
	begun, err := start(agent(worker), 2)
	require.NoError(t, err)

	var many *TooManyError
	for _, one := range []message.Peer{asker, worker} { // one session runs, one is about to
		_, err = start(agent(one), 2)
		require.ErrorAs(t, err, &many)
		assert.Equal(t, 2, many.Running)
	}
	r.restart(0)
	finish(agent(worker), begun, "w2", "%12")
	_, err = start(agent(asker), 2)
	require.ErrorAs(t, err, &many)
	_, err = start(agent(asker), 0)
	require.Error(t, err)
	_, err = start(ada, 0)
	require.NoError(t, err, "a person")

	held := r.must(AskStart{By: agent(asker), Order: message.StartOrder{What: "more", Dir: project}}).Message
	yes := r.must(DecideStart{By: ada, ID: held, Yes: true, Who: message.Person{Name: "ada"}}).Orders[0]
	finish(agent(asker), r.must(BeginStart{By: agent(asker), Order: yes}).Orders[0], "w3", "%13")

	_, err = r.step(Gone{Peer: worker.ID, Reason: message.AgentGone})
	require.NoError(t, err)
	_, err = start(agent(asker), 3)
	require.NoError(t, err, "one has ended")
}

// Of two starts for one place in a team only one comes to a session: the second is refused when it is asked for,
// or by the time of the yes. With a no it is over like any other.
func TestStartOrder_OnePlaceIsForOneSession(t *testing.T) {
	r := newRig(t)
	asker := r.adopt("asker")[0]
	by := agent(asker)
	start := func(name string) message.StartOrder {
		from, seat := address(r.s.present(asker.ID)), &message.StartSeat{Dir: project, Name: name}
		return message.StartOrder{What: name, Dir: project, From: from, Seat: seat}
	}
	decides := func(id message.ID, yes bool) error {
		_, err := r.ask(DecideStart{By: ada, ID: id, Yes: yes, Who: message.Person{Name: "ada"}})
		return err
	}
	first := r.must(AskStart{By: by, Order: start("alice")}).Message
	r.must(AskStart{By: by, Order: start("bob")})
	for range 2 {
		_, err := r.ask(AskStart{By: by, Order: start("alice")})
		require.ErrorIs(t, err, ErrActive)
		assert.ErrorContains(t, err, "waits for a person: "+first.Short())
		r.restart(0)
	}
	assert.Equal(t, []string{"alice waits", "bob waits"}, r.orders())

	direct := r.must(BeginStart{Most: 8, By: by, Order: start("alice")}).Orders[0]
	require.ErrorIs(t, decides(first, true), ErrActive)
	assert.Equal(t, []string{"alice waits", "bob waits", "alice begun"}, r.orders())
	r.must(FailStart{By: by, ID: direct.ID, Why: "it ended at once"})
	require.NoError(t, decides(first, true))
	_, err := r.ask(BeginStart{Most: 8, By: by, Order: start("alice")})
	require.ErrorIs(t, err, ErrActive)

	yes := r.must(BeginStart{Most: 8, By: by, Order: message.StartOrder{ID: first}}).Orders[0]
	session := r.must(FinishStart{By: by, Session: opened(yes)}).Peer
	_, err = r.ask(AskStart{By: by, Order: start("alice")})
	require.ErrorIs(t, err, ErrActive, "it has a session")
	_, _ = r.step(Gone{Peer: session.ID, Reason: message.AgentGone})
	again := r.must(AskStart{By: by, Order: start("alice")}).Message
	require.NoError(t, decides(again, false))
	assert.Equal(t, []string{"bob waits"}, r.orders())
}
