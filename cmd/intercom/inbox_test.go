package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// If an agent rests with a composer that is not recognised, as after an update, nothing is typed, and after a minute a person is
// told once what is not recognised. Only a person's yes has the message typed: not a command from inside the agent's pane, by a
// grandchild, without a terminal, by run-shell, or in a new window in which nobody presses y.
func TestS12_S18_OnAPersonsWordAlone(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude := st.coder("claude")
	out, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code, out)
	claude.do(":lie odd")
	shell := st.NewPane("env", "PS1=$ ", "ENV=", "sh", "-i")
	st.WaitForText(shell, "$")

	out, code = st.intercom("send", claude.pane, "hello there", "--timeout", "1s")
	require.Equal(t, 5, code, out)
	var held api.Held
	tmuxtest.WaitFor(t, "it is held", func() bool {
		all := st.held()
		if len(all) == 1 {
			held = all[0]
		}
		return held.Reason == message.UnknownScreen || held.Reason == message.NotEmpty
	})
	id := held.Delivery.Short()
	assert.Equal(t, "hello there", held.Envelope.Body)
	out, code = st.intercom("inbox", "show", id)
	assert.Zero(t, code, out)
	assert.Contains(t, out, "hello there")
	out, _ = st.intercom("doctor")
	assert.Contains(t, out, "claude in "+claude.pane)
	assert.Contains(t, out, "which was tested")

	untouched := func(way string) {
		t.Helper()
		assert.Empty(t, claude.keys(), way)
		require.Len(t, st.held(), 1, way)
	}
	program := fmt.Sprintf("%s inbox release %s --server=%s", thisProgram(), id, st.Socket)
	n := 0
	result := func() (path string) {
		n++
		return filepath.Join(st.home, fmt.Sprintf("result%d", n))
	}
	refused := func(way, path, says string) {
		t.Helper()
		var told string
		tmuxtest.WaitFor(t, way, func() bool {
			data, _ := os.ReadFile(path)
			told = string(data)
			return strings.Contains(told, "exit ")
		})
		assert.Contains(t, told, "exit 1", way)
		assert.Contains(t, told, says, way)
		untouched(way)
	}
	script := func() (script, path string) {
		path = result()
		script = path + ".sh"
		tmuxtest.Program(t, script, "#!/bin/sh\n"+program+" >"+path+" 2>&1\necho exit $? >>"+path+"\n")
		return script, path
	}
	one, path := script()
	claude.do(":exec " + one)
	refused("from inside its pane", path, "only a person may")
	one, path = script()
	claude.do(":exec sh -c '(" + one + ") &'")
	refused("by a grandchild", path, "only a person may")
	one, path = script()
	claude.do(":exec setsid -f " + one)
	refused("after setsid", path, "only a person")
	one, path = script()
	st.Run("run-shell", "-b", one)
	refused("by run-shell", path, "is not verified")
	asked := func(one, path string) (window string) {
		t.Helper()
		tmuxtest.WaitFor(t, "nothing but its screen in the way", func() bool {
			reason := st.held()[0].Reason // for a moment its child was in the foreground
			return reason == message.UnknownScreen || reason == message.NotEmpty
		})
		window = st.shell()
		st.Run("send-keys", "-t", window, "-l", one)
		st.Run("send-keys", "-t", window, "Enter")
		tmuxtest.WaitFor(t, "the question", func() bool {
			data, _ := os.ReadFile(path)
			require.NotContains(t, string(data), "exit ", "it has ended")
			shown, err := st.Try("capture-pane", "-p", "-t", window)
			return err == nil && strings.Contains(shown, "[y/N]")
		})
		return window
	}
	one, path = script()
	window := asked(one, path)
	untouched("in a window where nobody presses y")
	st.Run("send-keys", "-t", window, "n")
	refused("in a window where n is pressed", path, "intercom: note: nothing was done: y was not pressed\nexit 1")
	one, path = script()
	window = asked(one, path)
	st.Run("send-keys", "-t", window, "C-c")
	tmuxtest.WaitFor(t, "what C-c is told", func() bool { data, _ := os.ReadFile(path); return strings.Contains(string(data), "y was not pressed") })
	untouched("in a window where C-c is pressed")
	one, path = script()
	tmuxtest.Program(t, one, "#!/bin/sh\necho y | "+program+" >"+path+" 2>&1 </dev/null\necho exit $? >>"+path+"\n")
	window = asked(one, path)
	st.Run("send-keys", "-t", window, "Enter")
	refused("by a pipe", path, "y was not pressed")

	var notices []string
	waitLong(t, "a person is told", func() bool {
		notices = st.notices()
		return len(notices) > 0
	})
	require.Len(t, notices, 1)
	assert.Contains(t, notices[0], "its screen is not recognised: ")
	assert.Contains(t, notices[0], "intercom inbox release "+id)
	out, code = st.intercom("log", "--json")
	require.Zero(t, code, out)
	var events []message.Event
	require.NoError(t, json.Unmarshal([]byte(out[strings.Index(out, "["):]), &events))
	assert.True(t, slices.ContainsFunc(events, func(e message.Event) bool { return e.Notice == notices[0] }), out)
	untouched("before the word")

	st.Run("send-keys", "-t", shell, "-l", program+"; echo exit $?")
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "[y/N]")
	st.Run("send-keys", "-t", shell, "y")
	st.WaitForText(shell, "exit 0")
	assert.Contains(t, st.Run("capture-pane", "-p", "-J", "-t", shell), "vouched for: "+held.Message.Short()+" to ", "no word of releasing, which is what is done with panes")
	tmuxtest.WaitFor(t, "it was taken", func() bool { return len(claude.received()) == 1 })
	assert.Contains(t, claude.received()[0], "hello there")
	assert.Equal(t, 1, strings.Count(claude.keys(), "\r"))
	tmuxtest.WaitFor(t, "nothing is waiting", func() bool { return len(st.held()) == 0 })
	out, _ = st.intercom("log", string(held.Message), "-v")
	assert.Contains(t, out, "a person vouched for a screen that is not recognised")
	assert.Contains(t, out, "submitted")
}

// The list fits a terminal of 80 columns and still shows who, since when and why.
func TestInbox_listFitsATerminal(t *testing.T) {
	t.Parallel()
	all := []api.Held{{
		Waiting: api.Waiting{
			Message: "01a1ff21-5c0d-7e46-8ed2-22904d0c8ed2", State: message.Held, Reason: message.InComposer,
			Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local),
		},
		Envelope: message.Envelope{Body: strings.Repeat("many words ", 20)},
	}}
	all[0].From, all[0].To, all[0].Pane, all[0].ChatName = "claude", "codex", "%3", "plans"
	var out strings.Builder
	a := &app{env: env{Stdout: &out, Width: 80}}
	a.showInbox(all)
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, cellsOf(strings.TrimRight(line, "\n")), 80, line)
	}
	assert.Regexp(t, `(?m)^4d0c8ed2  claude  codex  03-01 12:00  held: `, out.String())
}

// Below the list stands the command for the first message that waits for approval; nothing stands there if none does.
func TestInbox_listNamesTheNextStep(t *testing.T) {
	t.Parallel()
	waits := func(end string) (h api.Held) {
		h.Message, h.Delivery, h.State, h.Reason = message.ID("01a1ff21-5c0d-7e46-8ed2-22904d0c"+end), "d", message.Held, message.InComposer
		return h
	}
	first, asked, start := waits("0001"), waits("0002"), waits("0003")
	asked.Reason, asked.Decision = message.AwaitingApproval, true
	start.Delivery = start.Message
	for _, c := range []struct {
		all  []api.Held
		step string
	}{
		{[]api.Held{first}, ""},
		{[]api.Held{first, asked, start}, "4d0c0002"},
		{[]api.Held{start, asked}, "4d0c0003"},
	} {
		var out strings.Builder
		a := &app{env: env{Stdout: &out, Width: 80}}
		a.showInbox(c.all)
		if c.step == "" {
			assert.NotContains(t, out.String(), "→")
			continue
		}
		assert.True(t, strings.HasSuffix(out.String(), "\n"+c.step+" waits for your approval → intercom inbox approve "+c.step+"\n"), out.String())
		assert.Equal(t, 1, strings.Count(out.String(), "→"))
	}
}

// The list says why and by which policy a person is asked. A reply is offered only if somebody would get it.
func TestInbox_saysWhyAPersonIsAsked(t *testing.T) {
	t.Parallel()
	h := api.Held{
		Waiting:  api.Waiting{Delivery: "d", Message: "01a1ff21-5c0d-7e46-8ed2-22904d0c8ed2", From: "claude", To: "codex", State: message.Held, Reason: message.AwaitingApproval},
		Decision: true, Asked: &message.Verdict{Decision: message.Decision{Reason: "it deletes files", By: "guard.lua:7"}},
	}
	var out strings.Builder
	a := &app{env: env{Stdout: &out}}
	a.showInbox([]api.Held{h})
	assert.Contains(t, out.String(), "held: waiting for approval (it deletes files, by guard.lua:7)")
	h.Reason = "it deletes files" // a policy's own reason
	assert.Equal(t, "held: it deletes files, by guard.lua:7", heldWhy(h))
	h.Reason, h.Asked = message.InComposer, nil
	assert.Equal(t, "held: draft in the composer", heldWhy(h))

	h.Asked = &message.Verdict{Decision: message.Decision{By: "guard.lua:7"}}
	out.Reset()
	a.showHeld(h)
	assert.Contains(t, out.String(), "because  by guard.lua:7\n")
	assert.Contains(t, out.String(), "decide   intercom inbox approve, edit, reject or reply 4d0c8ed2\n")
	h.Unanswerable = true
	out.Reset()
	a.showHeld(h)
	assert.Contains(t, out.String(), "decide   intercom inbox approve, edit or reject 4d0c8ed2\n")
}

// A person cannot release a message that waits for something else, such as a draft in the composer.
func TestInbox_releaseChangesNothingElse(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude := st.coder("claude")
	out, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code, out)
	out, code = st.intercom("inbox", "list")
	assert.Zero(t, code)
	assert.Equal(t, "nothing is waiting\n", out)
	claude.do(":draft half a line")
	out, code = st.intercom("send", claude.pane, "hello", "--timeout", "1s")
	require.Equal(t, 5, code, out)
	tmuxtest.WaitFor(t, "it is held", func() bool { return len(st.held()) == 1 && st.held()[0].Reason == message.InComposer })
	shell := st.NewPane("env", "PS1=$ ", "ENV=", "sh", "-i")
	st.WaitForText(shell, "$")
	st.Run("send-keys", "-t", shell, "-l", fmt.Sprintf("%s inbox release %s --server=%s; echo exit $?", thisProgram(), st.held()[0].Delivery.Short(), st.Socket))
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "exit 1")
	assert.Contains(t, st.Run("capture-pane", "-p", "-J", "-t", shell), "vouching does not change what it waits for: draft in the composer")
	out, _ = st.intercom("inbox", "list")
	assert.Contains(t, out, "draft in the composer")
	assert.Empty(t, claude.keys())
}

// Helpers.

// coder is a stand-in for an agent in a pane, under the agent's name.
type coder struct {
	st                       *stage
	kind, pane, log, control string
}

// coder starts a stand-in in a window of its own.
func (st *stage) coder(kind string) *coder {
	st.t.Helper()
	a := st.coderOf(kind)
	command := a.command()
	a.pane = st.NewPane(command[0], command[1:]...)
	tmuxtest.WaitFor(st.t, kind+" reads keys", func() bool { return len(a.records(persona.EventReady)) > 0 })
	return a
}

// coderOf is a stand-in that does not run yet.
func (st *stage) coderOf(kind string) *coder {
	st.t.Helper()
	program := filepath.Join(st.home, kind)
	require.NoError(st.t, os.Symlink(personatest.Program(st.t), program))
	return &coder{st: st, kind: kind, log: program + ".jsonl", control: program + ".ctl"}
}

// command is the command that starts the stand-in.
func (a *coder) command(flags ...string) []string {
	program := filepath.Join(a.st.home, a.kind)
	return append([]string{
		"env", "HOME=" + a.st.home, program, a.kind,
		"--name", a.kind, "--log", a.log, "--control", a.control, "--think", "20ms",
	}, flags...)
}

func (a *coder) do(command string) {
	a.st.t.Helper()
	before := len(a.records(persona.EventCommand))
	require.NoError(a.st.t, persona.Control(a.control, command))
	tmuxtest.WaitFor(a.st.t, command, func() bool { return len(a.records(persona.EventCommand)) > before })
}

// records are the stand-in's log records of one event.
func (a *coder) records(event string) (all []persona.Record) {
	data, _ := os.ReadFile(a.log)
	for line := range strings.Lines(string(data)) {
		var r persona.Record
		if json.Unmarshal([]byte(line), &r) == nil && r.Event == event {
			all = append(all, r)
		}
	}
	return all
}

func (a *coder) received() (all []string) {
	for _, r := range a.records(persona.EventReceived) {
		all = append(all, r.Text)
	}
	return all
}

// keys is everything that the stand-in read from its terminal.
func (a *coder) keys() string {
	var all []byte
	for _, r := range a.records(persona.EventRead) {
		all = append(all, r.Bytes...)
	}
	return string(all)
}

// held are the messages in the inbox.
func (st *stage) held() []api.Held {
	st.t.Helper()
	return askOf(st, api.Inbox)
}

// notices are the notices that people got.
func (st *stage) notices() (all []string) {
	st.t.Helper()
	for _, e := range st.told(api.LogQuery{Notices: true}) {
		if e.Notice != "" {
			all = append(all, e.Notice)
		}
	}
	return all
}

// waitLong waits for what may take minutes.
func waitLong(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for late := time.Now().Add(4 * tmuxtest.Patience); !cond(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(late), "waited for %s", what)
	}
}
