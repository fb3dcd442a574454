package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	processes "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// When an agent has gone, nothing is typed to the shell that has its pane, even if the shell's prompt looks like
// the agent's. If the agent goes between our paste and Enter, Enter is not pressed.
func TestS4_NothingIsTypedIntoTheShellBelow(t *testing.T) {
	t.Parallel()
	t.Run("found gone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a := r.shelled("Ada", "bash", "--bracketed")
		a.adopt("line-paste")
		a.kill()
		r.WaitForFact(a.pane, "#{pane_current_command}", "bash")
		sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: a.touch(), Timeout: tmuxtest.Patience})
		if err == nil { // otherwise the sidecar has already refused the message
			assert.Equal(t, "failed: agent gone", r.last(sent.Message))
		}
		a.untouched("")
	})
	t.Run("it shows its prompt, and ends without reading", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a, script := r.agentOf("Ada"), filepath.Join(r.dir, "quiet")
		self, err := os.Executable()
		require.NoError(t, err)
		tmuxtest.Program(t, script, "#!/bin/sh\nINTERCOM_TEST_PROGRAM=mute exec '"+self+"' line '"+r.dir+"'\n")
		a.pane = r.NewPane("env", "PS1=$ ", "HISTFILE=", "bash", "--norc", "--noprofile", "-i")
		r.WaitForText(a.pane, "$")
		r.Run("send-keys", "-l", "-t", a.pane, script)
		r.Run("send-keys", "-t", a.pane, "Enter")
		r.WaitForText(a.pane, "ada>")
		a.adopt("line")
		id := r.post(a, a.touch())
		r.told(id, "held: agent working")
		require.NoError(t, syscall.Kill(a.session.Foreground.PID, syscall.SIGUSR1))
		r.told(id, "failed: agent gone")
		assert.NotContains(t, r.Run("capture-pane", "-p", "-t", a.pane), "tester")
		assert.NoFileExists(t, filepath.Join(r.dir, "touched"))
	})
	t.Run("killed before the paste", func(t *testing.T) {
		t.Parallel()
		g := &gaps{}
		r := newRig(t, g.option())
		a := r.shelled("Ada", "bash", "--bracketed")
		a.adopt("line-paste")
		g.plan(a.pane, "paste unchecked", func() {
			_ = syscall.Kill(a.session.Foreground.PID, syscall.SIGKILL)
			a.WaitForFact(a.pane, "#{pane_current_command}", "bash")
		})
		receipt := r.send(a, a.touch(), "", tmuxtest.Patience)
		r.waitFor("the end", func() bool { return r.last(receipt.Message) == "failed: agent gone" })
		a.untouched("")
	})
	t.Run("killed before Enter", func(t *testing.T) {
		t.Parallel()
		g := &gaps{}
		r := newRig(t, g.option())
		a := r.shelled("Ada", "bash", "--bracketed")
		a.adopt("line-paste")
		g.plan(a.pane, "enter unchecked", func() {
			_ = syscall.Kill(a.session.Foreground.PID, syscall.SIGKILL)
			a.WaitForFact(a.pane, "#{pane_current_command}", "bash")
		})
		receipt := r.send(a, a.touch(), "", tmuxtest.Patience)
		r.waitFor("the end", func() bool { return r.last(receipt.Message) == "uncertain: agent gone" })
		assert.Empty(t, a.received(), "no Enter")
		a.untouched("[tester]")
	})
	t.Run("in a chat", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a, b := r.shelled("Ada", "bash", "--bracketed"), r.adopted("Ben", "--reply", "none")
		a.adopt("line-paste")
		chat := r.chat([]*agent{b, a})
		a.do(":sleep 1h")
		said, err := r.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: a.touch()})
		require.NoError(t, err)
		r.waitFor("held", func() bool { return r.trails(said.Message)[a.session.ID] == "held: agent working" })
		a.kill()
		r.waitFor("held for good", func() bool { return r.trails(said.Message)[a.session.ID] == "held: agent gone" })
		r.waitFor("the end of the chat", func() bool {
			chats, err := r.client.Chats(t.Context(), true)
			require.NoError(t, err)
			return len(chats) == 1 && chats[0].Why == "agent gone"
		})
		a.untouched("")
	})
}

// A process that has ended, and for which its parent does not wait, is no agent: nothing is typed to it.
func TestS4_ProcessThatNobodyBuriesIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.program("Ada", "parent")
	a.adopt("line")
	a.kill()
	sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "hello", Timeout: tmuxtest.Patience})
	if err == nil {
		assert.Equal(t, "failed: agent gone", r.last(sent.Message))
		assert.NotContains(t, r.trail(sent.Message), "typed")
	}
	assert.Empty(t, a.bytes())
}

// A person's half-typed draft is left alone. A message waits until the person has deleted or sent the draft.
func TestDraftIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "--cooked", "--bracketed"} {
		t.Run("line"+kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.adopted("Ada", append([]string{"--reply", "none"}, strings.Fields(kind)...)...)
			p := r.person(a.pane)
			open, end, enter := "", "", "\r"
			switch kind {
			case "--cooked":
				enter = "\n"
			case "--bracketed":
				open, end = "\x1b[200~", "\x1b[201~"
			}
			separator := map[bool]string{true: "\n\n", false: " "}[kind == "--bracketed"]

			p.keys("half a thou")
			r.WaitForText(a.pane, "ada> half a thou")
			cleared := r.post(a, "one")
			r.waitFor("held", func() bool { return r.last(cleared) == "held: draft in the composer" })
			r.WaitForText(a.pane, "ada> half a thou")
			p.keys("\x15") // ^U
			r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(cleared), "submitted") })

			p.keys("my own words")
			r.WaitForText(a.pane, "ada> my own words")
			sent := r.post(a, "two")
			r.waitFor("held", func() bool { return r.last(sent) == "held: draft in the composer" })
			p.keys("\r")
			r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(sent), "submitted") })

			head := "[tester] (0):" + separator
			want := "half a thou\x15" + open + head + "one" + end + enter + "my own words" + enter + open + head + "two" + end + enter
			if kind == "--cooked" { // the kernel does not hand on what is deleted
				want = strings.TrimPrefix(want, "half a thou\x15")
			}
			r.waitFor("all keys", func() bool { return len(a.bytes()) >= len(want) })
			assert.Equal(t, want, string(a.bytes()))
			assert.Equal(t, []string{head + "one", "my own words", head + "two"}, a.received())
		})
	}
}

// If a program on a cooked terminal prints over a draft, the kernel still holds the draft. A message waits until
// the person has sent it.
func TestDraftThatThePromptHides(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", "--cooked", "--reply", "none")
	p := r.person(a.pane)
	p.keys("rm -rf ")
	r.WaitForText(a.pane, "ada> rm -rf")
	first := r.post(a, "one")
	r.waitFor("held", func() bool { return r.last(first) == "held: draft in the composer" })
	a.do(":say something of my own")
	r.WaitForText(a.pane, "something of my own\nada>")
	r.waitFor("held on", func() bool { return r.last(first) == "held: composer not provably empty" })
	p.keys("nothing")
	r.waitFor("seen as a draft", func() bool { return r.last(first) == "held: draft in the composer" })
	p.keys("\r")
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(first), "submitted") })
	r.waitFor("received", func() bool { return len(a.received()) == 2 })
	assert.Equal(t, []string{"rm -rf nothing", "[tester] (0): one"}, a.received())
}

// A text that we sent is no draft, even if it ends as the prompt does, so more is typed after it. Words that a
// person begins after it are a draft.
func TestDraftThatWasOurs(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/half_test.go: ours is submitted, and answered", "pane/half_test.go: a prompt hides that")
	r := newRig(t)
	a := r.adopted("Ada", "--cooked", "--reply", "ok")
	p := r.person(a.pane)
	for _, text := range []string{"the prompt is ada>", "mail to <a@b.c>", "third"} {
		assert.Equal(t, message.Answered, r.send(a, text, api.WaitAnswered, tmuxtest.Patience).State, text)
	}
	p.keys("rm -rf ")
	r.WaitForText(a.pane, "ada> rm -rf")
	held := r.post(a, "one")
	r.waitFor("held", func() bool { return r.last(held) == "held: draft in the composer" })
	a.do(":say something of my own")
	r.waitFor("held on", func() bool { return r.last(held) == "held: composer not provably empty" })
	assert.Len(t, a.received(), 3)
}

// If a program prints behind a draft instead of erasing it first, the row looks like a line that was sent. The
// draft was not sent, so nothing is typed.
func TestDraftThatWordsRunInto(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", "--cooked", "--reply", "none")
	p := r.person(a.pane)
	p.keys("rm -rf ")
	r.WaitForText(a.pane, "ada> rm -rf")
	first := r.post(a, "one")
	r.waitFor("held", func() bool { return r.last(first) == "held: draft in the composer" })
	a.do("%s", `:raw news of its own\r\nada>\x20`)
	r.WaitForText(a.pane, "rm -rf news of its own\nada>")
	r.waitFor("held on", func() bool { return r.last(first) == "held: composer not provably empty" })
	assert.Empty(t, a.received(), "nothing was sent, and nothing of ours was put behind it")
}

// A message waits while tmux shows a mode over the pane, and is typed once afterwards. A zoomed pane is typed into
// as usual. In a synchronised window, where the other pane would get the keys too, the message fails.
func TestS7_H24_H25_ModesHoldAndSynchronisedFails(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, r *rig, _ *gaps) {
		a := r.adopted("Ada", "--reply", "none")
		beside := r.NewRecorder(false)
		r.Run("join-pane", "-d", "-s", beside.Pane, "-t", a.pane)
		p := r.person(a.pane)
		r.Run("select-pane", "-t", a.pane)
		want := ""
		modes := []struct {
			name  string
			enter func()
			leave string
		}{
			{"copy mode", func() { r.Run("copy-mode", "-t", a.pane) }, "q"},
			{"view mode", func() { r.Run("run-shell", "-b", "-t", a.pane, "echo to be viewed") }, "q"},
			{"choose-tree", func() { r.Run("choose-tree", "-t", a.pane) }, "q"},
		}
		for i, mode := range modes {
			mode.enter()
			r.WaitForFact(a.pane, "#{pane_in_mode}", "1")
			id := r.post(a, fmt.Sprintf("m%d", i))
			r.waitFor("held in "+mode.name, func() bool { return r.last(id) == "held: pane in a mode" })
			assert.Equal(t, want, string(a.bytes()), mode.name)
			p.keys(mode.leave)
			r.WaitForFact(a.pane, "#{pane_in_mode}", "0")
			r.waitFor("delivered after "+mode.name, func() bool { return strings.HasPrefix(r.last(id), "submitted") })
			want += fmt.Sprintf("[tester] (0): m%d\r", i)
			assert.Equal(t, want, string(a.bytes()), "once, after %s", mode.name)
		}

		r.Run("resize-pane", "-Z", "-t", a.pane)
		assert.Equal(t, message.Submitted, r.send(a, "zoomed", api.WaitSubmitted, tmuxtest.Patience).State)
		r.Run("resize-pane", "-Z", "-t", a.pane)
		want += "[tester] (0): zoomed\r"

		r.Run("set-option", "-w", "-t", a.pane, "synchronize-panes", "on")
		failed := r.send(a, "to all", "", tmuxtest.Patience)
		assert.Equal(t, "failed: synchronised window", told(failed))
		r.Run("set-option", "-w", "-t", a.pane, "synchronize-panes", "off")
		assert.Equal(t, want, string(a.bytes()))
		assert.Empty(t, beside.Bytes(), "the other pane of the window")
		assert.True(t, r.Alive())
	})
}

// A session is its process: it gets its messages even if its pane is moved. A message for it is never typed to
// another process in the same pane.
func TestS9_TheSameProcessOrNone(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, r *rig, _ *gaps) {
		a, b := r.adopted("Ada", "--reply", "none"), r.adopted("Ben", "--reply", "none")
		r.Run("new-session", "-d", "-s", "other", "-x", "80", "-y", "24", "exec cat")
		r.Run("move-window", "-s", a.pane, "-t", "other:7")
		r.Run("swap-window", "-d", "-s", "other:0", "-t", "other:7")
		r.Run("rename-session", "-t", "other", "elsewhere")
		r.Run("break-pane", "-d", "-s", b.pane, "-t", "elsewhere:9")
		r.Run("move-window", "-r", "-t", "elsewhere:")
		assert.Equal(t, message.Submitted, r.send(a, "for Ada", "", tmuxtest.Patience).State)
		assert.Equal(t, message.Submitted, r.send(b, "for Ben", "", tmuxtest.Patience).State)
		assert.Equal(t, []string{"[tester] (0): for Ada"}, a.received())
		assert.Equal(t, []string{"[tester] (0): for Ben"}, b.received())

		// The pane has the same id and the same prompt, but another process.
		other := r.again(a, "Eve")
		sent, err := r.client.Send(t.Context(), api.SendRequest{To: string(a.session.ID), Text: "for Ada", Timeout: tmuxtest.Patience})
		if err == nil {
			assert.Equal(t, "failed: agent gone", r.last(sent.Message))
		}
		// The same while a message waits.
		b.do(":sleep 1h")
		waiting := r.post(b, "for Ben")
		r.waitFor("held", func() bool { return r.last(waiting) == "held: agent working" })
		third := r.again(b, "Zoe")
		r.waitFor("failed", func() bool { return r.last(waiting) == "failed: agent gone" })
		for _, one := range []*agent{other, third} {
			assert.Empty(t, one.bytes(), one.name)
			one.adopt("line") // it can be adopted as a session of its own
			assert.Equal(t, message.Submitted, r.send(one, "hello", "", tmuxtest.Patience).State)
		}
	})
}

// While another program than the agent reads the pane's keys, nothing is typed, however much it looks like the
// agent. The message is typed when the agent is back.
func TestS19_H28_OnlyTheAgentInFront(t *testing.T) {
	t.Parallel()
	alternate := "held: a full-screen program is shown"
	other := "held: another program is in front"
	tests := []struct {
		name    string
		needs   string // this program must be installed
		command string // DIR: a directory
		shows   string
		want    []string
		leave   string // the keys that end it; "" is a signal
	}{
		// The loop shows the agent's own prompt, and would write down what it reads.
		{"shell", "sh", "sh DIR/loop", "ada>", []string{other}, ""},
		{"shell with jobs", "bash", `env PS1='ada> ' HISTFILE= bash --norc --noprofile -i`, "ada>", []string{other}, "exit\r"},
		{"editor", "vim", "vim -u NONE -N DIR/draft", "~", []string{other, alternate}, "\x1b:q!\r"},
		{"pager", "less", "less /etc/services", "", []string{other, alternate}, "q"},
		{"remote login", "ssh", "ssh -F DIR/ssh nowhere.invalid", "", []string{other}, ""},
		{"nested tmux", "tmux", "env TMUX= tmux -S DIR/in -f /dev/null new-session exec\\ cat", "[0]", []string{other, alternate}, "\x02d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			need(t, tt.needs)
			r := newRig(t)
			a := r.adopted("Ada", "--reply", "none")
			command := strings.ReplaceAll(tt.command, "DIR", r.dir)
			loop := `while printf "ada> "; IFS= read -r line; do printf "%s\n" "$line" >> ` + r.dir + `/got; done`
			require.NoError(t, os.WriteFile(filepath.Join(r.dir, "loop"), []byte(loop), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(r.dir, "ssh"), []byte("ProxyCommand sleep 600\n"), 0o600))
			require.NoError(t, persona.Control(a.control, ":exec "+command))
			if tt.needs == "tmux" {
				t.Cleanup(func() {
					_ = exec.Command(r.Version.Bin, "-S", filepath.Join(r.dir, "in"), "kill-server").Run()
				})
			}
			r.waitFor("the program", func() bool { return a.count(persona.EventChild) == 1 })
			r.WaitForText(a.pane, tt.shows)
			id := r.post(a, "touch "+r.dir+"/touched")
			r.waitFor("held", func() bool {
				last := r.last(id)
				for _, want := range tt.want {
					if last == want {
						return true
					}
				}
				return false
			})
			r.stays(func() bool {
				return !strings.HasPrefix(r.last(id), "typed") && !strings.HasPrefix(r.last(id), "submitted")
			})
			assert.Empty(t, a.bytes())
			assert.NoFileExists(t, r.dir+"/got")
			assert.NotContains(t, r.Run("capture-pane", "-p", "-t", a.pane), "touched")

			if tt.leave != "" {
				r.Run("send-keys", "-l", "-t", a.pane, tt.leave)
			}
			for _, record := range a.records() {
				if record.Event == persona.EventChild && tt.leave == "" {
					require.NoError(t, syscall.Kill(record.N, syscall.SIGTERM))
				}
			}
			r.waitFor("its end", func() bool { return a.count(persona.EventChildEnd) == 1 })
			a.do(":say back") // shows the prompt anew, no matter what the program has left on its row
			r.waitFor("delivered when the agent is back", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
			assert.Equal(t, "[tester] (0): touch "+r.dir+"/touched\r", string(a.bytes()))
			assert.NoFileExists(t, r.dir+"/touched")
		})
	}
}

// While the agent is stopped, and the shell below it or another program has the terminal, nothing is typed. The
// message is typed when the agent goes on.
func TestS19_StoppedAgentIsNotTypedTo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.shelled("Ada", "bash", "--cooked", "--reply", "none")
	a.adopt("line")
	itself := r.Fact(a.pane, "#{pane_current_command}")
	p := r.person(a.pane)
	p.keys("\x1a") // ^Z
	r.WaitForText(a.pane, "Stopped")
	r.WaitForFact(a.pane, "#{pane_current_command}", "bash")
	id := r.post(a, "touch "+r.dir+"/touched")
	r.waitFor("held", func() bool { return r.last(id) == "held: another program is in front" })
	r.stays(func() bool { return r.last(id) == "held: another program is in front" })
	// Another program, which is no shell, shows the same prompt.
	b := r.agentOf("Eve")
	b.prompt = a.prompt
	p.keys(b.script("--cooked", "--reply", "none") + "\r")
	r.waitFor("it reads keys", func() bool { return b.count(persona.EventReady) > 0 })
	r.stays(func() bool { return r.last(id) == "held: another program is in front" })
	assert.Empty(t, b.bytes())
	assert.Empty(t, a.bytes())
	require.NoError(t, persona.Control(b.control, ":exit"))
	r.WaitForFact(a.pane, "#{pane_current_command}", "bash")
	p.keys("fg\r")
	r.WaitForFact(a.pane, "#{pane_current_command}", itself)
	a.do(":say back again") // it draws its prompt anew
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
	assert.Equal(t, "[tester] (0): touch "+r.dir+"/touched\n", string(a.bytes()))
	assert.NoFileExists(t, r.dir+"/touched")
}

// A pane is not adopted if intercom could not type into it safely. The error says why, and a hint says what to do.
func TestAdoptionIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	refuse := func(t *testing.T, pane, as, why, hint string) {
		t.Helper()
		_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: pane, As: as})
		told := &api.Error{}
		require.ErrorAs(t, err, &told, "adopted")
		assert.Equal(t, api.CodeRefused, told.Code)
		assert.Contains(t, told.Text, why)
		assert.Contains(t, told.Hint, hint)
	}
	execs := []struct{ name, program, command, shows, why, hint string }{
		{"shell", "bash", "bash --norc --noprofile -i", "$", "it would run what is typed", "start the agent in the pane first"},
		{"editor", "vim", "vim -u NONE -N " + r.dir + "/none", "~", "an editor", "close the editor"},
		{"pager", "less", "less /etc/services", "services", "a pager", "leave the pager"},
		{"remote login", "ssh", "ssh -F none -o ProxyCommand='sleep 600' nowhere.invalid", "", "a connection to another program", "run intercom where that program runs"},
		{"interpreter", "python3", "python3 -q -i", ">>>", "an interpreter", "an executable of its own name"},
	}
	for _, tt := range execs {
		t.Run(tt.name, func(t *testing.T) {
			need(t, tt.program)
			pane := r.NewPane(tt.command)
			r.WaitForText(pane, tt.shows)
			if tt.shows == "" {
				// tmux shows the program's name before it runs and has the terminal. ssh starts its proxy by a shell,
				// so wait until the proxy runs.
				var tty string
				var pid int
				_, err := fmt.Sscan(r.Fact(pane, "#{pane_tty} #{pane_pid}"), &tty, &pid)
				require.NoError(t, err)
				r.waitFor("it runs", func() bool {
					front, err := processes.Front(tty, pid)
					return err == nil && front.Leader.Name == tt.program && slices.ContainsFunc(front.Members, func(p processes.Process) bool { return p.Name == "sleep" })
				})
			}
			refuse(t, pane, "line", tt.why, tt.hint)
		})
	}
	t.Run("as the agent's child", func(t *testing.T) {
		a := r.line("Kid")
		require.NoError(t, persona.Control(a.control, `:exec sh -c 'printf "kid> "; read -r line'`))
		r.waitFor("it", func() bool { return a.count(persona.EventChild) == 1 })
		refuse(t, a.pane, "line", "it would run what is typed", "start the agent in the pane first")
	})
	t.Run("full screen", func(t *testing.T) {
		a := r.line("Full")
		a.do(":alt on")
		refuse(t, a.pane, "line", "full-screen", "leave the program")
	})
	t.Run("copy mode", func(t *testing.T) {
		a := r.line("Copy")
		r.Run("copy-mode", "-t", a.pane)
		refuse(t, a.pane, "line", "copy mode", "leave the mode")
	})
	t.Run("synchronised", func(t *testing.T) {
		a := r.line("Sync")
		r.Run("set-option", "-w", "-t", a.pane, "synchronize-panes", "on")
		refuse(t, a.pane, "line", "synchronised", "synchronize-panes off")
	})
	t.Run("input off", func(t *testing.T) {
		a := r.line("Off")
		r.Run("select-pane", "-d", "-t", a.pane)
		refuse(t, a.pane, "line", "input of the pane is off", "select-pane -e")
	})
	t.Run("dead", func(t *testing.T) {
		a := r.line("Dead")
		r.Run("set-option", "-w", "-t", a.pane, "remain-on-exit", "on")
		require.NoError(t, persona.Control(a.control, ":exit"))
		r.WaitForFact(a.pane, "#{pane_dead}", "1")
		refuse(t, a.pane, "line", "dead", "start its program again")
	})
	t.Run("password", func(t *testing.T) {
		a := r.line("Pass")
		a.do(":password")
		refuse(t, a.pane, "line", "does not echo", "answer it")
	})
	t.Run("no prompt", func(t *testing.T) {
		a := r.line("Busy")
		a.do(":sleep 1h")
		refuse(t, a.pane, "line", "prompt", "--prompt")
	})
	t.Run("draft", func(t *testing.T) {
		a := r.line("Draft")
		a.do(":draft some words")
		refuse(t, a.pane, "line", "may hold a draft", "empty prompt")
	})
	t.Run("draft that ends as prompts do", func(t *testing.T) {
		for _, keys := range [][]string{{"Escape"}, {"-l", "my draft>"}, {"-l", "rm -rf $"}, {"-l", "yes:"}} {
			a := r.line("Draft", "--cooked")
			r.WaitForText(a.pane, "draft>")
			r.Run(append([]string{"send-keys", "-t", a.pane}, keys...)...)
			shows := keys[len(keys)-1]
			if shows == "Escape" {
				shows = "^["
			}
			r.WaitForText(a.pane, shows)
			refuse(t, a.pane, "line", "may hold a draft", "empty prompt")
		}
	})
	t.Run("paste without bracketed paste", func(t *testing.T) {
		a := r.line("Cook", "--cooked")
		refuse(t, a.pane, "line-paste", "no bracketed paste", "--as line")
	})
	t.Run("paste that the program has switched off", func(t *testing.T) {
		last := tmuxtest.Versions(t)[len(tmuxtest.Versions(t))-1]
		if !last.AtLeast(3, 7) {
			t.Skip("tmux tells of bracketed paste from 3.7 on: run .ci/tmuxes")
		}
		r := newRigOn(t, last)
		a := r.line("Raw") // it reads keys and does not switch bracketed paste on
		_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.pane, As: "line-paste"})
		assert.ErrorContains(t, err, "bracketed paste switched off")
	})
	t.Run("no such pane", func(t *testing.T) { refuse(t, "%999", "line", "no such pane", "list-panes") })
	t.Run("no such profile", func(t *testing.T) { refuse(t, r.Base, "vim", "no profile", "line-paste") })
	t.Run("a name", func(t *testing.T) { refuse(t, "base:", "line", "no such pane", "list-panes") })
	sessions, err := r.client.Sessions(t.Context())
	require.NoError(t, err)
	assert.Empty(t, sessions)
}
