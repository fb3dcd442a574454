package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// changes lists, from the log of the policies, each time that a set came into use, was refused or was rolled back.
func (r *rig) changes() (all []string) {
	for _, e := range r.policyLog() {
		if e.Event == "in use" || e.Event == "refused" || e.Event == "rolled back" {
			all = append(all, e.Event)
		}
	}
	return all
}

// Before a new set of policies is used, it is tried on earlier messages. A set that fails on one of them is
// refused. If it lets through messages that the old set did not, a person is told which. A diff against other files
// is only a trial and changes nothing.
func TestL10_ReplayBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("policies/10-ask.lua", `intercom.rule("deploying", { body = "deploy" }, intercom.ask { reason = "a person decides" })`))
	a, b := r.adopted("Ada", "--bracketed", "--reply", "none"), r.adopted("Ben", "--bracketed", "--reply", "none")
	r.chat([]*agent{a, b})
	for i, words := range []string{"hello", "please deploy", "bye", "deploy it all"} {
		a.do(":say %s", words)
		r.waitFor(words, func() bool {
			return len(r.heldFor(message.AwaitingApproval)) == []int{0, 1, 1, 2}[i] && len(b.received()) == []int{1, 1, 2, 2}[i]
		})
	}
	held, err := r.client.Inbox(t.Context())
	require.NoError(t, err)
	first := r.policies().Generation
	diff := filepath.Join(r.dir, "other")
	writeLua(diff, "policies/10-ask.lua", `intercom.rule("hello", { body = "hello" }, intercom.hold { reason = "later" })`)
	tried, err := r.client.DiffPolicy(t.Context(), api.DiffPolicyRequest{Dir: diff})
	require.NoError(t, err)
	assert.Equal(t, 4, tried.Tried)
	assert.Len(t, tried.Changed, 3)
	assert.Len(t, tried.Loosened, 2)
	assert.Equal(t, first, r.policies().Generation, "looking is not changing")

	r.save("policies/10-ask.lua", `intercom.rule("deploying", { body = "deploy it" }, intercom.ask { reason = "a person decides" })`)
	r.waitFor("the new set", func() bool { return r.policies().Generation != first })
	loosened := r.policies().Loosened
	require.Len(t, loosened, 1)
	assert.Equal(t, message.VerbAsk, loosened[0].Was)
	assert.Equal(t, message.VerbDeliver, loosened[0].Is)
	assert.Equal(t, held[0].Message, loosened[0].Message)
	r.waitFor("a person is told which", func() bool {
		return slices.ContainsFunc(r.notices(), func(s string) bool { return strings.Contains(s, held[0].Message.Short()+" (ask, now deliver)") })
	})
	assert.Len(t, r.heldFor(message.AwaitingApproval), 2, "what waits, waits")

	second := r.policies().Generation
	r.save("policies/20-fails.lua", `intercom.on("guard", function(msg) if msg.body == "bye" then error("no byes") end end)`)
	r.waitFor("it is refused", func() bool { return strings.Contains(r.policies().Error, "policies/20-fails.lua:1: guard: no byes") })
	assert.Contains(t, r.policies().Error, "it failed on 1 of the last 4 messages")
	assert.Equal(t, second, r.policies().Generation)
	assert.Equal(t, []string{"in use", "in use", "refused"}, r.changes())
	e, err := r.client.ExplainPolicy(t.Context(), api.ExplainPolicyRequest{ID: held[0].Message.Short()})
	require.NoError(t, err)
	require.Len(t, e.Then, 1)
	assert.Equal(t, message.VerbAsk, e.Then[0].For(b.session.ID).Verb)
	assert.Equal(t, first, e.Then[0].Generation)
	require.Len(t, e.Now.Outcomes, 1)
	assert.Equal(t, message.VerbDeliver, e.Now.Outcomes[0].Verb)
	assert.Equal(t, second, e.Now.Generation)
}

// If a set of policies fails too often in use, the sidecar goes back by itself to the last set that was good. A
// person can go back too. Either lasts through a restart, and the files count again once they change.
func TestL9_L11_GoingBack(t *testing.T) {
	t.Parallel()
	good := `intercom.on("format", function(msg) return "<good> " .. msg.body end)`
	r := newRig(t, files("policies/10-form.lua", good))
	a, b := r.adopted("Ada", "--bracketed", "--reply", "none"), r.adopted("Ben", "--bracketed", "--reply", "none")
	r.chat([]*agent{a, b}, "rate=1000")
	speak := func(words string) {
		before := len(b.received())
		a.do(":say %s", words)
		r.waitFor("Ben hears "+words, func() bool { return len(b.received()) > before })
	}
	last := func() string { return b.received()[len(b.received())-1] }
	assert.ErrorContains(t, r.yes("rollback"), "there is no earlier set")
	for range 20 {
		speak("word")
	}
	r.waitFor("it has proven good", func() bool { return r.policies().Kept[0].Good })
	first := r.policies().Generation
	r.save("policies/10-form.lua", `intercom.on("format", function(msg) if msg.body:find("new") then error("unforeseen") end return "<bad> " .. msg.body end)`)
	r.waitFor("the new set", func() bool { return r.policies().Generation != first })
	speak("word")
	assert.Equal(t, "<bad> word", last())
	for range 3 {
		speak("something new")
		assert.Equal(t, "[Ada] (1):\n\nsomething new", last(), "only its look is lost")
	}
	r.waitFor("it goes back", func() bool { return r.policies().Generation == first })
	speak("something new")
	assert.Equal(t, "<good> something new", last())
	assert.Contains(t, r.policyError(), "failed too often")
	require.NoError(t, r.end())
	r.start()
	assert.Equal(t, first, r.policies().Generation, "nor does a restart bring it back")

	r.save("policies/10-form.lua", `intercom.on("format", function(msg) return "<third> " .. msg.body end)`)
	r.waitFor("the mended set", func() bool { return r.policies().Generation != first && r.policyError() == "" })
	speak("word")
	assert.Equal(t, "<third> word", last())
	_, err := r.client.RollbackPolicy(t.Context(), api.RollbackPolicyRequest{Sure: true})
	assert.ErrorContains(t, err, "only a person at a terminal may")
	require.NoError(t, r.yes("rollback"))
	assert.Equal(t, first, r.policies().Generation)
	speak("word")
	assert.Equal(t, "<good> word", last())
	require.NoError(t, r.end())
	r.start()
	assert.Equal(t, first, r.policies().Generation, "a person's word holds after a restart too")
	require.NoError(t, r.yes("rollback"))
	assert.NotEqual(t, first, r.policies().Generation, "once more goes back once more")
	speak("word")
	assert.Equal(t, "<bad> word", last())
	assert.ErrorContains(t, r.yes("rollback"), "there is no earlier set", "that was the oldest")
	assert.True(t, slices.Contains(r.changes(), "rolled back"))
}

// A message on which a filter fails is held. Once the filter is mended, the message is decided anew and delivered
// as the filter leaves it.
func TestL6_AFilterThatFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("policies/10-mask.lua", `intercom.on("filter", function(msg)
  if msg.body:find("secret") then error("cannot mask this") end
end)`))
	a, b := r.adopted("Ada", "--bracketed", "--reply", "none"), r.adopted("Ben", "--bracketed", "--reply", "none")
	r.chat([]*agent{a, b})
	a.do(":say the secret is 123")
	r.waitFor("it is held", func() bool { return len(r.heldFor(message.Unfiltered)) == 1 })
	a.do(":say nothing to hide")
	r.waitFor("another one goes", func() bool { return len(b.received()) == 1 })
	var held []api.Held
	r.waitFor("the other one is taken", func() bool {
		var err error
		held, err = r.client.Inbox(t.Context())
		require.NoError(t, err)
		return len(held) == 1
	})
	assert.True(t, held[0].Decision)
	assert.ErrorContains(t, r.yes("approve", string(held[0].Message)), "a filter failed on it")

	require.NoError(t, r.end())
	r.start()
	r.save("policies/10-mask.lua", `local digits = intercom.re [[\d+]]
intercom.on("filter", function(msg) return { body = (digits:replace(msg.body, "***")) } end)`)
	r.waitFor("it goes, masked", func() bool { return slices.Contains(b.received(), "[Ada] (1):\n\nthe secret is ***") })
	assert.NotContains(t, string(b.bytes()), "123")
	r.waitFor("nothing waits", func() bool {
		held, err := r.client.Inbox(t.Context())
		require.NoError(t, err)
		return len(held) == 0
	})
}

// A project's own policy file that nobody trusts can only make a person's policies stricter, and only for messages
// to agents that work in the project.
func TestL12_ProjectsOfSessions(t *testing.T) {
	t.Parallel()
	project, err := os.MkdirTemp("", "icp")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(project) })
	writeLua(project, ".intercom/policy.lua", `intercom.on("decide", function(msg) return intercom.deliver {} end)
intercom.on("format", function(msg) return "cloned: " .. msg.body end)
intercom.on("guard", function(msg) if msg.body:find("push") then return intercom.ask { reason = "the project asks" } end end)`)
	r := newRig(t, files("init.lua", `intercom.rule("careful", { body = "rm" }, intercom.ask { reason = "I ask" })`))
	b, c := r.lineIn(project, "Ben", "--bracketed", "--reply", "none"), r.adopted("Cyd", "--bracketed", "--reply", "none")
	b.adopt("line-paste")
	for _, one := range []struct {
		to    *agent
		words string
		held  bool
	}{{b, "rm it", true}, {b, "push it", true}, {b, "read it", false}, {c, "push it", false}, {c, "rm it", true}} {
		sent, err := r.client.Send(t.Context(), api.SendRequest{To: one.to.pane, Text: one.words})
		require.NoError(t, err)
		assert.Equal(t, one.held, sent.Receipt.State == message.Held, "%s to %s", one.words, one.to.name)
	}
	r.waitFor("the others arrive", func() bool { return len(b.received()) == 1 && len(c.received()) == 1 })
	assert.Equal(t, "[tester] (0):\n\nread it", b.received()[0], "no word of the project's")
}

// Messages can go round in a ring: through a chat, through a policy that forwards what is said there, and as single
// messages back to a participant. Each has its cause in the one before, so the ring ends at the depth limit like
// any other.
func TestB2_H44_ARingThroughAPolicy(t *testing.T) {
	t.Parallel()
	const depth = 9
	r := newRig(t, files("policies/10-forward.lua", `intercom.on("route", function(msg)
  if msg.from == "Ben" then return "Cyd" end
end)`))
	a, b, c := r.adopted("Ada", parrot(100)...), r.adopted("Ben", parrot(100)...), r.adopted("Cyd", "--reply", "none")
	chat := r.chatSaying("go round", []*agent{a, b}, fmt.Sprintf("depth=%d", depth))
	rounds := 0
	held := func() bool { return len(r.heldFor(message.AtDepthLimit)) > 0 }
	passed := func() int { // without the notices to Cyd of Ada's turns
		return len(slices.DeleteFunc(slices.Clone(c.received()), func(text string) bool { return !strings.Contains(text, "heard:") }))
	}
	for ; rounds < 2*depth && !held(); rounds++ {
		r.waitFor("Cyd has it, or it is held", func() bool { return passed() > rounds || held() })
		if held() {
			break
		}
		c.sends(a, fmt.Sprint("round ", rounds)) // as an agent does by a tool call
	}
	require.True(t, held(), "it goes on for ever")
	assert.Less(t, rounds, depth, "each round is three messages deep, or two")
	assert.NotZero(t, rounds)
	assert.Equal(t, message.ChatPaused, r.current(chat).State)
	for _, e := range r.events() {
		if e.Message != nil {
			assert.LessOrEqual(t, e.Message.Depth, depth+1)
		}
	}
}

// A message that comes while no policy worker runs is held, and is delivered by itself once there is a worker.
func TestL7_HeldUntilThereIsAWorker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pid, gate := filepath.Join(dir, "pid"), filepath.Join(dir, "gate")
	r := newRig(t, files("policies/10.lua", `intercom.on("filter", function(msg) return { body = "(" .. msg.body .. ")" } end)`), func(cfg *daemon.Config) {
		cfg.Policies.Worker = append([]string{"/bin/sh", "-c", `echo $$ >"$0"; [ -e "$1" ] && read -r _ <"$1"; shift; exec "$@"`, pid, gate}, cfg.Policies.Worker...)
	})
	a, b := r.adopted("Ada", "--bracketed", "--reply", "none"), r.adopted("Ben", "--bracketed", "--reply", "none")
	r.chat([]*agent{a, b})
	a.do(":say one")
	r.waitFor("Ben hears it", func() bool { return len(b.received()) == 1 })
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	text, err := os.ReadFile(pid)
	require.NoError(t, err)
	worker, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(worker, syscall.SIGKILL))
	a.do(":say two")
	r.waitFor("it is held", func() bool { return len(r.heldFor(message.Unfiltered)) == 1 })
	opened, err := os.OpenFile(gate, os.O_RDWR, 0) // lets each worker through that waits at the gate, now or later
	require.NoError(t, err)
	defer opened.Close()
	_, err = opened.WriteString(strings.Repeat("\n", 100))
	require.NoError(t, err)
	r.waitFor("it goes", func() bool { return len(b.received()) == 2 })
	assert.Equal(t, []string{"[Ada] (1):\n\n(one)", "[Ada] (1):\n\n(two)"}, b.received())
}
