package policies_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// All spokes speak to the hub, and the hub speaks to all, or to the one that it names.
func TestL4_hubAndSpoke(t *testing.T) {
	c := newChat(t, "hub-and-spoke", "Ada", "Ben=hub", "Cyd", "Dee")
	c.hears("Ada", "done", "Ben")
	c.hears("Ben", "Good. What next?", "Ada", "Cyd", "Dee")
	c.hears("Cyd", "To Ada: psst", "Ben")
	c.hears("Ben", "To Dee: look at the tests.", "Dee")
	c.hears("Ben", "To Eve: hello", "Ada", "Cyd", "Dee")
	c.hears("Ben", "To Ben: note", "Ada", "Cyd", "Dee")
	c.hears("a person", "stop", "Ada", "Ben", "Cyd", "Dee")

	c = newChat(t, "hub-and-spoke", "Ada", "Ben", "Cyd") // without a role the first is the hub
	c.hears("Cyd", "done", "Ada")
	c.hears("Ada", "go on", "Ben", "Cyd")
}

// Messages go to the reviewer alone until the reviewer approves; then one goes to all.
func TestL4_reviewerGate(t *testing.T) {
	c := newChat(t, "reviewer-gate", "Ada", "Ben=reviewer", "Cyd")
	c.hears("Ada", "Here is the patch.", "Ben")
	c.hears("Ben", "I have not APPROVED it: the test is missing.", "Ada", "Cyd")
	c.hears("Ada", "Here it is again.", "Ben")
	c.hears("Ben", "Looks good.\nAPPROVED", "Ada", "Cyd")
	c.hears("Ada", "The patch, for all of you.", "Ben", "Cyd")
	c.hears("Ada", "And more.", "Ben")
	c.hears("Ben", "APPROVED", "Ada", "Cyd")
	c.hears("Ben", "REJECTED, after all", "Ada", "Cyd")
	c.hears("Cyd", "what now?", "Ben")
	c.hears("a person", "go on", "Ada", "Ben", "Cyd")

	c = newChat(t, "reviewer-gate", "Ada", "Ben")
	c.hears("Ada", "nobody reviews here", "Ben")
}

// The stick goes round, or to the one that its holder names; the harvester hears and is not heard.
func TestL4_talkingStick(t *testing.T) {
	c := newChat(t, "talking-stick", "Ada", "Ben", "Cyd", "Hal=harvester")
	c.hears("Hal", "I begin.")
	assert.Nil(t, c.floor)
	c.hears("Ben", "I begin.", "Ada", "Cyd", "Hal")
	assert.Equal(t, []string{"Cyd"}, c.floor, "the next in the order of the numbers")
	c.hears("Ada", "But I …")
	c.hears("Hal", "So far: nothing.")
	assert.Equal(t, []string{"Cyd"}, c.floor, "who does not have it passes nothing on")
	c.hears("Cyd", "My words.", "Ada", "Ben", "Hal")
	assert.Equal(t, []string{"Ada"}, c.floor, "round")
	c.hears("Ada", "I pass to cyd.", "Ben", "Cyd", "Hal")
	assert.Equal(t, []string{"Cyd"}, c.floor)
	c.hears("Cyd", "I pass to Hal", "Ada", "Ben", "Hal")
	assert.Equal(t, []string{"Ada"}, c.floor, "the harvester never has it")
	c.hears("Ben", "I pass to Ben")
	assert.Equal(t, []string{"Ada"}, c.floor)
	c.hears("a person", "I pass the stick to Ben.", "Ada", "Ben", "Cyd", "Hal")
	assert.Equal(t, []string{"Ben"}, c.floor)

	// The holder has left: the first to speak gets the stick.
	c.names = []string{"Ada", "Cyd", "Hal"}
	c.hears("Cyd", "And now?", "Ada", "Hal")
	assert.Equal(t, []string{"Ada"}, c.floor)

	out := c.said("Cyd", "not me")
	require.Len(t, out.Outcomes, 2)
	assert.Equal(t, message.VerbDrop, out.Outcomes[0].Verb)
	assert.Equal(t, "does not have the stick", out.Outcomes[0].Reason)
}

func TestExample_quietHours(t *testing.T) {
	r := newRig(t, nil, example(t, "quiet-hours"))
	for hour, want := range map[float64]struct {
		verb    message.Verb
		expires time.Duration
	}{
		12: {message.VerbDeliver, 0}, 7: {message.VerbDeliver, 0}, 21.99: {message.VerbDeliver, 0},
		22: {message.VerbHold, 9 * time.Hour}, 0: {message.VerbHold, 7 * time.Hour}, 6.5: {message.VerbHold, 30 * time.Minute},
	} {
		in := said("hello")
		in.Now = noon.Truncate(24 * time.Hour).Add(time.Duration(hour * float64(time.Hour)))
		o := r.decided(in).Outcomes[0]
		assert.Equal(t, want.verb, o.Verb, hour)
		assert.Equal(t, want.expires, o.Expires, hour)
		if want.expires > 0 {
			assert.Equal(t, message.VerbDeliver, o.Otherwise)
		}
		in.Message.Origin = message.OriginHuman
		assert.Equal(t, message.VerbDeliver, r.decided(in).Outcomes[0].Verb)
	}
	// A handoff about which a person is asked is not released in the morning.
	in := filed("handoff", "low", false)
	in.Now = in.Now.Add(12 * time.Hour)
	o := r.decided(in).Outcomes[0]
	assert.Equal(t, message.VerbHold, o.Verb)
	assert.Equal(t, message.VerbAsk, o.Otherwise)
}

func TestExample_costLimit(t *testing.T) {
	r := newRig(t, nil, example(t, "cost-limit"))
	verb := func(from, body string, at time.Duration) message.Verb {
		in := said(body)
		in.Message.From.Name, in.Now = from, noon.Add(at)
		return r.decided(in).Outcomes[0].Verb
	}
	for i := range 200 {
		require.Equal(t, message.VerbDeliver, verb("Ada", "hello", 0), i)
	}
	assert.Equal(t, message.VerbAsk, verb("Ada", "hello", 0))
	assert.Equal(t, message.VerbDeliver, verb("Cyd", strings.Repeat("x", 400_000), 0), "at the limit it still goes")
	assert.Equal(t, message.VerbAsk, verb("Cyd", "x", time.Hour))
	assert.Equal(t, message.VerbDeliver, verb("Ada", "hello", 24*time.Hour), "a new day")
	assert.Equal(t, message.VerbDeliver, verb("Cyd", "hello", 24*time.Hour))
}

func TestExample_routeByContent(t *testing.T) {
	c := newChat(t, "route-by-content", "Ada", "dba", "tester")
	c.hears("Ada", "The migration has a deadlock.", "dba")
	c.hears("Ada", "A flaky test, and an SQL index beside it.", "dba", "tester")
	c.hears("Ada", "Hello all.", "dba", "tester")
	c.hears("dba", "The SQL is fine.", "Ada", "tester")
	c.hears("Ada", "See docs/ for more.", "dba", "tester") // there is no writer
	c.hears("a person", "What of the SQL?", "Ada", "dba", "tester")
}

// Helpers.

func example(t *testing.T, name string) policy.Source {
	t.Helper()
	s, ok := policies.Example(name)
	require.True(t, ok, name)
	s.Name = "policies/" + s.Name
	return s
}

// No example fails, whatever became of the chat: its participants have left, the one that speaks has left, or nobody
// has a role.
func TestExamples_whoeverIsLeft(t *testing.T) {
	for _, source := range policies.Examples() {
		for _, names := range [][]string{nil, {"Ada"}, {"Ada", "Ben"}, {"Hal=harvester"}, {"Ada", "Ben=reviewer"}, {"Ben=hub"}} {
			c := newChat(t, strings.TrimSuffix(source.Name, ".lua"), names...)
			for _, from := range []string{"Ada", "Ben", "Hal", "who has left", "a person"} {
				for _, body := range []string{"hello", "APPROVED", "I pass to Ben", "To Cyd: look"} {
					assert.Empty(t, c.said(from, body).Failures, "%s, of %v: %s: %s", source.Name, names, from, body)
				}
			}
		}
	}
}

// chat is a chat under an example. The test plays the relay's part: it commits what was decided, and gives the floor.
type chat struct {
	*rig
	names []string
	roles map[string]string
	floor []string // nil: everybody
}

// newChat starts a chat among participants, each a name or name=role.
func newChat(t *testing.T, name string, participants ...string) *chat {
	t.Helper()
	c := &chat{rig: newRig(t, nil, example(t, name)), roles: map[string]string{}}
	for _, p := range participants {
		name, role, _ := strings.Cut(p, "=")
		c.names, c.roles[name] = append(c.names, name), role
	}
	return c
}

// said has a participant, or a person, say something to all others.
func (c *chat) said(from, body string) policy.Verdict {
	c.Helper()
	in := said(body)
	in.Message.From, in.To, in.Agents = message.Address{Name: from}, nil, nil
	in.Chat.Participants = c.names
	if from == "a person" {
		in.Message.Origin, in.Message.Trust = message.OriginHuman, message.TrustPerson
	}
	for i, name := range c.names {
		a := message.Address{Name: name, Number: i + 1, Peer: message.ID("s-" + name)}
		speaks := c.floor == nil || fmt.Sprint(c.floor) == "[all]" || fmt.Sprint(c.floor) == "["+name+"]"
		in.Agents = append(in.Agents, policy.Agent{Address: a, State: "idle", Role: c.roles[name], MaySpeak: speaks})
		if name == from {
			in.Message.From = a
		} else {
			in.To = append(in.To, a)
		}
	}
	v := c.decided(in)
	if v.Floor != nil {
		c.floor = v.Floor
	}
	return v
}

// hears checks who hears a message.
func (c *chat) hears(from, body string, want ...string) {
	c.Helper()
	var got []string
	for _, o := range c.said(from, body).Outcomes {
		if o.Verb == message.VerbDeliver {
			got = append(got, o.To.Name)
			assert.Equal(c, message.ID("s-"+o.To.Name), o.To.Peer)
		}
	}
	assert.Equal(c, want, got, "%s: %s", from, body)
}
