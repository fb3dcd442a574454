package daemon_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
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

// Programs that quote what they are told answer each other: by turns, both at once, and with words of their own in
// between. Each hears what the other said and nothing else.
func TestR9_W6_NoEcho(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name  string
		turns int
		ways  string // the subtests of a short run
		flags []string
	}{
		{"raw", 100, "by turns, and unasked", nil},
		{"cooked", 20, "both at once", []string{"--cooked"}},
		{"bracketed", 20, "both at once", []string{"--bracketed"}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			way := func(name string, test func(t *testing.T)) {
				if longTest() || strings.Contains(kind.ways, name) {
					t.Run(name, test)
				}
			}
			turns := long(kind.turns, 1000)
			flags := append(parrot(turns/2), kind.flags...)
			way("by turns", func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				a, b := r.adopted("Ada", flags...), r.adopted("Ben", flags...)
				r.chatSaying("hello", []*agent{a, b})
				assertConversation(t, turns, a, b)
				assert.Equal(t, turns, len(r.turns()), "one message a turn")
			})
			way("both at once", func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				a, b := r.adopted("Ada", flags...), r.adopted("Ben", flags...)
				chat := r.chat([]*agent{a, b}, unlimited...)
				r.say(chat, "hello")
				assertConversation(t, turns, a, b)
				assert.Equal(t, turns, len(r.turns()), "one message a turn")
			})
			if kind.name == "cooked" {
				return // the kernel holds the line, so the program cannot redraw it after words in between
			}
			way("and unasked", func(t *testing.T) {
				t.Parallel()
				turns := long(30, 1000)
				flags := append(parrot(turns/2), kind.flags...)
				r := newRig(t)
				a, b := r.adopted("Ada", flags...), r.adopted("Ben", flags...)
				r.chatSaying("hello", []*agent{a, b})
				n := long(15, 200)
				a.do(":says %d 130ms Ada of its own accord {n}", n)
				b.do(":says %d 170ms Ben of its own accord {n}", n)
				r.goesOn("all is said and heard", func() int {
					return len(a.said()) + len(b.said()) + len(a.unasked()) + len(b.unasked()) + len(a.heardLines()) + len(b.heardLines())
				}, func() bool {
					// Messages that come together get one answer, so one program may fall silent before the other.
					return max(len(a.said()), len(b.said())) >= turns/2 && len(a.unasked()) == n && len(b.unasked()) == n &&
						len(a.heardLines()) >= len(b.spokenLines()) && len(b.heardLines()) >= len(a.spokenLines())
				})
				assert.Equal(t, a.spokenLines(), b.heardLines())
				assert.Equal(t, b.spokenLines(), a.heardLines())
			})
		})
	}
}

// With a history of 100 lines, each line of a long output is relayed once and in order. In a burst of 5000 lines, a
// mark stands for the lines that were gone before anybody could look. In pieces that fit the history, no line is
// missing.
func TestR23_HistoryLimit(t *testing.T) {
	t.Parallel()
	t.Run("burst", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.Run("set-option", "-g", "history-limit", "100")
		a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
		r.chat([]*agent{a, b}, unlimited...)
		a.do(":lines 5000")
		a.do(":say the next word")
		r.waitFor("the next word arrives", func() bool { return strings.Contains(strings.Join(b.received(), "\n"), "the next word") })
		a.do(":say the last word")
		b.hears("[Ada] (1):\n\nthe last word")
		seen := assertOnceOrSkipped(t, b, 5000)
		assert.True(t, seen[5000], "the end of the burst is on the screen")
	})
	t.Run("pieces", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.Run("set-option", "-g", "history-limit", "100")
		a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
		r.chat([]*agent{a, b}, unlimited...)
		pieces, each := long(10, 100), 50
		line := 0
		for range pieces {
			var text strings.Builder
			for range each {
				line++
				fmt.Fprintf(&text, `\nAda line %d of %d`, line, pieces*each)
			}
			a.do(":say %s", strings.TrimPrefix(text.String(), `\n`))
			last := fmt.Sprintf("Ada line %d of", line)
			r.waitFor(last, func() bool { all := b.received(); return len(all) > 0 && strings.Contains(all[len(all)-1], last) })
		}
		seen := assertOnceOrSkipped(t, b, pieces*each)
		assert.Len(t, seen, pieces*each, "nothing had to be skipped")
	})
}

// A text that the history of the pane cannot hold would never be seen whole in its composer, so it fails and is not
// typed. A text that the history can hold is delivered, even if the history is full.
func TestTextTallerThanTheHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Run("set-option", "-g", "history-limit", "100")
	ben := r.adopted("Ben", bracketed...)
	width, err := strconv.Atoi(r.Fact(ben.pane, "#{pane_width}"))
	require.NoError(t, err)
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("a line\n", n), "\n") }
	for _, n := range []int{60, 100, 110} {
		receipt := r.send(ben, lines(n), api.WaitSubmitted, patience)
		assert.Equal(t, message.Submitted, receipt.State, "%v", receipt)
	}
	for name, text := range map[string]string{"lines": lines(150), "one line": strings.Repeat("x", 150*width)} {
		receipt := r.send(ben, text, api.WaitSubmitted, patience)
		assert.Equal(t, message.Failed, receipt.State, "%s: %v", name, receipt)
		assert.Equal(t, message.TooManyRows, receipt.Reason, name)
	}
	receipt := r.send(ben, "after them", api.WaitSubmitted, patience)
	assert.Equal(t, message.Submitted, receipt.State, "%v", receipt)
	assert.Len(t, ben.received(), 4)
}

// If the screens of the speaker and the hearer are cleared, resized or covered, between turns or in the middle of
// one, no words are lost and no old ones come again. A message for a pane under another screen or a mode waits, and
// is delivered afterwards.
func TestR24_W5_ScreenChanges(t *testing.T) {
	t.Parallel()
	changes := []struct {
		name string
		do   func(r *rig, a *agent)
		undo func(r *rig, a *agent)
	}{
		{name: "clear", do: func(_ *rig, a *agent) { a.do(":clear") }},
		{name: "clear with history", do: func(_ *rig, a *agent) { a.do(":clear3") }},
		{name: "clear-history", do: func(r *rig, a *agent) { r.Run("clear-history", "-t", a.pane) }},
		{name: "alternate screen", do: func(_ *rig, a *agent) { a.do(":alt on") }, undo: func(_ *rig, a *agent) { a.do(":alt off") }},
		{name: "narrower", do: func(r *rig, a *agent) { r.Run("resize-window", "-t", a.pane, "-x", "33", "-y", "24") }},
		{name: "wider", do: func(r *rig, a *agent) { r.Run("resize-window", "-t", a.pane, "-x", "120", "-y", "24") }},
		{name: "lower", do: func(r *rig, a *agent) { r.Run("resize-window", "-t", a.pane, "-x", "80", "-y", "8") }},
		{name: "higher", do: func(r *rig, a *agent) { r.Run("resize-window", "-t", a.pane, "-x", "80", "-y", "40") }},
		{
			name: "copy mode", do: func(r *rig, a *agent) { r.Run("copy-mode", "-t", a.pane) },
			undo: func(r *rig, a *agent) { r.Run("send-keys", "-t", a.pane, "-X", "cancel") },
		},
	}
	for _, when := range []string{"between turns", "in the middle of one"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a, b := r.adopted("Ada", "--think", "300ms", "--lines", "3"), r.adopted("Ben", bracketed...)
			r.chat([]*agent{a, b}, unlimited...)
			waits := func(to *agent) bool {
				return slices.ContainsFunc(r.inbox(), func(h api.Held) bool { return h.Pane == to.pane && h.State == message.Held })
			}
			for i, change := range changes {
				told := fmt.Sprintf("message %d", i+1)
				r.waitFor("what went before was taken", func() bool { return r.open() == 0 })
				if when == "between turns" {
					change.do(r, a)
					change.do(r, b)
				}
				_, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: told})
				require.NoError(t, err)
				if when == "between turns" {
					if change.undo != nil {
						r.waitFor("it waits for Ada", func() bool { return waits(a) })
						change.undo(r, a)
					}
				} else {
					r.waitFor("Ada works", func() bool { return a.count(persona.EventReceived) == i+1 })
					change.do(r, a)
					change.do(r, b)
					if change.undo != nil {
						r.waitFor("Ada has answered", func() bool { return len(a.said()) == i+1 || a.screenIsAway() })
						change.undo(r, a)
					}
				}
				r.waitFor("Ada answers "+told, func() bool { return len(a.said()) == i+1 })
				if change.undo != nil {
					r.waitFor("it waits for Ben", func() bool { return waits(b) })
					change.undo(r, b)
				}
				r.waitFor("Ben hears the answer", func() bool { return len(b.received()) > i })
				got := b.received()[i:]
				if change.name == "clear with history" {
					// Rows that nobody saw before they were cleared are gone for good, and a mark may say so.
					got[0] = strings.Replace(got[0], "[… unknown number of lines skipped]\n", "", 1)
				}
				assert.Equal(t, []string{"[Ada] (1):\n\n" + a.said()[i]}, got, "after %s: once, and nothing old", change.name)
				if t.Failed() {
					t.Logf("Ada's screen:\n%s", a.screen())
					return
				}
			}
			assert.Len(t, a.received(), len(changes), "and Ada got each message once")
		})
	}
}

// A spinner, a timer, colours and a clock are not taken for words, and a pause does not end a turn.
func TestR31_W2_TurnsAreWholeAndClean(t *testing.T) {
	t.Parallel()
	t.Run("spinner", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		working := long(5, 60) // seconds
		spins := []string{"--spinner", fmt.Sprintf("%ds", working), "--lines", "2"}
		ada, ben := r.adopted("Ada", spins...), r.adopted("Ben", bracketed...)
		tia, tom := r.unknown("Tia", append(spins, "--alt")...), r.adopted("Tom", bracketed...)
		for _, pair := range [][]*agent{{ada, ben}, {tia, tom}} { // one that prints lines, and one with the whole screen
			r.chat(pair, unlimited...)
			_, err := r.client.Send(t.Context(), api.SendRequest{To: pair[0].pane, Text: "think hard"})
			require.NoError(t, err)
		}
		waitUpTo(t, patience+time.Duration(working)*time.Second, "both answer", func() bool { return len(ada.said()) == 1 && len(tia.said()) == 1 })
		ben.hears("[Ada] (1):\n\n" + ada.said()[0])
		r.waitFor("Tom hears the answer", func() bool { return len(tom.received()) > 0 })
		assert.Equal(t, unbroken("[Tia] (1): ● "+tia.said()[0]), unbroken(tom.received()[0]), "its rows, as they stand")
		assert.Len(t, ben.received(), 1, "nothing but the answer")
		assert.Len(t, tom.received(), 1, "nothing but the answer")
		assert.Len(t, r.turns(), 2)
	})
	t.Run("spinner alone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
		r.chat([]*agent{a, b}, unlimited...)
		a.do(":spin %ds", long(2, 60))
		waitUpTo(t, patience+time.Minute, "the prompt is back", func() bool { return a.count(persona.EventReady) == 2 })
		a.do(":say done")
		b.hears("[Ada] (1):\n\ndone")
		assert.Len(t, b.received(), 1)
	})
	t.Run("colours and cursor movement", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
		r.chat([]*agent{a, b}, unlimited...)
		a.do("%s", `:say \x1b[1;31mred\x1b[0m and \x1b]8;;http://example.com\x1b\\a link\x1b]8;;\x1b\\, wrong\b\b\b\b\bright\n10 %\r20 %\r100 % done`)
		b.hears("[Ada] (1):\n\nred and a link, right\n100 % done")
	})
	t.Run("clock in a corner", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a, b := r.adopted("Ada", append(silent, "--banner", "5")...), r.adopted("Ben", bracketed...)
		r.chat([]*agent{a, b}, unlimited...)
		for i := range 8 {
			a.do("%s", fmt.Sprintf(`:raw \x1b7\x1b[1;70H12:00:0%d\x1b8`, i))
			r.WaitForText(a.pane, fmt.Sprintf("12:00:0%d", i))
		}
		a.do(":say done")
		b.hears("[Ada] (1):\n\ndone")
		assert.Equal(t, []string{"[Ada] (1):\n\ndone"}, b.received())
	})
	t.Run("pause", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
		r.chat([]*agent{a, b}, unlimited...)
		a.writes("\r\x1b[Kthe first half\r\n")
		time.Sleep(500 * time.Millisecond) // the pause itself, many times the quiet time after which a turn may end
		a.writes("the second half\r\n" + a.prompt)
		b.hears("[Ada] (1):\n\nthe first half\nthe second half")
		assert.Len(t, b.received(), 1)
	})
}

// Text that looks like tmux's control protocol or like formats, and characters that are split, wide, combining or
// broken, arrive as the terminal shows them, over either transport.
func TestW8_BytesSurvive(t *testing.T) {
	t.Parallel()
	versions := tmuxtest.Versions(t)
	newest := versions[len(versions)-1]
	for _, transport := range []string{"process", "control"} {
		for _, trigger := range []string{"inotify", "output"} {
			if !longTest() && (transport == "control") != (trigger == "output") {
				continue
			}
			if trigger == "output" && (transport != "control" || !newest.AtLeast(3, 8)) {
				continue // only control mode follows output, and safely only from tmux 3.8 on
			}
			t.Run(transport+" "+trigger, func(t *testing.T) {
				t.Parallel()
				r := newRigOn(t, newest, func(c *daemon.Config) { c.Transport, c.Trigger = transport, trigger })
				a, b := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
				r.chat([]*agent{a, b}, unlimited...)
				for _, c := range []struct{ name, say, want string }{
					{name: "control protocol", say: "%begin 1700000000 1 0\r\n%end 1700000000 1 0\r\n%error 1 2 0\r\n%output %1 \\033[0m\r\n%exit", want: "%begin 1700000000 1 0\n%end 1700000000 1 0\n%error 1 2 0\n%output %1 \\033[0m\n%exit"},
					{name: "formats", say: "#{pane_id} #(touch " + r.dir + "/x) %% $HOME `id` ; kill-server", want: "#{pane_id} #(touch " + r.dir + "/x) %% $HOME `id` ; kill-server"},
					{name: "wide", say: "漢字かな交じり文 ｆｕｌｌ", want: "漢字かな交じり文 ｆｕｌｌ"},
					{name: "combining", say: "cafe\u0301 n\u0303andu\u0301", want: "cafe\u0301 n\u0303andu\u0301"},
					{name: "emoji", say: "done ✅ 🎉 fine", want: "done ✅ 🎉 fine"},
					{name: "invalid", say: "before\r\n\xff\xfe\xc3(\xf0\x28\r\nafter"},
				} {
					n := len(b.received())
					a.writes("\r\x1b[K" + c.say + "\r\n" + a.prompt)
					r.waitFor(c.name+" is heard", func() bool { return len(b.received()) > n })
					got := b.received()[n]
					if c.want != "" {
						assert.Equal(t, "[Ada] (1):\n\n"+c.want, got, c.name)
						continue
					}
					assert.Regexp(t, `(?s)^\[Ada\] \(1\):\n\nbefore\n.*\nafter$`, got, c.name)
				}
				n := len(b.received())
				// A byte at a time, so that no read holds a whole ü.
				a.writes("\r\x1b[K")
				word := "Grüße"
				for i := range len(word) {
					a.writes(word[i : i+1])
				}
				a.writes("\r\n" + a.prompt)
				b.hears("[Ada] (1):\n\nGrüße")
				assert.Len(t, b.received(), n+1)
				assert.NoFileExists(t, r.dir+"/x")
			})
		}
	}
}

// A quiet chat goes on while another adopted pane prints a flood, and nothing of the flood comes back into the
// chat. (BenchmarkW9 measures how quick the chat is then, and what that costs.)
func TestW9_FloodBesideAQuietChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	flood := r.adopted("Flood", silent...)
	r.chat([]*agent{a, b}, unlimited...)
	flood.do(":flood 1h") // until the test ends
	r.waitFor("the flood", func() bool { return strings.Contains(flood.screen(), " flood ") })
	for n := range long(2, 300) {
		a.do(":say word %d", n)
		b.hears(fmt.Sprintf("[Ada] (1): word %d", n))
	}
	assert.Zero(t, flood.count(persona.EventFlood), "it went on meanwhile")
	assert.Empty(t, a.received(), "nothing of the flood, or of the chat's own words, came back")
	assert.NotContains(t, strings.Join(b.received(), "\n"), "flood")
	r.Run("kill-pane", "-t", flood.pane) // otherwise it would keep the processors busy during the cleanup too
}

// turns returns the messages that were turns.
func (r *rig) turns() (all []message.Envelope) {
	r.t.Helper()
	for _, m := range r.messages() {
		if m.Type == message.KindTurn {
			all = append(all, m)
		}
	}
	return all
}

// attribution matches the text before each message of an agent in a chat.
var attribution = regexp.MustCompile(`^\[\w+\] \([1-9]\d*\):\s*`)

// linesOf cuts texts into lines, also at a mark that stands for a line break.
func linesOf(texts []string) (all []string) {
	for _, text := range texts {
		for line := range strings.SplitSeq(strings.ReplaceAll(text, " ⏎ ", "\n"), "\n") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// heardLines are the lines that other agents of the chat said to the agent.
func (a *agent) heardLines() []string {
	var texts []string
	for _, text := range a.received() {
		for _, part := range parts(text) {
			if at := attribution.FindString(part); at != "" {
				texts = append(texts, strings.TrimPrefix(part, at))
			}
		}
	}
	return linesOf(texts)
}

// spokenLines are the lines that the agent printed, answers and others, in their order.
func (a *agent) spokenLines() []string {
	var texts []string
	for _, r := range a.records() {
		if r.Event == persona.EventSaid || r.Event == persona.EventUnasked {
			texts = append(texts, r.Text)
		}
	}
	return linesOf(texts)
}

// screenIsAway reports whether something covers the agent's own screen.
func (a *agent) screenIsAway() bool {
	return a.Fact(a.pane, "#{alternate_on}#{pane_in_mode}") != "00"
}

// writes makes the agent write bytes to its terminal, in one write.
func (a *agent) writes(text string) {
	a.t.Helper()
	quoted := strconv.Quote(text)
	// A blank at the end would be taken for a part of the command.
	quoted = regexp.MustCompile(` $`).ReplaceAllString(quoted[1:len(quoted)-1], `\x20`)
	a.do("%s", ":raw "+quoted)
}

// floodLines returns how many lines the agent's last flood had.
func (a *agent) floodLines() (n int) {
	for _, r := range a.records() {
		if r.Event == persona.EventFlood {
			n = r.N
		}
	}
	return n
}

var (
	numberedLine = regexp.MustCompile(`Ada line (\d+) of`)
	skipMarker   = regexp.MustCompile(`^\[… (\d+|unknown number of) lines skipped\]$`)
)

// assertOnceOrSkipped asserts that the receiver got each of total numbered lines once and in order, or else a mark
// for the lines that are missing. It returns the numbers of the lines that it got.
func assertOnceOrSkipped(t *testing.T, b *agent, total int) map[int]bool {
	t.Helper()
	seen := map[int]bool{}
	last, skipped := 0, false
	for _, line := range b.heardLines() {
		if skipMarker.MatchString(line) {
			skipped = true
			continue
		}
		m := numberedLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		require.False(t, seen[n], "line %d twice", n)
		require.Greater(t, n, last, "in order")
		require.True(t, skipped || n == last+1, "lines %d to %d are missing without a mark", last+1, n-1)
		seen[n], last, skipped = true, n, false
	}
	require.True(t, skipped || last == total, "the end is missing without a mark")
	return seen
}

// memory returns the resident memory of a process in KiB.
func memory(t testing.TB, pid int) int {
	t.Helper()
	if pid == os.Getpid() {
		runtime.GC()
		debug.FreeOSMemory()
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here: run it on Linux")
	}
	return tmuxtest.Resident(t, pid)
}

// nextPart matches the beginning of another message in the same paste.
var nextPart = regexp.MustCompile(`\n\n(\[[A-Za-z]+\] \([0-9]+\):\n\n)`)

// parts returns the messages of one paste.
func parts(text string) []string {
	return strings.Split(nextPart.ReplaceAllString(text, "\x00$1"), "\x00")
}
