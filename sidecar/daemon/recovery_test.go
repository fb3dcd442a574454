package daemon_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
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
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// If a sidecar is killed in the middle of a chat, the next one knows the chat with its settings. It relays what is
// said after its start, once, and nothing that was said before.
func TestR17_C1_AKilledSidecarsChatGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	c := r.child()
	agents := r.silent(3)
	a, b, d := agents[0], agents[1], agents[2]
	chat := r.chat(agents, append(unlimited, "line_break= / ", "words=all", "person=on")...)
	a.do(":say before the end")
	b.hears("[A] (1): before the end")
	d.hears("[A] (1): before the end")
	waitSubmitted(r, 2)
	kill(t, c)
	a.do(":say while nobody listens")

	r.start()
	now := r.current(chat)
	assert.Equal(t, message.ChatOn, now.State)
	assert.Equal(t, chat.Participants, now.Participants)
	assert.Equal(t, " / ", now.Limits.LineBreak, "its settings")
	assert.Equal(t, "all", now.Limits.Words)
	assert.True(t, now.Limits.Person)
	before := len(b.bytes())
	r.stays(func() bool { return len(b.bytes()) == before })
	a.do(`:say after\nthe start`)
	b.hears("[A] (1): after / the start")
	d.hears("[A] (1): after / the start")
	b.do(":say and back")
	a.hears("[B] (2): and back")
	assert.Equal(t, []string{"[A] (1): before the end", "[A] (1): after / the start"}, b.received())
	assert.Equal(t, []string{"[B] (2): and back"}, a.received())
}

// A restart keeps more than the chats: the adopted sessions with their names, who gets notices of whose stops, the
// held messages with their reasons, the approvals that a person must give, the log, and a person's order to stop
// everything.
func TestR18_ARestartBreaksNothingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	c := r.child()
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	eve, gone := r.adopted("Eve", silent...), r.adopted("Cyd", silent...)
	for _, caller := range []*agent{eve, b} {
		caller.sendsText(a, "a task")
		a.hears(caller.header() + "a task")
	}
	eve.sendsText(gone, "a task")
	gone.hears(eve.header() + "a task")
	_, err := asks[api.StoppedNotices](b, "mute", api.StopNoticesRequest{Session: string(a.session.ID)})
	require.NoError(t, err)
	r.chat([]*agent{eve, b}, append([]string{"approve=yes"}, unlimited...)...)
	require.NoError(t, rename(r, b, "Benedict"))
	b.drafts("mine")
	held := r.post(b, "for later")
	r.waitFor("held", func() bool { return r.last(held) == "held: draft in the composer" })
	eve.do(":say needs a yes")
	asked := r.waitsFor("needs a yes")
	r.waitFor("a person is asked", func() bool { return r.last(asked) == "held: waiting for approval" })
	said := r.send(a, "hello", api.WaitSubmitted, patience)
	require.Equal(t, message.Submitted, said.State)
	inbox := func() (all []string) {
		for _, one := range r.inbox() {
			all = append(all, fmt.Sprint(one.Message, " to ", one.To, " ", one.State, " ", one.Reason, " ", one.Decision))
		}
		slices.Sort(all)
		return all
	}
	waiting := inbox()
	require.Len(t, waiting, 2)
	kill(t, c)
	gone.do(":exit")
	r.waitFor("Cyd has ended", func() bool { return gone.count(persona.EventEnd) > 0 })

	r.start()
	names := map[message.ID]string{}
	r.waitFor("the one that ended meanwhile is noticed", func() bool {
		sessions, err := r.client.Sessions(t.Context())
		require.NoError(t, err)
		clear(names)
		for _, s := range sessions {
			names[s.ID] = s.Name
		}
		return len(sessions) == 3
	})
	assert.Equal(t, map[message.ID]string{a.session.ID: "Ada", b.session.ID: "Benedict", eve.session.ID: "Eve"}, names)
	eve.hears(stoppedNotice(gone, "session ended: "+string(message.PaneMissing))) // the pane ended with its program
	a.do(":say done")
	eve.hears(stoppedNotice(a, "turn ended"))
	r.waitFor("all that waited waits again, and nothing else", func() bool { return slices.Equal(waiting, inbox()) })
	r.Run("send-keys", "-t", b.pane, "C-u")
	b.hears("[tester] (0): for later")
	require.NoError(t, r.yes("approve", string(asked)))
	b.hears("[Eve] (1): needs a yes")
	assert.Len(t, b.received(), 2, "it wants to hear of no stop")
	assert.Len(t, eve.received(), 2, "of each stop once")
	assert.Len(t, a.received(), 3)
	events, err := r.client.Log(t.Context(), api.LogQuery{Search: "hello"})
	require.NoError(t, err)
	assert.Len(t, events, 1, "the log")

	_, err = r.client.PauseChat(t.Context(), api.ChatRef{All: true})
	require.NoError(t, err)
	later := r.post(a, "not yet")
	require.NoError(t, r.end())
	r.start()
	status, err := r.client.Status(t.Context())
	require.NoError(t, err)
	assert.True(t, status.Stopped)
	r.stays(func() bool { return len(a.received()) == 3 })
	assert.Equal(t, "held: everything is stopped", r.last(later))
	_, err = r.client.ResumeChat(t.Context(), api.ChatRef{All: true})
	require.NoError(t, err)
	a.hears("[tester] (0): not yet")
}

// moments are the steps of a delivery at which a test kills the sidecar, or makes it panic.
var moments = []string{"paste unchecked", "paste", "pasted", "enter unchecked", "enter", "entered"}

// If the sidecar is killed at any step of a delivery, the next one delivers the message, once. Each step is tried
// five times, and about fifty times in a long run.
func TestV8_KilledAtEachStep(t *testing.T) {
	t.Parallel()
	rounds := long(5, 17) // with the one program whose turn it is at that moment; in a long run with each of the three
	for i, moment := range moments {
		for j, kind := range []struct {
			name  string
			flags []string
			text  func(n int) string
		}{
			{"raw", silent, func(n int) string { return fmt.Sprintf("[A] (1): over ⏎ and out %d", n) }},
			{"cooked", append([]string{"--cooked"}, silent...), func(n int) string { return fmt.Sprintf("[A] (1): over ⏎ and out %d", n) }},
			{"bracketed", append([]string{"--bracketed"}, silent...), func(n int) string { return fmt.Sprintf("[A] (1):\n\nover\nand out %d", n) }},
		} {
			if i%3 != j && !longTest() {
				continue
			}
			t.Run(moment+"/"+kind.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				require.NoError(t, r.end())
				a, b := r.line("A", silent...), r.line("B", kind.flags...)
				var want []string
				for round := range rounds {
					c := r.childKilled(moment)
					if round == 0 {
						a.adopt("line")
						b.adopt(map[bool]string{false: "line", true: "line-paste"}[kind.name == "bracketed"])
						r.chat([]*agent{a, b}, unlimited...)
					}
					a.do(`:say over\nand out %d`, round)
					r.dies(c)
					r.start()
					b.hears(kind.text(round))
					want = append(want, kind.text(round))
					r.waitFor("submitted", func() bool { return r.open() == 0 })
					if round == 0 || longTest() { // the chat goes on as before
						a.do(`:say next %d`, round)
						next := strings.ReplaceAll(kind.text(round), "over ⏎ and out", "next")
						next = strings.ReplaceAll(next, "over\nand out", "next")
						b.hears(next)
						want = append(want, next)
						r.waitFor("submitted", func() bool { return r.open() == 0 })
					}
					require.NoError(t, r.end())
				}
				assert.Equal(t, want, b.received(), "each once, in order")
				for _, receipt := range r.journalReceipts() {
					assert.NotContains(t, []message.ReceiptState{message.Uncertain, message.Failed}, receipt.State, told(receipt))
				}
			})
		}
	}
}

// If a person sends, deletes or adds to the text that a killed sidecar had pasted, the next sidecar reports what
// happened and does not type the text again.
func TestV8_WhatAPersonDidMeanwhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, keys, told string
		heard            []string
	}{
		{"sent", "\n", "uncertain: text was not seen to leave the composer", []string{"[tester] (0): hello"}},
		{"taken away", "\x15", "uncertain: text was not seen in the composer", nil},
		{"added to", " and more", "held: draft in the composer", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name != "sent" {
				inTheTable(t, "pane/core_test.go: it was shown, and is gone", "pane/core_test.go: words beside it")
			}
			r := newRig(t)
			require.NoError(t, r.end())
			child := r.childKilled("pasted")
			a := r.adopted("Ada", silent...)
			_, _ = r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "hello"})
			r.dies(child)
			r.WaitForText(a.pane, "hello")
			r.Run("send-keys", "-t", a.pane, "-l", c.keys)
			r.WaitForFact(a.pane, "#{?#{C:hello*more},1,0}", map[bool]string{true: "1", false: "0"}[c.name == "added to"])
			if c.name == "taken away" {
				r.WaitForFact(a.pane, "#{?#{C:hello},1,0}", "0")
			}
			if c.name == "sent" {
				r.waitFor("it was sent", func() bool { return len(a.received()) == 1 })
			}
			before := len(a.bytes())
			r.start()
			r.waitFor("reported", func() bool {
				all := r.receipts()
				return len(all) > 0 && told(all[len(all)-1]) == c.told
			})
			r.stays(func() bool { return len(a.bytes()) == before })
			assert.Equal(t, c.heard, a.received())
		})
	}
}

// If the goroutine of a pane panics, the sidecar goes on, and so does the delivery.
func TestPanicInAPaneBeginsItAnew(t *testing.T) {
	t.Parallel()
	for half := range slices.Chunk(moments, 3) {
		t.Run(half[0], func(t *testing.T) {
			t.Parallel()
			g := &gaps{}
			r := newRig(t, g.option())
			a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
			r.chat([]*agent{a, b}, unlimited...)
			for i, moment := range half {
				g.plan(b.pane, moment, func() { panic("on purpose: " + moment) })
				a.do(":say word %d", i)
				b.hears(fmt.Sprintf("[Ada] (1): word %d", i))
				r.waitFor("submitted", func() bool { return r.open() == 0 })
				a.do(":say more %d", i)
				b.hears(fmt.Sprintf("[Ada] (1): more %d", i))
			}
			assert.Len(t, b.received(), 2*len(half))
		})
	}
}

// If the sidecar is killed again and again at random moments, in a chat of eight that never rests, each message
// that was accepted arrives once at each of the others or is reported as uncertain.
func TestD1_V8_KilledAgainAndAgainBeneathAChatOfEight(t *testing.T) {
	t.Parallel()
	kills := long(2, 50)
	r := newRig(t)
	require.NoError(t, r.end())
	clients := r.Run("list-clients")
	c := r.child()
	agents := r.silent(8)
	chat := r.chat(agents, unlimited...)
	words := 0
	var accepted []string // a person's words that the sidecar has accepted
	for range kills {
		for range 2 + rand.IntN(3) {
			agents[rand.IntN(8)].do(":say word %d of many", words)
			said := fmt.Sprintf("remark %d", words)
			_, err := r.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: said})
			if err == nil {
				accepted = append(accepted, "[tester] (0): "+said)
			}
			words++
		}
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond) // a random moment
		kill(t, c)
		c = r.child()
	}
	defer r.tellIfFailed()
	agents[0].do(":say the last word")
	// Such short lives leave a queue for the last one.
	waitUpTo(t, patience+time.Duration(words)*time.Second, "the last word has arrived", func() bool {
		return !slices.ContainsFunc(agents[1:], func(a *agent) bool {
			return !strings.Contains(strings.Join(a.received(), "\n"), "the last word")
		})
	})
	r.waitFor("nothing under way", func() bool { return r.open() == 0 })
	require.NoError(t, r.client.Down(t.Context()))
	require.NoError(t, c.Wait())
	assert.Equal(t, clients, r.Run("list-clients"))

	r.start()
	events, err := r.client.Log(t.Context(), api.LogQuery{Limit: 100_000})
	require.NoError(t, err)
	last, lost, delivered := map[message.ID]message.Receipt{}, 0, 0
	bodies, authors := map[message.ID]string{}, map[message.ID]int{}
	targets := map[message.ID]int{}
	for _, e := range events {
		if e.Message != nil {
			body := strings.ReplaceAll(e.Message.Body, "\n", " ⏎ ")
			bodies[e.Message.ID] = fmt.Sprintf("[%s] (%d): %s", e.Message.From.Name, e.Message.From.Number, body)
			authors[e.Message.ID] = e.Message.From.Number
		}
		if e.Receipt != nil {
			last[e.Receipt.Delivery] = *e.Receipt
		}
	}
	for _, receipt := range last {
		targets[receipt.Message]++
		i := slices.IndexFunc(agents, func(a *agent) bool { return a.session.ID == receipt.Target })
		heard := 0
		for _, text := range agents[i].received() {
			if text == bodies[receipt.Message] {
				heard++
			}
		}
		switch receipt.State {
		case message.Uncertain:
			lost++
			assert.LessOrEqual(t, heard, 1, "%s to %s", bodies[receipt.Message], agents[i].name)
		default:
			delivered++
			assert.Equal(t, 1, heard, "%s to %s: %s", bodies[receipt.Message], agents[i].name, told(receipt))
		}
	}
	for id, body := range bodies {
		assert.Equal(t, map[bool]int{true: 8, false: 7}[authors[id] == 0], targets[id], "deliveries of %q", body)
	}
	for _, text := range accepted {
		assert.True(t, slices.Contains(slices.Collect(maps.Values(bodies)), text), "accepted and not in the journal: %q", text)
	}
	t.Logf("%d kills, %d words and %d remarks said, %d messages accepted, %d deliveries made once, %d uncertain", kills, words+1, words, len(bodies), delivered, lost)
	assert.LessOrEqual(t, lost, kills, "uncertain")
}

// If a sidecar is killed at one of the system calls with which it takes its place (lock, socket, their directory,
// the log of its start), nothing that it leaves behind keeps the next one from serving.
func TestD1_KilledAtEachSyscallOfItsDoor(t *testing.T) {
	t.Parallel()
	need(t, "strace")
	r := newRig(t)
	require.NoError(t, r.end())
	a := r.line("Ada", silent...)
	calls := map[string]int{ // how many of each a start makes at most, not counting those of other threads
		"flock": 2, "unlinkat": 2, "?unlink": 1, "socket": 3, "bind": 1, "listen": 1, "ftruncate": 2, "mkdirat": 4, "fsync": 3, "pwrite64": 4,
	}
	if longTest() {
		for name := range calls {
			calls[name] *= 8
		}
	}
	runs, killed := 0, 0
	for name, n := range calls {
		for when := 1; when <= n; when += long(3, 1) {
			c, line := r.childBy([]string{
				"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + name,
				"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", name, when),
			}, "")
			runs++
			if line != "ready\n" {
				killed++
			}
			r.killBelow(c.Process.Pid)
			_ = c.Wait()
			require.NoError(t, api.WaitReleased(t.Context(), r.cfg.Paths.Lock))
			next := r.child()
			if runs == 1 {
				a.adopt("line")
			}
			status, err := r.client.Status(t.Context())
			require.NoError(t, err, "after %s %d", name, when)
			assert.Len(t, status.Sessions, 1)
			kill(t, next)
		}
	}
	t.Logf("%d starts, %d killed before they served", runs, killed)
	assert.Positive(t, killed)
	r.start()
	assert.Equal(t, message.Submitted, r.send(a, "hello", api.WaitSubmitted, patience).State)
}

// A sidecar that is killed leaves no process behind: neither a tmux client nor a process that waits for the
// server's end.
func TestKilledSidecarLeavesNoProcess(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.end())
		left := func() (all []string) {
			lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
			require.NoError(t, err)
			for _, line := range lines {
				words, err := os.ReadFile(line)
				if text := strings.ReplaceAll(string(words), "\x00", " "); err == nil &&
					strings.Contains(text, r.Socket+" ") && !strings.Contains(text, "new-session") {
					all = append(all, text)
				}
			}
			return all
		}
		for range 3 {
			c := r.child()
			r.waitFor("it waits for the server's end", func() bool { return len(left()) > 0 })
			kill(t, c)
			r.waitFor("nothing is left", func() bool { return len(left()) == 0 })
		}
	})
}

// If the program is replaced in the middle of a chat, messages on their way arrive, and nothing is typed twice.
func TestD4_UpgradeInPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agents := r.silent(3)
	a, b, c := agents[0], agents[1], agents[2]
	chat := r.chat(agents, unlimited...)
	upgrades := long(2, 4)
	for i := range upgrades {
		says := fmt.Sprintf("version %d", i)
		a.do(":say %s", says)
		r.waitFor("it is on its way", func() bool {
			return slices.ContainsFunc(r.messages(), func(m message.Envelope) bool { return m.Body == says })
		})
		require.NoError(t, r.client.Down(t.Context()))
		require.NoError(t, r.end())
		r.cfg.Version = fmt.Sprintf("test-%d", i+1)
		r.start()
		status, err := r.client.Status(t.Context())
		require.NoError(t, err)
		assert.Equal(t, r.cfg.Version, status.Version)
		assert.Equal(t, message.ChatOn, r.current(chat).State)
		b.do(":say answer %d", i)
		c.hears(fmt.Sprintf("[B] (2): answer %d", i))
		a.hears(fmt.Sprintf("[B] (2): answer %d", i))
	}
	r.waitFor("nothing under way", func() bool { return r.open() == 0 })
	for _, one := range []*agent{b, c} {
		for i := range upgrades {
			one.hears(fmt.Sprintf("[A] (1): version %d", i))
		}
		heard := one.received()
		for _, text := range heard {
			assert.Equal(t, 1, count(heard, text), "%s: %q", one.name, text)
		}
	}
	for _, receipt := range r.receipts() {
		assert.False(t, receipt.State == message.Uncertain || receipt.State == message.Failed, told(receipt))
	}
}

// Two agents that talk without a pause go on talking after each upgrade: the sidecar waits for the answer that is
// on its way.
func TestD4_AnUpgradeCutsNoAnswerOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", "--think", "120ms"), r.adopted("Ben", "--think", "80ms")
	chat := r.chat([]*agent{a, b}, unlimited...)
	r.say(chat, "hello")
	for range long(3, 6) {
		heard := len(a.received()) + len(b.received())
		r.waitFor("they talk", func() bool { return len(a.received())+len(b.received()) > heard+3 })
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // a random moment
		require.NoError(t, r.client.Down(t.Context()))
		require.NoError(t, r.end())
		r.start()
	}
	heard := len(a.received()) + len(b.received())
	r.waitFor("they still talk", func() bool { return len(a.received())+len(b.received()) > heard+3 })
	for _, one := range []*agent{a, b} {
		all := one.received()
		for _, text := range all {
			assert.Equal(t, 1, count(all, text), "%s: %q", one.name, text)
		}
	}
}

// endsByItself waits for the end of a sidecar whose server has ended.
func (r *rig) endsByItself() {
	r.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- r.wait() }()
	select {
	case err := <-ended:
		require.NoError(r.t, err)
	case <-time.After(patience):
		r.t.Fatal("the sidecar outlives its server")
	}
}

// If the tmux server is killed, the sidecar ends too. When a new server listens in the same place, the old chat has
// ended and says why. Nothing is typed by itself, and the chat goes on only when a person starts it again.
func TestD4_NewTmuxServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agents := r.silent(2)
	a, b := agents[0], agents[1]
	chat := r.chat(agents, append(unlimited, "line_break= / ")...)
	a.do(":say hello")
	b.hears("[A] (1): hello")
	r.waitFor("at rest", func() bool { return r.open() == 0 && r.state(b) == message.Idle })
	b.drafts("in the way")
	a.do(":say held for ever")
	r.waitFor("held", func() bool {
		return slices.ContainsFunc(r.receipts(), func(one message.Receipt) bool { return told(one) == "held: draft in the composer" })
	})
	require.NoError(t, syscall.Kill(r.PID, syscall.SIGKILL))
	r.endsByItself()

	r.Restart()
	r.start()
	ends, err := r.client.Chats(t.Context(), true)
	require.NoError(t, err)
	require.Len(t, ends, 1)
	assert.Equal(t, "tmux server ended", ends[0].Why)
	_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: chat.ID.Short()})
	assert.ErrorContains(t, err, "has ended: tmux server ended")
	assert.Equal(t, api.ChatEnded, api.AsError(err).Kind)
	again := api.StartChatRequest{Again: chat.ID.Short()}
	_, err = r.client.StartChat(t.Context(), again)
	assert.ErrorContains(t, err, "not here: A, B")
	for _, old := range agents { // new programs, in panes with the same numbers
		require.NoError(t, os.Remove(old.log))
	}
	a, b = r.line("A", silent...), r.line("B", silent...)
	require.Equal(t, agents[0].pane, a.pane, "the numbers of panes begin again")
	before := len(a.bytes()) + len(b.bytes())
	r.stays(func() bool { return len(a.bytes())+len(b.bytes()) == before })
	a.adopt("line")
	b.adopt("line")
	r.stays(func() bool { return len(a.bytes())+len(b.bytes()) == before })
	next, err := r.client.StartChat(t.Context(), again)
	require.NoError(t, err)
	assert.Equal(t, chat.ID, next.Again)
	assert.Equal(t, chat.Limits, next.Limits)
	a.do(`:say new\nworld`)
	b.hears("[A] (1): new / world")
	assert.Len(t, b.received(), 1, "nothing of before")
}

// Helpers.

// kill ends a child by SIGKILL.
func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
}

// killBelow kills the children of a process that this test has started, and then the process itself.
func (r *rig) killBelow(pid int) {
	r.t.Helper()
	out, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(out)) {
		if child, err := strconv.Atoi(word); err == nil {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// open counts the deliveries that are neither submitted nor final.
func (r *rig) open() int {
	r.t.Helper()
	last := map[message.ID]message.ReceiptState{}
	for _, receipt := range r.receipts() {
		last[receipt.Delivery] = receipt.State
	}
	n := 0
	for _, state := range last {
		if state != message.Submitted && !state.Final() {
			n++
		}
	}
	return n
}

// tellIfFailed logs, if the test has failed, the deliveries that were not submitted and the state of each session.
func (r *rig) tellIfFailed() {
	if !r.t.Failed() {
		return
	}
	ctx := context.Background()
	if events, err := r.client.Log(ctx, api.LogQuery{Limit: 100_000}); err == nil {
		trails := map[message.ID][]string{}
		for _, e := range events {
			if e.Receipt != nil {
				trails[e.Receipt.Delivery] = append(trails[e.Receipt.Delivery], fmt.Sprint(told(*e.Receipt), " ", e.Receipt.Evidence))
			}
		}
		for id, trail := range trails {
			last := trail[len(trail)-1]
			if !strings.HasPrefix(last, "answered") && !strings.HasPrefix(last, "submitted") {
				r.t.Logf("%s: %s", id.Short(), strings.Join(trail, " → "))
			}
		}
	}
	if sessions, err := r.client.Sessions(ctx); err == nil {
		for _, s := range sessions {
			r.t.Logf("%s %s: %s %s, closed %q", s.Pane, s.Name, s.State, s.StateWhy, s.Closed)
		}
	}
}

// waitSubmitted waits until n deliveries were submitted.
func waitSubmitted(r *rig, n int) {
	r.t.Helper()
	r.waitFor("submitted", func() bool {
		have := 0
		for _, receipt := range r.receipts() {
			if receipt.State == message.Submitted {
				have++
			}
		}
		return have >= n
	})
}

// journalReceipts starts a sidecar, returns all receipts that it knows, and ends it.
func (r *rig) journalReceipts() []message.Receipt {
	r.t.Helper()
	r.start()
	defer func() { _ = r.end() }()
	return r.receipts()
}

func rename(r *rig, a *agent, name string) error {
	_, err := r.client.Rename(r.t.Context(), api.RenameRequest{Pane: a.pane, Name: name})
	return err
}

func count(all []string, one string) (n int) {
	for _, text := range all {
		if text == one {
			n++
		}
	}
	return n
}
