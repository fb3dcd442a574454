package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// detailed is a chat with a value in almost every field.
func detailed() api.ChatDetail {
	ada, ben := message.NewID(), message.NewID()
	now := time.Now()
	return api.ChatDetail{
		Chat: message.Chat{
			ID: message.NewID(), Name: "plans", State: message.ChatPaused, Why: "depth limit reached", Started: now, Turns: 12, Again: message.NewID(),
			Limits: message.Limits{Depth: 40, Away: 30 * time.Minute},
			Participants: []message.Participant{
				{Peer: ada, Name: "Ada", Number: 1, Role: "author", MaySpeak: true},
				{Peer: ben, Name: "Ben", Number: 2},
				{Peer: message.NewID(), Name: "Cyd", Number: 3, MaySpeak: true, Left: true},
			},
		},
		Sessions: []message.Peer{
			{ID: ada, Name: "Ada", PaneOf: message.PaneOf{Pane: "%1"}, State: message.Idle},
			{ID: ben, Name: "Ben", PaneOf: message.PaneOf{Pane: "%2", Closed: message.NotSeen}, State: message.Draft},
		},
		Stats:   message.Stats{Turns: 7, Depth: 5, Deliveries: map[message.ReceiptState]int{message.Submitted: 6, message.Held: 1}, LatencyP50: 80 * time.Millisecond},
		Waiting: []api.Waiting{{Message: message.NewID(), From: "Ada", To: "Ben", State: message.Held, Reason: message.InComposer, Since: now}},
	}
}

func TestChatShow(t *testing.T) {
	d := detailed()
	said := func(seq int64, text string) message.Event {
		return message.Event{Seq: seq, Kind: "message", Chat: d.ID, Message: &message.Envelope{ID: message.NewID(), From: message.Address{Name: "Ada", Number: 1}, Body: text}}
	}
	b := &fakeBackend{detail: d}
	for i := range int64(12) {
		b.log = append(b.log, said(2*i+1, "word "+string(rune('a'+i))), message.Event{Seq: 2*i + 2, Chat: d.ID, Receipt: &message.Receipt{State: message.Queued}})
	}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("chat", "show", "plans")
	require.Zero(t, r.code, r.err)
	for _, want := range []string{
		"paused: depth limit reached", "restores", "ends after 12 turns", "settings depth=40 away=30m",
		"1       Ada   author  %1    idle", "muted", "closed: text was not seen in the composer", "left",
		"turns 7, depth 5, held 1, submitted 6; latency p50 80 ms, p99 ",
		"draft in the composer", "word c", "word l",
	} {
		assert.Contains(t, r.out, want)
	}
	assert.NotContains(t, r.out, "word b", "the last ten")
	assert.NotContains(t, r.out, "queued")

	r = w.run("chat", "show", "plans", "--json")
	var detail api.ChatDetail
	oneValue(t, r.out, &detail)
	assert.Equal(t, d.ID, detail.ID)
	assert.Len(t, detail.Waiting, 1)

	over := d.Chat
	over.State, over.Why = message.ChatOver, "stopped"
	b.log = []message.Event{
		said(1, "mine"),
		{Seq: 2, Chat: message.NewID(), Message: &message.Envelope{Body: "of others"}},
		{Seq: 3, Chat: d.ID, Change: &over},
		said(4, "too late"),
	}
	r = w.run("chat", "show", "plans", "-f")
	require.Zero(t, r.code, r.err)
	_, live, _ := strings.Cut(r.out, "of others") // the fake sends the whole log, and then the whole log again as the stream
	assert.Contains(t, live, "mine")
	assert.Contains(t, live, "chat ended: stopped")
	assert.NotContains(t, strings.Join(strings.Split(live, "mine")[1:], ""), "of others")
	assert.Equal(t, 1, strings.Count(r.out, "chat ended: stopped"), "and there it ends")

	r = w.run("chat", "show", "plans", "-f", "--json")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	require.Greater(t, len(lines), 2)
	for _, line := range lines {
		var e message.Event
		oneValue(t, line+"\n", &e)
	}
}

// In a one-way chat the first participant only hears, although it may speak otherwise. A reason that already says that the chat
// is paused is not preceded by "paused".
func TestChatShow_oneWay(t *testing.T) {
	d := detailed()
	d.OneWay, d.Why, d.Participants[1].MaySpeak, d.Limits.Approve = true, "paused by ada", true, message.ApproveAll
	w := newWorld(t)
	w.serve(t, &fakeBackend{detail: d})
	r := w.run("chat", "show", "plans")
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `(?m)^1 +Ada .* no: one way$`, r.out)
	assert.Regexp(t, `(?m)^2 +Ben .* with your yes +closed`, r.out)
	assert.Regexp(t, `(?m)^chat plans [0-9a-f]{8} paused by ada$`, r.out)
}

// Another chat may have the same name: the command that restores a chat names its id.
func TestChatList_theCommandForAgentsThatAreBack(t *testing.T) {
	id := message.NewID()
	w := newWorld(t)
	w.serve(t, &fakeBackend{status: api.Status{Returned: []api.Returned{
		{Chat: id, Name: "plans", State: message.ChatOver, Agents: []api.ReturnedAgent{{Name: "Ada", Agent: "claude", Pane: "%3"}}},
	}}})
	r := w.run("chat", "list", "--ended")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "back: Ada in %3, of chat plans "+id.Short()+" → intercom chat start --again "+id.Short()+"\n")
}

// A message that a person edited is shown as it was typed, and a rejected one with the name of the session that does not get it.
// `chat show -f` tells of each such decision when it is made. JSON gets no receipts.
func TestChatShow_edited_and_rejected(t *testing.T) {
	d := detailed()
	ben := d.Participants[1].Peer
	said := func(seq int64, id message.ID, text string) message.Event {
		return message.Event{Seq: seq, Kind: "message", Chat: d.ID, Message: &message.Envelope{ID: id, From: message.Address{Name: "Ada", Number: 1}, Body: text}}
	}
	receipt := func(seq int64, r message.Receipt, typed string) message.Event {
		r.Target = ben
		about := message.Delivery{ID: r.Delivery, Target: ben, Message: message.Envelope{Body: typed}}
		return message.Event{Seq: seq, Kind: "receipt", Chat: d.ID, Receipt: &r, Delivery: &about}
	}
	byHand := []message.Evidence{{Source: "person", Says: message.Edited + "ada"}}
	edited, refused, waits := message.NewID(), message.NewID(), message.NewID()
	log := []message.Event{
		said(1, edited, "rm -rf"), said(2, refused, "something silly"), said(3, waits, "rm too"),
		receipt(4, message.Receipt{Delivery: "e", Message: edited, State: message.Queued, Evidence: byHand}, ""),
		receipt(5, message.Receipt{Delivery: "e", Message: edited, State: message.Typed}, "ls -l"),
		receipt(6, message.Receipt{Delivery: "r", Message: refused, State: message.Failed, Reason: message.Rejected}, ""),
		receipt(7, message.Receipt{Delivery: "w", Message: waits, State: message.Queued, Evidence: byHand}, ""),
	}
	b := &fakeBackend{detail: d, log: log}
	w := newWorld(t)
	w.serve(t, b)
	out := w.run("chat", "show", "plans").out
	assert.Regexp(t, `Ada \(1\), edited by a person\n    ls -l\n.* Ada \(1\)\n    something silly\n    → Ben: rejected\n.* Ada \(1\), before a person edited it\n    rm too\n`, out)
	assert.NotContains(t, out, "rm -rf")

	over := d.Chat
	over.State = message.ChatOver
	b.log, b.coming = nil, append(log, message.Event{Seq: 8, Chat: d.ID, Change: &over})
	out = w.run("chat", "show", "plans", "-f").out
	assert.Contains(t, out, " Ada (1)\n    rm -rf\n", "as it is said")
	assert.Contains(t, out, " message "+edited.Short()+" goes as a person edited it\n    ls -l\n")
	assert.Contains(t, out, " message "+refused.Short()+" to Ben: rejected\n")
	assert.NotContains(t, w.run("chat", "show", "plans", "-f", "--json").out, `"receipt"`)
}

// Notices of a chat are shown among its messages, each once.
func TestChatShow_notices(t *testing.T) {
	d := detailed()
	at := time.Now()
	stopped := message.Event{Seq: 3, At: at.Add(time.Second), Kind: "notice", Chat: d.ID, Notice: "Ben was interrupted; nothing was relayed"}
	told := message.Event{Seq: 4, At: at.Add(time.Second), Kind: "message", Chat: d.ID, Message: &message.Envelope{
		ID: message.NewID(), Type: message.KindNotice, Origin: message.OriginSystem, From: message.Address{Name: "Ben", Number: 2},
		To: []message.Address{{Name: "Ada"}}, Body: `"Ben" stopped: interrupted by a person; your message was not answered`,
	}}
	paused, over := d.Chat, d.Chat
	paused.Participants = paused.Participants[:2]
	over.State, over.Why = message.ChatOver, "stopped"
	b := &fakeBackend{detail: d, log: []message.Event{
		{Seq: 1, At: at, Kind: "notice", Notice: "of no chat"},
		{Seq: 2, At: at, Kind: "notice", Chat: message.NewID(), Notice: "of another"},
		stopped, told,
		{Seq: 5, At: at.Add(2 * time.Second), Kind: "chat", Chat: d.ID, Change: &paused},
		{Seq: 6, At: at.Add(2 * time.Second), Kind: "notice", Chat: d.ID, Notice: "chat plans is paused: depth limit reached"},
		{Seq: 7, At: at.Add(3 * time.Second), Kind: "chat", Chat: d.ID, Change: &over},
	}}
	w := newWorld(t)
	w.serve(t, b)
	asked := len(w.run("chat", "show", "plans").out)
	for _, line := range []string{"chat show plans -f", "log", "log -f"} {
		r := w.run(strings.Fields(line)...)
		require.Zero(t, r.code, r.err)
		out := r.out
		if strings.HasPrefix(line, "chat") {
			out = out[asked:] // the fake sends the whole log, and then the whole log again as the stream
			assert.Equal(t, 1, strings.Count(out, "depth limit reached"), out)
			assert.NotContains(t, out, "of no chat")
			assert.NotContains(t, out, "of another")
		}
		assert.Regexp(t, `notice +Ben was interrupted; nothing was relayed\n`, out, line)
		assert.Contains(t, out, "notice to Ada\n    \"Ben\" stopped: interrupted by a person; your message was not answered\n", line)
	}
	plain := w.run("chat", "show", "plans").out
	assert.Contains(t, plain, "Ben was interrupted")
	assert.Contains(t, plain, "notice to Ada")

	var notices []string
	for line := range strings.Lines(w.run("chat", "show", "plans", "-f", "--json").out) {
		var e message.Event
		oneValue(t, line, &e)
		if e.Kind == "notice" && e.Chat == d.ID {
			notices = append(notices, e.Notice)
		}
	}
	assert.Contains(t, notices, stopped.Notice)
	assert.Contains(t, notices, "chat plans is paused: depth limit reached", "all of them")
}

func TestChatMembers(t *testing.T) {
	b := &fakeBackend{detail: detailed()}
	w := newWorld(t)
	w.serve(t, b)
	for line, want := range map[string]api.MemberRequest{
		"chat add plans %3":                {Chat: "plans", Pane: "%3"},
		"chat add plans carol --role both": {Chat: "plans", Pane: "carol", Role: "both"},
		"chat remove plans %3":             {Chat: "plans", Pane: "%3"},
		"chat mute plans %3":               {Chat: "plans", Pane: "%3"},
		"chat mute plans %3 --off":         {Chat: "plans", Pane: "%3", Off: true},
	} {
		r := w.run(strings.Fields(line)...)
		assert.Zero(t, r.code, "%s: %s", line, r.err)
		assert.Equal(t, want, b.changed, line)
		assert.Contains(t, r.out, "Ben (2) muted", line)
	}
}

func TestChatStart_rolesAndAgain(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	started := func(args ...string) api.StartChatRequest {
		t.Helper()
		r := w.run(append([]string{"chat", "start"}, args...)...)
		require.Zero(t, r.code, r.err)
		return b.took().(api.StartChatRequest)
	}
	assert.Equal(t, map[string]string{"%1": "author", "bob": "critic = judge"},
		started("%1", "bob", "--role", "%1=author", "--role", "bob=critic = judge").Roles)
	again := started("--again", "plans", "--set", "away=30m")
	assert.Equal(t, "plans", again.Again)
	assert.Empty(t, again.Panes)
	assert.Equal(t, []string{"%3", "%4"}, started("--again", "plans", "%3", "%4").Panes)
	for _, line := range []string{"%1", "--again x %1", "%1 %2 --role %3=x", "%1 %2 --role x", "%1 %2 --set away=never", "%1 %2 --turns -1", "%1 %2 --name a/b"} {
		r := w.run(append([]string{"chat", "start"}, strings.Fields(line)...)...)
		assert.Equal(t, 2, r.code, line)
		assert.True(t, strings.Contains(r.err, "intercom: hint: ") || strings.Contains(line, "away") || strings.Contains(line, "--role x"), "%s: %s", line, r.err)
	}
}

// A chat that would pause before its turns are over gets a note at its start.
func TestChatStart_turnsBeyondDepth(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{})
	for turns, says := range map[string]string{"20": "", "0": "", "21": "it pauses after 20 turns in a row without a word from you, before the 21 are over; --set depth=21 lets them go on"} {
		r := w.run("chat", "start", "%1", "%2", "--turns", turns)
		require.Zero(t, r.code, r.err)
		assert.Contains(t, r.err, says)
		assert.Equal(t, says != "", strings.Contains(r.err, "note:"), "%s: %s", turns, r.err)
	}
}

// A limit in tokens counts only agents that record their tokens. A note names the participants that it does not count.
func TestChatStart_tokensOfWhoTellsNone(t *testing.T) {
	session := func(pane, name, profile string) message.Peer {
		return message.Peer{ID: message.NewID(), Name: name, PaneOf: message.PaneOf{Pane: pane, Profile: profile}}
	}
	w := newWorld(t)
	w.serve(t, &fakeBackend{sessions: []message.Peer{
		session("%1", "Ada", "line"), session("%2", "Ben", "aider"), session("%3", "claude", "claude"), session("%4", "codex", "codex"),
	}})
	for panes, says := range map[string]string{
		"%1 %2":    "intercom: note: no program of this chat writes down its tokens: --set tokens=500 never pauses it\n",
		"%1 %2 %3": "intercom: note: --set tokens=500 does not count what Ada and Ben use: they write down no tokens\n",
		"%1 %3":    "intercom: note: --set tokens=500 does not count what Ada uses: it writes down no tokens\n",
		"%3 %4":    "",
	} {
		r := w.run(append([]string{"chat", "start", "--set", "tokens=500"}, strings.Fields(panes)...)...)
		require.Zero(t, r.code, r.err)
		assert.Equal(t, says, r.err, panes)
	}
	assert.Empty(t, w.run("chat", "start", "%1", "%2").err)
}

// A program that is not recognised may be a line program, so the note suggests --as line; for a shell it does not.
func TestSessionStart_notRecognised(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{})
	r := w.run("session", "start", "--", "sleep", "9")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "intercom session end one, and start it with --as line")
	r = w.run("session", "start", "--", "sh")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "sh is a shell: it would run what is typed into it. What goes to it waits until an agent is started in it; intercom session end one closes it")
	assert.NotContains(t, r.err, "--as line")

	r = w.run("team", "spawn", "dora", "--role", "tester", "--dir", t.TempDir(), "--", "sleep", "9")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "Spawned\n", r.out)
	assert.Contains(t, r.err, "no agent is recognised as 'dora' yet: no agent is recognised in it")
	assert.Contains(t, r.err, "what goes to it waits until an agent is recognised in it; or, if it is a program that reads lines: intercom session end one, and spawn it with --as line")
	r = w.run("team", "spawn", "dora", "--role", "tester", "--dir", t.TempDir(), "--agent", "claude")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, r.err)
}

// The program of a command is looked up here, as the shell does: the sidecar may have another PATH, and another directory.
func TestStart_programIsFoundFromHere(t *testing.T) {
	w, b := newWorld(t), &fakeBackend{}
	w.serve(t, b)
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	for _, line := range []string{"session start", "team spawn dora --role tester --dir " + t.TempDir()} {
		words := append(strings.Fields(line), "--")
		r := w.run(append(words, "sleep", "9")...)
		require.Zero(t, r.code, r.err)
		assert.Equal(t, []string{sleep, "9"}, b.took().(api.StartSessionRequest).Command, line)
		r = w.run(append(words, "./no-such-program")...)
		assert.Equal(t, 1, r.code, line)
		assert.Contains(t, r.err, `no program "./no-such-program" can be run`, line)
	}
}

// Another computer starts only agents for this one, so a command for it is refused at once, be its program here or not.
func TestSessionStart_commandForAnotherComputer(t *testing.T) {
	w, b := newWorld(t), &fakeBackend{}
	w.serve(t, b)
	for _, program := range []string{"sleep", "no-such-program"} {
		r := w.run("session", "start", "--computer", "raspi", "--dir", "/srv", "--", program, "9")
		assert.Equal(t, 2, r.code, program)
		assert.Contains(t, r.err, "--computer: only an agent can be started on another computer, not a command", program)
		assert.Contains(t, r.err, "hint: intercom session start --computer raspi --agent NAME", program)
	}
	assert.Nil(t, b.took())
	r := w.run("session", "start", "--computer", "raspi", "--dir", "/srv", "--agent", "codex")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "raspi", b.took().(api.StartSessionRequest).Computer)
}

// This computer, by either of its names, is as good as no --computer: for a command, and for a directory that is not absolute.
func TestSessionStart_thisComputerByName(t *testing.T) {
	w, b := newWorld(t), &fakeBackend{computers: []api.Computer{{Name: "laptop", Local: true}, {Name: "raspi"}}}
	w.serve(t, b)
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, name := range []string{"local", "LOCAL", "laptop", "Laptop"} {
		r := w.run("session", "start", "--computer", name, "--", "sleep", "9")
		require.Zero(t, r.code, r.err)
		assert.Equal(t, api.StartSessionRequest{Dir: here, Command: []string{sleep, "9"}}, b.took(), name)
		r = w.run("session", "start", "--computer", name, "--agent", "codex")
		require.Zero(t, r.code, r.err)
		assert.Equal(t, api.StartSessionRequest{Dir: here, Agent: "codex"}, b.took(), name)
	}
}

func TestChatSay_held(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	assert.Zero(t, w.run("chat", "say", "plans", "hi").code)
	for reason, hint := range map[message.Reason]string{message.Paused: "chat resume plans", message.Stopped: "chat resume --all"} {
		b.said.Held = reason
		r := w.run("chat", "say", "plans", "hi")
		assert.Equal(t, 5, r.code)
		assert.Contains(t, r.out, "held for 1: "+string(reason))
		assert.Contains(t, r.err, "intercom: hint: intercom "+hint)
		assert.Equal(t, 5, w.run("chat", "say", "plans", "hi", "--json").code)
	}
	b.said = api.Said{Held: "held by policy", Awaits: true}
	r := w.run("chat", "say", "plans", "hi")
	assert.Equal(t, 5, r.code)
	assert.Regexp(t, `intercom: hint: intercom inbox approve [0-9a-f]{8}\n`, r.err)
}

func TestChatSay_nobodyGetsIt(t *testing.T) {
	b := &fakeBackend{said: api.Said{Failed: message.Dropped}}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("chat", "say", "plans", "hi")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.out, "failed for 1: dropped by policy")
	assert.Regexp(t, `intercom: error: failed: dropped by policy\nintercom: hint: intercom log [0-9a-f]{8} shows each step\n`, r.err)
	r = w.run("chat", "say", "plans", "hi", "--json")
	assert.Equal(t, 1, r.code)
	var said api.Said
	oneValue(t, r.out, &said)
	assert.Equal(t, message.Dropped, said.Failed)
}

func TestSend_behindOneThatIsHeld(t *testing.T) {
	b := &fakeBackend{receipt: message.Receipt{State: message.Queued}, behind: message.CopyMode}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("send", "bob", "hi")
	assert.Equal(t, 5, r.code)
	assert.Contains(t, r.out, "queued behind a held message: pane in a mode")
	assert.Contains(t, r.err, "pane in a mode")
}

func TestHints_leadOn(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	for _, c := range []struct {
		err  *api.Error
		line string
		want string
	}{
		{api.Errorf(api.CodeNotFound, `no session "%%9"`).About(api.NoSession, "%9"), "send %9 hi", "error: pane %9 is not adopted\nintercom: hint: intercom adopt %9 if an agent runs there; add --as line for a program that reads lines"},
		{api.Errorf(api.CodeNotFound, `no session "%%9"`).About(api.NoSession, "%9"), "release %9", "error: pane %9 is not adopted\nintercom: hint: intercom status"},
		{api.Errorf(api.CodeNotFound, `session "%%9" has ended: agent gone`).About(api.SessionEnded, "%9"), "send %9 hi", "has ended: agent gone\nintercom: hint: intercom adopt %9"},
		{api.Errorf(api.CodeNotFound, `no session "bop"; nearest: bob`).About(api.NoSession, "bop"), "send bop hi", "nearest: bob\nintercom: hint: intercom status"},
		{api.Errorf(api.CodeNotFound, `no chat "plan"; nearest: plans`).About(api.NoChat, "plan"), "chat show plan", "nearest: plans\nintercom: hint: intercom chat list"},
		{api.Errorf(api.CodeNotFound, `no chat "plan"`).About(api.NoChat, "plan"), "chat say plan hi", "hint: intercom chat list"},
		{api.Errorf(api.CodeNotFound, `chat "plans" has ended: stopped`).About(api.ChatEnded, "plans"), "chat say plans hi", "hint: intercom chat start --again plans restarts it"},
		{api.Errorf(api.CodeNotFound, `say: chat 1234abcd: the chat has ended: stopped`).About(api.ChatEnded, ""), "chat say 1234abcd hi", "hint: intercom chat start --again 1234abcd"},
		{api.Errorf(api.CodeNotFound, `stop chat: chat "plans": the chat has ended: stopped`).About(api.ChatEnded, "plans"), "chat stop plans", "has ended: stopped\nintercom: hint: nothing is left to stop in it; intercom chat list shows what goes on"},
		{api.Errorf(api.CodeNotFound, `pause chat: chat "plans": the chat has ended: stopped`).About(api.ChatEnded, "plans"), "chat pause plans", "hint: intercom chat start --again plans restarts it"},
		{api.Errorf(api.CodeNotFound, `no pane %%9`).WithHint("tmux list-panes -a").About(api.NoPane, "%9"), "send %9 hi", "error: no pane %9\nintercom: hint: tmux list-panes -a"},
		{api.Errorf(api.CodeNotFound, `no session "%%9"`).About(api.NoSession, "%9"), "chat add plans %9", "hint: intercom adopt %9 if an agent runs there; add --as line for a program that reads lines"},
		{api.Errorf(api.CodeNotFound, `no chat "x"`).About(api.NoChat, "x"), "chat mute x %9", "hint: intercom chat list"},
	} {
		b.err = c.err
		r := w.run(strings.Fields(c.line)...)
		assert.Equal(t, 1, r.code, c.line)
		assert.Contains(t, r.err, c.want, c.line)
	}
	b.err = nil
	for _, line := range []string{"name %1 a/b", "adopt %1 --as line --name [x]"} {
		r := w.run(strings.Fields(line)...)
		assert.Equal(t, 2, r.code, line)
		assert.Contains(t, r.err, "hint: 1 to 64 of", line)
	}
}

func TestStatus_tellsWhatStandsStill(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{status: api.Status{Stopped: true, Sessions: detailed().Sessions}})
	r := w.run("status")
	assert.Contains(t, r.out, "everything is stopped: intercom chat resume --all")
	assert.Contains(t, r.out, "nothing more is typed into %2 (Ben): text was not seen in the composer; intercom explain %2 says what ends that")
	assert.NotContains(t, r.out, "into %1")

	bare := newWorld(t)
	bare.serve(t, &fakeBackend{})
	assert.NotContains(t, bare.run("status", "--json").out, "null")
}

func TestLog_detail(t *testing.T) {
	id, chat := message.NewID(), message.NewID()
	receipt := func(state message.ReceiptState, in message.ID) message.Event {
		return message.Event{Kind: "receipt", Chat: in, Receipt: &message.Receipt{
			Message: id, State: state, Words: "the answer"[:len("the answer")*len(in)/max(1, len(in))],
			Evidence: []message.Evidence{{Source: "screen", Says: "emptied"}},
		}}
	}
	now := time.Now()
	b := &fakeBackend{log: []message.Event{
		{Kind: "message", Chat: chat, Message: &message.Envelope{ID: id, Type: "turn", From: message.Address{Name: "Ada", Number: 1}, Body: "hello"}},
		receipt(message.Queued, chat), receipt(message.Held, chat), receipt(message.Held, chat), receipt(message.Typed, chat), receipt(message.Submitted, chat), receipt(message.Answered, chat),
		receipt(message.Uncertain, chat),
		{Kind: "session", Peer: &message.Peer{Name: "Ada", PaneOf: message.PaneOf{Pane: "%1"}, State: message.Working}},
		{Kind: "session", Peer: &message.Peer{Name: "Ben", PaneOf: message.PaneOf{Pane: "%2"}, Ended: &now, EndReason: "agent gone"}},
		{Kind: "notice", Notice: "look here"},
	}}
	w := newWorld(t)
	w.serve(t, b)
	brief := w.run("log").out
	for _, want := range []string{"Ada (1)\n    hello", "held", "submitted", "uncertain", "agent gone", "look here"} {
		assert.Contains(t, brief, want)
	}
	assert.Equal(t, 1, strings.Count(brief, "held"), "the first hold of each delivery")
	for _, noise := range []string{"queued", "typed", "answered", "emptied", "working", "depth"} {
		assert.NotContains(t, brief, noise)
	}
	one := w.run("log", id.Short()).out
	assert.Contains(t, one, "queued")
	assert.Contains(t, one, "queued (screen: emptied at ")
	assert.NotContains(t, one, "working")
	all := w.run("log", "-v").out
	for _, want := range []string{"queued", "held", "typed", "answered", "emptied", "working", "depth 0"} {
		assert.Contains(t, all, want)
	}

	// The answer to a single message is shown with its receipt, because no chat shows it.
	b.log = []message.Event{receipt(message.Answered, "")}
	b.log[0].Receipt.Words = "forty-two"
	assert.Contains(t, w.run("log").out, "answered\n    forty-two")
}

func TestComplete(t *testing.T) {
	ended := message.Chat{ID: message.NewID(), Name: "old", State: message.ChatOver}
	b := &fakeBackend{
		sessions: []message.Peer{{ID: message.NewID(), Name: "ada", PaneOf: message.PaneOf{Pane: "%1"}}},
		chats:    []message.Chat{{ID: message.NewID(), Name: "plans", State: message.ChatOn}, ended},
		detail: api.ChatDetail{Chat: message.Chat{Participants: []message.Participant{
			{Name: "ada", Number: 1, Role: "author"}, {Name: "ben", Number: 2, Left: true},
		}}},
	}
	w := newWorld(t)
	w.serve(t, b)
	for line, want := range map[string]string{
		"chat show ":                   "plans",
		"chat add ":                    "plans",
		"chat add plans ":              "ada\t%1,%1\tada",
		"chat add plans ada ":          "",
		"chat start ada ":              "ada\t%1,%1\tada",
		"chat start --again ":          "old",
		"chat start --role ":           "ada=\t%1,%1=",
		"chat start a b --set header=": "header=attribution,header=both",
		"chat start a b --set words=":  "words=last,words=all",
		"chat start a b --set person=": "person=on,person=off",
		"chat start a b --set depth=":  "",
		"chat start a b --set exp":     "depth=",
		"release ":                     "ada\t%1,%1\tada",
		"status ":                      "",
		"log --chat ":                  "plans,old",
		"chat remove plans ":           "ada\t(1) author",
		"chat mute plans ":             "ada\t(1) author",
	} {
		args := strings.Split(line, " ")
		r := w.run(append([]string{"__complete"}, args...)...)
		assert.Zero(t, r.code, line)
		got := strings.ReplaceAll(strings.TrimSpace(r.out[:strings.LastIndex(r.out, ":")]), "\n", ",")
		if strings.HasSuffix(line, "exp") {
			assert.Contains(t, got, "expire=")
			assert.True(t, strings.HasPrefix(got, want), got)
			continue
		}
		if want == "plans" || want == "old" {
			got, _, _ = strings.Cut(got, "\t")
		}
		assert.Equal(t, want, got, line)
	}
}
