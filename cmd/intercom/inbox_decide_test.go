package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A person who leaves the editor without a change is told how to approve the message as it is: by a key in the screen, by a
// command in a shell.
func TestInbox_anEditWithoutAChange(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, _ := st.gated()
	held := st.askedAbout(claude, "rm -rf everything")
	st.Run("set-environment", "-g", "EDITOR", "true", ";", "set-environment", "-gu", "VISUAL")
	st.load()
	me := st.sit("base")
	me.menu("i")
	me.sees("e edit")
	me.press("e")
	me.sees("the text is unchanged, so nothing was done → a approves it as it is")
	me.press("q")
	me.seesNot("e edit")

	shell := st.shell()
	st.Run("send-keys", "-t", shell, "-l", fmt.Sprintf("EDITOR=true %s inbox edit %s --server=%s; echo exit $?", thisProgram(), held.Delivery.Short(), st.Socket))
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "hint: intercom inbox approve "+held.Message.Short()+" approves it as it is")
}

// A message of an agent waits for a person's approval. The agent has no way to approve it: not with its own commands, however
// disguised, not by a request to the socket, not by a window of its own. Each attempt is refused with exit code 1 and logged. A
// person's key approves it once, even if others are asked at the same time, and the log says who it was.
func TestS12_NoAgentApproves(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	held := st.askedAbout(claude, "rm -rf everything")
	id := held.Message.Short()
	assert.True(t, held.Decision)
	assert.Equal(t, "rm -rf everything", held.Envelope.Body)
	assert.Contains(t, held.Asked.Reason, "approve="+held.From)
	out, _ := st.intercom("inbox", "show", id)
	assert.Contains(t, out, "held: waiting for approval")
	assert.Contains(t, out, "rm -rf everything")

	n := 0
	script := func(lines string) (script, result string) {
		n++
		result = filepath.Join(st.home, fmt.Sprintf("result%d", n))
		tmuxtest.Program(t, result+".sh", "#!/bin/sh\n( "+lines+" ) >"+result+" 2>&1\necho exit $? >>"+result+"\n")
		return result + ".sh", result
	}
	refused := func(way, result string, says ...string) {
		t.Helper()
		told := ""
		tmuxtest.WaitFor(t, way, func() bool {
			data, _ := os.ReadFile(result)
			told = string(data)
			return strings.Contains(told, "exit ")
		})
		for _, text := range append(says, "exit 1") {
			assert.Contains(t, told, text, way)
		}
		require.Len(t, st.held(), 1, way)
		require.NotContains(t, strings.Join(codex.received(), "\n"), "rm -rf", way)
	}
	intercom := func(words string) string { return thisProgram() + " inbox " + words + " --server=" + st.Socket }
	approve := intercom("approve " + id)
	plain := fmt.Sprintf("env -u INTERCOM_TEST_MAIN %s %s %s", filepath.Join(filepath.Dir(thisProgram()), "plaincall"), st.sidecarSocket(), id)
	bare := `env -i PATH="$PATH" HOME="$HOME" `
	tries := 0
	for _, c := range []struct{ way, run, inside, says string }{
		{"from inside its pane", "%s", approve, "this runs inside"},
		{"by a grandchild", "sh -c '(%s) &'", approve, "only a person may"},
		{"after setsid", "setsid -f %s", approve, "only a person"},
		{"after nohup", "nohup %s >/dev/null 2>&1", approve, "only a person"},
		{"with another environment", "%s", bare + "TMUX=/nowhere,1,0 TMUX_PANE=%999 " + approve, "this runs inside"},
		{"with none, and no parents", "setsid -f %s", bare + approve, "only a person may"},
		{"with a yes on standard input", "%s", "echo y | " + approve, "this runs inside"},
		{"by a word to the socket", "%s", plain, "this runs inside"},
		{"by that, with no parents left", "setsid -f %s", plain, "only a person may"},
		{"by that, with nothing left", "setsid -f %s", bare + plain, "only a person may"},
		{"to reject", "%s", intercom("reject " + id), "this runs inside"},
		{"to edit", "%s", "EDITOR=true " + intercom("edit "+id), "this runs inside"},
		{"to reply", "%s", intercom("reply " + id + " hello"), "this runs inside"},
	} {
		one, result := script(c.inside)
		claude.do(":exec " + fmt.Sprintf(c.run, one))
		refused(c.way, result, c.says)
		tries++
	}
	one, result := script(approve)
	claude.do(":exec tmux -S " + st.Socket + " run-shell -b " + one)
	refused("by run-shell", result, "is not verified")
	tries++
	one, result = script(approve)
	claude.do(":exec tmux -S " + st.Socket + " new-window -d -n window " + one)
	refused("in a window of its own", result, "is not verified")
	tries++
	log, err := os.ReadFile(st.status().Log)
	require.NoError(t, err)
	logged := strings.Count(string(log), `msg="refused to an agent"`) + strings.Count(string(log), `msg="refused to an unverified caller"`)
	assert.Equal(t, tries, logged, "each is in the log")

	// Two people are asked to approve it and both say yes; a third one is asked to reject it.
	me := st.sit("base")
	shells := make([]string, 3)
	for i, command := range []string{approve, approve, intercom("reject " + id)} {
		shells[i] = st.shell()
		st.Run("send-keys", "-t", shells[i], "-l", command+"; echo exit $?")
		st.Run("send-keys", "-t", shells[i], "Enter")
		st.WaitForText(shells[i], "[y/N]")
		assert.Contains(t, st.Run("capture-pane", "-p", "-t", shells[i]), "rm -rf everything", "a person sees what it is")
	}
	for i, code := range []string{"exit 0", "exit 0", "exit 1"} {
		st.Run("select-window", "-t", shells[i])
		me.press("y")
		st.WaitForText(shells[i], code)
	}
	says := func(shell string) string { return st.Run("capture-pane", "-p", "-J", "-t", shell) }
	assert.Contains(t, says(shells[0]), "approved: message "+id)
	assert.Contains(t, says(shells[1]), "message "+id+" was already approved, by ")
	assert.Contains(t, says(shells[2]), "was already approved, by ")
	tmuxtest.WaitFor(t, "it is heard", func() bool { return len(codex.received()) == 1 })
	assert.Equal(t, "["+held.From+"] (1):\n\nrm -rf everything", codex.received()[0])
	out, _ = st.intercom("log", id)
	assert.Regexp(t, `queued \(person: approved by \S+ \(uid \d+, pid \d+, `+st.Fact(shells[0], "#{pane_tty}")+`, pane `+shells[0]+`, client \S+\)`, out)
	assert.Equal(t, 1, strings.Count(out, "approved by"))
}

// A person can edit a waiting message, which is then delivered under its author's name; or reject it with a reason; or answer in
// the target's place. Each command reports the outcome.
func TestInbox_editRejectReply(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	shell := st.shell()
	editor := filepath.Join(st.home, "editor")
	tmuxtest.Program(t, editor, "#!/bin/sh\nsed -i 's/rm -rf/ls -l/' \"$2\" && test \"$1\" = --wait\n")
	decide := func(words, key, code string, want ...string) string {
		t.Helper()
		st.Run("send-keys", "-R", "-t", shell, ";", "clear-history", "-t", shell)
		st.Run("send-keys", "-t", shell, "-l", fmt.Sprintf("EDITOR='%s --wait' %s inbox %s --server=%s; echo exit $?", editor, thisProgram(), words, st.Socket))
		st.Run("send-keys", "-t", shell, "Enter")
		if key != "" {
			st.WaitForText(shell, "[y/N]")
			st.Run("send-keys", "-t", shell, key)
		}
		st.WaitForText(shell, code)
		shown := st.Run("capture-pane", "-p", "-J", "-t", shell)
		for _, text := range want {
			assert.Contains(t, shown, text, words)
		}
		return shown
	}
	held := st.askedAbout(claude, "rm -rf everything")
	decide("edit "+held.Delivery.Short(), "n", "exit 1", "your text is saved in ")
	require.Len(t, st.held(), 1)
	decide("edit "+held.Delivery.Short(), "y", "exit 0", "ls -l everything", "edited and approved: message "+held.Message.Short())
	tmuxtest.WaitFor(t, "it is heard", func() bool { return len(codex.received()) == 1 })
	assert.Equal(t, "["+held.From+"] (1):\n\nls -l everything", codex.received()[0])
	out, _ := st.intercom("log", held.Message.Short())
	assert.Contains(t, out, "person: edited and approved by ")
	assert.Contains(t, out, "rm -rf everything", "what was said")
	assert.Contains(t, out, ", with another text than was said:\n    ls -l everything\n")
	out, _ = st.intercom("log", "--search", "ls everything")
	assert.Contains(t, out, held.Message.Short(), "it is found by what went out")
	decide("approve "+held.Message.Short(), "", "exit 1", "was already edited and approved, by ")
	out, _ = st.intercom("chat", "show", "pair")
	assert.Contains(t, out, ", edited by a person\n    ls -l everything\n")
	assert.NotContains(t, out, "rm -rf everything", "it was not heard")

	held = st.askedAbout(claude, "something silly"+strings.Repeat(", and more", 500))
	decide("reject "+held.Message.Short()+` --say "not now"`, "y", "exit 0", "You say: not now", ", and more\n", "rejected: message "+held.Message.Short(), "failed: rejected")
	tmuxtest.WaitFor(t, "its author hears of it", func() bool {
		return strings.HasSuffix(strings.Join(claude.received(), "\n"), "] (0):\n\nnot now")
	})
	out, _ = st.intercom("chat", "show", "pair")
	assert.Contains(t, out, ": rejected\n")
	held = st.toDecide()
	shown := decide("reply "+held.Message.Short()+` "enough of it" --json`, "y", "exit 0", `"choice":"reply"`, `"reason":"answered by a person instead"`)
	assert.Contains(t, shown, `"terminal":"`+st.Fact(shell, "#{pane_tty}")+`"`)
	tmuxtest.WaitFor(t, "its author is answered", func() bool {
		return strings.HasSuffix(strings.Join(claude.received(), "\n"), "] (0):\n\nenough of it")
	})
	assert.Len(t, codex.received(), 1)
	decide("reject nosuch", "", "exit 1", `no message "nosuch"`)
}

// A text that a person edited is kept if they give up while it is sent.
func TestInbox_editGivenUpIsKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	text := "ls -l everything"
	var told strings.Builder
	a := &app{env: env{Stderr: &told}}
	err := a.kept(api.DecideRequest{Body: &text}, api.Decided{}, fmt.Errorf("decide: %w", context.Canceled))
	require.ErrorIs(t, err, context.Canceled)
	path, found := strings.CutPrefix(strings.TrimSpace(told.String()), "intercom: note: your text is saved in ")
	require.True(t, found, told.String())
	assert.Equal(t, text, read(t, path))
}

// The popup of the menu shows what waits. A person approves the selected message with y, once it was shown to its end.
func TestS12_AYesInThePopup(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.load()
	claude, codex := st.gated()
	held := st.askedAbout(claude, "rm -rf everything"+strings.Repeat(" and more", 500)+" of it")
	me := st.sit("base")
	me.menu("i")
	me.sees("your yes")
	me.press("a")
	me.sees("read to its end")
	me.press("y") // a message not seen to its end cannot be approved
	me.press("End")
	me.sees("y yes")
	require.Len(t, st.held(), 1)
	me.press("q")
	me.sees("nothing was done")
	require.Len(t, st.held(), 1, "no is no")
	require.Empty(t, codex.received())
	me.press("a")
	me.sees("read to its end")
	me.press("End")
	me.sees("y yes")
	me.press("y")
	tmuxtest.WaitFor(t, "it is heard", func() bool { return len(codex.received()) == 1 && len(st.held()) == 0 })
	me.sees("nothing is waiting")
	me.press("a") // nothing is selected
	me.press("q")
	me.seesNot("nothing is waiting")
	out, _ := st.intercom("log", held.Message.Short())
	assert.Contains(t, out, "(person: approved by ")
}

// A message that waits for approval does not expire with messages that merely wait, and survives a killed sidecar whole. The
// status line counts it.
func TestV10_AYesIsWaitedForForEver(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated("--set", "expire=1s")
	text := "as long as it takes " + strings.Repeat("and longer ", 500)
	held := st.askedAbout(claude, text)
	counted := func(text string) {
		t.Helper()
		tmuxtest.WaitFor(t, text, func() bool { return strings.Contains(st.Run("show-options", "-sqv", "@intercom-status"), text) })
	}
	counted("1 to approve")

	codex.do(":draft half a line")
	_, code := st.intercom("chat", "say", "pair", "for a moment")
	assert.Contains(t, []int{0, 5}, code)
	tmuxtest.WaitFor(t, "what waits for a moment expires", func() bool {
		return slices.ContainsFunc(st.told(api.LogQuery{}), func(e message.Event) bool { return e.Receipt != nil && e.Receipt.State == message.Expired })
	})
	log, _ := st.intercom("log")
	assert.Contains(t, log, "expired: draft in the composer")
	old := st.status().PID
	require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
	out, code := st.intercom("up")
	require.Zero(t, code, out)
	require.NotEqual(t, old, st.status().PID)
	counted("2 to approve") // the other is the answer to the person's message
	all := st.held()
	require.Len(t, all, 2)
	assert.Equal(t, held.Delivery, all[0].Delivery)
	assert.Equal(t, message.AwaitingApproval, all[0].Reason)
	assert.Equal(t, held.Envelope, all[0].Envelope, "whole")
	assert.Equal(t, held.Asked, all[0].Asked)
	assert.Empty(t, codex.received())
}

// A person's reply to a rejected message is refused before the question if the message has no author to whom it can go.
func TestInbox_rejectSayToNobody(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, _ := st.gated()
	claude.do(":draft half a line")
	out, _ := st.intercom("send", claude.pane, "from me", "--json")
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(out)
	require.NotEmpty(t, id, out)
	shell := st.shell()
	st.Run("send-keys", "-t", shell, "-l", fmt.Sprintf("%s inbox reject %s --say no --server=%s; echo exit $?", thisProgram(), id, st.Socket))
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "exit 2")
	shown := st.Run("capture-pane", "-p", "-J", "-t", shell)
	assert.Contains(t, shown, "intercom: hint: without --say it is rejected")
	assert.Contains(t, shown, "its author is a person, to whom no reply can be sent: leave out the text")
	assert.NotContains(t, shown, "[y/N]")
	assert.Len(t, st.held(), 1)
}

// If a filter failed at a message and a guard dropped it, a person's yes does not deliver it unfiltered.
func TestL6_UnfilteredDoesNotLeaveByTheTrash(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	config := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
	require.NoError(t, os.MkdirAll(config, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(config, "init.lua"), []byte(`intercom.on("filter", function() error("cannot mask this") end)
intercom.on("guard", function() return intercom.drop { reason = "a chain letter" } end)`), 0o600))
	pane := st.NewPane(personatest.Program(t), "line", "--name", "Ada", "--prompt", "ada> ", "--reply", "none")
	tmuxtest.WaitFor(t, "it is adopted", func() bool {
		_, code := st.intercom("adopt", pane, "--as", "line")
		return code == 0
	})
	out, _ := st.intercom("send", pane, "the password is hunter2", "--json")
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(out)
	require.NotEmpty(t, id, out)
	shell := st.shell()
	shown := func(text string) {
		tmuxtest.WaitFor(t, text, func() bool { return strings.Contains(st.Run("capture-pane", "-p", "-J", "-t", shell), text) })
	}
	st.Run("send-keys", "-t", shell, "-l", fmt.Sprintf("%s inbox approve %s --server=%s; echo exit $?", thisProgram(), id, st.Socket))
	st.Run("send-keys", "-t", shell, "Enter")
	shown("[y/N]")
	st.Run("send-keys", "-t", shell, "y")
	shown("exit 1")
	out, _ = st.intercom("log", id)
	assert.NotContains(t, out, "queued", "it is where it was")
}

// If policies made a different text for each target, the question shows all of them before one yes approves them.
func TestS12_AYesIsToWhatWasShown(t *testing.T) {
	t.Parallel()
	held := func(to, body string) api.Held {
		return api.Held{Waiting: api.Waiting{From: "Ada", To: to}, Chat: "c", ChatName: "plans", Envelope: message.Envelope{Body: body}}
	}
	d := api.Decided{Waiting: []api.Held{held("Ben", "look\n\nAnswer with a plan."), held("Cyd", "look\n\nDo it now."), held("Dan", "look\n\nDo it now.")}}
	asked := decisionAsked(api.DecideRequest{Choice: api.ChoiceApprove}, d)
	assert.Equal(t, "Ada to Ben in chat plans:\n\n  look\n  \n  Answer with a plan.\n\n"+
		"Ada to Cyd, Dan in chat plans:\n\n  look\n  \n  Do it now.\n\nApprove it?", asked)
	for i := range d.Waiting {
		d.Waiting[i].Decision, d.Waiting[i].Asked = true, &message.Verdict{Decision: message.Decision{Reason: "handoffs need a yes", By: "init.lua:12 handoffs"}}
	}
	assert.Contains(t, decisionAsked(api.DecideRequest{Choice: api.ChoiceApprove}, d), "\n\nYou are asked: handoffs need a yes, by init.lua:12 handoffs\nApprove it?")
	for i := range d.Waiting {
		d.Waiting[i].Asked.Decision = message.Decision{By: message.BuiltIn}
	}
	edited := "wait"
	assert.Equal(t, "Ada to Ben, Cyd, Dan in chat plans:\n\n  wait\n\nApprove it?", decisionAsked(api.DecideRequest{Choice: api.ChoiceApprove, Body: &edited}, d))
}

// A message that no longer waits when the answer comes is not reported as rejected.
func TestInbox_rejectedTooLate(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{decides: func(req api.DecideRequest) api.Decided {
		d := api.Decided{Message: message.ID(req.ID), Choice: req.Choice, Waiting: []api.Held{}}
		if req.Say == "" {
			d.Waiting = append(d.Waiting, api.Held{})
		}
		return d
	}})
	r := w.run("inbox", "reject", "one", "--say", "no")
	assert.Equal(t, 1, r.code, r.out)
	assert.Contains(t, r.err, "does not await a decision")
	assert.Empty(t, r.out)
}

// gated starts a chat of two agents: messages of the first need approval, the second is muted.
func (st *stage) gated(flags ...string) (claude, codex *coder) {
	st.t.Helper()
	claude, codex = st.coder("claude"), st.coder("codex")
	out, code := st.intercom(append([]string{"chat", "start", claude.pane, codex.pane, "--name", "pair", "--set", "approve=" + claude.pane}, flags...)...)
	require.Zero(st.t, code, out)
	out, code = st.intercom("chat", "mute", "pair", codex.pane)
	require.Zero(st.t, code, out)
	return claude, codex
}

// When a chat is stopped, the command names the message that waited for approval and is now not delivered.
func TestChatStop_namesWhatWaited(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	held := st.askedAbout(claude, "the plan")
	out, code := st.intercom("chat", "stop", "pair")
	require.Zero(t, code, out)
	assert.Contains(t, out, "not delivered: 1 message that waited: "+held.Message.Short()+"; intercom log "+held.Message.Short())
	out, code = st.intercom("log", held.Message.Short())
	require.Zero(t, code, out)
	assert.Contains(t, out, "chat ended")
	assert.NotContains(t, strings.Join(codex.received(), "\n"), "the plan")
}

// The same holds when the target is removed from the chat. `chat list` says so if everything is stopped.
func TestChatRemove_namesWhatWaited(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	held := st.askedAbout(claude, "the plan")
	out, code := st.intercom("chat", "remove", "pair", codex.pane)
	require.Zero(t, code, out)
	assert.Contains(t, out, "not delivered: 1 message that waited: "+held.Message.Short()+"; intercom log "+held.Message.Short())
	assert.NotContains(t, strings.Join(codex.received(), "\n"), "the plan")

	out, code = st.intercom("chat", "list")
	require.Zero(t, code, out)
	assert.NotContains(t, out, "everything is stopped")
	out, code = st.intercom("chat", "stop", "--all")
	require.Zero(t, code, out)
	out, code = st.intercom("chat", "list")
	require.Zero(t, code, out)
	assert.Contains(t, out, "everything is stopped: intercom chat resume --all")

	// The same holds for release, session end and uninstall.
	for _, gives := range [][]string{{"release", codex.pane}, {"session", "end", codex.pane, "--force"}, {"uninstall"}} {
		who := codex
		if gives[0] == "uninstall" {
			who = claude
		}
		if out, code := st.intercom("adopt", who.pane); code != 0 {
			require.Contains(t, out, "already")
		}
		out, code := st.intercom("send", who.pane, "hello", "--timeout", "0")
		require.Equal(t, 5, code, out)
		waits := st.held()
		require.Len(t, waits, 1)
		out, code = st.intercom(gives...)
		require.Zero(t, code, out)
		assert.Contains(t, out, "not delivered: 1 message that waited: "+waits[0].Message.Short())
	}
}

// askedAbout has an agent say something, and waits until a person has to decide about it.
func (st *stage) askedAbout(a *coder, text string) (held api.Held) {
	st.t.Helper()
	a.do(":turn say " + text)
	out, code := st.intercom("send", a.pane, "go", "--timeout", "1m")
	require.Zero(st.t, code, out)
	held = st.toDecide()
	require.Equal(st.t, strings.TrimSpace(text), held.Envelope.Body)
	return held
}

// toDecide waits until exactly one message waits, for a person's decision.
func (st *stage) toDecide() (held api.Held) {
	st.t.Helper()
	tmuxtest.WaitFor(st.t, "a person is to decide", func() bool {
		all := st.held()
		if len(all) == 1 {
			held = all[0]
		}
		return held.Decision
	})
	require.Equal(st.t, message.AwaitingApproval, held.Reason)
	return held
}

// shell starts a shell in a pane of its own that nobody adopted.
func (st *stage) shell() (pane string) {
	st.t.Helper()
	pane = st.NewPane("env", "PS1=$ ", "ENV=", "sh", "-i")
	st.WaitForText(pane, "$")
	return pane
}

// sidecarSocket is the socket that the sidecar has published.
func (st *stage) sidecarSocket() string { return st.Run("show-options", "-sqv", "@intercom-socket") }

// plainCall is a program that sends an approval to the sidecar's socket without asking anybody: plaincall SOCKET ID.
func plainCall() {
	ctx, cancel := context.WithTimeout(context.Background(), tmuxtest.Patience)
	defer cancel()
	c := &api.Client{Socket: os.Args[1]}
	d, err := api.Call(ctx, c, api.Decide, api.DecideRequest{ID: os.Args[2], Choice: api.ChoiceApprove, Sure: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(d)
}
