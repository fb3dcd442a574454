package relay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// A chat goes on where it was: its participants, what waits, how many turns are left.
func TestRestore_chatGoesOn(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.must(StartChat{Peers: []string{"a", "b"}, Turns: 3, Roles: []string{"asks"}, Muted: []bool{false, false}}).Chats[0]
	sent := r.say(s[0], "sent")[0]
	r.submit(sent)
	waits := r.say(s[0], "waits")[0]
	require.NoError(t, r.report(waits.ID, message.Held, message.AgentWorking))
	r.must(Send{To: "c", Message: message.Envelope{Body: "single"}})
	single := r.out[len(r.out)-1]

	r.restart(0)
	assert.Equal(t, c, r.shows(c.ID))
	assert.Equal(t, []message.ID{waits.ID, single.ID}, handedIDs(r.out), "what was taken is not handed out again")
	assert.Equal(t, []string{"queued", "held: agent working", "queued"}, r.states(waits.ID))
	assert.Equal(t, []string{"queued"}, r.states(single.ID))
	assert.Equal(t, "waits", r.out[0].Message.Body)
	assert.False(t, r.out[0].Typed)
	for _, id := range []message.ID{s[1].ID, s[2].ID} {
		assert.Equal(t, 1, r.s.present(id).waiting)
		assert.Positive(t, r.s.present(id).bytes)
	}
	r.submit(r.out...)
	assert.Zero(t, r.s.present(s[1].ID).waiting)
	assert.Zero(t, r.s.present(s[1].ID).bytes)

	answer := r.say(s[1], "third and last", waits.ID)
	require.Len(t, answer, 1)
	assert.Equal(t, 2, answer[0].Message.Depth, "it answers what an earlier run had typed")
	assert.Empty(t, r.say(s[0], "fourth"))
	r.submit(answer...)
	assert.Equal(t, whyTurns, r.shows(c.ID).Why)
}

// What init.lua says about new chats by then does not change a chat that goes on.
func TestRestore_aChatKeepsItsOwnSettings(t *testing.T) {
	r := newRig(t)
	r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	r.s = NewState([32]byte{1, 1}, message.Limits{})
	_, _ = r.step(LimitsChanged{Chats: message.Limits{
		Depth: 3, Tokens: 1000, Words: route.WordsAll, Person: true, Approve: message.ApproveAll, Stall: StallOff, Away: time.Minute,
	}})
	_, _ = r.step(restored(r.book, message.Process{}))
	assert.Equal(t, c, r.shows(c.ID))
}

// A chat that began while the clock was ahead still hears its members after a restart, although by
// the clock it has not begun yet; and also while the clock passes its start time.
func TestD2_RestoreAfterTheClockWasSetBack(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	r.now = r.now.Add(-10 * time.Minute)
	r.restart(0)
	require.Equal(t, message.ChatOn, r.shows(c.ID).State)
	for _, words := range []string{"one", "two"} {
		list := r.say(s[0], words)
		require.Len(t, list, 1, words)
		r.submit(list...)
	}
	began := r.shows(c.ID).Started
	r.now = began.Add(time.Millisecond)
	before := len(r.out)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "three", Ended: began.Add(-time.Millisecond)}})
	assert.Len(t, r.out[before:], 1)
}

// A delivery that had permission to be typed is for its sink to look at, whatever the state of its
// chat.
func TestRestore_typed(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(r *rig, chat string)
		leave  error
	}{
		{"on", func(*rig, string) {}, nil},
		{"paused", func(r *rig, chat string) { r.must(PauseChat{Chat: chat}) }, ErrPaused},
		{"all stopped", func(r *rig, _ string) { r.must(PauseChat{Chat: All}) }, ErrStopped},
		{"ended", func(r *rig, chat string) { r.must(StopChat{Chat: chat}) }, ErrEnded},
		{"ended, all stopped", func(r *rig, _ string) { r.must(StopChat{Chat: All}) }, ErrEnded},
		{"taken out of it", func(r *rig, chat string) { r.must(RemoveMember{Chat: chat, Peer: "b"}) }, ErrEnded},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b", "c", "d")
			chat := r.chat(message.Limits{}, "a", "b", "c", "d")
			typed, refused := r.say(s[0], "typed")[0], r.say(s[0], "refused")[0]
			for _, d := range []message.Delivery{typed, refused} {
				require.Equal(t, s[1].ID, d.Target)
				require.NoError(t, r.report(d.ID, message.Typed, ""))
			}
			c.before(r, string(chat.ID))

			r.restart(0)
			handed := restored(r.book, message.Process{}).Deliveries
			require.NotEmpty(t, handed)
			out := map[message.ID]message.Delivery{}
			for _, d := range r.out {
				if d.Target == s[1].ID {
					out[d.ID] = d
				}
			}
			require.Len(t, out, 2, "both")
			assert.True(t, out[typed.ID].Typed)
			assert.ErrorIs(t, r.report(typed.ID, message.Typed, ""), c.leave)

			// The sink finds that the other was never pasted.
			require.NoError(t, r.report(refused.ID, message.Held, message.TmuxRefused))
			want := map[error]string{
				nil: "held: pane changed while we looked", ErrPaused: "held: chat paused", ErrStopped: "held: chat paused", ErrEnded: "failed: chat ended",
			}[c.leave]
			states := r.states(refused.ID)
			assert.Equal(t, want, states[len(states)-1])
			switch c.leave {
			case nil:
				require.NoError(t, r.report(refused.ID, message.Typed, ""), "as if leave had never been given")
			case ErrEnded:
				require.NoError(t, r.report(typed.ID, message.Uncertain, message.ChatEnded))
				assert.NotContains(t, r.s.under, typed.ID)
			default:
				before := len(r.out)
				r.must(ResumeChat{Chat: All, Sure: true})
				var again []message.Delivery
				for _, d := range r.out[before:] {
					if d.Target == s[1].ID {
						again = append(again, d)
					}
				}
				require.Equal(t, []message.ID{typed.ID, refused.ID}, handedIDs(again))
				assert.True(t, again[0].Typed)
				assert.False(t, again[1].Typed)
				r.submit(again[1])
			}
		})
	}
}

// A text that tmux refused, and refused again after the restart with the same words, may be pasted.
func TestRestore_refusedBefore(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{}, "a", "b")
	d := r.say(s[0], "x")[0]
	require.NoError(t, r.report(d.ID, message.Typed, ""))
	require.NoError(t, r.report(d.ID, message.Held, message.TmuxRefused))
	r.restart(0)
	require.Len(t, r.out, 1)
	assert.True(t, r.out[0].Typed, "only the pane knows")
	require.NoError(t, r.report(d.ID, message.Held, message.TmuxRefused))
	assert.Equal(t, []string{"queued", "typed", "held: pane changed while we looked"}, r.states(d.ID), "nothing new")
	require.NoError(t, r.report(d.ID, message.Held, message.AgentWorking))
	assert.ErrorIs(t, r.report(d.ID, message.Submitted, ""), ErrImpossible, "nothing was typed")
	r.restart(0)
	r.must(PauseChat{Chat: All})
	r.must(ResumeChat{Chat: All, Sure: true})
	r.submit(r.out[len(r.out)-1])
}

// Everything was stopped while a paste was on its way, and tmux refused the paste: the delivery
// waits for a person like all others, in this run and in the next.
func TestRestore_refusedWhileStopped(t *testing.T) {
	r := newRig(t)
	r.adopt("a")
	r.must(Send{To: "a", Message: message.Envelope{Body: "x"}})
	d := r.out[0]
	require.NoError(t, r.report(d.ID, message.Typed, ""))
	r.must(PauseChat{Chat: All})
	require.NoError(t, r.report(d.ID, message.Held, message.TmuxRefused))
	want := []string{"queued", "typed", "held: pane changed while we looked", "held: everything is stopped"}
	assert.Equal(t, want, r.states(d.ID))
	r.restart(0)
	require.NoError(t, r.report(d.ID, message.Held, message.TmuxRefused))
	assert.ErrorIs(t, r.report(d.ID, message.Typed, ""), ErrStopped)
	r.must(ResumeChat{Chat: All, Sure: true})
	require.Len(t, r.out, 2)
	assert.False(t, r.out[1].Typed)
	r.submit(r.out[1])

	// So does a delivery that was queued when another run began, if that was written down.
	one := SavedDelivery{Delivery: message.Delivery{ID: r.id(), Target: r.book.Sessions[0].ID, Form: message.Form{Head: "[x] (0):"}}, Last: message.Receipt{State: message.Queued}}
	again := newRig(t)
	_, _ = again.step(Restored{Stopped: true, Peers: []SavedPeer{{Peer: r.book.Sessions[0]}}, Deliveries: []SavedDelivery{one}})
	assert.Equal(t, []string{"held: everything is stopped"}, again.states(one.Delivery.ID))
	assert.Empty(t, again.out)
}

// What holds a delivery is restored, whatever its reason says.
func TestRestore_held(t *testing.T) {
	for reason, c := range map[message.Reason]struct {
		hold  message.Hold
		state string // after the restart, "" if as before
		goes  bool   // on resume
	}{
		message.AgentWorking:          {"", "queued", false},
		message.InComposer:            {"", "queued", false},
		message.TmuxSilent:            {"", "queued", false},
		message.AgentGone:             {"", "queued", false},
		"a dialog or a panel is open": {"", "queued", false},
		message.AtDepthLimit:          {message.HoldLimit, "", true},
		message.AtRateLimit:           {message.HoldLimit, "", true},
		message.AtByteLimit:           {message.HoldLimit, "", true},
		message.Stopped:               {message.HoldPause, "", true},
		"of no meaning":               {message.HoldLimit, "", true},
	} {
		t.Run(string(reason), func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a")[0]
			r.must(Send{To: "a", Message: message.Envelope{Body: "x"}})
			d := r.out[0]
			require.NoError(t, r.report(d.ID, message.Held, reason))
			held := r.book.Last[d.ID]
			held.Hold = c.hold
			r.book.Last[d.ID] = held
			r.restart(0)
			want := []string{"queued", "held: " + string(reason)}
			if c.state != "" {
				want = append(want, c.state)
			}
			assert.Equal(t, want, r.states(d.ID))
			assert.Len(t, r.out, map[bool]int{true: 1, false: 0}[c.state != ""])
			assert.Equal(t, 1, r.s.present(s.ID).waiting)
			before := len(r.out)
			r.must(ResumeChat{Chat: All, Sure: true})
			assert.Equal(t, c.goes, len(r.out) > before)
		})
	}
}

// A policy whose reason reads like one of the sidecar's still holds, also after a restart.
func TestRestore_policyHoldsWhateverItSays(t *testing.T) {
	r := newRig(t)
	r.adopt("a")
	r.async = true
	_, _ = r.ask(Send{To: "a", Message: message.Envelope{Body: "x"}})
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbHold, Reason: string(message.AgentWorking)}}})
	r.restart(0)
	r.must(ResumeChat{Chat: All, Sure: true})
	assert.Empty(t, r.out)
}

// What was paused or stopped stays so, and what it held goes out on a person's word.
func TestRestore_pausedAndStopped(t *testing.T) {
	for _, ref := range []string{"pair", All} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		r.must(StartChat{Peers: []string{"a", "b"}, Name: "pair"})
		held := r.say(s[0], "held")[0]
		r.must(Send{To: "c", Message: message.Envelope{Body: "single"}})
		r.must(PauseChat{Chat: ref})
		meanwhile := r.say(s[0], "meanwhile")
		require.Empty(t, meanwhile)
		commits := len(r.commits)

		r.restart(0)
		assert.Len(t, r.commits, commits, "nothing has changed")
		assert.Len(t, r.out, map[string]int{"pair": 1, All: 0}[ref])
		if ref == All {
			_, err := r.ask(StartChat{Peers: []string{"c", "a"}})
			require.Error(t, err)
			_, err = r.ask(ResumeChat{Chat: "pair"})
			require.ErrorIs(t, err, ErrStopped)
			assert.Equal(t, message.Stopped, r.must(Send{To: "c", Message: message.Envelope{Body: "y"}}).Receipts[0].Reason)
		}
		before := len(r.out)
		r.must(ResumeChat{Chat: ref, Sure: true})
		var bodies []string
		for _, d := range r.out[before:] {
			bodies = append(bodies, d.Message.Body)
		}
		assert.Equal(t, map[string][]string{"pair": {"held", "meanwhile"}, All: {"held", "single", "meanwhile", "y"}}[ref], bodies)
		assert.Zero(t, r.out[before].Message.Depth)
		assert.Equal(t, held.ID, r.out[before].ID)
		r.restart(0)
		assert.NoError(t, func() error { _, err := r.ask(ResumeChat{Chat: "all"}); return err }())
		assert.False(t, r.s.stopped)
	}
}

// A message that was undecided when the sidecar died is decided now, once, in its order.
func TestRestore_undecided(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b")
	r.async = true
	r.say(s[0], "one")
	r.say(s[1], "two")
	_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[2].ID}, To: "a", Message: message.Envelope{Body: "single", Type: message.KindTurn, Chat: c.ID}})
	_, _ = r.ask(Say{Chat: string(c.ID), Body: "person"})
	asked := r.pending

	r.restart(0)
	assert.Equal(t, asked, r.pending)
	for i := len(asked) - 1; i >= 0; i-- {
		_, _ = r.step(Decided{message.Verdict{Message: asked[i], Decision: message.Decision{Verb: message.VerbDeliver}}})
	}
	var texts []string
	for _, d := range r.out {
		texts = append(texts, text(d))
	}
	assert.Equal(t, []string{
		"AI[local:" + string(s[2].ID) + "] | single",
		"[a] (1):\n\none", "[b] (2):\n\ntwo", "[person] (0):\n\nperson", "[person] (0):\n\nperson",
	}, texts, "a single message is none of the chat that it names")
	_, _ = r.step(Spoke{Turn: message.Turn{ID: asked[0], Peer: s[0].ID, Words: "one", Ended: r.now}})
	assert.Len(t, r.pending, len(asked), "the same turn once more")

	// Their chat ended before the verdict came.
	r.say(s[0], "late")
	_, _ = r.ask(Say{Chat: string(c.ID), To: []string{"a"}, Body: "late too"})
	late := r.pending[len(asked):]
	r.must(StopChat{Chat: string(c.ID)})
	ended := r.book.Chats[0]
	r.restart(0)
	for _, id := range late {
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}})
	}
	assert.Len(t, r.out, 1, "the single one waits still")
	last := r.commits[len(r.commits)-1].Receipts
	assert.Equal(t, "failed: chat ended", fmt.Sprintf("%s: %s", last[len(last)-1].State, last[len(last)-1].Reason))

	// A run that restores the ended chat also reports what became of the turn.
	again := newRig(t)
	m := message.Envelope{ID: r.id(), Chat: ended.ID, From: message.Address{Peer: s[0].ID}, Type: message.KindTurn, Body: "x", Origin: message.OriginAgent}
	_, _ = again.step(Restored{
		Peers: []SavedPeer{{Peer: s[0]}, {Peer: s[1]}}, Chats: []SavedChat{{Chat: ended}}, Undecided: []message.Envelope{m},
	})
	require.Len(t, again.made, 1)
	for id := range again.made {
		assert.Equal(t, []string{"queued", "failed: chat ended"}, again.states(id))
	}
}

// The outcome of an undecided message is reported even if no recipient is there any more.
func TestRestore_undecidedForThoseWhoHaveGone(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{}, "a", "b")
	r.async = true
	_, _ = r.ask(Send{To: "c", Message: message.Envelope{Body: "single"}})
	r.say(s[0], "turn")
	_, _ = r.step(Gone{Peer: s[2].ID, Reason: message.AgentGone})
	asked := r.pending
	r.restart(9) // the others have gone too, and so has their chat
	r.restart(9)
	assert.Empty(t, r.s.Snapshot().Peers())
	for _, id := range asked {
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}})
	}
	assert.Empty(t, r.out)
	require.Len(t, r.made, 2)
	for id, d := range r.made {
		want := map[message.ID][]string{s[2].ID: {"failed: agent gone"}, s[1].ID: {"queued", "held: agent gone"}}[d.Target]
		assert.Equal(t, want, r.states(id))
	}
}

// After a change of the tmux server the chats have ended, nothing is typed, and their participants
// are known.
func TestRestore_anotherServer(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	here := message.Peer{ID: r.id(), Name: "here", PaneOf: message.PaneOf{Pane: "%90", Server: message.Process{PID: 7, Name: "tmux"}}}
	there := message.Peer{ID: r.id(), Name: "there", PaneOf: message.PaneOf{Pane: "%91", Server: message.Process{PID: 7}}}
	for _, one := range []message.Peer{here, there} {
		_, err := r.step(Adopted{Token: 1, Peer: one})
		require.NoError(t, err)
	}
	old := r.chat(message.Limits{}, "a", "b", "c")
	goes := r.chat(message.Limits{}, "here", "there")
	waits := r.say(s[0], "waits")[0]
	typed := r.say(s[0], "typed")[0]
	require.NoError(t, r.report(typed.ID, message.Typed, ""))
	sent := r.say(s[1], "sent")[0]
	r.submit(sent)
	r.must(Send{To: "c", Message: message.Envelope{Body: "single"}})
	single := r.out[len(r.out)-1]
	other := r.say(here, "other")[0]
	r.async = true
	r.say(s[2], "undecided")
	r.async = false
	_, _ = r.step(PaneLocked{Peer: s[1].ID, Why: message.OursInComposer, Lost: typed.ID})

	r.restart(7)
	assert.Equal(t, []message.ID{other.ID}, handedIDs(r.out), "nothing else is typed")
	assert.Equal(t, message.ChatOn, r.shows(goes.ID).State)
	ended := r.shows(old.ID)
	assert.Equal(t, message.ChatOver, ended.State)
	assert.Equal(t, "tmux server ended", ended.Why)
	assert.NotNil(t, ended.Ended)
	for _, p := range ended.Participants {
		assert.False(t, p.Left, "the chat can be taken up again")
	}
	assert.Equal(t, []string{"queued", "held: agent gone"}, r.states(waits.ID))
	assert.Equal(t, []string{"queued", "typed", "uncertain: agent gone"}, r.states(typed.ID))
	assert.Equal(t, []string{"queued", "failed: agent gone"}, r.states(single.ID))
	assert.Contains(t, r.notices[len(r.notices)-1], "tmux server ended")
	for _, one := range s {
		gone, _ := r.s.Snapshot().Peer(one.ID)
		assert.Equal(t, "tmux server ended", gone.EndReason)
		assert.Empty(t, gone.Closed)
		assert.Empty(t, gone.Lost)
	}
	undecided := 0
	for id, d := range r.made {
		if d.Message.Body == "undecided" {
			undecided++
			assert.Equal(t, []string{"queued", "held: agent gone"}, r.states(id))
		}
	}
	assert.Equal(t, 2, undecided)
	assert.Len(t, r.s.under, 1)

	commits := len(r.commits)
	again := r.restart(7)
	assert.Len(t, again.Deliveries, 6+1, "kept: what agents that have gone did not hear")
	assert.Len(t, r.commits, commits, "and left as it is")
	assert.Equal(t, []message.ID{other.ID}, handedIDs(r.out))
}

// A pane may hold for any reason, and a policy with any words: the decision distinguishes the two
// in the next run.
func TestRestore_whoseReasonItIs(t *testing.T) {
	for _, why := range []message.Reason{"a dialog or a panel is open", message.SomebodyTypes, message.Paused, message.AgentGone} {
		r := newRig(t)
		r.async = true
		s := r.adopt("a", "b")
		for _, v := range []message.Verdict{{Decision: message.Decision{Verb: message.VerbDeliver}}, {Decision: message.Decision{Verb: message.VerbHold, Reason: string(why)}}} {
			_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}})
			r.decide(v)
		}
		d := r.all("x")
		if why != message.Paused && why != message.AgentGone { // these two are the relay's own reasons
			require.NoError(t, r.report(d[0].ID, message.Held, why))
		}
		r.restart(0)
		assert.Equal(t, []message.ID{d[0].ID}, handedIDs(r.out), why)
		r.must(ResumeChat{Chat: All, Sure: true})
		assert.Len(t, r.out, 1, why)
		r.must(DecideHeld{Message: d[1].Message.ID, Verb: message.VerbDeliver})
		assert.Len(t, r.out, 2, why)
	}
}

// A session that came back under its old id does not hear what its former stay missed.
func TestRestore_heldForAFormerStay(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{}, "a", "b", "c")
	missed := r.say(s[0], "missed")[0]
	_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone})
	_, err := r.step(Adopted{Token: 1, Peer: s[1]})
	require.NoError(t, err)
	r.restart(0)
	assert.NotContains(t, handedIDs(r.out), missed.ID)
	assert.Equal(t, []string{"queued", "held: agent gone"}, r.states(missed.ID))
	assert.NotContains(t, r.s.under, missed.ID)
}

// Whatever the journal says, a restart is a step like any other: no panic, and nobody is left
// waiting for a peer that is not there.
func TestRestore_nonsense(t *testing.T) {
	r := newRig(t)
	s := message.Peer{ID: r.id(), Name: "a", PaneOf: message.PaneOf{Pane: "%1"}}
	left := func(target, chat message.ID, state message.ReceiptState, typed bool, reason message.Reason) SavedDelivery {
		return SavedDelivery{Delivery: message.Delivery{ID: r.id(), Target: target, Chat: chat, Typed: typed, Form: message.Form{Head: "[x] (1):"}}, Last: message.Receipt{State: state, Reason: reason}}
	}
	alone := message.Chat{ID: r.id(), State: message.ChatOn, Participants: []message.Participant{{Peer: s.ID}, {Peer: "x"}}}
	over := message.Chat{ID: r.id(), State: message.ChatOver}
	lefts := []SavedDelivery{
		left("x", "", message.Queued, false, ""),
		left("x", alone.ID, message.Queued, false, ""),
		left("x", alone.ID, message.Held, false, message.AgentGone),
		left("x", alone.ID, message.Held, true, message.OursInComposer),
		left(s.ID, over.ID, message.Queued, false, ""),
		left(s.ID, "unknown", message.Held, false, message.InComposer),
		left(s.ID, "unknown", message.Typed, false, ""),
		left(s.ID, "", message.Queued, true, ""),
		left(s.ID, "", message.Submitted, true, ""),
		left(s.ID, "", message.Answered, true, ""),
		left(s.ID, "", "", false, ""),
	}
	event := Restored{Peers: []SavedPeer{{Peer: s, Last: -3, Cause: -9}, {}}, Chats: []SavedChat{{Chat: alone, Taken: -1}, {Chat: over}}, Deliveries: lefts}
	for range 2 {
		_, _ = r.step(event)
	}
	for i, want := range []string{
		"failed: agent gone", "held: agent gone", "", "uncertain: agent gone", "failed: chat ended", "failed: chat ended", "", "typed", "", "", "queued",
	} {
		got := r.states(lefts[i].Delivery.ID)
		if want == "" {
			assert.Empty(t, got, i)
		} else {
			assert.Equal(t, want, got[0], i)
		}
	}
	assert.Equal(t, message.ChatOver, r.shows(alone.ID).State)
	assert.Equal(t, "agent gone", r.shows(alone.ID).Why)
	assert.ErrorIs(t, r.report(lefts[6].Delivery.ID, message.Typed, ""), ErrEnded)
	require.NoError(t, r.report(lefts[7].Delivery.ID, message.Submitted, ""))
	assert.Equal(t, 1, r.s.present(s.ID).last)
	assert.Equal(t, 0, r.s.present(s.ID).cause, "but for what was just typed")
}

// A session has the same depth in the next run as in this one, whether its words became a message
// or not.
func TestRestore_depth(t *testing.T) {
	said := func(r *rig, s message.Peer, turn message.Turn) {
		r.now = r.now.Add(time.Second)
		turn.ID, turn.Peer, turn.Ended = r.id(), s.ID, r.now
		_, _ = r.step(Spoke{Turn: turn})
	}
	for name, does := range map[string]func(r *rig, s []message.Peer, given, more message.ID){
		"outside of chats": func(r *rig, s []message.Peer, given, more message.ID) {
			said(r, s[1], message.Turn{Words: "done", Answers: []message.ID{given, more}})
		},
		"cut short": func(r *rig, s []message.Peer, given, more message.ID) {
			said(r, s[1], message.Turn{Words: "do", Cut: message.Interrupted, Answers: []message.ID{given, more}})
		},
		"late": func(r *rig, s []message.Peer, given, _ message.ID) {
			said(r, s[1], message.Turn{Words: "done", Late: true, Answers: []message.ID{given}})
		},
		"late in a chat": func(r *rig, s []message.Peer, given, _ message.ID) {
			r.chat(message.Limits{}, "b", "c")
			said(r, s[1], message.Turn{Words: "done", Late: true, Answers: []message.ID{given}})
		},
		"for a person": func(r *rig, s []message.Peer, _, _ message.ID) {
			said(r, s[1], message.Turn{Words: "done", Person: true})
		},
		"twice": func(r *rig, s []message.Peer, given, more message.ID) {
			said(r, s[1], message.Turn{Words: "done", Answers: []message.ID{given}})
			said(r, s[1], message.Turn{Words: "and more", Answers: []message.ID{more}})
		},
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		r.s.present(s[0].ID).last = 7
		given, more := r.sends(s[0], s[1], "given"), r.sends(s[0], s[1], "more")
		r.submit(given, more)
		does(r, s, given.ID, more.ID)
		was := *r.s.present(s[1].ID)
		r.restart(0)
		now := r.s.present(s[1].ID)
		assert.Equal(t, []int{was.last, was.cause}, []int{now.last, now.cause}, name)
	}
}

// The reason why a pane is closed is written down, and restored.
func TestClosed(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a")[0]
	commits := len(r.commits)
	for range 2 {
		_, _ = r.step(PaneLocked{Peer: s.ID, Why: message.OursInComposer, Lost: "lost"})
	}
	require.Len(t, r.commits, commits+1, "a change only")
	require.Len(t, r.commits[commits].Peers, 1)
	assert.Equal(t, message.OursInComposer, r.commits[commits].Peers[0].Closed)
	assert.Equal(t, message.ID("lost"), r.commits[commits].Peers[0].Lost)
	assert.Empty(t, r.last)

	again := s
	a, err := r.step(Adopted{Token: 1, Peer: again})
	require.NoError(t, err)
	assert.Equal(t, message.OursInComposer, a.Peer.Closed, "brought up to date, not opened")
	r.restart(0)
	got, _ := r.s.Snapshot().Peer(s.ID)
	assert.Equal(t, message.OursInComposer, got.Closed)
	assert.Equal(t, message.ID("lost"), got.Lost)

	_, _ = r.step(PaneLocked{Peer: s.ID, Lost: "nonsense"})
	got, _ = r.s.Snapshot().Peer(s.ID)
	assert.Empty(t, got.Closed)
	assert.Empty(t, got.Lost)
	_, _ = r.step(PaneLocked{Peer: s.ID, Why: message.NotEmpty})
	for _, ahead := range []bool{true, false} { // the same reason, but another line: the next run must know which it was
		_, _ = r.step(PaneLocked{Peer: s.ID, Why: message.NotEmpty, Draft: &message.Place{Row: 3, Ahead: ahead}})
		got, _ = r.s.Snapshot().Peer(s.ID)
		require.NotNil(t, got.Draft)
		assert.Equal(t, ahead, got.Draft.Ahead)
	}
	_, _ = r.step(Gone{Peer: s.ID, Reason: message.AgentGone})
	_, _ = r.step(PaneLocked{Peer: s.ID, Why: message.NotEmpty})
	again.Closed = message.NotEmpty
	a, err = r.step(Adopted{Token: 1, Peer: again})
	require.NoError(t, err)
	assert.Empty(t, a.Peer.Closed, "a fresh adoption")
	assert.Empty(t, r.book.Sessions[0].Closed)
}

// A program that shows itself at the moment when its session is ended does not bring the session
// back, nor its name.
func TestAdopted_knownAndGone(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a")[0]
	s.Starting = false
	_, err := r.step(Adopted{Token: 1, Peer: s, Known: true})
	require.NoError(t, err)
	_, _ = r.step(Gone{Peer: s.ID, Reason: message.AgentGone})
	_, err = r.step(Adopted{Token: 2, Peer: s, Known: true})
	require.ErrorIs(t, err, ErrGone)
	_, err = r.s.Snapshot().Find("a")
	require.Error(t, err)
}
