package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What a peer takes by itself is nobody's word that it has read it: that is told afterwards, once.
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
