package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/porttest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// hub is a NATS server of the test's own, on loopback, that can be ended and started again.
type hub struct {
	t    testing.TB
	opts *server.Options
	*server.Server
}

func newHub(t testing.TB) *hub {
	// It has a port of its own, and starts again there.
	h := &hub{t: t, opts: &server.Options{Host: "127.0.0.1", Port: porttest.Free(t), JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}}
	h.start()
	return h
}

func (h *hub) start() {
	h.t.Helper()
	var err error
	h.Server, err = server.NewServer(h.opts)
	require.NoError(h.t, err)
	h.Start()
	require.True(h.t, h.ReadyForConnections(tmuxtest.Patience))
	started := h.Server
	h.t.Cleanup(func() { endServer(started) })
}

func endServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// linked is a rig that is a computer of that name; lua is the rest of its configuration.
func linked(t testing.TB, h *hub, name, lua string, opts ...option) *rig {
	t.Helper()
	r := newRig(t, append([]option{files("init.lua", fmt.Sprintf(`intercom.configure { computer = { name = %q, nats = %q }, %s }`, name, h.ClientURL(), lua))}, opts...)...)
	return r
}

// computers are the computers that a rig knows.
func (r *rig) computers() []api.Computer {
	r.t.Helper()
	all, err := api.Call(r.t.Context(), r.client.Client, api.Computers, api.None{})
	require.NoError(r.t, err)
	return all
}

// meets waits until a rig knows the sessions of another computer.
func (r *rig) meets(computer string, sessions ...*agent) {
	r.t.Helper()
	r.waitFor("the sessions of "+computer, func() bool {
		peers, err := api.Call(r.t.Context(), r.client.Client, api.Peers, api.None{})
		require.NoError(r.t, err)
		return !slices.ContainsFunc(sessions, func(a *agent) bool {
			return !slices.ContainsFunc(peers, func(p api.Peer) bool { return p.Computer == computer && p.Session == a.session.ID })
		})
	})
}

// from is the header of a message of an agent on another computer.
func from(computer string, a *agent) string {
	return "AI[" + computer + ":" + string(a.session.ID) + "] | "
}

// T4, R37, N2, L4: messages go between two computers, each with a sidecar and a tmux server of its own.
func TestT4_N2_L4_MessagesBetweenComputers(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	workstation := linked(t, h, "workstation", "", files("policies/10-route.lua", `intercom.on("route", function(msg)
  if msg.from == "Here" and msg.body:find("elsewhere") then return "raspi/There" end
end)`))
	raspi := linked(t, h, "raspi", "")
	here, there := workstation.adopted("Here", bracketed...), raspi.adopted("There", "--reply", "well", "--bracketed")
	workstation.meets("raspi", there)
	raspi.meets("workstation", here)

	there.do(":say to itself")
	_, err := asks[api.Sent](there, "send", api.SendRequest{To: "workstation/Here", Text: "hello"})
	require.NoError(t, err)
	here.hears(from("raspi", there) + "hello")

	// A policy may send there too, to a session to which nobody has sent anything yet.
	near := workstation.adopted("Near", bracketed...)
	_, err = asks[api.Sent](here, "send", api.SendRequest{To: near.pane, Text: "a policy sends this elsewhere"})
	require.NoError(t, err)
	there.hears(from("workstation", here) + "a policy sends this elsewhere")
	here.hears(from("raspi", there) + `[notice] "There" stopped: turn ended`)

	sent, err := asks[api.Sent](here, "send", api.SendRequest{To: "raspi/" + string(there.session.ID), Text: "how are you", Wait: api.WaitAnswered, Timeout: patience})
	require.NoError(t, err)
	assert.Equal(t, message.Answered, sent.Receipt.State)
	assert.Equal(t, "well", sent.Receipt.Words)
	there.hears(from("workstation", here) + "how are you")
	here.hears(from("raspi", there) + `[notice] "There" stopped: turn ended`)

	t.Run("C33 every alias of a session elsewhere", func(t *testing.T) {
		far := raspi.adopted("Far", bracketed...)
		workstation.meets("raspi", far)
		peers, err := api.Call(t.Context(), workstation.client.Client, api.Peers, api.None{})
		require.NoError(t, err)
		i := slices.IndexFunc(peers, func(p api.Peer) bool { return p.ID == far.session.ID })
		require.GreaterOrEqual(t, i, 0)
		assert.Equal(t, message.PeerRemote, peers[i].Kind)
		require.Len(t, peers[i].Aliases, 5)
		for n, alias := range peers[i].Aliases {
			text := fmt.Sprint("alias ", n)
			_, err := asks[api.Sent](here, "send", api.SendRequest{To: alias, Text: text})
			require.NoError(t, err, alias)
			far.hears(from("workstation", here) + text)
		}
	})

	t.Run("C34 its own name is local", func(t *testing.T) {
		for _, to := range []string{"local/Near", "workstation/Near", "WORKSTATION/near"} {
			_, err := asks[api.Sent](here, "send", api.SendRequest{To: to, Text: "to " + to})
			require.NoError(t, err)
			near.hears(from("local", here) + "to " + to)
		}
		assert.Len(t, near.received(), 3, "and nothing of what went elsewhere")
		_, err := asks[api.Sent](here, "send", api.SendRequest{Computer: "Workstation", To: string(near.session.ID), Text: "by its id"})
		require.NoError(t, err)
		near.hears(from("local", here) + "by its id")
		for _, ref := range []string{"local/Near", "workstation/Near"} {
			told, err := api.Call(t.Context(), workstation.client.Client, api.Explain, api.ExplainRequest{Pane: ref})
			require.NoError(t, err)
			assert.Equal(t, near.pane, told.Pane)
		}
		_, err = api.Call(t.Context(), workstation.client.Client, api.Explain, api.ExplainRequest{Pane: "raspi/There"})
		assert.ErrorContains(t, err, "is on raspi")
	})
	t.Run("nobody of that name", func(t *testing.T) {
		_, err := asks[api.Sent](here, "send", api.SendRequest{To: "raspi/Nobody", Text: "x"})
		assert.ErrorContains(t, err, `no session "Nobody"`)
	})
	t.Run("a session that has ended", func(t *testing.T) {
		_, err := raspi.client.Release(t.Context(), api.ReleaseRequest{Pane: there.pane})
		require.NoError(t, err)
		sent, err := asks[api.Sent](here, "send", api.SendRequest{To: "raspi/" + string(there.session.ID), Text: "x", Wait: api.WaitAnswered, Timeout: patience})
		if err != nil { // word of the end was here first
			require.ErrorContains(t, err, "has ended: agent gone")
			return
		}
		assert.Equal(t, message.Failed, sent.Receipt.State)
	})
}

// B2, B4: a message lies deeper than the one that it answers, on whichever computer, and a ring over two computers
// meets the limit.
func TestB2_B4_RingAcrossComputers(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	lua := `brakes = { depth = 6, own_minute = 1000, own_hour = 1000, rate = 1000 }, computers = { workstation = { may = { "send", "answer", "chat" } } }`
	workstation, raspi := linked(t, h, "workstation", lua), linked(t, h, "raspi", lua)
	one, far := workstation.adopted("One", "--reply", "and so on", "--bracketed"), raspi.adopted("Far", "--reply", "and on", "--bracketed")
	workstation.meets("raspi", far)
	chat, err := workstation.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{one.pane, "raspi/Far"}, Say: "begin", Set: map[string]string{"stall": "off"}})
	require.NoError(t, err)
	stopped := func(r *rig) bool {
		for _, c := range r.snapshotChats() {
			if c.State == message.ChatPaused && strings.Contains(c.Why, string(message.AtDepthLimit)) {
				return true
			}
		}
		return false
	}
	workstation.waitFor("the limit", func() bool { return stopped(workstation) || stopped(raspi) })
	deepest := 0
	for _, r := range []*rig{workstation, raspi} {
		for _, e := range r.events() {
			if e.Message != nil {
				deepest = max(deepest, e.Message.Depth)
			}
		}
	}
	assert.GreaterOrEqual(t, deepest, 6, "each turn is deeper than the last, on whichever computer: %s", chat.ID)
	assert.LessOrEqual(t, len(one.received())+len(far.received()), 8)
}

// R37: words in a chat are heard on the other computer, with the speaker's name and number.
func TestR37_ChatAcrossComputers(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	workstation, raspi := linked(t, h, "workstation", ""), linked(t, h, "raspi", `computers = { workstation = { may = { "send", "answer", "chat" } } }`)
	one, two := workstation.adopted("One", bracketed...), workstation.adopted("Two", bracketed...)
	far := raspi.adopted("Far", bracketed...)
	workstation.meets("raspi", far)
	chat, err := workstation.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{one.pane, two.pane, "raspi/Far"}})
	require.NoError(t, err)
	one.do(":say hello all")
	two.hears("[One] (1):\n\nhello all")
	far.hears("[One.workstation] (1):\n\nhello all")
	far.do(":say hello back")
	one.hears("[Far.raspi] (3):\n\nhello back")
	two.hears("[Far.raspi] (3):\n\nhello back")

	mirrored := func() []message.Chat { return raspi.snapshotChats() }
	require.Len(t, mirrored(), 1)
	assert.Equal(t, &message.Home{Computer: "workstation", Chat: chat.ID}, mirrored()[0].Home)

	t.Run("who joins and leaves is known there", func(t *testing.T) {
		_, err := workstation.client.RemoveMember(t.Context(), api.MemberRequest{Chat: string(chat.ID), Pane: two.pane})
		require.NoError(t, err)
		raspi.waitFor("two has left there too", func() bool {
			return slices.ContainsFunc(mirrored()[0].Participants, func(p message.Participant) bool { return p.Number == 2 && p.Left })
		})
	})
	t.Run("a pause holds what comes", func(t *testing.T) {
		_, err := raspi.client.PauseChat(t.Context(), api.ChatRef{Chat: string(mirrored()[0].ID)})
		require.NoError(t, err)
		one.do(":say later")
		raspi.waitFor("it is held", func() bool {
			return raspi.current(mirrored()[0]).State == message.ChatPaused && len(raspi.inbox()) == 1
		})
		require.NoError(t, raspi.yes("resume", string(mirrored()[0].ID)))
		far.hears("[One.workstation] (1):\n\nlater")
	})
	t.Run("its end there takes its sessions out here", func(t *testing.T) {
		_, err := raspi.client.StopChat(t.Context(), api.ChatRef{Chat: string(mirrored()[0].ID)})
		require.NoError(t, err)
		workstation.waitFor("the chat is over", func() bool { return workstation.current(chat).State == message.ChatOver })
	})
}

// A chat of another computer, which no setting allows, waits for a person's yes; one yes is enough.
func TestN2_ChatNeedsAYes(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	workstation, raspi := linked(t, h, "workstation", ""), linked(t, h, "raspi", "")
	one, far := workstation.adopted("One", bracketed...), raspi.adopted("Far", bracketed...)
	workstation.meets("raspi", far)
	chat, err := workstation.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{one.pane, "raspi/Far"}})
	require.NoError(t, err)
	one.do(":say hello")
	raspi.waitFor("it is held", func() bool { return len(raspi.inbox()) == 1 })
	far.do(":say what I alone know")
	raspi.waitFor("its words stay", func() bool { return len(raspi.inbox()) == 2 })
	assert.Empty(t, far.received())
	assert.Empty(t, one.received())
	mirror := raspi.snapshotChats()[0]
	assert.Equal(t, message.ChatPaused, mirror.State)
	require.NoError(t, raspi.yes("resume", string(mirror.ID)))
	far.hears("[One.workstation] (1):\n\nhello")
	one.hears("[Far.raspi] (2):\n\nwhat I alone know")
	_, err = workstation.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	raspi.waitFor("it is over there too", func() bool { return raspi.current(mirror).State == message.ChatOver })
}

// inbox is all that waits in the inbox.
func (r *rig) inbox() []api.Held {
	r.t.Helper()
	all, err := r.client.Inbox(r.t.Context())
	require.NoError(r.t, err)
	return all
}

// snapshotChats are the chats that have not ended.
func (r *rig) snapshotChats() []message.Chat {
	r.t.Helper()
	chats, err := r.client.Chats(r.t.Context(), false)
	require.NoError(r.t, err)
	return chats
}

// N1, N3: messages to a computer that is away wait, and arrive in order when it is back, even if the server ends
// meanwhile.
func TestN1_N3_AwayAndBack(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	fast := `brakes = { own_minute = 100000, own_hour = 100000, rate = 100000 }`
	workstation, raspi := linked(t, h, "workstation", fast), linked(t, h, "raspi", fast)
	there := raspi.adopted("There", silent...)
	workstation.meets("raspi", there)
	known := func() api.Computer { return workstation.computers()[1] }
	workstation.waitFor("raspi is here", func() bool { return known().Present && known().RoundTrip > 0 })
	require.NoError(t, raspi.end())
	workstation.waitFor("raspi is away", func() bool { return !known().Present })

	var want []string
	send := func(n int) {
		for range n {
			text := fmt.Sprintf("message %d", len(want))
			want = append(want, "[tester.workstation] "+text)
			_, err := workstation.client.Send(t.Context(), api.SendRequest{To: "raspi/" + string(there.session.ID), Text: text})
			require.NoError(t, err)
		}
	}
	send(10)
	workstation.waitFor("they wait at the server", func() bool {
		held := workstation.inbox()
		return len(held) == 10 && !slices.ContainsFunc(held, func(p api.Held) bool { return p.Reason != message.ComputerAway })
	})
	assert.Equal(t, 10, known().Waiting)
	endServer(h.Server)
	workstation.waitFor("the link is cut", func() bool { return workstation.computers()[0].Why != "" })
	send(10)
	h.start()
	raspi.start()
	send(10)
	raspi.waitFor("all have come", func() bool { return len(there.received()) == len(want) })
	for i, got := range there.received() {
		assert.True(t, strings.HasSuffix(got, fmt.Sprintf(" | message %d", i)), got)
	}
	workstation.waitFor("all are confirmed", func() bool { return known().Waiting == 0 })
	assert.Empty(t, workstation.inbox())
}

// T28: a session is started, read and ended on another computer that allows it. A start that fails says so in time.
func TestT28_T30_SessionOnAnotherComputer(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	dir := t.TempDir()
	program, log := filepath.Join(dir, "liner"), filepath.Join(dir, "liner.jsonl")
	tmuxtest.Program(t, program, "#!/bin/sh\nexec "+quoted([]string{personatest.Program(t), "line", "--name", "Worker", "--prompt", "Worker> ", "--log", log})+"\n")
	workstation := linked(t, h, "workstation", "")
	raspi := linked(t, h, "raspi", fmt.Sprintf(`computers = { workstation = { may = { "send", "answer", "start", "read" } } }, sessions = { allow = { %q }, roots = { %q } }`, program, dir), launches(t))
	boss := workstation.adopted("Boss", bracketed...)
	workstation.waitFor("raspi is here", func() bool { all := workstation.computers(); return len(all) == 2 && all[1].Present })

	started, err := asks[api.StartedSession](boss, "start", api.StartSessionRequest{Computer: "raspi", Dir: dir, Agent: program, Title: "Worker Task", Message: "/next-work"})
	require.NoError(t, err)
	assert.Equal(t, api.StartDone, started.Status)
	assert.Equal(t, "raspi", started.Session.Computer)
	raspi.waitFor("its first message", hasText(log, from("workstation", boss)+"/next-work"))
	assert.Contains(t, raspi.Run("list-panes", "-a", "-F", "#{pane_current_path}"), dir)
	boss.hears(fmt.Sprintf("AI[raspi:%s] | [notice] %q stopped: turn ended", started.Session.ID, "Worker Task"))
	words, err := asks[api.SessionWords](boss, "data", api.SessionDataQuery{Computer: "raspi", Session: string(started.Session.ID)})
	require.NoError(t, err)
	assert.Equal(t, "raspi", words.Session.Computer)
	ended, err := asks[api.EndedSession](boss, "end", api.EndSessionRequest{Computer: "raspi", Session: string(started.Session.ID)})
	require.NoError(t, err)
	assert.Equal(t, api.EndDone, ended.Status)
	for name, req := range map[string]api.StartSessionRequest{
		`no directory`:       {Computer: "raspi", Dir: filepath.Join(dir, "missing"), Agent: program},
		`no computer "mars"`: {Computer: "mars", Dir: dir, Agent: program},
	} {
		began := time.Now()
		_, err := asks[api.StartedSession](boss, "start", req)
		assert.ErrorContains(t, err, name)
		assert.Less(t, time.Since(began), 5*time.Second, "T30 says so")
	}
	start := func() error {
		_, err := asks[api.StartedSession](boss, "start", api.StartSessionRequest{Computer: "raspi", Dir: dir, Agent: program})
		return err
	}
	require.NoError(t, raspi.end())
	began := time.Now()
	assert.ErrorContains(t, start(), `computer "raspi" is away`)
	assert.Less(t, time.Since(began), 5*time.Second, "T30 says so")
	// A suspended computer seems present for a while, and keeps its connection. It is asked only whether it is there,
	// so that nothing is uncertain.
	suspended := raspi.child()
	workstation.waitFor("raspi is here again", func() bool { return workstation.computers()[1].Present })
	require.NoError(t, suspended.Process.Signal(syscall.SIGSTOP))
	require.EqualError(t, start(), `computer "raspi" does not answer in time`)
}

// N6, M7: another computer is refused what it may not do, its words never count as a person's, and a policy can tell
// them by their origin.
func TestN6_M7_RemoteIsNoPerson(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	workstation := linked(t, h, "workstation", "")
	raspi := linked(t, h, "raspi", "", files("policies/10-remote.lua",
		`intercom.rule("from elsewhere", { origin = "remote", trust = "remote", body = "^deploy" }, intercom.ask { reason = "from elsewhere" })`))
	worker := raspi.adopted("Worker", silent...)
	boss := workstation.adopted("Boss", bracketed...)
	workstation.meets("raspi", worker)
	for op, req := range map[string]any{
		"start": api.StartSessionRequest{Computer: "raspi", Dir: "/tmp", Agent: "claude"},
		"end":   api.EndSessionRequest{Computer: "raspi", Session: string(worker.session.ID)},
		"data":  api.SessionDataQuery{Computer: "raspi", Session: string(worker.session.ID)},
	} {
		_, err := asks[map[string]any](boss, op, req)
		assert.ErrorContains(t, err, "may not", op)
	}
	// A person's message from there does not count as a person's here.
	_, err := workstation.client.Send(t.Context(), api.SendRequest{To: "raspi/Worker", Text: "I am the person"})
	require.NoError(t, err)
	raspi.waitFor("it has come", func() bool { return len(worker.received()) == 1 })
	var m *message.Envelope
	for _, e := range raspi.events() {
		if e.Message != nil && e.Message.Body == "I am the person" {
			m = e.Message
		}
	}
	require.NotNil(t, m)
	assert.Equal(t, message.OriginRemote, m.Origin)
	assert.Equal(t, message.TrustRemote, m.Trust)
	assert.Positive(t, m.Depth)
	assert.True(t, strings.HasPrefix(worker.received()[0], "AI[workstation:"), worker.received()[0])

	_, err = workstation.client.Send(t.Context(), api.SendRequest{To: "raspi/Worker", Text: "deploy it from there"})
	require.NoError(t, err)
	raspi.waitFor("it waits for a yes here", func() bool { return len(raspi.heldFor(message.AwaitingApproval)) == 1 })
	_, err = raspi.client.Send(t.Context(), api.SendRequest{To: "Worker", Text: "deploy it from here"})
	require.NoError(t, err)
	worker.hears("[tester] (0): deploy it from here")
	assert.Len(t, worker.received(), 2)
}

// C8: nothing about a computer's files, ports, panes and processes goes over the link. A server between two computers
// sees none of their names, except the directory that one gives the other.
func TestC8_NothingLocalCrosses(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	asked := filepath.Join(t.TempDir(), "asked-for")
	require.NoError(t, os.Mkdir(asked, 0o700))
	program, log := filepath.Join(asked, "liner"), filepath.Join(asked, "liner.jsonl")
	tmuxtest.Program(t, program, "#!/bin/sh\nexec "+quoted([]string{personatest.Program(t), "line", "--name", "Worker", "--prompt", "Worker> ", "--log", log})+"\n")
	workstation := linked(t, h, "workstation", `computers = { raspi = { may = { "send", "answer", "chat" } } }`)
	raspi := linked(t, h, "raspi", fmt.Sprintf(`computers = { workstation = { may = { "send", "answer", "chat", "start", "read" } } }, sessions = { allow = { %q }, roots = { %q } }`, program, asked), launches(t))
	var mu sync.Mutex
	var crossed []string
	conn, err := nats.Connect(h.ClientURL())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	_, err = conn.Subscribe("intercom.>", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		crossed = append(crossed, m.Subject+" "+string(m.Data))
	})
	require.NoError(t, err)
	require.NoError(t, conn.Flush())

	boss, far := workstation.adopted("Boss", bracketed...), raspi.adopted("Far", bracketed...)
	workstation.meets("raspi", far)
	raspi.meets("workstation", boss)
	_, err = raspi.client.Send(t.Context(), api.SendRequest{To: "workstation/Boss", Text: "how are you?"})
	require.NoError(t, err)
	workstation.waitFor("it has come", func() bool {
		got := boss.received()
		return len(got) == 1 && strings.HasSuffix(got[0], " | how are you?")
	})
	started, err := asks[api.StartedSession](boss, "start", api.StartSessionRequest{Computer: "raspi", Dir: asked, Agent: program, Title: "Worker Task", Message: "begin", Near: boss.pane})
	require.NoError(t, err)
	raspi.waitFor("its first message", hasText(log, from("workstation", boss)+"begin"))
	_, err = asks[api.SessionWords](boss, "data", api.SessionDataQuery{Computer: "raspi", Session: string(started.Session.ID)})
	require.NoError(t, err)
	_, err = workstation.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{boss.pane, "raspi/Far"}})
	require.NoError(t, err)
	boss.do(":say hello all")
	far.hears("[Boss.workstation] (1):\n\nhello all")
	_, err = asks[api.StartedSession](boss, "start", api.StartSessionRequest{Computer: "raspi", Dir: "/", Agent: "no-such-agent"})
	require.Error(t, err)
	status, err := raspi.client.Status(t.Context())
	require.NoError(t, err)
	i := slices.IndexFunc(status.Sessions, func(p message.Peer) bool { return p.ID == started.Session.ID })
	require.GreaterOrEqual(t, i, 0)
	worker := status.Sessions[i]
	ended, err := asks[api.EndedSession](boss, "end", api.EndSessionRequest{Computer: "raspi", Session: string(started.Session.ID)})
	require.NoError(t, err)
	assert.Equal(t, api.EndDone, ended.Status)
	require.NoError(t, conn.Flush())

	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(crossed, "\n")
	for _, was := range []string{"how are you?", "hello all", "begin", asked, "Worker Task"} {
		assert.Contains(t, all, was, "it was seen")
	}
	all = strings.ReplaceAll(all, asked, "")
	for _, one := range []*rig{workstation, raspi} {
		for what, name := range map[string]string{"directory": one.dir, "socket of tmux": one.Socket, "socket": one.cfg.Paths.Socket, "journal": one.cfg.Paths.State, "configuration": one.cfg.Paths.Config} {
			require.NotEmpty(t, name, what)
			assert.NotContains(t, all, name, what)
		}
	}
	for _, p := range []message.Peer{boss.session, far.session, worker} {
		require.NotEmpty(t, p.TTY)
		assert.NotContains(t, all, fmt.Sprintf("%q", p.Pane))
		assert.NotContains(t, all, p.TTY)
		assert.NotRegexp(t, fmt.Sprintf(`"pid":(%d|%d|%d)\b`, p.PaneProc.PID, p.Foreground.PID, p.Server.PID), all)
	}
}
