package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	system "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func init() {
	if len(os.Args) > 4 && os.Args[1] == "session-exec" { // tmux starts this in place of the program
		fmt.Fprintln(os.Stderr, system.Become(os.Args[3], os.Args[4:], system.Mark(os.Args[2])))
		os.Exit(1)
	}
	if file := os.Getenv("INTERCOM_TEST_SESSION"); file != "" {
		os.Exit(sessionMain(file, os.Args[1], os.Args[2]))
	}
}

// sessionMain is what an agent runs to make one of these requests: the request is in a file, and the answer goes into
// another file beside it.
func sessionMain(file, socket, op string) int {
	data, err := os.ReadFile(file)
	if err != nil {
		return 1
	}
	var answer any
	c, ctx := clientAt(socket).Client, context.Background()
	switch op {
	case "start":
		answer, err = call(ctx, c, api.StartSession, data)
	case "end":
		answer, err = call(ctx, c, api.EndSession, data)
	case "data":
		answer, err = call(ctx, c, api.SessionData, data)
	case "send":
		answer, err = call(ctx, c, api.Send, data)
	case "mute":
		answer, err = call(ctx, c, api.StopNotices, data)
	case "shutdown-response":
		answer, err = call(ctx, c, api.AnswerShutdown, data)
	case "plan":
		answer, err = call(ctx, c, api.SubmitPlan, data)
	}
	if err != nil {
		answer = api.AsError(err)
	}
	out, _ := json.Marshal(answer)
	if os.WriteFile(file+".tmp", out, 0o600) != nil || os.Rename(file+".tmp", file+".out") != nil {
		return 1
	}
	return 0
}

func call[Q, R any](ctx context.Context, c *api.Client, op api.Op[Q, R], data []byte) (reply R, err error) {
	var req Q
	if err = json.Unmarshal(data, &req); err != nil {
		return reply, err
	}
	return api.Call(ctx, c, op, req)
}

// asks has an agent make a request by a program of its own, and returns the reply.
func asks[R any](a *agent, op string, req any) (reply R, err error) {
	a.t.Helper()
	self, e := os.Executable()
	require.NoError(a.t, e)
	file := filepath.Join(a.dir, string(message.NewID()))
	data, e := json.Marshal(req)
	require.NoError(a.t, e)
	require.NoError(a.t, os.WriteFile(file, data, 0o600))
	ended := a.count(persona.EventChildEnd)
	a.do(":exec INTERCOM_TEST_SESSION=%s %s %s %s", file, self, a.cfg.Paths.Socket, op)
	var out []byte
	a.waitFor("the answer", func() bool {
		out, e = os.ReadFile(file + ".out")
		return e == nil && a.count(persona.EventChildEnd) > ended
	})
	told := &api.Error{}
	if json.Unmarshal(out, told) == nil && told.Text != "" {
		return reply, told
	}
	return reply, json.Unmarshal(out, &reply)
}

// launches has a sidecar start sessions by this test program.
func launches(t testing.TB) option {
	self, err := os.Executable()
	require.NoError(t, err)
	return func(c *daemon.Config) { c.Launcher = []string{self, "session-exec"} }
}

// worker is the command of a line program that answers, and its log.
func (r *rig) worker(name string) (command []string, log string) {
	log = filepath.Join(r.dir, name+".jsonl")
	return []string{personatest.Program(r.t), "line", "--name", name, "--prompt", name + "> ", "--log", log}, log
}

func (r *rig) started(req api.StartSessionRequest) api.StartedSession {
	r.t.Helper()
	s, err := api.Call(r.t.Context(), r.client.Client, api.StartSession, req)
	require.NoError(r.t, err)
	return s
}

func (r *rig) listed() (all []api.Session) {
	r.t.Helper()
	all, err := api.Call(r.t.Context(), r.client.Client, api.ListSessions, api.None{})
	require.NoError(r.t, err)
	return all
}

func (r *rig) endsSession(ref string) (api.EndedSession, error) {
	return api.Call(r.t.Context(), r.client.Client, api.EndSession, api.EndSessionRequest{Session: ref})
}

// quoted is a command line for sh.
func quoted(words []string) string { return "'" + strings.Join(words, "' '") + "'" }

func hasText(log, text string) func() bool {
	return func() bool {
		data, _ := os.ReadFile(log)
		return strings.Contains(string(data), text)
	}
}

func TestT27_StartSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	current := r.Run("display-message", "-p", "-t", "base:", "#{window_id} #{pane_id} #{pane_width} #{pane_height}")
	link, project := filepath.Join(r.dir, "link"), filepath.Join(r.dir, "a b", "project")
	require.NoError(t, os.MkdirAll(project, 0o700))
	require.NoError(t, os.Symlink(project, link))
	command, log := r.worker("Worker")

	s := r.started(api.StartSessionRequest{
		Computer: "local", Dir: link + "/../project", Title: "Worker Task #{pid} 'x'", Message: "/next-work", Command: command, As: "line",
	})
	assert.Equal(t, api.StartDone, s.Status)
	assert.NotEmpty(t, s.Session.ID)
	r.waitFor("its first message", hasText(log, "[tester] (0): /next-work"))
	assert.Equal(t, project, r.Run("display-message", "-p", "-t", s.Session.Pane, "#{pane_current_path}"))
	assert.Equal(t, "Worker Task #{pid} 'x'", r.Run("show-options", "-pv", "-t", s.Session.Pane, "@intercom-title"))
	assert.Equal(t, string(s.Session.ID), r.Run("show-options", "-pv", "-t", s.Session.Pane, "@intercom-session"))
	assert.Equal(t, current, r.Run("display-message", "-p", "-t", "base:", "#{window_id} #{pane_id} #{pane_width} #{pane_height}"), "nobody's focus moved")

	t.Run("C41 the name is made from the title", func(t *testing.T) { assert.Equal(t, "Worker-Task-pid-x", s.Session.Name) })
	t.Run("T38 it is listed", func(t *testing.T) {
		r.waitFor("its output", func() bool { all := r.listed(); return len(all) == 1 && all[0].LastOutput != nil })
		one := r.listed()[0]
		assert.Equal(t, s.Session.ID, one.ID)
		assert.Equal(t, "Worker Task #{pid} 'x'", one.Title)
		assert.Equal(t, "local", one.Computer)
		assert.Equal(t, "line", one.Agent)
		assert.Equal(t, "tester", one.Caller)
		assert.Equal(t, []message.ID{}, one.Subscribers)
	})
	t.Run("T30 what cannot be started is an error", func(t *testing.T) {
		began := time.Now()
		for _, req := range []api.StartSessionRequest{
			{Dir: filepath.Join(r.dir, "nowhere"), Command: command, As: "line"},
			{Dir: log, Command: command, As: "line"},
			{Dir: project, Command: []string{log}, As: "line"},
			{Dir: project, Agent: "nobody"},
			{Dir: project, Computer: "mars", Command: command, As: "line"},
		} {
			_, err := api.Call(t.Context(), r.client.Client, api.StartSession, req)
			assert.Error(t, err, "%+v", req)
		}
		assert.Less(t, time.Since(began), 5*5*time.Second)
		assert.Len(t, r.listed(), 1)
	})
	qa := filepath.Join(r.dir, "qa")
	tmuxtest.Program(t, qa, "#!/bin/sh\nexec "+quoted(command)+"\n")
	t.Run("T29 a message is optional, an agent and how hard it thinks may be named", func(t *testing.T) {
		assert.Empty(t, r.started(api.StartSessionRequest{Dir: r.dir, Agent: qa}).Message)
		for _, mode := range []string{"fast", "med", "slow"} {
			r.started(api.StartSessionRequest{Dir: r.dir, Agent: qa, Thinking: mode})
		}
		_, err := api.Call(t.Context(), r.client.Client, api.StartSession, api.StartSessionRequest{Dir: r.dir, Agent: qa, Thinking: "deep"})
		assert.ErrorContains(t, err, `unknown thinking mode "deep"`)
	})
	t.Run("C34 this computer by its name", func(t *testing.T) {
		r.started(api.StartSessionRequest{Computer: "LOCAL", Dir: r.dir, Agent: qa})
		_, err := api.Call(t.Context(), r.client.Client, api.EndSession, api.EndSessionRequest{Computer: "mars", Session: "qa"})
		assert.ErrorContains(t, err, `no computer "mars"`)
	})
}

// An agent's start has the agent's header and is listed under the agent's name; a start that the settings do not
// allow waits for a person.
func TestM7_WhatAnAgentMayStart(t *testing.T) {
	t.Parallel()
	config := ""
	r := newRig(t, launches(t), reads(t, &config))
	project, outside := filepath.Join(r.dir, "src", "project"), filepath.Join(r.dir, "outside")
	require.NoError(t, os.MkdirAll(project, 0o700))
	require.NoError(t, os.Mkdir(outside, 0o700))
	command, log := r.worker("Qa")
	qa := filepath.Join(r.dir, "qa")
	tmuxtest.Program(t, qa, "#!/bin/sh\nexec "+quoted(command)+"\n")
	qa2 := filepath.Join(r.dir, "qa2")
	tmuxtest.Program(t, qa2, "#!/bin/sh\nexec "+quoted(command)+"\n")
	r.allows(config, fmt.Sprintf("allow = { %q }, roots = { %q }", qa, filepath.Join(r.dir, "src")))
	ada, ben := r.adopted("Ada", silent...), r.adopted("Ben", silent...)

	s, err := asks[api.StartedSession](ada, "start", api.StartSessionRequest{Dir: project, Agent: qa, Message: "/next-work"})
	require.NoError(t, err)
	require.Equal(t, api.StartDone, s.Status)
	r.waitFor("the header", hasText(log, "AI[local:"+string(ada.session.ID)+"] | /next-work"))
	i := slices.IndexFunc(r.listed(), func(one api.Session) bool { return one.ID == s.Session.ID })
	assert.Equal(t, string(ada.session.ID), r.listed()[i].Caller)

	link := filepath.Join(r.dir, "src", "link")
	require.NoError(t, os.Symlink(outside, link))
	for _, req := range []api.StartSessionRequest{
		{Dir: outside, Agent: qa}, {Dir: link, Agent: qa}, {Dir: project + "/../../outside", Agent: qa}, {Dir: project, Agent: qa2}, {Dir: r.dir, Agent: qa},
	} {
		held, err := asks[api.StartedSession](ada, "start", req)
		require.NoError(t, err)
		assert.Equal(t, api.StartHeld, held.Status, "%+v", req)
	}
	for _, req := range []api.StartSessionRequest{
		{Dir: project, Agent: "sh -c 'touch x'"}, {Dir: project, Command: []string{"/bin/sh", "-c", "touch x"}, As: "line"},
	} {
		_, err := asks[api.StartedSession](ada, "start", req)
		assert.Error(t, err, "%+v", req)
	}
	_, err = asks[api.EndedSession](ben, "end", api.EndSessionRequest{Session: string(s.Session.ID)})
	assert.ErrorContains(t, err, "only what it started itself")
	_, err = asks[api.EndedSession](ada, "end", api.EndSessionRequest{Session: "Ben"})
	assert.ErrorContains(t, err, "only what it started itself")
	_, err = asks[api.SessionWords](ben, "data", api.SessionDataQuery{Session: string(s.Session.ID)})
	assert.ErrorContains(t, err, "an agent may read only")
	chat, err := r.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{ben.session.Pane, s.Session.Pane}})
	require.NoError(t, err)
	since, err := asks[api.SessionWords](ben, "data", api.SessionDataQuery{Session: string(s.Session.ID)})
	require.NoError(t, err)
	assert.NotContains(t, since.Words, "/next-work", "what was said before their chat is not for it")
	_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	words, err := asks[api.SessionWords](ada, "data", api.SessionDataQuery{Session: string(s.Session.ID)})
	require.NoError(t, err)
	assert.Contains(t, words.Words, "/next-work")

	// Starts that wait outlive the sidecar, and a person decides.
	require.NoError(t, r.end())
	r.start()
	held := r.held()
	require.Len(t, held, 5)
	assert.True(t, held[0].Decision)
	require.NoError(t, r.yes("approve", string(held[0].Message)))
	r.waitFor("it is started", func() bool { return len(r.listed()) == 4 })
	r.waitFor("the agent is told", func() bool { return strings.Contains(strings.Join(ada.received(), "\n"), "was started in") })
	require.NoError(t, r.yes("reject", string(held[1].Message)))
	r.waitFor("the agent is told", func() bool { return strings.Contains(strings.Join(ada.received(), "\n"), "was rejected: not there") })
	assert.Len(t, r.held(), 3)
	assert.Len(t, r.listed(), 4)

	_, err = asks[api.EndedSession](ada, "end", api.EndSessionRequest{Session: string(s.Session.ID)})
	require.NoError(t, err)
	assert.Len(t, r.listed(), 3)
}

// reads has a sidecar read its settings in a directory, and sets config to that.
func reads(t *testing.T, config *string) option {
	self, err := os.Executable()
	require.NoError(t, err)
	return func(c *daemon.Config) {
		c.Policies = daemon.Policies{Lua: true, Worker: []string{self, "policy-worker"}}
		c.Paths.Config = filepath.Join(filepath.Dir(c.Paths.State), "config")
		*config = c.Paths.Config
		require.NoError(t, os.MkdirAll(*config, 0o700))
	}
}

// allows writes init.lua with these words about sessions, and waits until they hold.
func (r *rig) allows(config, sessions string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(config, "init.lua"), []byte("intercom.configure { computer = \"here\", sessions = { "+sessions+" } }\n"), 0o600))
	r.waitFor("the settings hold", func() bool {
		st, err := r.client.Status(r.t.Context())
		return err == nil && st.Computer == "here"
	})
}

// A master sees about each worker who started it, what it does, when it last said something, and who is told about
// it.
func TestT41_WhatAMasterSees(t *testing.T) {
	t.Parallel()
	config := ""
	r := newRig(t, launches(t), reads(t, &config))
	command, _ := r.worker("Worker")
	worker := filepath.Join(r.dir, "worker")
	tmuxtest.Program(t, worker, "#!/bin/sh\nexec "+quoted(command)+"\n")
	r.allows(config, fmt.Sprintf("allow = { %q }, roots = { %q }", worker, r.dir))
	master, other := r.adopted("Master", silent...), r.adopted("Other", silent...)

	before := time.Now()
	s, err := asks[api.StartedSession](master, "start", api.StartSessionRequest{Dir: r.dir, Agent: worker, Title: "Task", Message: "/next-work"})
	require.NoError(t, err)
	require.Equal(t, api.StartDone, s.Status)
	row := func(id message.ID) api.Session {
		all := r.listed()
		i := slices.IndexFunc(all, func(one api.Session) bool { return one.ID == id })
		require.GreaterOrEqual(t, i, 0)
		return all[i]
	}
	r.waitFor("its output", func() bool { now := row(s.Session.ID); return now.LastOutput != nil && now.State == message.Idle })
	one := row(s.Session.ID)
	assert.Equal(t, string(master.session.ID), one.Caller)
	assert.Equal(t, "Task", one.Title)
	assert.WithinRange(t, *one.LastOutput, before, time.Now())
	assert.Equal(t, []message.ID{master.session.ID}, one.Subscribers)

	other.sends(&agent{rig: r, session: s.Session, pane: s.Session.Pane}, "and this")
	r.waitFor("both are told", func() bool {
		return slices.Equal(row(s.Session.ID).Subscribers, []message.ID{master.session.ID, other.session.ID})
	})
	assert.Empty(t, row(master.session.ID).Subscribers)
	assert.Empty(t, row(master.session.ID).Caller)

	require.NoError(t, r.end()) // it is the same after a restart
	r.start()
	assert.Equal(t, []message.ID{master.session.ID, other.session.ID}, row(s.Session.ID).Subscribers)
	assert.Equal(t, one.Caller, row(s.Session.ID).Caller)
}

func (r *rig) held() []api.Held {
	r.t.Helper()
	all, err := r.client.Inbox(r.t.Context())
	require.NoError(r.t, err)
	return slices.DeleteFunc(all, func(h api.Held) bool { return !h.Decision })
}

// A start returns at once, even if its program is not ready yet, and its message is not lost.
func TestT31_StartReturnsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	gate := filepath.Join(r.dir, "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	command, log := r.worker("Slow")
	slow := filepath.Join(r.dir, "slow")
	tmuxtest.Program(t, slow, "#!/bin/sh\necho loading\nread -r _ <"+gate+"\nexec "+quoted(command)+"\n")
	s := r.started(api.StartSessionRequest{Dir: r.dir, Agent: slow, Message: "begin"}) // nobody has opened the gate
	r.told(s.Message, "held: agent starting")
	all, err := r.client.Inbox(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1, "it is seen to wait")
	assert.Equal(t, message.AgentStarting, all[0].Reason)

	require.NoError(t, r.end()) // also over a restart
	r.start()
	r.waitFor("it is seen to wait once more", func() bool {
		all, err := r.client.Inbox(t.Context())
		require.NoError(t, err)
		return len(all) == 1 && all[0].Reason == message.AgentStarting
	})
	require.NoError(t, os.WriteFile(gate, []byte("go\n"), 0o600))
	r.waitFor("the first message", hasText(log, "[tester] (0): begin"))
	r.told(s.Message, "submitted (answered)")
}

func TestT24_EndSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	other := r.adopted("Ada")
	command, _ := r.worker("Worker")
	req := api.StartSessionRequest{Dir: r.dir, Title: "Worker", Command: command, As: "line"}
	s := r.started(req)
	ended, err := r.endsSession(string(s.Session.ID))
	require.NoError(t, err)
	assert.Equal(t, api.EndDone, ended.Status)
	assert.Equal(t, "hangup", ended.How, "nothing else is known that would end it, and it was not made to")
	assert.False(t, system.Lives(s.Session.PaneProc.PID, s.Session.PaneProc.Start))
	r.waitFor("its pane is gone", func() bool {
		return !strings.Contains(r.Run("list-panes", "-a", "-F", "#{pane_id}."), s.Session.Pane+".")
	})
	assert.Len(t, r.listed(), 1, "the other one is untouched")
	assert.True(t, system.Lives(other.session.PaneProc.PID, other.session.PaneProc.Start))

	t.Run("T25 the same title is another session", func(t *testing.T) {
		again := r.started(req)
		assert.NotEqual(t, s.Session.ID, again.Session.ID)
		assert.Equal(t, "Worker", again.Session.Name)
	})
	t.Run("T26 what has ended, or never was, is an error", func(t *testing.T) {
		for _, ref := range []string{string(s.Session.ID), "nobody", "%99"} {
			_, err := r.endsSession(ref)
			require.Error(t, err, ref)
			assert.Equal(t, 1, api.AsError(err).Code.Exit(), ref)
		}
		assert.Len(t, r.listed(), 2)
	})
	t.Run("T33 nor is it read", func(t *testing.T) {
		_, err := api.Call(t.Context(), r.client.Client, api.SessionData, api.SessionDataQuery{Session: string(s.Session.ID)})
		assert.Equal(t, 1, api.AsError(err).Code.Exit())
	})
}

// An agent may be started by the path of its program: it is recognised by the program's name, and gets its first
// message.
func TestStart_anAgentByItsPath(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	a := r.agentOf("Ivy")
	path := filepath.Join(r.dir, "another", "codex")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	require.NoError(t, os.Rename(a.coderScript("codex"), path))
	s := r.started(api.StartSessionRequest{Dir: r.dir, Title: "Ivy", Agent: path, Message: "what you are to do"})
	r.waitFor("its first message", func() bool { return len(a.received()) == 1 })
	assert.Contains(t, a.received()[0], "what you are to do")
	now, err := r.client.Status(t.Context())
	require.NoError(t, err)
	i := slices.IndexFunc(now.Sessions, func(p message.Peer) bool { return p.ID == s.Session.ID })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "codex", now.Sessions[i].Profile)
	assert.False(t, now.Sessions[i].Starting)
}

// A program that will not end is killed, with all that it has started, and a person's shell stays.
func TestC6_EndTakesAllThatItStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	pids := filepath.Join(r.dir, "pids")
	stubborn := filepath.Join(r.dir, "stubborn")
	tmuxtest.Program(t, stubborn, `#!/bin/sh
trap '' HUP TERM
echo $$ >>`+pids+`
setsid sh -c 'trap "" HUP TERM; echo $$ >>`+pids+`; while :; do sleep 1; done' &
sh -c 'trap "" HUP TERM; echo $$ >>`+pids+`; while :; do sleep 1; done' &
while :; do sleep 1; done
`)
	alive := func() (n int) {
		data, _ := os.ReadFile(pids)
		for _, word := range strings.Fields(string(data)) {
			var pid int
			if _, err := fmt.Sscan(word, &pid); err == nil && system.Lives(pid, 0) {
				n++
			}
		}
		return n
	}
	s := r.started(api.StartSessionRequest{Dir: r.dir, Agent: stubborn})
	r.waitFor("all three", func() bool { return alive() == 3 })
	ended, err := r.endsSession(string(s.Session.ID))
	require.NoError(t, err)
	assert.Equal(t, "kill", ended.How)
	assert.Zero(t, alive())

	// A process that lost its parent before anybody looked is found all the same. A tmux server that the program
	// started is not ended: people may be at its terminals.
	orphans, server := filepath.Join(r.dir, "orphans"), filepath.Join(r.dir, "orphans", "s")
	require.NoError(t, os.Mkdir(orphans, 0o700))
	command, _ := r.worker("Bob")
	leaves := filepath.Join(r.dir, "leaves")
	tmuxtest.Program(t, leaves, `#!/bin/sh
sh -c 'setsid sh -c '"'"'trap "" HUP TERM; echo $$ >>`+pids+`; while :; do sleep 1; done'"'"' & '
tmux -S `+server+` -f /dev/null new-session -d cat
exec `+quoted(command)+`
`)
	require.NoError(t, os.Remove(pids))
	s = r.started(api.StartSessionRequest{Dir: r.dir, Agent: leaves})
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", server, "kill-server").Run() })
	r.waitFor("it is alone", func() bool {
		data, _ := os.ReadFile(pids)
		line, err := system.Ancestors(parsed(data))
		return err == nil && !slices.ContainsFunc(line, func(p system.Process) bool { return p.PID == s.Session.PaneProc.PID })
	})
	r.waitFor("it is ready", func() bool { all := r.listed(); return len(all) == 1 && all[0].State == message.Idle })
	_, err = r.endsSession(string(s.Session.ID))
	require.NoError(t, err)
	assert.Zero(t, alive())
	require.NoError(t, exec.Command("tmux", "-S", server, "has-session").Run())

	// In a person's shell, the agent ends. The shell stays, and so does a job that it started before.
	a := r.line("Ada")
	r.Run("respawn-pane", "-k", "-t", a.pane, "exec env PS1='$ ' ENV= sh -i")
	tmuxtest.WaitFor(t, "the shell", func() bool { return strings.Contains(a.screen(), "$") })
	command, log := r.worker("Bob")
	job := filepath.Join(r.dir, "job")
	r.Run("send-keys", "-t", a.pane, "sleep 600 & echo $! >"+job, "Enter")
	r.waitFor("a job of the shell", hasText(job, "\n"))
	tmuxtest.WaitFor(t, "the shell again", func() bool { return strings.HasSuffix(strings.TrimSpace(a.screen()), "$") })
	r.Run("send-keys", "-t", a.pane, strings.Join(command[:4], " ")+" --prompt 'bob> ' --log "+log, "Enter")
	r.waitFor("Bob is ready", hasText(log, "ready"))
	var bob message.Peer
	r.waitFor("Bob is adopted", func() bool {
		bob, err = r.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.pane, As: "line"})
		return err == nil
	})
	_, err = r.endsSession(string(bob.ID))
	require.NoError(t, err)
	assert.False(t, system.Lives(bob.Foreground.PID, bob.Foreground.Start))
	assert.True(t, system.Lives(bob.PaneProc.PID, bob.PaneProc.Start), "the shell stays")
	text, err := os.ReadFile(job)
	require.NoError(t, err)
	assert.NoError(t, syscall.Kill(parsed(text), 0), "and so does its job")
	assert.Contains(t, r.Run("list-panes", "-a", "-F", "#{pane_id}."), a.pane+".")
}

func parsed(pid []byte) (n int) { _, _ = fmt.Sscan(string(pid), &n); return n }

// Reading the words of a session neither touches its pane nor subscribes anybody. Notices of the sidecar do not count
// as words of the session.
func TestT32_SessionData(t *testing.T) {
	t.Parallel()
	for _, kind := range append([]string{"line"}, inTurn(t)...) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, launches(t))
			var a *agent
			if kind == "line" {
				a = r.adopted("Ada")
			} else {
				a = r.coder(kind, "Ada")
			}
			before := time.Now()
			got := r.send(a, "say something", api.WaitAnswered, 20*time.Second)
			require.Equal(t, message.Answered, got.State)
			size, bytes := r.Run("display-message", "-p", "-t", a.pane, "#{pane_width}x#{pane_height}"), len(a.bytes())
			read := func(q api.SessionDataQuery) api.SessionWords {
				q.Session = a.pane
				d, err := api.Call(t.Context(), r.client.Client, api.SessionData, q)
				require.NoError(t, err)
				return d
			}
			all := read(api.SessionDataQuery{})
			assert.Contains(t, all.Words, "say something")
			assert.Contains(t, all.Words, strings.TrimSpace(got.Words))
			assert.False(t, all.Truncated)
			tail := read(api.SessionDataQuery{Tail: 7})
			assert.Len(t, []rune(tail.Words), 7)
			assert.True(t, strings.HasSuffix(all.Words, tail.Words))
			assert.Empty(t, read(api.SessionDataQuery{Since: time.Now().Add(time.Hour)}).Words)
			assert.Empty(t, read(api.SessionDataQuery{Until: before.Add(-time.Hour)}).Words)
			assert.Equal(t, size, r.Run("display-message", "-p", "-t", a.pane, "#{pane_width}x#{pane_height}"))
			assert.Len(t, a.bytes(), bytes, "nothing was typed")
			assert.Empty(t, all.Session.Subscribers)

			ben := r.adopted("Ben")
			a.sends(ben, "a task for Ben")
			r.waitFor("the notice", func() bool { return strings.Contains(strings.Join(a.received(), "\n"), "turn ended") })
			between := time.Now()
			r.send(a, "a word for Ada", api.WaitAnswered, patience)
			words := read(api.SessionDataQuery{}).Words
			later, earlier := read(api.SessionDataQuery{Since: between}).Words, read(api.SessionDataQuery{Until: between}).Words
			assert.Contains(t, later, "a word for Ada")
			assert.NotContains(t, later, "say something")
			assert.Contains(t, earlier, "say something")
			assert.NotContains(t, earlier, "a word for Ada")
			assert.Empty(t, read(api.SessionDataQuery{Since: between.Add(-time.Microsecond), Until: between}).Words)
			assert.Contains(t, words, "a word for Ada")
			assert.NotContains(t, words, "turn ended")
			of, err := api.Call(t.Context(), r.client.Client, api.SessionData, api.SessionDataQuery{Session: ben.pane})
			require.NoError(t, err)
			assert.Contains(t, of.Words, "a task for Ben")
			assert.NotContains(t, of.Words, "turn ended")

			// A session that is linked to it may read what came since, and is told of nothing because of that.
			cid := r.adopted("Cid", bracketed...)
			ben.sends(cid, "a link", "direct")
			cid.hears(ben.header() + "a link")
			r.send(ben, "something new", api.WaitAnswered, patience)
			linked, err := asks[api.SessionWords](cid, "data", api.SessionDataQuery{Session: ben.pane})
			require.NoError(t, err)
			assert.Contains(t, linked.Words, "something new")
			assert.NotContains(t, linked.Words, "a task for Ben", "that was before the link")
			assert.NotContains(t, linked.Session.Subscribers, cid.session.ID)
		})
	}
}
