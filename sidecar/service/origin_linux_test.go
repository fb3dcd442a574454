package service

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// A process that has a terminal, lost its parents and is younger than the tmux server looks like one that an
// agent detached. These have something that such a process cannot make for itself.
func TestS28_YoungerThanTheServer(t *testing.T) {
	t.Parallel()
	sleeper := func(before string) process.Process {
		cmd := exec.Command("sh", "-c", before+" echo && exec sleep 60")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		if n, _ := out.Read(make([]byte, 1)); n == 0 {
			t.Skip("this process cannot be given another login")
		}
		line, err := process.Lineage(cmd.Process.Pid, 0)
		require.NoError(t, err)
		return line[0].Process
	}
	logIn := "id -u >/proc/self/loginuid &&"
	if process.Login(os.Getpid()) != 0 {
		t.Skip("this process has a login, which cannot be changed")
	}
	server, without := sleeper(logIn), sleeper("")
	other := sleeper(logIn)
	init := process.Relative{Process: process.Process{PID: 1, Name: "init"}}
	manager := process.Relative{Process: process.Process{PID: 1 << 30, Name: "systemd"}, Parent: 1}
	for name, c := range map[string]struct {
		server, top process.Process
		taker       process.Relative
		parent      int
		kind        relay.Kind
	}{
		"another login":                          {server, other, init, 1, relay.Person},
		"the same login":                         {server, server, init, 1, relay.Unverified},
		"no login":                               {server, without, init, 1, relay.Unverified},
		"a login, where the server has none":     {without, other, init, 1, relay.Unverified},
		"the user's manager, a login of its own": {server, other, manager, manager.PID, relay.Unverified},
		"from outside of the namespace":          {server, without, process.Relative{}, 0, relay.Person},
		"a parent that has ended":                {server, without, process.Relative{}, 1 << 30, relay.Unverified},
	} {
		c.top.Start = c.server.Start + 1
		r := process.Relative{Process: c.top, Parent: c.parent, Terminal: true}
		o := origin{server: c.server, taker: c.taker, line: []process.Relative{r}}
		kind, _ := o.judge(nil)
		assert.Equal(t, c.kind, kind, name)
		o.line[0].Terminal = false
		kind, _ = o.judge(nil)
		assert.Equal(t, relay.Unverified, kind, "%s, without a terminal", name)
	}
}

// A terminal program that was started after the tmux server, and lost its parents: it has a window on a display
// that existed before.
func TestS28_ATerminalProgramOfTheDesktop(t *testing.T) {
	t.Parallel()
	path := "/tmp/.X11-unix/X" + strconv.Itoa(20_000+os.Getpid())
	_ = os.Mkdir(filepath.Dir(path), 0o777)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip("no display can be made here: ", err)
	}
	defer l.Close()
	here, err := process.Lineage(os.Getpid(), 0)
	require.NoError(t, err)
	judged := func(server process.Process) relay.Kind {
		r := here[0]
		r.Start, r.Parent, r.Terminal = server.Start+1, 1, true
		o := origin{server: server, taker: process.Relative{Process: process.Process{PID: 1}}, line: []process.Relative{r}}
		kind, _ := o.judge(nil)
		return kind
	}
	later := process.Process{PID: 1 << 30, Start: here[0].Start + 100_000} // began long after the display
	assert.Equal(t, relay.Unverified, judged(later), "it has no window")
	window, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer window.Close()
	accepted, err := l.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	assert.Equal(t, relay.Person, judged(later))
	earlier := process.Process{PID: 1 << 30, Start: 1}
	assert.Equal(t, relay.Unverified, judged(earlier), "a display that was made since may be the agent's own")
}

// Only a listener that runs the very same program is believed when it says who a process is.
func TestS28_WhoMayVouch(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	assert.NoError(t, ourProgram(api.Caller{PID: os.Getpid()}))
	assert.ErrorContains(t, ourProgram(api.Caller{PID: cmd.Process.Pid}), "runs another program")
	assert.Error(t, ourProgram(api.Caller{}))
}

// What a lineage proves. Each lists the caller first, and then its parents.
func TestS28_WhatALineageProves(t *testing.T) {
	t.Parallel()
	const server, old, young = 1 << 29, 10, 1000
	at := func(name string, start uint64) process.Relative {
		return process.Relative{Process: process.Process{Name: name, Start: start}, Terminal: true, Shell: name == "bash"}
	}
	linked := func(top int, line ...process.Relative) []process.Relative {
		for i := range line {
			line[i].PID, line[i].Parent = 1<<30+i, 1<<30+i+1
		}
		line[len(line)-1].Parent = top
		return line
	}
	shell := linked(server, at("bash", young))
	shell[0].PID = 1 << 28
	person, unverified := relay.Person, relay.Unverified
	for name, c := range map[string]struct {
		line, lead []process.Relative
		want       relay.Kind
	}{
		"typed at the shell of a pane":                   {linked(server, at("intercom", young), at("sh", young), at("bash", young)), nil, person},
		"a command of tmux":                              {linked(server, at("intercom", young), at("sh", young)), nil, unverified},
		"its parents have ended":                         {linked(1, at("intercom", young), at("sh", young)), shell, unverified},
		"a shell whose parents have ended":               {linked(1, at("intercom", young), at("bash", young)), shell, unverified},
		"a login before tmux":                            {linked(1, at("intercom", young), at("bash", young), at("sshd", old)), nil, person},
		"cron, before tmux":                              {linked(1, at("intercom", young), at("sh", young), at("cron", old)), nil, person},
		"a shell of an older tmux server":                {linked(1, at("intercom", young), at("bash", young), at("tmux: server", old)), nil, person},
		"a command of an older tmux server":              {linked(1, at("intercom", young), at("sh", young), at("tmux: server", old)), nil, unverified},
		"a command of an older tmux server, before this": {linked(1, at("intercom", young), at("make", old), at("tmux: server", old)), nil, person},
		"the lock command of an older client":            {linked(1, at("intercom", young), at("sh", young), at("tmux: client", old), at("bash", old)), nil, unverified},
		"a job in a pane of an older tmux server":        {linked(1, at("intercom", young)), linked(1, at("bash", young), at("tmux: server", old)), unverified},
		"a shell of a younger tmux server":               {linked(1, at("intercom", young), at("bash", young), at("tmux: server", young)), nil, unverified},
		"a command of a younger tmux server":             {linked(1, at("intercom", young), at("sh", young), at("tmux: server", young)), nil, unverified},
	} {
		o := origin{server: process.Process{PID: server, Start: 100}, line: c.line, lead: c.lead, taker: process.Relative{Process: process.Process{PID: 1}}}
		kind, why := o.judge(nil)
		assert.Equal(t, c.want, kind, "%s: %s", name, why)
	}
}

// Whatever name a process takes, only the tmux server and its ancestors have no lineage below the server.
func TestOrigin_aNameMakesNoServer(t *testing.T) {
	t.Parallel()
	const server, shell = 1 << 29, 1 << 28
	first := process.Relative{Process: process.Process{PID: 1, Name: "systemd", Start: 1}}
	named := func(name string, pid, parent int) process.Relative {
		return process.Relative{Process: process.Process{PID: pid, Name: name, Start: 1000}, Parent: parent, Terminal: true}
	}
	tmux := process.Process{PID: server, Start: 100}
	for what, c := range map[string]struct {
		line []process.Relative
		want int // how many of them are below
	}{
		"the server":                       {[]process.Relative{named("tmux: server", server, 1), first}, 0},
		"its parent":                       {[]process.Relative{named("sh", shell, 1), first}, 0},
		"who lost its parents":             {[]process.Relative{named("intercom", 1<<30, 1), first}, 1},
		"who calls itself a manager":       {[]process.Relative{named("systemd", 1<<30, 1), first}, 1},
		"who was started by a manager":     {[]process.Relative{named("intercom", 1<<30, 1<<27), named("systemd", 1<<27, 1), first}, 1},
		"who is started by such a service": {[]process.Relative{named("intercom", 1<<30, 1<<26), named("sh", 1<<26, 1<<27), named("systemd", 1<<27, 1), first}, 2},
	} {
		o := newOrigin(c.line, tmux, []int{shell})
		require.Len(t, o.line, c.want, what)
		if c.want > 0 {
			kind, why := o.judge(nil)
			assert.Equal(t, relay.Unverified, kind, "%s: %s", what, why)
		}
	}
}

// A process that started a headless sidecar and has executed another program since is not a person for that.
func TestCallers_whoStartedAHeadlessSidecar(t *testing.T) {
	t.Parallel()
	s := &Callers{Relay: those{}, Log: slog.New(slog.DiscardHandler)}
	assert.Equal(t, relay.Person, s.caller(t.Context(), api.Caller{PID: os.Getpid()}).kind, "itself")
	assert.Equal(t, relay.Unverified, s.caller(t.Context(), api.Caller{PID: os.Getppid()}).kind)

	parents := []process.Relative{{Process: process.Process{PID: 4, Name: "bash"}}, {Process: process.Process{PID: 3, Name: "tmux: server"}}, {Process: process.Process{PID: 1}}}
	assert.Equal(t, []int{1}, takers(parents, true), "what is in a pane is that pane's")
	assert.Equal(t, []int{1, 3, 4}, takers(parents, false))
}

// The pane in which a process was started, by its environment, proves that an agent started it. It proves which
// agent only if the kernel says so too.
func TestOrigin_theEnvironmentNamesNobody(t *testing.T) {
	t.Parallel()
	ben := message.Peer{ID: "b", PaneOf: message.PaneOf{Pane: "%2", PaneProc: message.Process{PID: 1 << 30, Start: 7}, Foreground: message.Process{PID: 1 << 29, Start: 8}}}
	of := func(pid int, start uint64, pane string) origin {
		return origin{line: []process.Relative{{Process: process.Process{PID: pid, Start: start}, Pane: pane}}, server: process.Process{PID: 1, Start: 6}}
	}
	for what, c := range map[string]struct {
		o               origin
		inside, started bool
	}{
		"what the server started":     {of(1<<30, 7, "%2"), true, true},
		"the agent, without its pane": {of(1<<29, 8, ""), true, false},
		"another with its number":     {of(1<<30, 9, ""), false, false},
		"who says so":                 {of(1<<28, 9, "%2"), false, true},
		"who says another":            {of(1<<28, 9, "%3"), false, false},
		"who was there before tmux":   {of(1<<28, 5, "%2"), false, false},
	} {
		_, inside := c.o.inside([]message.Peer{ben})
		assert.Equal(t, c.inside, inside, what)
		_, started := c.o.startedIn([]message.Peer{ben})
		assert.Equal(t, c.started, started, what)
	}

	// It speaks, as every caller does: its environment shows only once it has begun to run.
	cmd := exec.Command("/bin/sh", "-c", "echo && read line")
	cmd.Env = []string{"TMUX_PANE=%2"}
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	s := &Callers{Relay: those{ben}, Log: slog.New(slog.DiscardHandler)}
	c := s.caller(t.Context(), api.Caller{PID: cmd.Process.Pid})
	assert.Equal(t, relay.Agent, c.kind)
	assert.Empty(t, c.session.ID, "it speaks as nobody")
}

// A person in another tmux server, known only to that server's sidecar, may let a command write their files,
// and may do nothing else here.
func TestCallers_anotherTmuxServersPerson(t *testing.T) {
	t.Parallel()
	start := func(cmd *exec.Cmd) process.Process {
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		line, err := process.Lineage(cmd.Process.Pid, 0)
		require.NoError(t, err)
		return line[0].Process
	}
	program := filepath.Join(t.TempDir(), "tmux")
	require.NoError(t, os.Symlink("/bin/sh", program))
	older := exec.Command(program, "-c", "read -r x; sleep 60 & echo $!; wait")
	in, err := older.StdinPipe()
	require.NoError(t, err)
	out, err := older.StdoutPipe()
	require.NoError(t, err)
	before := start(older)
	server := start(exec.Command("sleep", "60"))
	for server.Start == before.Start { // in the same tick
		server = start(exec.Command("sleep", "60"))
	}
	_, err = in.Write([]byte("\n"))
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })

	dir, err := os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := api.Listen(dir, "other")
	require.NoError(t, err)
	its := &api.Server{Logger: slog.New(slog.DiscardHandler)}
	var says atomic.Pointer[api.Identified]
	api.Handle(its, api.WhoIs, func(context.Context, api.Caller, api.WhoIsRequest) (api.Identified, error) { return *says.Load(), nil })
	ctx, stop := context.WithCancel(t.Context())
	var serves sync.WaitGroup
	serves.Go(func() { assert.NoError(t, its.Serve(ctx, listener)) })
	t.Cleanup(func() { stop(); serves.Wait(); assert.NoError(t, listener.Release()) })

	s := &Callers{
		Relay: those{}, Tmux: paneless(server.PID), Log: slog.New(slog.DiscardHandler),
		Others: func() []string { return []string{listener.Addr().String()} },
	}
	from := api.Caller{PID: pid}
	for _, said := range []api.Identified{{}, {Known: true, Agent: true}, {Known: true, Person: true}} {
		says.Store(&said)
		assert.NotEqual(t, relay.Person, s.caller(t.Context(), from).kind)
		_, err := s.MayChange(t.Context(), from, api.MayChangeRequest{What: "use a policy"})
		assert.Equal(t, said.Person, err == nil, "%v", said)
	}
}

// paneless is a tmux server in the given process, without panes.
type paneless int

func (p paneless) Info() tmux.Info                                { return tmux.Info{PID: int(p)} }
func (paneless) Panes(context.Context) ([]tmux.Pane, error)       { return nil, nil }
func (paneless) Clients(context.Context) ([]tmux.Attached, error) { return nil, nil }

// those is a relay with the given peers.
type those []message.Peer

func (t those) Snapshot() registry.Snapshot { return registry.New(t, nil) }
