package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// That a peer takes a message by itself does not prove that it has read it: that is reported
// afterwards, once.
func TestTake_whatBecomesOfIt(t *testing.T) {
	t.Parallel()
	taken := func(t *testing.T, more int) (*rig, message.Peer, []message.Delivery) {
		r := newRig(t)
		s := r.adopt("a", "b")
		for range 1 + more {
			r.sends(s[0], s[1], "hello")
		}
		a := r.must(Take{By: By{Kind: Agent, Peer: s[1].ID}})
		require.Len(t, a.Taken, 1+more)
		for _, d := range a.Taken {
			assert.Equal(t, []string{"queued", "typed"}, r.states(d.ID))
			assert.Equal(t, message.DoorMCP, r.receipts[d.ID][1].Door)
		}
		require.NotEmpty(t, r.cancel, "its pane has it no longer")
		assert.Empty(t, r.must(Take{By: By{Kind: Agent, Peer: s[1].ID}}).Taken, "it is taken once")
		r.out = nil
		return r, s[1], a.Taken
	}
	told := func(r *rig, who message.Peer, state message.ReceiptState, list ...message.Delivery) {
		r.must(Told{By: By{Kind: Agent, Peer: who.ID}, Deliveries: handedIDs(list), State: state})
	}

	t.Run("read", func(t *testing.T) {
		t.Parallel()
		r, b, list := taken(t, 1)
		require.ErrorIs(t, r.report(list[0].ID, message.Held, message.TmuxRefused), ErrNotOurs, "its sink, too late")
		told(r, b, message.Submitted, list...)
		told(r, b, message.Held, list...)
		told(r, b, message.Uncertain, list...)
		assert.Equal(t, []string{"queued", "typed", "submitted"}, r.states(list[0].ID))
		assert.Equal(t, []string{"queued", "typed", "submitted"}, r.states(list[1].ID))
		r.pass(time.Minute)
		assert.Empty(t, r.out)
	})
	t.Run("not read", func(t *testing.T) {
		t.Parallel()
		r, b, list := taken(t, 1)
		told(r, b, message.Held, list...)
		assert.Equal(t, []string{"queued", "typed", "held: its MCP client did not take what it asked for", "queued"}, r.states(list[0].ID))
		require.Equal(t, handedIDs(list), handedIDs(r.out), "typed after all, in their order")
		assert.False(t, r.out[0].Typed)
		assert.Empty(t, r.out[0].Door)
		r.submit(list...)
		assert.Equal(t, "submitted", r.states(list[0].ID)[6])
	})
	t.Run("nobody knows", func(t *testing.T) {
		t.Parallel()
		r, b, list := taken(t, 0)
		told(r, b, message.Uncertain, list...)
		assert.Equal(t, []string{"queued", "typed", "uncertain: its MCP client did not take what it asked for"}, r.states(list[0].ID))
		assert.Empty(t, r.out)
	})
	t.Run("another tells", func(t *testing.T) {
		t.Parallel()
		r, _, list := taken(t, 0)
		told(r, r.adopt("c")[0], message.Submitted, list...)
		assert.Equal(t, []string{"queued", "typed"}, r.states(list[0].ID))
	})
	t.Run("while all is stopped", func(t *testing.T) {
		t.Parallel()
		r, b, list := taken(t, 1)
		r.must(PauseChat{Chat: All})
		told(r, b, message.Held, list[0])
		assert.Equal(t, "held: "+string(message.Stopped), r.states(list[0].ID)[3])
		assert.Empty(t, r.out)
		r.must(ResumeChat{Chat: All})
		assert.Equal(t, handedIDs(list[:1]), handedIDs(r.out), "and that one alone: the other is still being read")
		told(r, b, message.Submitted, list[1])
		assert.Equal(t, []string{"queued", "typed", "submitted"}, r.states(list[1].ID))
	})
	t.Run("over a restart", func(t *testing.T) {
		t.Parallel()
		r, b, list := taken(t, 1)
		r.restart(0)
		require.Equal(t, handedIDs(list), handedIDs(r.out))
		assert.True(t, r.out[0].Typed, "its sink types it no more")
		assert.Equal(t, message.DoorMCP, r.out[0].Door)
		told(r, b, message.Held, list[1])
		assert.Equal(t, []string{"queued", "typed"}, r.states(list[1].ID), "as far as is known here")
		told(r, b, message.Submitted, list[0])
		assert.Equal(t, []string{"queued", "typed", "submitted"}, r.states(list[0].ID))
		require.Error(t, r.report(list[0].ID, message.Uncertain, message.NotRecorded))
		require.NoError(t, r.report(list[1].ID, message.Uncertain, message.NotRecorded))
	})
	t.Run("its session ends", func(t *testing.T) {
		t.Parallel()
		r, b, list := taken(t, 0)
		r.ends(b, message.AgentGone)
		assert.Equal(t, []string{"queued", "typed", "uncertain: agent gone"}, r.states(list[0].ID))
	})
	t.Run("its chat ends", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.adopt("a", "b")
		c := r.chat(message.Limits{}, "a", "b")
		r.say(s[0], "well?")
		list := r.must(Take{By: By{Kind: Agent, Peer: s[1].ID}}).Taken
		require.Len(t, list, 1)
		r.must(StopChat{Chat: string(c.ID)})
		told(r, s[1], message.Held, list...)
		got := r.states(list[0].ID)
		assert.Equal(t, "failed: "+string(message.ChatEnded), got[len(got)-1])
	})
}

// A message that a peer took by itself is answered by the turn in which it did so, although its
// pane knows nothing of it: the sender is told once that the peer stopped, and nobody is asked
// whether it is still at work.
func TestTake_aTurnAnswersIt(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(r *rig){"in this run": func(*rig) {}, "over a restart": func(r *rig) { r.restart(0) }} {
		for _, cut := range []message.Reason{"", message.Interrupted} {
			r := newRig(t)
			s := r.adopt("a", "b")
			d := r.sends(s[0], s[1], "hello")
			before := r.now.Add(-time.Second)
			list := r.must(Take{By: By{Kind: Agent, Peer: s[1].ID}}).Taken
			r.must(Told{By: By{Kind: Agent, Peer: s[1].ID}, Deliveries: handedIDs(list), State: message.Submitted})
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Words: "of before", Ended: before}})
			assert.Equal(t, []string{"queued", "typed", "submitted"}, r.states(d.ID), "%s: it had ended before that", name)
			after(r)
			want, end := notice(s[1], "turn ended"), "answered"
			if cut != "" {
				want, end = notice(s[1], string(cut)+"; your message was not answered"), "failed: "+string(cut)
			}
			assert.Equal(t, map[message.ID]string{s[0].ID: want}, r.stops(s[1], cut), name)
			assert.Equal(t, end, r.states(d.ID)[3], name)
			n := len(r.out)
			r.pass(time.Hour)
			assert.Len(t, r.out, n, name)
		}
	}
}

// A question beside a chat that its agent took by itself is answered there, and not in that chat.
func TestTake_aQuestionBesideAChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.adopt("ada", "ben", "cyd")
	r.say(s[0], "what I found")
	main := r.chat(message.Limits{}, "ben", "cyd")
	q, _ := r.question("ada", "ben", "is it so?")
	list := r.must(Take{By: By{Kind: Agent, Peer: s[1].ID}}).Taken
	require.Len(t, list, 2)
	r.must(Told{By: By{Kind: Agent, Peer: s[1].ID}, Deliveries: handedIDs(list), State: message.Submitted})
	back := r.say(s[1], "so it is")
	assert.Equal(t, []string{"ada < [ben] (2):\n\nso it is"}, r.words(back))
	r.submit(back...)
	assert.Equal(t, message.ChatOver, r.shows(q.ID).State)
	assert.Equal(t, message.ChatOn, r.shows(main.ID).State)
}

// A message that was taken and not read is typed before what came after it, although that waits at
// the pane already.
func TestTake_notReadKeepsItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	by := By{Kind: Agent, Peer: s[1].ID}
	first, second := r.sends(s[0], s[1], "first"), r.sends(s[0], s[1], "second")
	require.Len(t, r.must(Take{By: by}).Taken, 2)
	later, held := r.sends(s[0], s[1], "later"), r.sends(s[2], s[1], "of another")
	require.NoError(t, r.report(held.ID, message.Held, message.AgentWorking))
	r.must(Told{By: by, Deliveries: []message.ID{second.ID}, State: message.Submitted})
	r.out, r.cancel = nil, nil
	r.must(Told{By: by, Deliveries: []message.ID{first.ID}, State: message.Held})
	assert.Equal(t, []message.ID{first.ID, later.ID, held.ID}, handedIDs(r.out))
	require.Len(t, r.cancel, 1)
	assert.Equal(t, []message.ID{later.ID, held.ID}, r.cancel[0].IDs, "its pane had them before")
	assert.Equal(t, []string{"queued"}, r.states(later.ID))
	assert.Equal(t, []string{"queued", "held: agent working", "queued"}, r.states(held.ID))
	r.submit(r.out...)
}
