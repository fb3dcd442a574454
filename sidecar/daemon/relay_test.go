package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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

// Nobody is asked: what a program prints of its own accord reaches the other, under its
// name and number, in both directions.
func TestR3_R4_WordsArriveWithAttribution(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	r.chat([]*agent{a, b}, unlimited...)
	a.do(":say the tide is out")
	b.hears("[Ada] (1): the tide is out")
	b.do(":say and the boats lie dry")
	a.hears("[Ben] (2): and the boats lie dry")
}

// A program that takes a paste gets name, number, blank line and words byte for byte; a
// reader of lines gets the same as one line.
func TestR6_C40_AttributionByteForByte(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", silent...)
	b, c := r.adopted("Ben", bracketed...), r.adopted("Cleo", silent...)
	r.chat([]*agent{a, b, c}, unlimited...)
	a.do(`:say first line\n\n  third, *indented*; "quoted" \\ and 'so' on`)
	want := "[Ada] (1):\n\nfirst line\n\n  third, *indented*; \"quoted\" \\ and 'so' on"
	b.hears(want)
	assert.Equal(t, "\x1b[200~"+want+"\x1b[201~\r", string(b.bytes()))
	assert.Equal(t, []string{want}, b.texts(persona.EventPaste))
	c.hears("[Ada] (1): first line ⏎   third, *indented*; \"quoted\" \\ and 'so' on")
	assert.Equal(t, "[Ada] (1): first line ⏎   third, *indented*; \"quoted\" \\ and 'so' on\r", string(c.bytes()))

	t.Run("the mark for a line break is a setting", func(t *testing.T) {
		r.stop()
		r.chat([]*agent{a, b, c}, append(unlimited, "line_break= / ")...)
		a.do(`:say over\nand out`)
		c.hears("[Ada] (1): over / and out")
		b.hears("[Ada] (1):\n\nover\nand out")
	})
}

// Words come from captures, which are counted, and a program that moves the cursor instead
// of ending its lines is heard like any other.
func TestR7_WordsAreCaptured(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	chat := r.chat([]*agent{a, b}, unlimited...)
	before, err := r.client.Stats(t.Context(), string(chat.ID))
	require.NoError(t, err)
	a.do("%s", `:raw \r\x1b[Kno line break\x1b[B\rof any kind\x1b[B\r`+strings.TrimSpace(a.prompt)+`\x20`)
	b.hears("[Ada] (1): no line break ⏎ of any kind")
	after, err := r.client.Stats(t.Context(), string(chat.ID))
	require.NoError(t, err)
	assert.Greater(t, after.Captures, before.Captures)
	assert.Equal(t, 1, after.Turns)
}

// 200 lines stand there before the chat, some from before the adoption, some said since.
func TestR8_OldContentIsNotRelayed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", append(silent, "--banner", "100")...), r.adopted("Ben", silent...)
	a.do(":lines 100")
	r.chat([]*agent{a, b}, unlimited...)
	a.do(":say something new")
	b.hears("[Ada] (1): something new")
	b.do(":say likewise")
	a.hears("[Ben] (2): likewise")
	assert.Equal(t, []string{"[Ada] (1): something new"}, b.received())
	assert.NotContains(t, string(b.bytes()), "banner")
	assert.NotContains(t, string(b.bytes()), "Ada line")
}

func TestR10_ToAllOthersNeverToTheAuthor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []*agent
	for _, name := range []string{"Ada", "Ben", "Cleo", "Dan"} {
		all = append(all, r.adopted(name, silent...))
	}
	r.chat(all, unlimited...)
	for i, a := range all {
		a.do(":say word of %s", a.name)
		for _, other := range all {
			if other != a {
				other.hears(fmt.Sprintf("[%s] (%d): word of %s", a.name, i+1, a.name))
			}
		}
	}
	for _, a := range all {
		assert.Len(t, a.received(), 3, a.name)
		assert.NotContains(t, string(a.bytes()), "word of "+a.name)
	}
}

// What was on its way when the chat ended, and what is said afterwards, goes nowhere; the
// panes are served as before.
func TestR14_NothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	chat := r.chat([]*agent{a, b}, unlimited...)
	r.Run("copy-mode", "-t", b.pane) // what is said to it now waits
	a.do(":say on its way")
	r.waitFor("the delivery waits", func() bool {
		return slices.ContainsFunc(r.receipts(), func(r message.Receipt) bool { return r.State == message.Held })
	})
	ended, err := r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	r.Run("send-keys", "-t", b.pane, "-X", "cancel")
	a.do(":say afterwards")
	// Both panes are read and typed into up to here, so that nothing is still to come.
	assert.Equal(t, message.Submitted, r.send(a, "probe", api.WaitSubmitted, patience).State)
	assert.Equal(t, message.Submitted, r.send(b, "probe", api.WaitSubmitted, patience).State)
	b.hears("[tester] (0): probe")
	assert.Equal(t, []string{"[tester] (0): probe"}, b.received())
	assert.Equal(t, "[tester] (0): probe\r", string(b.bytes()))
	assert.Equal(t, []string{"[tester] (0): probe"}, a.received())
}

// The receiver is a program like any other: its process is as it was, and all it gets is
// typed text.
func TestR15_ReceiverNeedNotKnow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.line("Ada", silent...), r.line("Ben", silent...)
	of := func(b *agent) string {
		var all []byte
		for _, name := range []string{"environ", "cmdline"} {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%s/%s", r.Fact(b.pane, "#{pane_pid}"), name))
			if os.IsNotExist(err) {
				t.Skip("no /proc here: run it on Linux")
			}
			require.NoError(t, err)
			all = append(all, data...)
		}
		return string(all)
	}
	before := of(b)
	a.adopt("line")
	b.adopt("line")
	r.chat([]*agent{a, b}, unlimited...)
	a.do(":say hello")
	b.hears("[Ada] (1): hello")
	assert.Equal(t, before, of(b))
	assert.NotContains(t, strings.ToLower(before), "intercom-", "nothing of ours is in its environment")
	assert.Equal(t, "[Ada] (1): hello\r", string(b.bytes()))
}

// Six lines a second from either side, into composers that are being typed into.
func TestR16_W7_BothSpeakAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name  string
		flags []string
	}{{"line", silent}, {"line-paste", bracketed}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			n := long(12, 360)
			r := newRig(t)
			a, b := r.adopted("Ada", kind.flags...), r.adopted("Ben", kind.flags...)
			r.chat([]*agent{a, b}, unlimited...)
			a.do(":says %d 166ms Ada-{n}: {words}", n)
			b.do(":says %d 166ms Ben-{n}: {words}", n)
			a.hearsAll(b.unasked, n)
			b.hearsAll(a.unasked, n)
		})
	}
}

// A message to a program with bracketed paste is submitted once, at its end.
func TestR26_SeveralLinesAreOneMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
	r.chat([]*agent{a, b}, unlimited...)
	a.do(`:say one\ntwo\n\n\nfive\n\tsix`)
	r.waitFor("Ben took it", func() bool { return len(b.received()) > 0 })
	a.do(":say the next")
	b.hears("[Ada] (1):\n\nthe next")
	assert.Equal(t, []string{"[Ada] (1):\n\none\ntwo\n\n\nfive\n        six", "[Ada] (1):\n\nthe next"}, b.received())
	assert.Equal(t, 2, bytes.Count(b.bytes(), []byte("\r")), "one Enter a message")
	assert.Zero(t, b.count(persona.EventEmpty))
}

// Screens with next to nothing on them are read like full ones.
func TestR25_NearlyBlankPanes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, size := range []struct{ width, height int }{{80, 24}, {80, 200}, {200, 50}, {80, 3}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			name := fmt.Sprintf("-%d", size.height)
			a, b := r.adopted("Ada"+name, silent...), r.adopted("Ben"+name, silent...)
			for _, one := range []*agent{a, b} {
				r.Run("resize-window", "-t", one.pane, "-x", fmt.Sprint(size.width), "-y", fmt.Sprint(size.height))
			}
			r.chat([]*agent{a, b}, unlimited...)
			a.do(":say hello")
			b.hears("[" + a.name + "] (1): hello")
			b.do(":say hello too")
			a.hears("[" + b.name + "] (2): hello too")
			a.do(":say hello") // the same again is said again
			r.waitFor("the same words once more", func() bool { return len(b.received()) == 2 })
			b.hears("[" + a.name + "] (1): hello")
		})
	}
}

// Nobody speaks, so nobody is spoken to; one may speak twice, and the other need not.
func TestR33_NothingButWhatIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b, c := r.adopted("Ada", silent...), r.adopted("Ben", silent...), r.adopted("Cleo", silent...)
	r.chat([]*agent{a, b, c}, unlimited...)
	quiet := time.NewTimer(1500 * time.Millisecond) // nothing can be waited for: nothing is to happen
	<-quiet.C
	for _, one := range []*agent{a, b, c} {
		assert.Empty(t, one.bytes(), one.name)
	}
	a.do(":say once")
	b.hears("[Ada] (1): once")
	a.do(":say twice")
	b.hears("[Ada] (1): twice")
	c.hears("[Ada] (1): twice")
	assert.Equal(t, []string{"[Ada] (1): once", "[Ada] (1): twice"}, c.received())
	assert.Empty(t, a.bytes())
	messages := r.messages()
	require.Len(t, messages, 2)
	for _, m := range messages {
		assert.Equal(t, message.KindTurn, m.Type)
	}
}

// What is relayed in a chat carries the attribution; header=both puts the header of a
// single message in front of it.
func TestC2_AttributionOrBoth(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
	r.chat([]*agent{a, b}, unlimited...)
	a.do(":say plain")
	b.hears("[Ada] (1):\n\nplain")
	r.stop()
	r.chat([]*agent{a, b}, append(unlimited, "header=both")...)
	a.do(":say adorned")
	b.hears(fmt.Sprintf("AI[local:%s] | [Ada] (1):\n\nadorned", a.session.ID))
	// A single message of an agent: the header, and no attribution.
	a.sends(b, "on its own")
	b.hears(fmt.Sprintf("AI[local:%s] | on its own", a.session.ID))
	// A person's, in a chat and by itself.
	assert.Equal(t, message.Submitted, r.send(b, "from a person", api.WaitSubmitted, patience).State)
	b.hears("[tester] (0):\n\nfrom a person")
}

// The trigger only says when to look: with another one, or none but the clock, the same
// words arrive. Enter follows what is seen, not a fixed time.
func TestC22_TriggersCarryNoWords(t *testing.T) {
	t.Parallel()
	for _, trigger := range []string{"inotify", "polling"} {
		t.Run(trigger, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(c *daemon.Config) { c.Trigger = trigger })
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

// What a program prints while it is typed into is heard, and what was typed is not.
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

// A session is in one chat at a time; asking for the same chat twice, even at once, makes
// one.
func TestC37_OneChatAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b, c := r.adopted("Ada", silent...), r.adopted("Ben", silent...), r.adopted("Cleo", silent...)
	both := [][]string{{a.pane, b.pane}, {b.pane, a.pane}}
	errs := make(chan error, len(both))
	for _, panes := range both {
		go func() {
			_, err := r.client.StartChat(t.Context(), api.StartChatRequest{Panes: panes})
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	if first == nil {
		first, second = second, first
	}
	require.NoError(t, second, "one of the two starts")
	require.ErrorContains(t, first, "already active")

	_, err := r.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{c.pane, a.pane}})
	require.ErrorContains(t, err, `"Ada" is in chat`)
	var refused *api.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, api.CodeRefused, refused.Code)
	chats, err := r.client.Chats(t.Context(), false)
	require.NoError(t, err)
	require.Len(t, chats, 1)

	a.do(":say unharmed")
	r.waitFor("the first chat goes on", func() bool { return len(b.received()) == 1 })
	assert.Contains(t, b.received()[0], "unharmed")
	assert.Empty(t, c.bytes())
}

// The transport goes by the version, and the main job by any of them.
func TestC43_MainJobOnEveryVersionAndTransport(t *testing.T) {
	t.Parallel()
	all := tmuxtest.Versions(t)
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		i := slices.Index(all, v)
		for j, transport := range append(slices.Clone(transports), "auto") {
			if !longTest() && (transport == "auto" && 0 < i && i < len(all)-1 || transport != "auto" && i%len(transports) != j) {
				continue // each version has one in its turn, and the eldest and the newest choose
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

// Helpers of the tests of this package that are about what is relayed.

var (
	silent    = []string{"--reply", "none"}
	bracketed = []string{"--reply", "none", "--bracketed"}
	// unlimited keeps the brakes out of the way.
	unlimited = []string{"depth=1000000", "rate=1000000", "bytes=1000000000"}
)

const patience = tmuxtest.Patience

// parrot is a persona that answers n messages at once, quoting them, and then falls silent.
func parrot(n int) []string {
	return []string{"--think", "1ms", "--quote", "--limit", strconv.Itoa(n)}
}

// long is the size of a test: small, or with INTERCOM_LONG set the full one.
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

// stop ends all chats and lets single messages go on.
func (r *rig) stop() {
	r.t.Helper()
	chats, err := r.client.Chats(r.t.Context(), false)
	require.NoError(r.t, err)
	for _, c := range chats {
		_, err := r.client.StopChat(r.t.Context(), api.ChatRef{Chat: string(c.ID)})
		require.NoError(r.t, err)
	}
}

// events is all that happened so far.
func (r *rig) events() (all []message.Event) {
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

// messages are all messages so far.
func (r *rig) messages() (all []message.Envelope) {
	r.t.Helper()
	for _, e := range r.events() {
		if e.Message != nil {
			all = append(all, *e.Message)
		}
	}
	return all
}

// notices is what a person was told so far.
func (r *rig) notices() (all []string) {
	r.t.Helper()
	for _, e := range r.events() {
		if e.Notice != "" {
			all = append(all, e.Notice)
		}
	}
	return all
}

// latest is the latest receipt of a delivery.
func (r *rig) latest(delivery message.ID) (last message.Receipt) {
	r.t.Helper()
	for _, receipt := range r.receipts() {
		if receipt.Delivery == delivery {
			last = receipt
		}
	}
	return last
}

// current is a chat as it is now.
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

// sends has the agent send a message itself: by a program below it, as an agent would. The
// rest are further arguments of sendMain.
func (a *agent) sends(to *agent, text string, rest ...string) {
	a.t.Helper()
	self, err := os.Executable()
	require.NoError(a.t, err)
	before := a.count(persona.EventChildEnd)
	a.do(":exec INTERCOM_TEST_SEND=1 %s %s %s '%s' %s", self, a.cfg.Paths.Socket, to.pane, text, strings.Join(rest, " "))
	a.waitFor(a.name+" has sent", func() bool { return a.count(persona.EventChildEnd) > before })
	records := a.records()
	i := slices.IndexFunc(records, func(r persona.Record) bool { return r.Event == persona.EventChildEnd })
	require.Zero(a.t, records[i].N, "exit code of the one that sent")
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

// unasked are the texts that the agent printed without being asked.
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

// find is when the persona logged that, on the clock of its records.
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

// pasteAt and enterAt are when the first bytes, and the first Enter, were read.
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

// expected is a message as the agent is to receive it.
func (a *agent) expected(from *agent, number int, words string) string {
	if a.session.Profile == "line-paste" {
		return fmt.Sprintf("[%s] (%d):\n\n%s", from.name, number, words)
	}
	return fmt.Sprintf("[%s] (%d): %s", from.name, number, strings.ReplaceAll(words, "\n", " ⏎ "))
}

// assertConversation waits until two agents have said turns in all and received what the
// other said, and asserts that each received just that: all of it, once, in order, and
// nothing of its own. What a person said in between is left out.
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
	waitUpTo(t, patience+time.Duration(turns)*time.Second/2, fmt.Sprintf("%d turns of %s and %s", turns, a.name, b.name), func() bool {
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
