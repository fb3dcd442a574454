package policyset

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// The cost of a question with its verdict, while two peers become busy or idle between questions.
func BenchmarkDecide(b *testing.B) {
	for _, peers := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("peers=", peers), func(b *testing.B) {
			r := newRig(b)
			r.save("init.lua", `intercom.on("decide", function(msg, ctx)
  local to = ctx.agent(msg.to)
  if to and ctx.agent("peer3") then return intercom.deliver { reason = to.state } end
end)`)
			r.begin()
			q := question("hello")
			all := q.Snapshot.Peers()
			for i := range peers - len(all) {
				all = append(all, message.Peer{
					ID: message.NewID(), Name: fmt.Sprint("peer", i), Computer: message.LocalComputer, State: message.Idle, PaneOf: message.PaneOf{Pane: fmt.Sprintf("%%%d", i), Profile: "claude"},
				})
			}
			q.Snapshot = registry.New(all, []message.Chat{*q.Chat})
			for i := 0; b.Loop(); i++ {
				state := []message.PaneState{message.Working, message.Idle}[i%2]
				ben, other := all[1], all[(i/2)%peers]
				ben.State, other.State = state, state
				q.Snapshot = q.Snapshot.With([]message.Peer{other, ben}, nil)
				v, err := r.Decide(b.Context(), q)
				require.NoError(b, err)
				require.Equal(b, string(state), v.For("id-Ben").Reason)
			}
		})
	}
}

// Scripts see the current state of peers outside of chats, even if only the place where they work has changed, and
// after another set came into use.
func TestDecide_whoIsBesideAChat(t *testing.T) {
	r := newRig(t)
	script := `intercom.on("decide", function(msg, ctx)
  local dan = ctx.agent("Dan")
  return intercom.deliver { reason = dan and dan.state .. " " .. dan.repository or "gone" }
end)`
	r.save("init.lua", script)
	r.begin()
	q := question("hello")
	says := func(want string) {
		t.Helper()
		v, err := r.Decide(t.Context(), q)
		require.NoError(t, err)
		assert.Equal(t, want, v.For("id-Ben").Reason)
	}
	says("idle ")
	before := q.Snapshot
	dan, _ := q.Snapshot.Peer("id-Dan")
	dan.State = message.Working
	q.Snapshot = q.Snapshot.With([]message.Peer{dan}, nil)
	says("working ")

	r.mu.Lock()
	r.places["id-Dan"] = Workplace{Repository: "/src/shop"}
	r.mu.Unlock()
	r.Live.look()
	says("working /src/shop")
	r.save("init.lua", script+" -- another")
	r.within(time.Minute, "it is in use", func() bool {
		was := r.Status().Generation
		r.changed(t.Context())
		return r.Status().Generation != was
	})
	says("working /src/shop")
	now := q.Snapshot
	q.Snapshot = before
	says("idle /src/shop")
	q.Snapshot = now.Without([]message.ID{"id-Dan"}, nil)
	says("gone")
}

// A script sees the number of a talk port.
func TestAgentOf_port(t *testing.T) {
	assert.Equal(t, 9001, agentOf(message.Peer{Kind: message.PeerPort, Key: "9001", Name: "tool"}, nil).Port)
	assert.Zero(t, agentOf(message.Peer{Key: "9001", Name: "Ada"}, nil).Port)
}
