package daemon_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// gathering is a chat under policies, of programs that speak only when a test tells them to.
type gathering struct {
	*rig
	chat   message.Chat
	agents map[string]*agent
	heard  map[string]int

	barriers int
}

// gather starts a chat of agents with these names under a shipped example; roles are NAME=ROLE.
func gather(t *testing.T, example string, names []string, roles ...string) *gathering {
	t.Helper()
	source, ok := policies.Example(example)
	require.True(t, ok)
	r := newRig(t, files("policies/50-"+source.Name, source.Text), func(cfg *daemon.Config) { cfg.Policies.Shipped = policies.Shipped() })
	require.Empty(t, r.policies().Error)
	g := &gathering{rig: r, agents: map[string]*agent{}, heard: map[string]int{}}
	req := api.StartChatRequest{Roles: map[string]string{}}
	for _, name := range names {
		g.agents[name] = r.adopted(name, "--bracketed", "--reply", "none")
		req.Panes = append(req.Panes, g.agents[name].pane)
	}
	for _, pair := range roles {
		name, role, _ := strings.Cut(pair, "=")
		req.Roles[g.agents[name].pane] = role
	}
	var err error
	g.chat, err = r.client.StartChat(t.Context(), req)
	require.NoError(t, err)
	return g
}

// says lets one of the agents say something, or a person if from is empty, and waits until each agent in to has
// heard the words.
func (g *gathering) says(from, words string, to ...string) {
	g.t.Helper()
	if from == "" {
		g.rig.say(g.chat, words)
	} else {
		g.agents[from].do(":say %s", words)
	}
	if len(to) == 0 { // everybody hears a person's words next: by then these were taken
		g.barriers++
		g.says("", fmt.Sprint("noted ", g.barriers), slices.Collect(maps.Keys(g.agents))...)
	}
	for _, name := range to {
		g.heard[name]++
		g.waitFor(name+" hears "+words, func() bool {
			received := g.agents[name].received()
			return len(received) == g.heard[name] && strings.HasSuffix(received[len(received)-1], ":\n\n"+words)
		})
	}
}

// onlyThose checks that nobody has heard anything besides what says waited for.
func (g *gathering) onlyThose() {
	g.t.Helper()
	g.says("", "that is all", slices.Collect(maps.Keys(g.agents))...) // comes after anything that is still on its way
	for name, a := range g.agents {
		assert.Len(g.t, a.received(), g.heard[name], "what %s heard: %q", name, a.received())
	}
}

// Under the talking-stick policy, only the participant with the floor is heard, unless it is muted. The floor
// passes to the next one in order, or to the one that an agent or a person names. A harvester hears everything and
// is never heard. A participant that joins gets a turn, and one that leaves loses its turn. The others keep their
// numbers, names and roles.
func TestR32_L4_C24_TalkingStick(t *testing.T) {
	t.Parallel()
	g := gather(t, "talking-stick", []string{"Ada", "Ben", "Cyd", "Har"}, "Har=harvester")
	floor := func(name string) {
		g.waitFor(name+" has the floor", func() bool { return slices.Equal(g.current(g.chat).Floor, []message.ID{g.agents[name].session.ID}) })
	}
	present := func() (all []string) {
		for _, p := range g.current(g.chat).Participants {
			if !p.Left {
				all = append(all, strings.TrimSpace(fmt.Sprintf("%s %d %s", p.Name, p.Number, p.Role)))
			}
		}
		return all
	}
	mute := func(name string, off bool) {
		_, err := g.client.MuteMember(t.Context(), api.MemberRequest{Chat: string(g.chat.ID), Pane: g.agents[name].pane, Off: off})
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"Ada 1", "Ben 2", "Cyd 3", "Har 4 harvester"}, present())
	g.says("Har", "I gather")
	g.says("Ada", "one", "Ben", "Cyd", "Har")
	floor("Ben")
	g.says("Ada", "again")
	g.says("Cyd", "may I")
	g.says("Ben", "I pass to Ada", "Ada", "Cyd", "Har")
	floor("Ada")
	g.says("Ada", "to the next", "Ben", "Cyd", "Har")
	floor("Ben")
	g.says("Ben", "and on", "Ada", "Cyd", "Har")
	floor("Cyd")
	g.says("Cyd", "round", "Ada", "Ben", "Har")
	floor("Ada")
	g.says("", "I pass to Ben", "Ada", "Ben", "Cyd", "Har")
	floor("Ben")
	g.says("Ada", "no more")
	eve := g.adopted("Eve", "--bracketed", "--reply", "none")
	_, err := g.client.AddMember(t.Context(), api.MemberRequest{Chat: string(g.chat.ID), Pane: eve.pane, Role: "scribe"})
	require.NoError(t, err)
	g.agents["Eve"] = eve
	_, err = g.client.RemoveMember(t.Context(), api.MemberRequest{Chat: string(g.chat.ID), Pane: g.agents["Ben"].pane})
	require.NoError(t, err)
	delete(g.agents, "Ben")
	assert.Equal(t, []string{"Ada 1", "Cyd 3", "Har 4 harvester", "Eve 5 scribe"}, present())
	g.says("Cyd", "who has it", "Ada", "Har", "Eve")
	floor("Eve")
	mute("Eve", false)
	g.says("Eve", "unheard")
	mute("Eve", true)
	g.says("Eve", "it is mine", "Ada", "Cyd", "Har")
	floor("Ada")
	g.onlyThose()
}

func TestL4_HubAndSpoke(t *testing.T) {
	t.Parallel()
	inTheTable(t, "../policies/examples_test.go: TestL4_hubAndSpoke")
	g := gather(t, "hub-and-spoke", []string{"Ada", "Ben", "Cyd"}, "Ben=hub")
	g.says("Ada", "for the hub", "Ben")
	g.says("Cyd", "for it too", "Ben")
	g.says("Ben", "for all", "Ada", "Cyd")
	g.says("Ben", "To Cyd: for one", "Cyd")
	g.says("", "hello", "Ada", "Ben", "Cyd")
	g.onlyThose()
}

func TestL4_ReviewerGate(t *testing.T) {
	t.Parallel()
	g := gather(t, "reviewer-gate", []string{"Ada", "Ben", "Cyd"}, "Ben=reviewer")
	g.says("Ada", "my plan", "Ben")
	g.says("Ben", "APPROVED, go on", "Ada", "Cyd")
	require.NoError(t, g.end()) // the policy's memory is on disk
	g.start()
	g.says("Ada", "the plan", "Ben", "Cyd")
	g.says("Ada", "another", "Ben")
	g.onlyThose()
}

// A message that a policy acknowledges or bounces reaches nobody, and its author gets a notice with the policy's
// text. If a policy drops a message, nobody is told.
func TestL5_AnsweredByThePolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("policies/10-answers.lua", `intercom.rule("noted", { body = "fyi" }, intercom.ack { text = "thank you" })
intercom.rule("not now", { body = "busy" }, intercom.bounce { text = "ask again at nine" })
intercom.rule("noise", { body = "noise" }, intercom.drop { reason = "noise" })`))
	a, b := r.adopted("Ada", "--bracketed", "--reply", "none"), r.adopted("Ben", "--bracketed", "--reply", "none")
	for i, c := range []struct{ words, told string }{{"fyi: it is done", "thank you"}, {"are you busy", "ask again at nine"}} {
		a.sends(b, c.words)
		r.waitFor(c.told, func() bool { return len(a.received()) == i+1 })
		assert.Contains(t, a.received()[i], "[notice] ")
		assert.Contains(t, a.received()[i], c.told)
	}
	assert.Len(t, r.standing(message.Failed, message.Acknowledged), 1)
	assert.Len(t, r.standing(message.Failed, message.Bounced), 1)
	a.sends(b, "noise")
	r.waitFor("it is dropped", func() bool { return len(r.standing(message.Failed, message.Dropped)) == 1 })
	a.sends(b, "the rest")
	r.waitFor("the rest arrives", func() bool { return len(b.received()) == 1 })
	assert.True(t, strings.HasSuffix(b.received()[0], "| the rest"), b.received()[0])
	assert.Len(t, a.received(), 2, "of what is dropped nobody is told")
}
