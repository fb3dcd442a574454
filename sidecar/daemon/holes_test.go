package daemon_test

import (
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
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Each of these was once a fault: a person's keystroke was doubled, joined to our text, or claimed as ours.

// Several messages go in one paste, and the sidecar is killed at each moment of it: each message arrives once.
func TestV8_V11_ABatchIsKilled(t *testing.T) {
	t.Parallel()
	for i, moment := range moments {
		if i%2 == 1 && !longTest() {
			continue
		}
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, r.end())
			c := r.childKilled(moment)
			b := r.adopted("Ben", bracketed...)
			b.drafts("in the way") // until all of them wait
			for i := range 4 {
				r.post(b, fmt.Sprintf("word %d", i))
			}
			r.Run("send-keys", "-t", b.pane, "C-u")
			r.dies(c)
			r.start()
			r.waitFor("all are submitted", func() bool { return r.open() == 0 })
			whole := strings.Join(b.received(), "\n")
			for i := range 4 {
				assert.Equal(t, 1, strings.Count(whole, fmt.Sprintf("word %d", i)), whole)
			}
		})
	}
}

// A person sends a text that a killed sidecar had pasted, and then has it in the composer once more, as recalled from
// a history. It is theirs now: Enter is not pressed.
func TestV8_WhatAPersonRecalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	c := r.childKilled("pasted")
	b := r.adopted("Ben", silent...)
	_, _ = r.client.Send(t.Context(), api.SendRequest{To: b.pane, Text: "hello"})
	r.dies(c)
	r.WaitForText(b.pane, "hello")
	r.Run("send-keys", "-t", b.pane, "Enter")
	r.waitFor("taken", func() bool { return len(b.received()) == 1 })
	r.Run("send-keys", "-t", b.pane, "-l", "[tester] (0): hello")
	r.waitFor("recalled", func() bool { return strings.Count(b.screen(), "hello") == 2 })
	r.start()
	r.waitFor("reported", func() bool { return r.open() == 0 })
	r.stays(func() bool { return len(b.received()) == 1 })
	all := r.receipts()
	assert.Equal(t, message.Uncertain, all[len(all)-1].State)
}

// A command of a dead sidecar reaches tmux seconds late, when the screen is again as that sidecar saw it. It is
// refused, because something was typed in between.
func TestV8_ALateOrderOfADeadSidecar(t *testing.T) {
	t.Parallel()
	r := newRig(t, over("process"))
	require.NoError(t, r.end())
	r.wrapped(`case "$*" in *load-buffer*) if [ -e $D/late ]; then rm $D/late; touch $D/orphan; while [ ! -e $D/now ]; do sleep 0.05; done; touch $D/gone; fi;; esac`)
	c := r.child()
	b := r.adopted("Ben", silent...)
	b.do(":clear3")
	r.waitFor("at rest", func() bool { return r.state(b) == message.Idle })
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "late"), nil, 0o600))
	id := r.post(b, "hello")
	r.waitForFile("orphan")
	kill(t, c)
	r.start()
	r.waitFor("submitted", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
	b.do(":clear3")
	r.waitFor("cleared", func() bool { return !strings.Contains(b.screen(), "hello") })
	before := len(b.bytes())
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "now"), nil, 0o600))
	r.waitForFile("gone")
	r.stays(func() bool { return len(b.bytes()) == before })
	assert.Len(t, b.received(), 1)
}

// A person begins a line on a terminal that gathers lines, while nothing waits for the pane, and the program's output
// hides the line. Messages are held all the same, also after a restart.
func TestDraftThatNoTriggerTold(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", restart), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			b := r.adopted("Ben", "--reply", "none", "--cooked")
			r.Run("send-keys", "-t", b.pane, "-l", "rm -rf ")
			r.waitFor("it is seen", func() bool { return r.state(b) == message.Draft })
			r.waitFor("it is noted", func() bool { return r.sessionOf(b).Closed != "" })
			if restart {
				require.NoError(t, r.end())
			}
			b.do(":say something unasked")
			if restart {
				r.start()
			}
			id := r.post(b, "hello")
			r.waitFor("held", func() bool { return r.last(id) == "held: composer not provably empty" })
			r.stays(func() bool { return len(b.received()) == 0 })
		})
	}
}

// Our text has lost its Enter; the program prints below it and prompts again without drawing it anew. The text may
// still wait in what the program reads, so nothing is typed behind it.
func TestOurTextThatThePromptHides(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"cooked", "raw"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s restart %t", kind, restart), func(t *testing.T) {
				t.Parallel()
				g := &gaps{}
				r := newRig(t, g.option())
				flags := silent
				if kind == "cooked" {
					flags = append([]string{"--cooked"}, silent...)
				}
				b := r.adopted("Ben", flags...)
				g.plan(b.pane, "enter", func() { r.Run("copy-mode", "-t", b.pane) })
				id := r.post(b, "hello")
				r.waitFor("held", func() bool { return strings.Contains(r.last(id), "mode") })
				if restart {
					require.NoError(t, r.end())
				}
				b.do(`:raw \r\nunasked\r\nben>\x20`)
				r.Run("send-keys", "-X", "-t", b.pane, "cancel")
				if restart {
					r.start()
				}
				r.waitFor("uncertain", func() bool { return strings.HasPrefix(r.last(id), "uncertain") })
				next := r.post(b, "next")
				r.waitFor("held", func() bool { return strings.HasPrefix(r.last(next), "held") })
				before := len(b.bytes())
				r.stays(func() bool { return len(b.bytes()) == before })
			})
		}
	}
}

// A text got lost in a pane that had been given the same text before: the pane stays closed over a restart.
func TestLostTextThatWasSaidBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.adopted("Ben", silent...)
	require.Equal(t, message.Submitted, r.send(b, "hello", api.WaitSubmitted, patience).State)
	b.do(":deaf")
	lost := r.post(b, "hello")
	r.waitFor("lost", func() bool { return strings.HasPrefix(r.last(lost), "uncertain") })
	next := r.post(b, "next")
	r.waitFor("held", func() bool { return strings.HasPrefix(r.last(next), "held") })
	before := r.Fact(b.pane, "#{INTERCOM_TYPED_"+b.pane[1:]+"}")
	require.NoError(t, r.end())
	r.start()
	r.waitFor("held again", func() bool { return strings.HasPrefix(r.last(next), "held: our text") })
	r.stays(func() bool { return r.Fact(b.pane, "#{INTERCOM_TYPED_"+b.pane[1:]+"}") == before })
}

// One part of a paste belongs to a chat that is paused and then stopped before Enter: the whole paste ends, and
// nothing hangs.
func TestV11_OneChatOfABatchEnds(t *testing.T) {
	t.Parallel()
	g := &gaps{}
	r := newRig(t, g.option())
	b, a := r.adopted("Ben", bracketed...), r.adopted("Ada", silent...)
	chat := r.chat([]*agent{b, a}, unlimited...)
	b.do(":hold")
	single := r.post(b, "a single one")
	a.do(":say in the chat")
	r.waitFor("two", func() bool { return len(r.messages()) == 2 })
	r.waitFor("both are queued", func() bool { return r.last(r.idOf("in the chat")) == "queued" })
	r.post(a, "once this is taken in, the pane has both")
	paused := b.pausedOncePasted(g, chat)
	b.do(":go")
	require.NoError(t, <-paused)
	_, err := r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	r.waitFor("all have ended", func() bool { return r.open() == 0 })
	assert.Equal(t, "uncertain: chat ended", r.last(single))
	assert.Empty(t, b.received())

	// The text in the composer is ours, and is called ours until a person takes it away.
	next := r.post(b, "next")
	r.waitFor("held", func() bool { return r.last(next) == "held: our text stands in the composer" })
	r.waitFor("the status line says it", func() bool { return strings.Contains(r.statusLine(), "Ben: our text in its composer") })
	assert.False(t, r.sessionOf(b).Shut(), "nobody has to adopt it anew")
	r.Run("send-keys", "-t", b.pane, "-l", "x")
	r.waitFor("held for what a person has added", func() bool { return r.last(next) == "held: draft in the composer" })
	r.waitFor("which is theirs", func() bool { return strings.Contains(r.statusLine(), "Ben: your draft") })
	r.Run("send-keys", "-t", b.pane, "C-u")
	r.waitFor("submitted", func() bool { return r.last(next) == "submitted" || r.last(next) == "answered" })
}

// pausedOncePasted has a chat paused between the next paste into the agent's pane and its Enter. The channel gets the
// pause's result.
func (a *agent) pausedOncePasted(g *gaps, chat message.Chat) <-chan error {
	paused := make(chan error, 1)
	g.plan(a.pane, "pasted", func() {
		go func() {
			_, err := a.client.PauseChat(a.t.Context(), api.ChatRef{Chat: string(chat.ID)})
			paused <- err
		}()
		for late := time.Now().Add(patience); a.current(chat).State != message.ChatPaused && time.Now().Before(late); {
			time.Sleep(time.Millisecond)
		}
	})
	return paused
}

// A text that a stopped chat has left in the composer is ours also after a restart, in the status line and in the
// receipt of the next message.
func TestU20_OurTextIsNoDraft(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{bracketed, silent, append([]string{"--cooked"}, silent...)} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			g := &gaps{}
			r := newRig(t, g.option())
			b, a := r.adopted("Ben", flags...), r.adopted("Ada", silent...)
			chat := r.chat([]*agent{b, a}, unlimited...)
			paused := b.pausedOncePasted(g, chat)
			a.do(":say in the chat")
			require.NoError(t, <-paused)
			_, err := r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
			require.NoError(t, err)
			r.waitFor("it has ended", func() bool { return r.open() == 0 })
			next := r.post(b, "next")
			for life := range 2 {
				r.waitFor("held", func() bool { return r.last(next) == "held: our text stands in the composer" })
				r.waitFor(fmt.Sprintf("the status line of life %d says it", life), func() bool { return r.statusLine() == "Ben: our text in its composer" })
				assert.False(t, r.sessionOf(b).Shut(), "nobody has to adopt it anew")
				if life == 0 {
					require.NoError(t, r.end())
					r.start()
				}
			}
			r.Run("send-keys", "-t", b.pane, "C-u")
			r.waitFor("submitted", func() bool { return r.last(next) == "submitted" || r.last(next) == "answered" })
			r.waitFor("nothing waits", func() bool { return r.statusLine() == "" })
		})
	}
}

// begunLine is a program whose terminal gathers lines, with a line that a person has begun, and a message that is
// held for it.
func (r *rig) begunLine() (b *agent, next message.ID) {
	r.t.Helper()
	b = r.adopted("Ben", append([]string{"--cooked"}, silent...)...)
	r.Run("send-keys", "-t", b.pane, "-l", "hello")
	next = r.post(b, "next")
	r.waitFor("held", func() bool { return r.last(next) == "held: draft in the composer" })
	return b, next
}

// writeTo writes to the terminal of an agent, as another program may.
func (r *rig) writeTo(a *agent, text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(r.Fact(a.pane, "#{pane_tty}"), []byte(text), 0))
}

// A program prints something below a line that a person has begun, and shows its prompt again. The line still waits
// in the terminal, and a text would be sent behind it: messages are held until the person sends the line.
func TestS5_printedBelowALine(t *testing.T) {
	t.Parallel()
	for _, printed := range []string{"\r\nnotice\r\nben> ", "\r\nben> "} {
		r := newRig(t)
		b, next := r.begunLine()
		r.writeTo(b, printed)
		r.waitFor("held for what does not show", func() bool { return r.last(next) == "held: composer not provably empty" })
		r.stays(func() bool { return len(b.received()) == 0 })
		r.Run("send-keys", "-t", b.pane, "Enter") // this sends the line that does not show
		r.waitFor("submitted", func() bool { return r.last(next) == "submitted" })
		require.Len(t, b.received(), 2)
		assert.Equal(t, "hello", b.received()[0])
	}
}

// A program that erases a line that a person has begun erases it on the screen alone. Messages are held until the
// person sends a line, and explain says so.
func TestS5_erasedByTheProgram(t *testing.T) {
	t.Parallel()
	for _, erases := range []string{":clear", `:raw \r\x1b[Kben>\x20`} {
		r := newRig(t)
		b, next := r.begunLine()
		b.do("%s", erases)
		r.waitFor("held for what does not show", func() bool { return r.last(next) == "held: composer not provably empty" })
		r.stays(func() bool { return len(b.received()) == 0 })
		told := b.explain()
		assert.Equal(t, message.NotEmpty, told.Why)
		require.True(t, slices.ContainsFunc(told.Evidence, func(g message.Ground) bool { return strings.Contains(g.Says, "a line that you send here ends that") }), "%v", told.Evidence)
		r.Run("send-keys", "-t", b.pane, "-l", " there")
		r.waitFor("begun again", func() bool { return r.sessionOf(b).State == message.Draft })
		r.Run("send-keys", "-t", b.pane, "Enter")
		r.waitFor("submitted", func() bool { return r.last(next) == "submitted" })
		require.Len(t, b.received(), 2, erases)
		assert.Equal(t, "hello there", b.received()[0])
	}
}

// A line that was erased on the screen alone is still there if the person types behind it and takes that back, and
// after a restart. It need not be the program in front that erased it.
func TestS5_erasedAndStillBegun(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"typed and taken back", "restarted"} {
		r := newRig(t)
		b, next := r.begunLine()
		r.writeTo(b, "\r\x1b[Kben> ")
		r.waitFor("held for what does not show", func() bool { return r.last(next) == "held: composer not provably empty" })
		switch after {
		case "restarted":
			require.NoError(t, r.end())
			r.start()
		default:
			r.Run("send-keys", "-t", b.pane, "-l", "x")
			r.waitFor("begun again", func() bool { return r.sessionOf(b).State == message.Draft })
			r.Run("send-keys", "-t", b.pane, "BSpace")
			r.waitFor("taken back", func() bool { return r.sessionOf(b).State == message.Idle })
		}
		r.stays(func() bool { return len(b.received()) == 0 })
		r.Run("send-keys", "-t", b.pane, "Enter")
		r.waitFor("submitted", func() bool { return r.last(next) == "submitted" })
		require.Len(t, b.received(), 2, after)
		assert.Equal(t, "hello", b.received()[0])
	}
}

// A line that a person sends closes nothing, even if another program has started the one that reads it, and is looked
// at in its place while nothing waits.
func TestS5_aPersonsOwnLine(t *testing.T) {
	t.Parallel()
	for _, starter := range [][]string{nil, {"timeout", "--foreground", "600"}, {"sh", "-c", `exec "$@" </dev/tty`, "sh"}} {
		r := newRig(t)
		b := r.lineBy(starter, "", "Ben", append([]string{"--cooked"}, silent...)...)
		b.adopt("line")
		for n := range 2 {
			r.Run("send-keys", "-t", b.pane, "-l", "hello")
			r.waitFor("begun", func() bool { return r.sessionOf(b).State == message.Draft })
			r.Run("send-keys", "-t", b.pane, "Enter")
			r.waitFor("read", func() bool { return len(b.received()) == 2*n+1 })
			r.waitFor("over", func() bool { return r.sessionOf(b).State == message.Idle })
			next := r.post(b, fmt.Sprint("next ", n))
			r.waitFor("submitted", func() bool { return r.last(next) == "submitted" })
			assert.Equal(t, "hello", b.received()[2*n])
			assert.Len(t, b.received(), 2*n+2)
		}
	}
}

// After a restart, a line that a person has sent does not count as begun, though its program is still at work on it.
func TestS5_aPersonsOwnLineIsWorkedOnOverARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.adopted("Ben", "--cooked", "--reply", "none", "--think", "6s")
	r.Run("send-keys", "-t", b.pane, "-l", "hello")
	r.waitFor("it is noted", func() bool { return r.sessionOf(b).Closed == message.InComposer })
	r.Run("send-keys", "-t", b.pane, "Enter")
	r.waitFor("that it was read", func() bool { return r.sessionOf(b).Closed == "" })
	require.Equal(t, message.Working, r.state(b), "before its prompt is back")
	require.NoError(t, r.end())
	r.start()
	r.told(r.post(b, "next"), "submitted")
	assert.Equal(t, []string{"hello", "[tester] (0): next"}, b.received())
}

// A tmux that is slow for a moment, while the sidecar takes up its panes again, ends no session and no chat.
func TestRestart_SlowTmuxEndsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, over("process"))
	b, a := r.adopted("Ben", silent...), r.adopted("Ada", silent...)
	chat := r.chat([]*agent{b, a}, unlimited...)
	b.drafts("x")
	id := r.post(b, "hello")
	r.waitFor("held", func() bool { return strings.Contains(r.last(id), "draft") })
	require.NoError(t, r.end())
	r.wrapped(`case "$*" in *capture-pane*) if [ -e $D/slow ]; then sleep 6; fi;; esac`)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "slow"), nil, 0o600))
	r.start()
	require.NoError(t, os.Remove(filepath.Join(r.dir, "slow")))
	assert.Equal(t, message.ChatOn, r.current(chat).State)
	r.Run("send-keys", "-t", b.pane, "C-u")
	b.hears("[tester] (0): hello")
	a.do(":say still here")
	b.hears("[Ada] (2): still here")
}

// A message was entered just before the sidecar was killed, and nobody saw that it was taken. What the program said
// to it is its answer all the same.
func TestV13_V8_AnsweredWhileNobodyListened(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	c := r.childKilled("entered")
	b := r.adopted("Ben", "--think", "1ms")
	id := message.NewID()
	_, _ = r.client.Send(t.Context(), api.SendRequest{To: b.pane, Text: "hello", ID: id})
	r.dies(c)
	r.waitFor("said", func() bool { return len(b.said()) == 1 })
	r.start()
	sent, err := r.client.Send(t.Context(), api.SendRequest{To: b.pane, Text: "hello", ID: id, Wait: api.WaitAnswered, Timeout: patience})
	require.NoError(t, err)
	assert.Equal(t, message.Answered, sent.Receipt.State)
	assert.Equal(t, b.said()[0], sent.Receipt.Words)
	assert.Len(t, b.received(), 1)
}

// A participant is taken out of a chat and in again while a text of the chat stands in its composer: that text is not
// entered, also after a restart.
func TestRestart_WhatWasTakenBackStaysSo(t *testing.T) {
	t.Parallel()
	g := &gaps{}
	r := newRig(t, g.option())
	all := r.silent(3)
	a, b := all[0], all[1]
	chat := r.chat(all, unlimited...)
	g.plan(b.pane, "enter", func() { r.Run("copy-mode", "-t", b.pane) })
	a.do(":say not for B")
	r.waitFor("held", func() bool {
		for _, receipt := range r.receipts() {
			if receipt.Target == b.session.ID && strings.Contains(told(receipt), "mode") {
				return true
			}
		}
		return false
	})
	req := api.MemberRequest{Chat: string(chat.ID), Pane: b.pane}
	_, err := r.client.RemoveMember(t.Context(), req)
	require.NoError(t, err)
	_, err = r.client.AddMember(t.Context(), req)
	require.NoError(t, err)
	require.NoError(t, r.end())
	r.start()
	r.Run("send-keys", "-X", "-t", b.pane, "cancel")
	r.waitFor("it has ended", func() bool { return r.open() == 0 })
	assert.Empty(t, b.received())
}

// A person's resume counts after a restart too.
func TestRestart_APersonsResumeCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", "--think", "1ms"), r.adopted("Ben", "--think", "1ms")
	chat := r.chat([]*agent{a, b}, "depth=4", "rate=100000")
	a.do(":say begin")
	r.waitFor("paused", func() bool { return r.current(chat).State == message.ChatPaused })
	r.waitFor("at rest", func() bool { return r.state(a) == message.Idle && r.state(b) == message.Idle })
	n := len(r.messages())
	a.do(":hold")
	b.do(":hold")
	require.NoError(t, r.yes("resume", string(chat.ID)))
	require.NoError(t, r.end())
	r.start()
	a.do(":go")
	b.do(":go")
	r.waitFor("paused again", func() bool { return r.current(chat).State == message.ChatPaused })
	assert.GreaterOrEqual(t, len(r.messages())-n, 4, "turns after the person's word")
}

// A pane that closed while no sidecar ran leaves no mark in the server.
func TestRestart_NoMarkIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.adopted("Ben", silent...)
	r.adopted("Ada", silent...)
	require.Equal(t, message.Submitted, r.send(b, "hello", api.WaitSubmitted, patience).State)
	require.Contains(t, r.Run("show-environment", "-gh"), "INTERCOM_TYPED")
	require.NoError(t, r.end())
	r.Run("kill-pane", "-t", b.pane)
	r.start()
	r.waitFor("no mark", func() bool { return !strings.Contains(r.Run("show-environment", "-gh"), "INTERCOM_TYPED") })
}

// wrapped has the sidecar use a tmux that does body first; $D is the rig's directory.
func (r *rig) wrapped(body string) {
	r.t.Helper()
	path := filepath.Join(r.dir, "tmux")
	script := fmt.Sprintf("#!/bin/sh\nD='%s'\n%s\nexec '%s' \"$@\"\n", r.dir, body, r.cfg.Tmux)
	tmuxtest.Program(r.t, path, script)
	r.cfg.Tmux = path
}

func (r *rig) waitForFile(name string) {
	r.t.Helper()
	r.waitFor(name, func() bool { _, err := os.Stat(filepath.Join(r.dir, name)); return err == nil })
}

// sessionOf is the session of an agent, as the sidecar lists it.
func (r *rig) sessionOf(a *agent) message.Peer {
	r.t.Helper()
	sessions, err := r.client.Sessions(r.t.Context())
	require.NoError(r.t, err)
	for _, s := range sessions {
		if s.ID == a.session.ID {
			return s
		}
	}
	return message.Peer{}
}

// At adoption, a prompt in the first row of the screen is learnt even if lines have scrolled away above it, because
// it does not continue them.
func TestAdopt_promptInTheFirstRow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.line("Ada")
	a.do("%s", ":raw "+strings.Repeat(`\r\n`, 60)+`\x1b[H\x1b[2Jada>\x20`)
	r.waitFor("the prompt in the first row", func() bool {
		return a.Run("display-message", "-p", "-t", a.pane, "#{cursor_x} #{cursor_y} #{?history_size,scrolled,}") == "5 0 scrolled"
	})
	a.adopt("line")
	id := r.post(a, "hello")
	r.told(id, "submitted")
}
