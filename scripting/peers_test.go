package scripting

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// seen is a script that reports the state of each peer named in a message.
const seen = `intercom.on("decide", function(msg, ctx)
  local all = {}
  for name in msg.body:gmatch("%S+") do
    local one = ctx.agent(name)
    all[#all + 1] = name .. "=" .. (one and one.state or "-")
  end
  return intercom.deliver { reason = table.concat(all, " ") }
end)`

// crowd returns n peers in pages of ten.
func crowd(n int) policy.Peers {
	var all policy.Peers
	for i := range n {
		if i%10 == 0 {
			all = append(all, nil)
		}
		one := policy.Agent{Address: message.Address{Peer: message.ID(fmt.Sprint("id", i)), Name: fmt.Sprint("p", i)}, State: "idle"}
		all[i/10] = append(all[i/10], one)
	}
	return all
}

// becomes returns the crowd with another state of peer n; "" removes the peer.
func becomes(all policy.Peers, n int, state string) policy.Peers {
	all = slices.Clone(all)
	page := slices.Clone(all[n/10])
	i := slices.IndexFunc(page, func(a policy.Agent) bool { return a.Address.Name == fmt.Sprint("p", n) })
	if state == "" {
		page = slices.Delete(page, i, i+1)
	} else {
		page[i].State = state
	}
	all[n/10] = page
	return all
}

// asked returns a question about names in a crowd, and the expected answer.
func asked(all policy.Peers, names ...string) (policy.Input, string) {
	in := said(strings.Join(names, " "))
	in.Agents, in.Others = in.Agents[:2], all
	var want []string
	for _, name := range names {
		state := "-"
		if a, ok := in.Agent(name); ok {
			state = a.State
		}
		want = append(want, name+"="+state)
	}
	return in, strings.Join(want, " ")
}

func TestPeers_aWorkerKnowsWhoIsThere(t *testing.T) {
	r := newRig(t, seen)
	check := func(all policy.Peers) {
		t.Helper()
		in, want := asked(all, "p3", "p17", "p24", "p25", "Ben", "Nobody")
		v, err := r.engine.Evaluate(t.Context(), in)
		require.NoError(t, err)
		assert.Equal(t, want, v.Outcomes[0].Reason)
	}
	one := crowd(25)
	two := becomes(becomes(one, 3, "working"), 17, "")
	for range 2 {
		check(one)
		check(two)
		check(two)
		check(nil)
		check(crowd(26))
		check(one) // a question that was asked before
		check(two)

		r.set.worker.kill() // the next question finds it dead, and another one is asked
		check(two)
		r.own(func(s *Set) { s.worker.kill(); s.worker = nil }) // and dies between questions
		r.started()
		check(one)
		r.own(func(s *Set) { s.deaths = nil })

		other, err := r.engine.Compile(t.Context(), files(seen, "-- another set"))
		require.NoError(t, err)
		previous := r.engine.Use(other)
		check(two)
		previous.Close()
		r.set = other
		check(one)
	}
}

// A message can be routed to a peer that is there; an unknown name gets no address.
func TestPeers_aRouteIsWhoIsThere(t *testing.T) {
	r := newRig(t, `intercom.on("route", function(msg) return { "p3", "Ben", "p99" } end)`)
	in, _ := asked(crowd(25))
	for range 2 {
		v := r.decided(in)
		require.Len(t, v.Outcomes, 3)
		assert.Equal(t, message.Address{Peer: "id3", Name: "p3"}, v.Outcomes[0].To)
		assert.Equal(t, message.Address{Peer: "s2", Name: "Ben", Number: 2}, v.Outcomes[1].To, "as in the chat")
		assert.Equal(t, message.Address{Name: "p99"}, v.Outcomes[2].To)
		in.Others = becomes(in.Others, 3, "working")
	}
	in.Others = becomes(in.Others, 3, "")
	assert.Equal(t, message.Address{Name: "p3"}, r.decided(in).Outcomes[0].To)

	v := policy.Verdict{Route: []string{"p3"}, Outcomes: []policy.Outcome{{To: message.Address{Peer: "id4", Name: "p4"}}}}
	assert.Error(t, addressed(in, v), "a worker that answers another one's address")
}

// Several questions at once each see the peers as they were when the question was asked, even while sets are exchanged.
func TestPeers_severalQuestionsAtOnce(t *testing.T) {
	r := newRig(t, seen)
	other, err := r.engine.Compile(t.Context(), files(seen))
	require.NoError(t, err)
	t.Cleanup(func() { r.engine.Use(r.set); other.Close() })
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			now := crowd(40)
			for i := range 12 {
				now = becomes(now, 10*n+i%10, fmt.Sprint("turn", i))
				in, want := asked(now, "p0", "p5", "p11", "p20", "p39", fmt.Sprint("p", 10*n+i%10))
				v, err := r.engine.Evaluate(t.Context(), in)
				if assert.NoError(t, err) {
					assert.Equal(t, want, v.Outcomes[0].Reason)
				}
				if n == 0 {
					r.engine.Use([]*Set{r.set, other}[i%2])
				}
			}
		})
	}
	all.Wait()
}
