package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// What each of eight agents prints of its own accord reaches all others once, under its name and number, and never
// the agent itself. Text that stood in its pane before the chat reaches nobody. Nothing is typed before somebody
// speaks, and one agent may speak several times while the others are silent. An agent that does not read holds up
// nobody else (BenchmarkR21_R30 measures how soon). The command lines and environments of the agents stay as they
// were.
func TestR3_R4_R8_R10_R11_R15_R21_R30_R33_WhatOneSaysAllOthersHear(t *testing.T) {
	t.Parallel()
	numbers := []int{8}
	if longTest() {
		numbers = []int{2, 3, 8, 16}
	}
	for _, n := range numbers {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var all []*agent
			began := map[*agent]string{}
			for i := range n {
				a := r.line(string(rune('A'+i)), append(silent, "--banner", "100")...)
				began[a] = a.process()
				a.adopt("line")
				a.do(":lines 100")
				all = append(all, a)
			}
			r.chat(all, unlimited...)
			r.stays(func() bool { return !slices.ContainsFunc(all, func(a *agent) bool { return len(a.bytes()) > 0 }) })

			for _, a := range all {
				a.do(":say word of %s", a.name)
			}
			for i, a := range all {
				var want []string
				for j, other := range all {
					if i != j {
						want = append(want, fmt.Sprintf("[%s] (%d): word of %s", other.name, j+1, other.name))
					}
				}
				for heard := range want { // one wait for each message, because the machine may be slow
					r.waitFor(fmt.Sprintf("%s heard %d others", a.name, heard+1), func() bool { return len(a.received()) > heard })
				}
				assert.ElementsMatch(t, want, a.received(), a.name)
			}
			first, others, deaf := all[0], all[1:n-1], all[n-1]
			deaf.do(":deaf")
			for i := range 3 {
				first.do(":say line %d", i)
				for _, a := range others {
					a.hears(fmt.Sprintf("[A] (1): line %d", i))
				}
				// Lines that come together would be one turn. In a chat of two, nobody else hears the line, so count the turns.
				r.waitFor(fmt.Sprintf("line %d is a turn", i), func() bool { return len(r.messages()) == n+i+1 })
			}
			assert.Len(t, first.received(), n-1, "nobody answers")
			assert.Len(t, deaf.received(), n-1)
			streamed := r.streamed()
			assert.Equal(t, streamed, r.events()[:len(streamed)], "who follows is told what is listed")
			messages := r.messages()
			assert.Len(t, messages, n+3)
			for _, m := range messages {
				assert.Equal(t, message.KindTurn, m.Type)
			}
			for _, a := range all {
				assert.Equal(t, began[a], a.process())
				assert.NotContains(t, strings.ToLower(began[a]), "intercom-", "nothing of ours is in its environment")
			}
		})
	}
}

// process returns the environment and the command line of the agent's process, if this system has /proc.
func (a *agent) process() (all string) {
	a.t.Helper()
	for _, name := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%s/%s", a.Fact(a.pane, "#{pane_pid}"), name))
		if !os.IsNotExist(err) { // else no /proc here
			require.NoError(a.t, err)
		}
		all += string(data)
	}
	return all
}

// A program that takes a paste gets name, number, a blank line and the words, byte for byte, as one message with
// one Enter; a program that reads lines gets them as one line. The words come from captures of the screen, which
// are counted, so a program that moves the cursor instead of ending its lines is heard like any other. Messages of
// a chat have a header only if header=both is set. A single message of an agent has only the header, and one of a
// person only the attribution.
func TestR6_R7_R26_C2_C40_AttributionByteForByte(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", silent...)
	b, c := r.adopted("Ben", bracketed...), r.adopted("Cleo", silent...)
	chat := r.chat([]*agent{a, b, c}, unlimited...)
	before, err := r.client.Stats(t.Context(), string(chat.ID))
	require.NoError(t, err)
	a.do(`:say first line\n\n\n  third, *indented*; "quoted" \\ and 'so' on\n\tand last`)
	want := "[Ada] (1):\n\nfirst line\n\n\n  third, *indented*; \"quoted\" \\ and 'so' on\n        and last"
	b.hears(want)
	assert.Equal(t, "\x1b[200~"+want+"\x1b[201~\r", string(b.bytes()))
	assert.Equal(t, []string{want}, b.texts(persona.EventPaste))
	joined := "[Ada] (1): first line ⏎   third, *indented*; \"quoted\" \\ and 'so' on ⏎         and last"
	c.hears(joined)
	assert.Equal(t, joined+"\r", string(c.bytes()))

	a.do("%s", `:raw \r\x1b[Kno line break\x1b[B\rof any kind\x1b[B\r`+strings.TrimSpace(a.prompt)+`\x20`)
	c.hears("[Ada] (1): no line break ⏎ of any kind")
	b.hears("[Ada] (1):\n\nno line break\nof any kind")
	after, err := r.client.Stats(t.Context(), string(chat.ID))
	require.NoError(t, err)
	assert.Greater(t, after.Captures, before.Captures)
	assert.Equal(t, 2, after.Turns)
	assert.Len(t, b.received(), 2)
	assert.Equal(t, 2, strings.Count(string(b.bytes()), "\r"), "one Enter a message")
	assert.Zero(t, b.count(persona.EventEmpty))

	r.stop()
	r.chat([]*agent{a, b, c}, append(unlimited, "line_break= / ", "header=both")...)
	a.do(`:say over\nand out`)
	head := fmt.Sprintf("AI[local:%s] | ", a.session.ID)
	c.hears(head + "[Ada] (1): over / and out")
	b.hears(head + "[Ada] (1):\n\nover\nand out")
	a.sends(b, "on its own")
	b.hears(head + "on its own")
	assert.Equal(t, message.Submitted, r.send(b, "from a person", api.WaitSubmitted, patience).State)
	b.hears("[tester] (0):\n\nfrom a person")
}

// Screens with almost nothing on them are read like full ones.
func TestR25_NearlyBlankPanes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	r.chat([]*agent{a, b}, unlimited...)
	for i, size := range []struct{ width, height int }{{80, 24}, {80, 200}, {200, 50}, {80, 3}} {
		for _, one := range []*agent{a, b} {
			r.Run("resize-window", "-t", one.pane, "-x", fmt.Sprint(size.width), "-y", fmt.Sprint(size.height))
		}
		a.do(":say hello") // the same words count again
		r.waitFor(fmt.Sprintf("%d times %+v", i+1, size), func() bool { return len(b.received()) == i+1 })
		b.do(":say hello too")
		r.waitFor(fmt.Sprintf("%d answers %+v", i+1, size), func() bool { return len(a.received()) == i+1 })
	}
	assert.Equal(t, slices.Repeat([]string{"[Ada] (1): hello"}, 4), b.received())
	assert.Equal(t, slices.Repeat([]string{"[Ben] (2): hello too"}, 4), a.received())
}

// Two agents that each say six lines a second, into composers that the sidecar types into at the same time, hear
// all of each other's lines once and in order.
func TestR16_W7_BothSpeakAtOnce(t *testing.T) {
	t.Parallel()
	n := long(12, 360)
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...) // one that reads lines, and one that takes pastes
	r.chat([]*agent{a, b}, unlimited...)
	a.do(":says %d 166ms Ada-{n}: {words}", n)
	b.do(":says %d 166ms Ben-{n}: {words}", n)
	a.hearsAll(b.unasked, n)
	b.hearsAll(a.unasked, n)
}

// A trigger only says when to look. With any other trigger, or with the clock alone, the same words arrive. Enter
// follows when the text is seen, not after a fixed time.
func TestC22_TriggersCarryNoWords(t *testing.T) {
	t.Parallel()
	all := tmuxtest.Versions(t)
	for trigger, v := range map[string]tmuxtest.Version{"inotify": all[0], "polling": all[0], "output": all[len(all)-1]} {
		t.Run(trigger, func(t *testing.T) {
			t.Parallel()
			if trigger == "output" && !v.AtLeast(3, 8) {
				t.Skip("no tmux from 3.8 on is at hand: .ci/tmuxes installs one")
			}
			r := newRigOn(t, v, func(c *daemon.Config) {
				if c.Trigger = trigger; trigger == "output" {
					c.Transport = "control"
				}
			})
			status, err := r.client.Status(t.Context())
			require.NoError(t, err)
			require.Equal(t, trigger, status.Trigger)
			a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
			r.chat([]*agent{a, b}, unlimited...)
			for i := range 5 {
				a.do(":say word %d", i)
				b.hears(fmt.Sprintf("[Ada] (1): word %d", i))
			}
			assert.Len(t, b.received(), 5)
		})
	}
	t.Run("Enter waits for the text to be seen", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		quick, slow := r.adopted("Quick", silent...), r.adopted("Slow", append(silent, "--change-on-paste", "alt")...)
		require.Equal(t, message.Submitted, r.send(quick, "at once", api.WaitSubmitted, patience).State)
		sent, err := r.client.Send(t.Context(), api.SendRequest{To: slow.pane, Text: "not at once"})
		require.NoError(t, err)
		r.waitFor("the paste is covered", func() bool { return slow.count(persona.EventChange) > 0 })
		r.waitFor("Enter is kept away", func() bool { return r.latest(sent.Delivery).State == message.Held })
		took := quick.enterAt() - quick.pasteAt()
		r.waitFor("twice the other's time", func() bool { return recordTime(t)-slow.pasteAt() > 2*took })
		slow.do(":alt off")
		slow.hears("[tester] (0): not at once")
		assert.Greater(t, slow.enterAt(), slow.find(persona.EventCommand, ":alt off"), "no Enter before the text could be seen")
		assert.Less(t, took, slow.enterAt()-slow.pasteAt(), "the one that showed it sooner got Enter sooner")
	})
}

// Words that a program prints while the sidecar types into it are relayed, and the typed text is not.
func TestC23_OutputDuringTyping(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", append(silent, "--change-on-paste", "say in between")...)
	r.chat([]*agent{a, b}, unlimited...)
	a.do(":say words for Ben")
	b.hears("[Ada] (1): words for Ben")
	a.hears("[Ben] (2): in between")
	b.do(":say and a last one")
	a.hears("[Ben] (2): and a last one")
	assert.Equal(t, []string{"[Ben] (2): in between", "[Ben] (2): and a last one"}, a.received())
}

// The transport is chosen by tmux's version, and a conversation works on every version, over every transport.
func TestC43_MainJobOnEveryVersionAndTransport(t *testing.T) {
	t.Parallel()
	all := tmuxtest.Versions(t)
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		i := slices.Index(all, v)
		for j, transport := range append(slices.Clone(transports), "auto") {
			if !longTest() && (transport == "auto" && 0 < i && i < len(all)-1 || transport != "auto" && i%len(transports) != j) {
				continue // each version has one transport in its turn; the oldest and the newest also choose one
			}
			t.Run(transport, func(t *testing.T) {
				t.Parallel()
				r := newRigOn(t, v, func(c *daemon.Config) { c.Transport = transport })
				status, err := r.client.Status(t.Context())
				require.NoError(t, err)
				want := transport
				if transport == "auto" {
					want = "process"
					if v.AtLeast(3, 8) {
						want = "control"
					}
				}
				require.Equal(t, want, status.Transport)
				if transport == "auto" {
					return
				}
				turns := long(6, 100)
				a, b := r.adopted("Ada", parrot(turns/2)...), r.adopted("Ben", append(parrot(turns/2), "--bracketed")...)
				r.chatSaying("hello", []*agent{a, b})
				assertConversation(t, turns, a, b)
				assert.True(t, r.Alive(), "the server is the one that it was")
			})
		}
	})
}

// Helpers for tests of what is relayed.

var (
	silent    = []string{"--reply", "none"}
	bracketed = []string{"--reply", "none", "--bracketed"}
	// unlimited keeps the brakes out of the way.
	unlimited = []string{"depth=1000000", "rate=1000000", "bytes=1000000000"}
)

const patience = tmuxtest.Patience

// parrot returns the flags of a persona that answers n messages without delay, quotes each of them, and then falls
// silent.
func parrot(n int) []string {
	return []string{"--think", "1ms", "--quote", "--limit", strconv.Itoa(n)}
}

// long returns the size of a test: small, or full if INTERCOM_LONG is set.
func long(small, full int) int {
	if longTest() {
		return full
	}
	return small
}

// chatSaying starts an unlimited chat with a person's words to all but the first.
func (r *rig) chatSaying(text string, agents []*agent, set ...string) message.Chat {
	r.t.Helper()
	req := api.StartChatRequest{Set: map[string]string{}, Say: text}
	for _, a := range agents {
		req.Panes = append(req.Panes, a.pane)
	}
	for _, pair := range append(slices.Clone(unlimited), set...) {
		key, value, _ := strings.Cut(pair, "=")
		req.Set[key] = value
	}
	chat, err := r.client.StartChat(r.t.Context(), req)
	require.NoError(r.t, err, "start chat")
	return chat
}

// stop ends all chats.
func (r *rig) stop() {
	r.t.Helper()
	chats, err := r.client.Chats(r.t.Context(), false)
	require.NoError(r.t, err)
	for _, c := range chats {
		_, err := r.client.StopChat(r.t.Context(), api.ChatRef{Chat: string(c.ID)})
		require.NoError(r.t, err)
	}
}

// heard has the events that were read from the sidecar so far, so that they are not read again. Tests ask again and
// again, and would take the machine's time from what they test.
type heard struct {
	sync.Mutex
	events []message.Event
}

// forget makes the next read begin anew, because the next life of the sidecar may have another journal.
func (h *heard) forget() {
	h.Lock()
	defer h.Unlock()
	h.events = nil
}

// events returns all events so far. Nothing of an event changes later, except the delivery beside a receipt; that
// is as it was when it was first read.
func (r *rig) events() []message.Event {
	r.t.Helper()
	const page = 1000
	r.heard.Lock()
	defer r.heard.Unlock()
	for {
		q := api.LogQuery{Oldest: true, Limit: page}
		if n := len(r.heard.events); n > 0 {
			q.Since = r.heard.events[n-1].Seq
		}
		more, err := r.client.Log(r.t.Context(), q)
		require.NoError(r.t, err)
		r.heard.events = append(r.heard.events, more...)
		if len(more) < page {
			return slices.Clip(r.heard.events)
		}
	}
}

// streamed returns all events so far, as a client that follows them gets them.
func (r *rig) streamed() (all []message.Event) {
	r.t.Helper()
	newest, err := r.client.Log(r.t.Context(), api.LogQuery{Limit: 1})
	require.NoError(r.t, err)
	if len(newest) == 0 {
		return nil
	}
	for e, err := range r.client.Events(r.t.Context(), 0) {
		require.NoError(r.t, err)
		all = append(all, e)
		if e.Seq >= newest[0].Seq {
			break
		}
	}
	return all
}

// messages returns all messages so far.
func (r *rig) messages() (all []message.Envelope) {
	r.t.Helper()
	for _, e := range r.events() {
		if e.Message != nil {
			all = append(all, *e.Message)
		}
	}
	return all
}

// notices returns all notices to a person so far.
func (r *rig) notices() (all []string) {
	r.t.Helper()
	for _, e := range r.events() {
		if e.Notice != "" {
			all = append(all, e.Notice)
		}
	}
	return all
}

// latest returns the latest receipt of a delivery.
func (r *rig) latest(delivery message.ID) (last message.Receipt) {
	r.t.Helper()
	for _, receipt := range r.receipts() {
		if receipt.Delivery == delivery {
			last = receipt
		}
	}
	return last
}

// current returns a chat as it is now.
func (r *rig) current(chat message.Chat) message.Chat {
	r.t.Helper()
	chats, err := r.client.Chats(r.t.Context(), false)
	require.NoError(r.t, err)
	for _, c := range chats {
		if c.ID == chat.ID {
			return c
		}
	}
	return message.Chat{State: message.ChatOver}
}

// sends lets the agent send a message itself, by a program below it, as an agent would. rest are further arguments
// of sendMain.
func (a *agent) sends(to *agent, text string, rest ...string) {
	a.t.Helper()
	self, err := os.Executable()
	require.NoError(a.t, err)
	line := fmt.Sprintf("INTERCOM_TEST_SEND=1 %s %s %s '%s' %s", self, a.cfg.Paths.Socket, to.pane, text, strings.Join(rest, " "))
	before := len(a.exits(line))
	a.do(":exec %s", line)
	a.waitFor(a.name+" has sent", func() bool { return len(a.exits(line)) > before })
	require.Zero(a.t, a.exits(line)[before], "exit code of the one that sent")
}

// exits returns the exit codes of the programs that the agent has run by that command line and that have ended, in
// order.
func (a *agent) exits(line string) (all []int) {
	for _, r := range a.records() {
		if r.Event == persona.EventChildEnd && r.Text == strings.TrimSpace(line) {
			all = append(all, r.N)
		}
	}
	return all
}

// hears waits until the agent received text as a message of its own.
func (a *agent) hears(text string) {
	a.t.Helper()
	defer func() {
		if a.t.Failed() {
			a.t.Logf("%s received %q; its screen:\n%s", a.name, a.received(), a.screen())
		}
	}()
	a.waitFor(fmt.Sprintf("%s hears %q", a.name, text), func() bool { return slices.Contains(a.received(), text) })
}

// unasked returns the texts that the agent printed without being asked.
func (a *agent) unasked() []string { return a.texts(persona.EventUnasked) }

// hearsAll waits until the agent received the n texts that another says, and asserts that
// each came once, in order, with nothing else but attributions between them.
func (a *agent) hearsAll(said func() []string, n int) {
	a.t.Helper()
	heard := func() (all []string) {
		var texts []string
		for _, text := range a.received() {
			texts = append(texts, parts(text)...)
		}
		for _, text := range texts {
			_, words, _ := strings.Cut(text, "):")
			for line := range strings.SplitSeq(strings.ReplaceAll(words, " ⏎ ", "\n"), "\n") {
				if line = strings.TrimSpace(line); line != "" {
					all = append(all, line)
				}
			}
		}
		return all
	}
	waitUpTo(a.t, patience+time.Duration(n)*time.Second, fmt.Sprintf("%s heard %d lines", a.name, n), func() bool {
		return len(said()) >= n && len(heard()) >= n
	})
	assert.Equal(a.t, said(), heard(), a.name)
}

// find returns when the persona logged that event with that text, on the clock of its records.
func (a *agent) find(event, text string) time.Duration {
	a.t.Helper()
	for _, r := range a.records() {
		if r.Event == event && r.Text == text {
			return time.Duration(r.Time)
		}
	}
	require.Failf(a.t, "no such record", "%s %q of %s", event, text, a.name)
	return 0
}

// pasteAt and enterAt return when the first bytes, and the first Enter, were read.
func (a *agent) pasteAt() time.Duration { return a.readAt(func([]byte) bool { return true }) }

func (a *agent) enterAt() time.Duration {
	return a.readAt(func(b []byte) bool { return bytes.HasSuffix(b, []byte("\r")) })
}

func (a *agent) readAt(is func([]byte) bool) time.Duration {
	a.t.Helper()
	for _, r := range a.records() {
		if r.Event == persona.EventRead && is(r.Bytes) {
			return time.Duration(r.Time)
		}
	}
	require.Failf(a.t, "nothing like that was read", "%s: %q", a.name, a.bytes())
	return 0
}

// expected returns the words of another agent as this agent should receive them.
func (a *agent) expected(from *agent, number int, words string) string {
	if a.session.Profile == "line-paste" {
		return fmt.Sprintf("[%s] (%d):\n\n%s", from.name, number, words)
	}
	return fmt.Sprintf("[%s] (%d): %s", from.name, number, strings.ReplaceAll(words, "\n", " ⏎ "))
}

// assertConversation waits until two agents together have said that many turns and each has received what the other
// said. It asserts that each received all of it, once, in order, and nothing of its own. What a person said in
// between is left out.
func assertConversation(t *testing.T, turns int, a, b *agent) {
	t.Helper()
	words := func(a *agent) []string {
		return slices.DeleteFunc(a.received(), func(s string) bool { return strings.HasPrefix(s, "[tester] (0):") })
	}
	defer func() {
		if t.Failed() {
			t.Logf("%s's screen:\n%s\n%s's screen:\n%s", a.name, a.screen(), b.name, b.screen())
		}
	}()
	what := fmt.Sprintf("%d turns of %s and %s", turns, a.name, b.name)
	a.goesOn(what, func() int { return len(a.said()) + len(b.said()) + len(words(a)) + len(words(b)) }, func() bool {
		return len(a.said())+len(b.said()) >= turns && len(words(a)) >= len(b.said()) && len(words(b)) >= len(a.said())
	})
	for _, pair := range []struct {
		from, to *agent
		number   int
	}{{a, b, 1}, {b, a, 2}} {
		var want []string
		for _, text := range pair.from.said() {
			want = append(want, pair.to.expected(pair.from, pair.number, text))
		}
		assert.Equal(t, want, words(pair.to), "from %s to %s", pair.from.name, pair.to.name)
	}
}

// goesOn waits for cond as long as n grows, so that a slow machine gets the time that it needs.
func (r *rig) goesOn(what string, n func() int, cond func() bool) {
	r.t.Helper()
	for !cond() {
		was := n()
		r.waitFor(fmt.Sprintf("%s, after %d steps", what, was), func() bool { return n() > was || cond() })
	}
}

// waitUpTo is tmuxtest.WaitFor with another patience.
func waitUpTo(t testing.TB, most time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(most)
	for !cond() {
		if time.Now().After(deadline) {
			require.Failf(t, "waited in vain", "%v for %s", most, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
