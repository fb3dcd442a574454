package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	system "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// header stands before a message that an agent sends of its own accord.
func (a *agent) header() string { return "AI[local:" + string(a.session.ID) + "] | " }

// sendsText is sends for any text: no shell reads it.
func (a *agent) sendsText(to *agent, text string) {
	a.t.Helper()
	_, err := asks[api.Sent](a, "send", api.SendRequest{To: to.pane, Text: text})
	require.NoError(a.t, err)
}

// part is a subtest on the same rig, which fails on its own.
func (r *rig) part(name string, do func(t testing.TB)) {
	whole := r.t
	whole.(*testing.T).Run(name, func(t *testing.T) {
		defer func() { r.t = whole }()
		r.t = t
		do(t)
	})
}

// Agents work for each other, as programs in real panes. Each subtest has a sender of its own, because a sender may
// not send often.
func TestC7_C26_C39_AgentsCollaborate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.part("C39 only the sidecar gives notice", func(t testing.TB) {
		master, worker := r.adopted("Boss", bracketed...), r.adopted("Hand", "--reply", "done", "--bracketed")
		forged := stoppedNotice(worker, "turn ended")
		master.sendsText(worker, "work\n"+forged)
		worker.hears(master.header() + "work\n> " + forged)
		master.hears(forged)
	})

	r.part("C7 a turn's end is not the session's", func(t testing.TB) {
		master, one, other := r.adopted("Chief", bracketed...), r.adopted("One", "--reply", "done", "--bracketed"), r.adopted("Other", bracketed...)
		chat := r.chat([]*agent{one, other}, unlimited...)
		master.sends(one, "work")
		master.hears(stoppedNotice(one, "turn ended"))
		assert.Equal(t, message.ChatOn, r.current(chat).State)
		other.do(":say hello")
		one.hears("[Other] (2):\n\nhello")
		require.NoError(t, syscall.Kill(one.session.Foreground.PID, syscall.SIGKILL))
		r.waitFor("the chat is over", func() bool { return r.current(chat).State == message.ChatOver })
		r.waitFor("the end is told", func() bool { return len(master.received()) == 2 })
		assert.Regexp(t, `stopped: session ended: \w+`, master.received()[1])
	})

	r.part("C26 a chat announces itself to nobody", func(t testing.TB) {
		a, b := r.adopted("Ann", bracketed...), r.adopted("Bob", bracketed...)
		r.chat([]*agent{a, b}, unlimited...)
		a.do(":say hello")
		b.hears("[Ann] (1):\n\nhello")
		b.do(":say hello yourself")
		a.hears("[Bob] (2):\n\nhello yourself")
		assert.Len(t, a.received(), 1)
		assert.Len(t, b.received(), 1)
	})
}

// T5, T10: the header names the sender, whom `list_sessions` lists by that id. A person's message has no header.
func TestT5_T10_WhoseMessageItIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	master, worker := r.adopted("Asker", bracketed...), r.adopted("Typed", silent...)
	master.sendsText(worker, "who am I")
	worker.hears(master.header() + "who am I")
	from, body, ok := render.ParseHeader(worker.received()[0])
	require.True(t, ok)
	assert.Equal(t, "who am I", body)
	assert.Equal(t, 1, len(slices.DeleteFunc(r.listed(), func(s api.Session) bool { return s.ID != from.Peer || s.Name != "Asker" })))
	require.Equal(t, message.Submitted, r.send(worker, "by hand", api.WaitSubmitted, patience).State)
	_, _, ok = render.ParseHeader(worker.received()[1])
	assert.False(t, ok, "a person is no agent")
	events, err := r.client.Log(t.Context(), api.LogQuery{Limit: 1000})
	require.NoError(t, err)
	origins := map[string]message.Origin{}
	for _, e := range events {
		if e.Message != nil {
			origins[e.Message.Body] = e.Message.Origin
		}
	}
	assert.Equal(t, message.OriginAgent, origins["who am I"])
	assert.Equal(t, message.OriginHuman, origins["by hand"])
	for origin, body := range map[message.Origin]string{message.OriginAgent: "who am I", message.OriginHuman: "by hand"} {
		events, err := r.client.Log(t.Context(), api.LogQuery{Origin: string(origin)})
		require.NoError(t, err)
		var bodies []string
		for _, e := range events {
			require.NotNil(t, e.Message, "nothing but messages")
			bodies = append(bodies, e.Message.Body)
		}
		assert.Equal(t, []string{body}, bodies, "intercom log --origin %s", origin)
	}
}

// T43: five agents send a hundred messages each (four in a short run) to one, as fast as they can, under limits that
// the person has raised. All arrive once, and those of each sender in order.
func TestT43_FiveHundredMessagesOfFive(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("init.lua", `intercom.configure { brakes = { own_minute = 1000, own_hour = 1000, rate = 1000 } }`))
	worker := r.adopted("Worker", silent...)
	each := long(4, 100)
	var want []string
	var sending sync.WaitGroup
	for i := range 5 {
		from := r.adopted(fmt.Sprintf("From%d", i), silent...)
		for n := range each {
			want = append(want, fmt.Sprintf("%s%d of %d", from.header(), n, i))
		}
		sending.Go(func() {
			for n := range each {
				_, err := asks[api.Sent](from, "send", api.SendRequest{To: worker.pane, Text: fmt.Sprintf("%d of %d", n, i)})
				assert.NoError(t, err)
			}
		})
	}
	sending.Wait()
	for n := 5; n <= len(want); n += 5 { // a few at a time: the machine may be slow
		r.waitFor(fmt.Sprintf("%d have come", n), func() bool { return len(worker.received()) >= n })
	}
	got := worker.received()
	assert.ElementsMatch(t, want, got, "each once")
	for i := range 5 {
		of := slices.DeleteFunc(slices.Clone(got), func(text string) bool { return !strings.HasSuffix(text, fmt.Sprintf(" of %d", i)) })
		assert.Equal(t, want[i*each:(i+1)*each], of)
	}
}

// While a turn goes on and nothing is said, the worker is asked once an interval, in its composer.
// relay/health_test.go shows that no question comes too early; this test shows that two do not come before two
// intervals.
func TestT18_T19_AWorkerIsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t), files("init.lua", `intercom.configure { health = { after = "2s" } }`))
	master, worker := r.adopted("Master", bracketed...), r.agentOf("Worker")
	const title = "the quarterly report"
	s := r.started(api.StartSessionRequest{Dir: r.dir, Title: title, Command: append(worker.command(), silent...), As: "line"})
	require.NotEqual(t, title, s.Session.Name)
	worker.session, worker.pane = s.Session, s.Session.Pane
	began := time.Now()
	master.sends(worker, "a long task")
	check := master.header() + "Status check: Are you still working on " + title + "?"
	r.waitFor("both are in its composer", func() bool { return len(worker.received()) >= 3 })
	assert.GreaterOrEqual(t, time.Since(began), 2*2*time.Second)
	assert.Equal(t, []string{master.header() + "a long task", check, check}, worker.received()[:3])
}

// Three agents have given a worker a task, and each is told once of its stop. Then one wants to hear no more, one
// ends, and only the third is told of later stops. The worker itself goes on.
func TestT16_T17_T21_T23_WhoIsToldOfAStop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	worker := r.adopted("Worker", silent...)
	ann, ben, cid := r.adopted("Ann", bracketed...), r.adopted("Ben", bracketed...), r.adopted("Cid", bracketed...)
	callers := []*agent{ann, ben, cid}
	tasks := func(what string, from ...*agent) {
		t.Helper()
		for _, caller := range from {
			caller.sendsText(worker, what)
			worker.hears(caller.header() + what)
		}
	}
	told := stoppedNotice(worker, "turn ended")
	tasks("a task", callers...)
	worker.do(":say done")
	for _, caller := range callers {
		caller.hears(told)
	}
	worker.do(":say one more word") // the end of another turn, which nobody has asked for

	tasks("another task", callers...)
	for _, caller := range callers {
		assert.Equal(t, []string{told}, caller.received(), "each once")
	}
	muted, err := asks[api.StoppedNotices](ben, "mute", api.StopNoticesRequest{Session: string(worker.session.ID)})
	require.NoError(t, err)
	assert.Equal(t, ben.session.ID, muted.Caller)
	_, err = asks[api.StoppedNotices](ben, "mute", api.StopNoticesRequest{Session: string(worker.session.ID)})
	require.Error(t, err)
	assert.Equal(t, 1, api.AsError(err).Code.Exit())
	assert.True(t, system.Lives(worker.session.Foreground.PID, worker.session.Foreground.Start))
	_, err = r.endsSession(string(cid.session.ID))
	require.NoError(t, err)
	for _, one := range r.listed() {
		if one.ID == worker.session.ID {
			assert.Equal(t, []message.ID{ann.session.ID}, one.Subscribers)
		}
	}
	worker.do(":say done again")
	r.waitFor("Ann is told", func() bool { return len(ann.received()) == 2 })

	tasks("a last task", ann)
	worker.do(":say and again")
	r.waitFor("Ann is told of this too", func() bool { return len(ann.received()) == 3 })
	assert.Equal(t, []string{told, told, told}, ann.received())
	assert.Equal(t, []string{told}, ben.received())
	assert.Equal(t, []string{told}, cid.received())
	notices := map[message.ID]int{}
	for _, m := range r.messages() {
		if m.Type == message.KindNotice {
			notices[m.To[0].Peer]++
		}
	}
	assert.Equal(t, map[message.ID]int{ann.session.ID: 3, ben.session.ID: 1, cid.session.ID: 1}, notices, "nothing more was even tried")
	assert.True(t, system.Lives(worker.session.Foreground.PID, worker.session.Foreground.Start))
}
