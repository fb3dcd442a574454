package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// asks is a question in a given state.
func asks(state message.ChatState, r message.Receipt, back *message.Receipt, answers ...string) api.Asked {
	q := api.Asked{
		Chat:    message.Chat{ID: message.NewID(), State: state, OneWay: true, Turns: 1, Participants: []message.Participant{{Name: "alice", Number: 1, MaySpeak: true}, {Name: "bob", Number: 2, MaySpeak: true}}},
		Receipt: r, Back: back, Answers: []message.Envelope{},
	}
	for _, body := range answers {
		q.Answers = append(q.Answers, message.Envelope{From: message.Address{Name: "bob", Number: 2}, Body: body})
	}
	return q
}

// twice makes q a question that takes two answers.
func twice(q api.Asked) api.Asked {
	q.Chat.Turns = 2
	return q
}

func TestAsk_exitCodeTellsTheTruth(t *testing.T) {
	t.Parallel()
	on, over := message.ChatOn, message.ChatOver
	is := func(state message.ReceiptState, reason ...message.Reason) message.Receipt {
		return message.Receipt{State: state, Reason: message.Reason(strings.Join(strs(reason), ""))}
	}
	back := func(state message.ReceiptState, reason ...message.Reason) *message.Receipt {
		r := is(state, reason...)
		return &r
	}
	for name, c := range map[string]struct {
		asked     api.Asked
		code      int
		submitted int // the exit code with --wait submitted
		out, err  string
	}{
		"answered":            {asks(over, is(message.Answered), back(message.Submitted), "yes"), 0, 0, " answered\nyes\n$", ""},
		"the answer waits":    {asks(on, is(message.Answered), back(message.Held, message.InComposer), "yes"), 5, 0, " answered\nyes\n$", "the answer waits for alice: draft in the composer"},
		"the answer is lost":  {asks(over, is(message.Answered), back(message.Failed, message.LineTooLong), "yes"), 1, 0, "yes", "did not reach alice: failed: line too long"},
		"perhaps lost":        {asks(over, is(message.Answered), back(message.Uncertain, message.NotTaken), "yes"), 4, 0, "yes", "uncertain"},
		"stopped on its way":  {asks(over, is(message.Answered), nil, "yes"), 1, 0, "yes", "did not reach alice"},
		"on its way":          {asks(on, is(message.Answered), nil, "yes"), 5, 0, "yes", "waits for alice"},
		"without a word":      {asks(over, is(message.Answered), nil), 0, 0, "answered, without a word\n$", ""},
		"taken":               {asks(on, is(message.Submitted), nil), 4, 0, " submitted\n$", "no answer in time.*chat stop"},
		"held":                {asks(on, is(message.Held, message.AgentWorking), nil), 5, 5, " held: agent working\n$", "held: agent working.*chat stop"},
		"queued":              {asks(on, is(message.Queued), nil), 4, 4, " queued\n$", "not taken in time"},
		"failed":              {asks(over, is(message.Failed, message.BodyTooLong), nil), 1, 1, " failed: body too long\n$", "body too long"},
		"cut short":           {asks(on, is(message.Failed, message.Interrupted), nil), 1, 1, "failed", "interrupted by a person"},
		"expired":             {asks(over, is(message.Expired, message.InComposer), nil), 1, 1, "expired", "expired"},
		"uncertain":           {asks(on, is(message.Uncertain, message.NotTaken), nil), 4, 4, "uncertain", "uncertain.*chat stop"},
		"stopped by a person": {asks(over, is(message.Submitted), nil), 1, 0, " submitted\n$", "question \\w+ has ended without the answer"},
		"answered twice":      {twice(asks(over, is(message.Answered), back(message.Submitted), "yes", "and no")), 0, 0, "and no", ""},
		"once of twice":       {twice(asks(over, is(message.Answered), back(message.Submitted), "yes")), 1, 0, " answered 1 of 2 times\nyes\n$", "has ended after 1 of 2 answers"},
		"once, and lost":      {twice(asks(over, is(message.Answered), back(message.Failed, message.LineTooLong), "yes")), 1, 0, "yes", "did not reach alice: failed: line too long"},
		"once, perhaps lost":  {twice(asks(over, is(message.Answered), back(message.Uncertain, message.NotTaken), "yes")), 4, 0, "yes", "uncertain"},
		"twice, not a word":   {twice(asks(over, is(message.Answered), nil)), 0, 0, "answered, without a word\n$", ""},
		"once until now":      {twice(asks(on, is(message.Answered), nil, "yes")), 4, 0, " answered 1 of 2 times\nyes\n$", "no further answer in time"},
		"of tomorrow":         {asks(on, is("of tomorrow"), nil), 4, 4, "of tomorrow", "not taken in time"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &fakeBackend{asked: c.asked}
			w := newWorld(t)
			w.serve(t, b)
			for _, wait := range []string{"", "answered", "submitted"} {
				args := []string{"ask", "bob", "--from", "alice"}
				want := c.code
				if wait != "" {
					args = append(args, "--wait", wait)
				}
				if wait == "submitted" {
					want = c.submitted
				}
				r := w.run(args...)
				assert.Equal(t, want, r.code, "%v: %s", args, r.err)
				assert.Regexp(t, c.out, r.out)
				if kind := "error"; want != 0 {
					if want == 5 {
						kind = "note"
					}
					assert.Regexp(t, "(?s)intercom: "+kind+": .*"+c.err, r.err)
				}
				r = w.run(append(args, "--json")...)
				assert.Equal(t, want, r.code)
				var asked api.Asked
				oneValue(t, r.out, &asked)
				assert.Equal(t, c.asked.Chat.ID, asked.Chat.ID)
			}
		})
	}
}

func strs(reasons []message.Reason) (all []string) {
	for _, r := range reasons {
		all = append(all, string(r))
	}
	return all
}

func TestAsk_request(t *testing.T) {
	answered := asks(message.ChatOver, message.Receipt{State: message.Answered}, &message.Receipt{State: message.Submitted}, "yes")
	b := &fakeBackend{asked: answered}
	w := newWorld(t)
	w.serve(t, b)
	server := w.env["INTERCOM_SERVER"]
	for _, c := range []struct {
		tmux, pane, line string
		want             api.AskRequest
	}{
		{"", "", "ask %2 --from alice --say x --turns 3 --set depth=9", api.AskRequest{From: "alice", To: "%2", Say: "x", Turns: 3, Set: map[string]string{"depth": "9"}}},
		{server + ",1,0", "%7", "ask bob", api.AskRequest{From: "%7", To: "bob", Turns: 1}},
		{server + ",1,0", "%7", "ask bob --from %8", api.AskRequest{From: "%8", To: "bob", Turns: 1}},
		{"/another,1,0", "%7", "ask bob", api.AskRequest{To: "bob", Turns: 1}},
		{"", "%7", "ask bob", api.AskRequest{To: "bob", Turns: 1}},
	} {
		w.env["TMUX"], w.env["TMUX_PANE"] = c.tmux, c.pane
		r := w.run(strings.Fields(c.line)...)
		require.Zero(t, r.code, "%s: %s", c.line, r.err)
		assert.Equal(t, c.want, b.took(), "%+v", c)
	}
	for _, line := range []string{
		"ask", "ask a b", "ask bob --turns 0", "ask bob --turns x", "ask bob --wait typed", "ask bob --wait", "ask bob --timeout -1s", "ask bob --timeout 99999h",
		"ask bob --set dpeth=3", "ask bob --say \xff",
	} {
		r := w.run(strings.Fields(line)...)
		assert.Equal(t, 2, r.code, "%s: %s", line, r.err)
	}

	b.err = api.Errorf(api.CodeRefused, `adopt %%7: no agent is recognised in it: "bash" is in front`).About(api.Unadoptable, "%7")
	w.env["TMUX"], w.env["TMUX_PANE"] = server+",1,0", "%7"
	r := w.run("ask", "bob")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "hint: whose last answer? Name its pane: --from PANE")
	b.err = api.Errorf(api.CodeNotFound, `no session "alcie"`).About(api.NoSession, "alcie")
	assert.Contains(t, w.run("ask", "bob", "--from", "alcie").err, "intercom status lists")
}

// A held question is reported, an answer that has arrived is waited for on its way back, and an agent that asks for itself
// waits only until the question is submitted, not for the answer in its own pane.
func TestAsk_waits(t *testing.T) {
	held := asks(message.ChatOn, message.Receipt{State: message.Held, Reason: message.AgentWorking}, nil)
	here := asks(message.ChatOn, message.Receipt{State: message.Answered}, &message.Receipt{State: message.Queued}, "yes")
	back := asks(message.ChatOver, message.Receipt{State: message.Answered}, &message.Receipt{State: message.Submitted}, "yes")
	steps := []api.Asked{held, here, back}
	b := &fakeBackend{asked: held, inquire: func(n int, _ api.AskedQuery) (api.Asked, error) { return steps[n-1], nil }}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("ask", "bob", "--from", "alice", "--timeout", "10m")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "intercom: note: waiting: agent working\n", r.err)
	assert.Regexp(t, `^\S+ answered\nyes\n$`, r.out)
	require.Len(t, b.queries, 3)
	for i, want := range []struct {
		wait api.Wait
		most time.Duration
	}{{api.WaitAnswered, tellAfter}, {api.WaitAnswered, 10 * time.Minute}, {api.WaitEnded, backWithin}} {
		assert.Equal(t, want.wait, b.queries[i].Wait, i)
		assert.LessOrEqual(t, b.queries[i].Timeout, want.most, i)
		assert.Greater(t, b.queries[i].Timeout, want.most-10*time.Second, i)
	}

	own := held
	own.Own = true
	taken := own
	taken.Receipt = message.Receipt{State: message.Submitted}
	steps, b.queries = []api.Asked{own, taken}, nil
	r = w.run("ask", "bob", "--from", "alice")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, api.WaitSubmitted, b.queries[1].Wait)
	steps, b.queries = []api.Asked{own, own}, nil
	assert.Equal(t, 5, w.run("ask", "bob", "--from", "alice", "--timeout", "0s").code)
	assert.Zero(t, b.queries[1].Timeout)
}

// While everything is stopped, ask waits for a question only if --timeout was given.
func TestAsk_whileEverythingIsStopped(t *testing.T) {
	stopped := asks(message.ChatOn, message.Receipt{State: message.Held, Reason: message.Stopped}, nil)
	behind := asks(message.ChatOn, message.Receipt{State: message.Queued}, nil)
	behind.Behind = message.Stopped
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	for _, asked := range []api.Asked{stopped, behind} {
		b.asked, b.queries = asked, nil
		r := w.run("ask", "bob", "--from", "alice")
		assert.Equal(t, 5, r.code, r.err)
		assert.Contains(t, r.err, "stays open until it is answered")
		assert.NotContains(t, r.err, "waiting")
		assert.Len(t, b.queries, 1)
		r = w.run("ask", "bob", "--from", "alice", "--timeout", "10m")
		assert.Equal(t, 5, r.code, r.err)
		assert.Contains(t, r.err, "waiting")
		assert.Len(t, b.queries, 3)
	}
}

// A user who interrupts the wait is told that the chat goes on, and why the question is held if it is.
func TestAsk_givenUp(t *testing.T) {
	for code, asked := range map[int]api.Asked{
		4: asks(message.ChatOn, message.Receipt{State: message.Submitted}, nil),
		5: asks(message.ChatOn, message.Receipt{State: message.Held, Reason: message.AgentWorking}, nil),
	} {
		givesUp(t, asked, code)
	}
}

func givesUp(t *testing.T, asked api.Asked, want int) {
	t.Helper()
	b := &fakeBackend{asked: asked}
	w := newWorld(t)
	w.serve(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.inquire = func(int, api.AskedQuery) (api.Asked, error) {
		cancel()
		return asked, nil
	}
	var out, complaints bytes.Buffer
	code := run(ctx, env{
		Args: []string{"ask", "bob", "--from", "alice"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &complaints, Getenv: w.getenv,
	})
	assert.Equal(t, want, code)
	if asked.Receipt.State == message.Held {
		assert.Contains(t, complaints.String(), ": held: agent working\n")
	} else {
		assert.Contains(t, complaints.String(), "error: given up before it was answered\n")
	}
	assert.Contains(t, complaints.String(), "the question stays open until it is answered; intercom chat stop "+asked.Chat.ID.Short()+" ends it now")
}

func TestPeers_areShown(t *testing.T) {
	id, chat := message.NewID(), message.NewID()
	b := &fakeBackend{peers: []api.Peer{
		{
			Name: "alice", Pane: "%1", Session: id, Agent: "claude", Adopted: true, Computer: "local", State: message.Working, Why: "agent working",
			Chat: chat, ChatName: "plans", Number: 2, Evidence: []message.Ground{{Source: "transcript", Says: "a turn is open", Weight: "exact"}}, Window: "main:0 work",
		},
		{Pane: "%4", Agent: "codex", Computer: "local", Why: "pane is not adopted", Evidence: []message.Ground{{Source: "process"}}, Window: "main:1 more"},
	}}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("peers")
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `(?m)^alice +%1 +`+id.Short()+` +claude +working +transcript +plans \(2\) +local +main:0 work +agent working$`, r.out)
	assert.Regexp(t, `(?m)^- +%4 +- +codex +not adopted +process +- +local +main:1 more +pane is not adopted$`, r.out)
	b.peers = nil
	assert.Contains(t, w.run("peers").out, "no peers: ")
	assert.Equal(t, "[]\n", w.run("peers", "--json").out)
}

func TestChat_oneWayIsShown(t *testing.T) {
	c := asks(message.ChatOn, message.Receipt{}, nil).Chat
	b := &fakeBackend{chats: []message.Chat{c}, detail: api.ChatDetail{Chat: c}}
	w := newWorld(t)
	w.serve(t, b)
	assert.Contains(t, w.run("chat", "list").out, "alice (1) ← bob (2)")
	shown := w.run("chat", "show", "x").out
	assert.Contains(t, shown, "ends after 1 answer\n")
	assert.Contains(t, shown, "one way: answers go to alice (1), nothing else is passed on")
	require.Zero(t, w.run("chat", "start", "a", "b", "--include-last", "--one-way", "--turns", "2", "--say", "x").code)
	assert.Equal(t, api.StartChatRequest{Panes: []string{"a", "b"}, IncludeLast: true, OneWay: true, Turns: 2, Say: "x"}, b.took())
}
