package service

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Who has a terminal, lost his parents and is younger than the tmux server, as a process that an agent
// detached is, but has what such a process cannot make.
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

// A terminal program that was started after the tmux server, by what detached it: it has a window on a display
// that was there before.
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

// Only the very same program is believed when it says who somebody is.
func TestS28_WhoMayVouch(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	assert.NoError(t, ourProgram(api.Caller{PID: os.Getpid()}))
	assert.ErrorContains(t, ourProgram(api.Caller{PID: cmd.Process.Pid}), "runs another program")
	assert.Error(t, ourProgram(api.Caller{}))
}

// What a lineage proves: below are the caller first, and then its parents.
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
