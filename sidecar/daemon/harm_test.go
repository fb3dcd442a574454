package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// unpublished leaves out the options of panes, because each change of one makes tmux draw its terminals.
func unpublished(cfg *daemon.Config) { cfg.Unpublished = true }

// A person looks at another window while messages are delivered: nothing is drawn for them, and nothing changes in
// what they see or set.
func TestS14_ThePersonsViewStaysAsItWas(t *testing.T) {
	t.Parallel()
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, unpublished, over("native"))
		require.Equal(t, "native", r.status().Transport)
		viewStays(t, r, 100)
	})
	eachTransport(t, func(t *testing.T, r *rig) { viewStays(t, r, long(30, 100)) }, unpublished)
}

// viewStays has so many deliveries made beside a person, and asserts that nothing changes for them.
func viewStays(t *testing.T, r *rig, deliveries int) {
	// No clock, and no timer of tmux's own, draws anything meanwhile.
	r.Run("set-option", "-g", "status-right", "", ";", "set-option", "-g", "status-interval", "0", ";", "set-hook", "-g", "pane-exited", "display-message hooked")
	r.Run("set-environment", "-g", "EDITOR", "theirs", ";", "set-option", "-g", "automatic-rename", "off")
	a, b := r.adopted("Ada", "--think", "1ms"), r.adopted("Ben", "--think", "1ms")
	p := r.person(r.Base)
	view := func() string {
		return r.Run("list-clients", "-F", "#{client_tty} #{client_width}x#{client_height} #{window_id} #{pane_id} #{client_key_table}", ";",
			"list-windows", "-a", "-F", "#{window_id} #{window_active} #{window_width}x#{window_height} #{window_name} #{window_layout}", ";",
			"list-panes", "-a", "-F", "#{pane_id} #{pane_active} #{pane_in_mode}", ";",
			"show-environment", "-g", ";", "show-environment", "-t", "base", ";", "show-hooks", "-g", ";", "list-buffers")
	}
	chat := r.chat([]*agent{a, b}, "depth=100", "rate=100000")
	drawn, before := p.drawn(), view()
	r.say(chat, "hello")
	for n := 5; n <= deliveries; n += 5 { // each wait is for a little: the machine may be slow
		r.waitFor(fmt.Sprintf("%d deliveries", n), func() bool { return len(a.received())+len(b.received()) >= n })
	}
	assert.Equal(t, before, view())
	assert.Equal(t, drawn, p.drawn(), "bytes that were drawn for the person: %q", p.last())
	// tmux counts the person as attached, and our control client if there is one.
	status, err := r.client.Status(t.Context())
	require.NoError(t, err)
	attached := r.Fact(r.Base, "#{session_attached}")
	if status.Transport == "control" {
		assert.Equal(t, "2", attached)
		assert.Contains(t, r.Run("list-clients", "-F", "#{client_control_mode} #{client_pid} #{client_flags}"), "1 ")
	} else {
		assert.Equal(t, "1", attached)
	}
}

// By default, the state of each pane is published: a change of it draws the person's terminal anew, and nothing else
// does.
func TestS14_WhatIsPublishedIsDrawnAsItChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Run("set-option", "-g", "status-right", "", ";", "set-option", "-g", "status-interval", "0", ";", "set-option", "-g", "automatic-rename", "off")
	a := r.adopted("Ada", "--think", "1ms")
	published := func() string { return r.Run("show-options", "-pqv", "-t", a.pane, "@intercom-state") }
	rests := func() { r.waitFor("idle", func() bool { return published() == string(message.Idle) }) }
	rests()
	p := r.person(r.Base)
	whole := p.drawn()
	const messages, changes = 3, 4 // at most: at work, idle again, and what the pane waits for
	for n := range messages {
		require.Equal(t, message.Submitted, r.send(a, fmt.Sprint("number ", n), api.WaitSubmitted, tmuxtest.Patience).State)
	}
	rests()
	drawn := 0
	r.waitFor("nothing to be drawn while nothing changes", func() bool { drawn = p.drawn(); return drawn == p.drawn() })
	assert.LessOrEqual(t, drawn-whole, messages*changes*whole, "bytes: %q", p.last())
}

// Beside a busy chat, nothing is asked of tmux about a pane that nobody adopted. No command line has the words of a
// message.
func TestS15_S21_PaneThatNobodyAdopted(t *testing.T) {
	t.Parallel()
	v := tmuxtest.Versions(t)[0]
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	wrapper := filepath.Join(dir, "tmux")
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$*\" >> '%s'\nexec '%s' \"$@\"\n", asked, v.Bin)
	tmuxtest.Program(t, wrapper, script)
	r := newRigOn(t, v, over("process"), func(c *daemon.Config) { c.Tmux = wrapper })
	beside := r.line("Eve")
	silent := r.NewRecorder(true)
	a, b := r.adopted("Ada", "--think", "1ms"), r.adopted("Ben", "--think", "1ms")
	r.Run("join-pane", "-d", "-s", beside.pane, "-t", a.pane)
	chat := r.chat([]*agent{a, b}, "depth=4", "rate=100000")
	r.say(chat, "hello to "+beside.pane+" and "+silent.Pane+", words that stand in no command line")
	beside.do(":say look at me")
	r.waitFor("four turns", func() bool { return len(a.received())+len(b.received()) >= 4 })
	assert.Empty(t, beside.bytes())
	assert.Empty(t, silent.Bytes())
	data, err := os.ReadFile(asked)
	require.NoError(t, err)
	assert.Contains(t, string(data), "capture-pane -p -e -t "+a.pane)
	for _, text := range append(a.received(), b.received()...) {
		_, body, _ := strings.Cut(text, "): ")
		if len(body) > 2*24 { // before Enter, a command line has our text before the cursor, up to 24 cells
			assert.NotContains(t, string(data), body)
		}
		assert.NotContains(t, string(data), text)
	}
	for _, pane := range []string{beside.pane, silent.Pane, r.Base} {
		assert.NotRegexp(t, `-t '?"?`+pane+`\b`, string(data), "asked of %s", pane)
	}
	_, err = r.client.Send(t.Context(), api.SendRequest{To: beside.pane, Text: "hello"})
	assert.Error(t, err, "and nothing can be sent there")

	// A released pane is nobody's again. (By then the brake has paused the chat, with nothing half typed.)
	r.waitFor("the brake", func() bool {
		chats, err := r.client.Chats(t.Context(), false)
		require.NoError(t, err)
		return len(chats) == 1 && chats[0].State == message.ChatPaused
	})
	_, err = r.client.Release(t.Context(), api.ReleaseRequest{Pane: b.pane})
	require.NoError(t, err)
	before := len(b.bytes())
	a.do(":say after the release")
	still := r.send(a, "still here?", api.WaitSubmitted, tmuxtest.Patience)
	assert.Equal(t, message.Submitted, still.State, "%v\n%s", r.trail(still.Message), a.screen())
	assert.Len(t, b.bytes(), before)
}

// eachSafe runs test on one of the versions of tmux, beside a sidecar with the default transport or with tmux's own
// protocol; in a long run on all versions, beside both. Control mode is used only where it is safe.
func eachSafe(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		for _, transport := range tmuxtest.Turn(t, "auto", "native") {
			t.Run(transport, func(t *testing.T) {
				t.Parallel()
				test(t, newRigOn(t, v, over(transport)))
			})
		}
	})
}

// Each of these is known to crash one version of tmux or another. The server survives them beside a sidecar at work.
func TestS23_TheServerSurvivesItsOwnCrashes(t *testing.T) {
	t.Parallel()
	eachSafe(t, func(t *testing.T, r *rig) {
		a, b := r.adopted("Ada", "--think", "1ms"), r.adopted("Ben", "--think", "1ms")
		chat := r.chat([]*agent{a, b}, "depth=100000", "rate=100000")
		r.say(chat, "hello")
		busy := func() {
			n := len(a.received())
			r.waitFor("a turn", func() bool { return len(a.received()) > n })
			require.True(t, r.Alive())
		}
		busy()
		for range long(1, 3) {
			r.Run("new-session", "-d", "-s", "q", "exec cat", ";", "new-window", "-d", "-t", "q:", "exec cat")
			r.Run("select-window", "-t", "q:1", ";", "kill-session", "-t", "q")
			r.Run("new-session", "-d", "-s", "q", "exec cat", ";", "new-window", "-d", "-t", "q:", "exec cat")
			r.Run("kill-window", "-t", "q:0", ";", "kill-session", "-t", "q")
			busy()
		}
		for range long(1, 3) { // six windows whose programs end together
			r.Run("new-session", "-d", "-s", "q", "exec cat")
			for range 5 {
				r.Run("new-window", "-t", "q:", "exec cat")
			}
			for pid := range strings.FieldsSeq(r.Run("list-panes", "-s", "-t", "q", "-F", "#{pane_pid}")) {
				n, err := strconv.Atoi(pid)
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(n, syscall.SIGTERM))
			}
			r.waitFor("the end of the session", func() bool { return !strings.Contains(r.Run("list-sessions", "-F", "#{session_name}"), "q") })
			busy()
		}
		// An adopted pane floods its screen, dies and is made anew, and a paste goes into the dead one.
		f := r.adopted("Flo", "--reply", "none")
		r.Run("set-option", "-w", "-t", f.pane, "remain-on-exit", "on")
		for range long(2, 4) {
			f.do(":flood 10s")
			id := r.post(f, "hello")
			f.kill()
			r.WaitForFact(f.pane, "#{pane_dead}", "1")
			r.Run("respawn-pane", "-k", "-t", f.pane)
			r.waitFor("failed", func() bool { return r.last(id) == "failed: agent gone" })
			busy()
			f = r.again(f, fmt.Sprintf("Flo%d", rand.IntN(1<<30)))
			f.do(":clear3") // the flood left half a line above the prompt
			f.adopt("line")
		}
		r.Run("kill-pane", "-t", f.pane)
		busy()
	})
}

// An adopted pane closes in the middle of its chat, and the server survives. (tmux 3.2a died of the next look.)
func TestS23_AnAdoptedPaneCloses(t *testing.T) {
	t.Parallel()
	eachSafe(t, func(t *testing.T, r *rig) {
		a, b := r.adopted("Ada", "--think", "1ms"), r.adopted("Ben", "--think", "1ms")
		c := r.adopted("Cid", "--think", "1ms")
		chat := r.chat([]*agent{a, b, c}, "depth=100000", "rate=100000")
		r.say(chat, "hello")
		for _, closes := range []*agent{c, b} {
			n := len(a.received())
			r.waitFor("a turn", func() bool { return len(a.received()) > n })
			r.Run("kill-pane", "-t", closes.pane)
			r.waitFor("it is nobody's any more", func() bool {
				require.True(t, r.Alive(), "the server")
				sessions, err := r.client.Sessions(t.Context())
				require.NoError(t, err)
				return !slices.ContainsFunc(sessions, func(s message.Peer) bool { return s.Pane == closes.pane })
			})
		}
		_, err := r.client.Explain(t.Context(), api.ExplainRequest{Pane: a.pane}) // looks once more
		require.NoError(t, err)
		require.True(t, r.Alive())
	})
}

// A sidecar that is killed at any moment, or stopped so that it reads nothing, harms no server.
func TestS23_TheServerSurvivesTheSidecarsEnd(t *testing.T) {
	t.Parallel()
	rounds := 2
	if longTest() {
		rounds = 60
	}
	eachSafe(t, func(t *testing.T, r *rig) { survivesTheSidecarsEnd(t, r, rounds) })
}

func survivesTheSidecarsEnd(t *testing.T, r *rig, rounds int) {
	require.NoError(t, r.end()) // the sidecar is a process of its own, at the same places
	clients := r.Run("list-clients")
	memory := 0
	for round := range rounds {
		c := r.child()
		a, b := r.adopted(fmt.Sprintf("Ada%d", round), "--think", "1ms"), r.adopted(fmt.Sprintf("Ben%d", round), "--think", "1ms")
		chat := r.chat([]*agent{a, b}, "depth=100000", "rate=100000")
		r.say(chat, "hello")
		n := 2 + rand.IntN(8)
		r.waitFor("turns", func() bool { return len(a.received()) >= n })
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // any moment of a delivery
		if round%2 == 1 {
			require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
			a.do(":lines 5000") // output that the sidecar would have to read
			b.do(":flood 300ms")
			r.waitFor("the flood's end", func() bool { return b.count("flood") == 1 })
			require.True(t, r.Alive(), "beside a stopped sidecar")
		}
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		require.True(t, r.Alive())
		// The short processes of a killed sidecar type a text whole or not at all, and each message once.
		for _, one := range []*agent{a, b} {
			seen := map[string]bool{}
			for _, text := range one.received() {
				assert.False(t, seen[text], "twice: %q", text)
				seen[text] = true
				assert.Regexp(t, `^\[`, text)
			}
			require.NoError(t, syscall.Kill(one.session.Foreground.PID, syscall.SIGKILL))
		}
		r.waitFor("its clients gone", func() bool { return r.Run("list-clients") == clients })
		if round == 1 {
			memory = tmuxtest.Resident(t, r.PID)
		}
	}
	assert.Less(t, tmuxtest.Resident(t, r.PID)-memory, 4<<10, "KiB more than after the second round")
	// A process that was killed between its two halves may leave a buffer. The next sidecar is served all the same,
	// and ends in order.
	c := r.child()
	a := r.adopted("Zoe")
	assert.Equal(t, message.Submitted, r.send(a, "hello", api.WaitSubmitted, tmuxtest.Patience).State)
	require.NoError(t, r.client.Down(t.Context()))
	require.NoError(t, c.Wait())
	assert.Equal(t, clients, r.Run("list-clients"))
}

// child runs the sidecar as a process of its own.
func (r *rig) child() *exec.Cmd { return r.childKilled("") }

// childKilled is child, but ends by SIGKILL when a pane first comes to that moment of a typing.
func (r *rig) childKilled(moment string) *exec.Cmd {
	r.t.Helper()
	cmd, line := r.childBy(nil, moment)
	require.Equal(r.t, "ready\n", line)
	return cmd
}

// dies waits until a child has come to the moment at which it is killed. If it does not come, dies logs what the rig
// waits for.
func (r *rig) dies(c *exec.Cmd) {
	r.t.Helper()
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(tmuxtest.Patience):
		r.confess()
		_ = c.Process.Kill()
		<-ended
		require.FailNow(r.t, "the child did not come to the moment of its end")
	}
}

// childBy starts the sidecar below another program, if words has one, and returns the first line that it prints.
func (r *rig) childBy(words []string, moment string) (*exec.Cmd, string) {
	r.t.Helper()
	r.heard.forget()
	self, err := os.Executable()
	require.NoError(r.t, err)
	cfg := r.cfg
	words = append(words, self)
	cmd := exec.Command(words[0], words[1:]...)
	config, err := json.Marshal(childConfig{cfg.Paths, cfg.Tmux, cfg.Transport, moment, cfg.Launcher, cfg.Policies.Worker})
	require.NoError(r.t, err)
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_PROGRAM=sidecar", "INTERCOM_TEST_CONFIG="+string(config), "TMUX=", "TMUX_PANE=")
	out, err := cmd.StdoutPipe()
	require.NoError(r.t, err)
	// A process that another test of this program started may hold the last one's lock for a moment.
	require.NoError(r.t, api.WaitReleased(r.t.Context(), r.cfg.Paths.Lock))
	log, err := os.CreateTemp(r.t.TempDir(), "log")
	require.NoError(r.t, err)
	cmd.Stderr = log
	require.NoError(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if written, _ := os.ReadFile(log.Name()); r.t.Failed() {
			r.t.Logf("log of the child %d:\n%s", cmd.Process.Pid, written)
		}
		_ = log.Close()
	})
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	if err != io.EOF { // EOF: it ended without a word
		require.NoError(r.t, err)
	}
	// It prints that line again after a breakdown, and would end if nobody read it.
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return cmd, line
}

// abandonedChild is the exit status of a child that did not end in order.
const abandonedChild = 3

type childConfig struct {
	Paths           api.Paths
	Tmux, Transport string
	Kill            string // the moment
	Launcher        []string
	Worker          []string // of policies; nil: no Lua
}

// sidecarMain is the sidecar as a process of its own.
func sidecarMain() int {
	var c childConfig
	if err := json.Unmarshal([]byte(os.Getenv("INTERCOM_TEST_CONFIG")), &c); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := daemon.Run(ctx, daemon.Config{
		Paths: c.Paths, Tmux: c.Tmux, Transport: c.Transport, Version: "test", Person: "tester", Launcher: c.Launcher,
		Policies: daemon.Policies{Lua: c.Worker != nil, Worker: c.Worker},
		Log:      slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})), Ready: func() { fmt.Println("ready") },
		Abandon: func() { os.Exit(abandonedChild) },
		Gap: func(_, moment string) {
			if moment == c.Kill {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
