package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// doored puts an agent into a chat whose messages go through its inbox if they may. It first types one prompt by
// hand, so that the agent has a transcript.
func (l *labRig) doored(a *labAgent) (message.Chat, *agent) {
	l.Helper()
	chat, ben := l.alone(a, "door=auto")
	l.mute(chat, ben.pane)
	a.says("Good morning.")
	l.until("its transcript", func() bool { return a.explain().Transcript != "" })
	l.until("its door", func() bool { e := a.explain(); return e.Door != "" && e.DoorWhy == "" }, func() any { return a.explain().DoorWhy })
	return chat, ben
}

// through reports by which door a message went to an agent, "" if it was typed.
func (a *labAgent) through(id message.ID) (door string) {
	a.l.Helper()
	session := a.session().ID
	for _, r := range a.l.receiptsOf(id) {
		if r.Target == session && r.State == message.Typed {
			door = r.Door
		}
	}
	return door
}

// provenBy reports whether the evidence that an agent took a message comes from that source.
func (a *labAgent) provenBy(id message.ID, source string) bool {
	a.l.Helper()
	session := a.session().ID
	return slices.ContainsFunc(a.l.receiptsOf(id), func(r message.Receipt) bool {
		return r.Target == session && r.State == message.Submitted && len(r.Evidence) > 0 && r.Evidence[0].Source == source
	})
}

// sockets are the names in the directories of an agent's sockets.
func (a *labAgent) sockets() (all []string) {
	a.l.Helper()
	found, err := filepath.Glob(filepath.Join(a.Dir, "*", "cc-socks", "*"))
	require.NoError(a.l, err)
	for _, path := range found {
		all = append(all, filepath.Base(path))
	}
	return all
}

// asPeer asserts that the model has received one text since the first n, as a peer's message.
func (a *labAgent) asPeer(n int, text string) {
	a.l.Helper()
	heard := a.heard()
	require.Len(a.l, heard, n+1, "%q", heard[min(n, len(heard)):])
	assert.True(a.l, strings.HasPrefix(heard[n], "Another Claude session sent a message:\n<cross-session-message from=\"uds:"), heard[n])
	assert.Equal(a.l, 1, strings.Count(heard[n], text), heard[n])
	assert.NotContains(a.l, heard[n], "from-mode")
}

// doorTries is how often each of the hard moments is tried: twelve times in a long run.
var doorTries = map[bool]int{false: 3, true: 12}[longTest()]

// inALongRun skips a test that takes too long for every run of the lab.
func inALongRun(t *testing.T) {
	t.Helper()
	if !longTest() {
		t.Skip("in a long run alone: INTERCOM_LONG=1 make lab LAB=" + t.Name())
	}
}

// doorMoment is a state of an agent's pane in which a message comes.
type doorMoment struct {
	name  string
	begin func(i int) (is func() bool) // is reports that it is still so when the message was taken
	end   func(i int)
}

// comesThrough has a message come to an agent in a hard moment, several times: each goes through the door once, and
// the moment stays as it was.
func (l *labRig) comesThrough(a *labAgent, chat message.Chat, m doorMoment) {
	l.Helper()
	for i := range doorTries {
		a.drawn()
		is := m.begin(i)
		a.WaitForStill(labtest.Stillness)
		n := len(a.heard())
		body := fmt.Sprintf("%s %d: [[say as you like, %d]]", m.name, i, i)
		id := l.tellAll(chat, body)
		l.waitTold(id, a, "answered")
		a.asPeer(n, "[tester] (0):\n\n"+body)
		assert.Equal(l, "inbox", a.through(id), "%q", l.trailTo(id, a))
		assert.True(l, a.provenBy(id, "transcript"))
		assert.True(l, is(), "%s\n%s", m.name, strings.Join(a.screen().Plain, "\n"))
		m.end(i)
	}
	l.Logf("%s: %d of %d through the inbox", m.name, doorTries, doorTries)
}

// States of a pane in which nothing may be typed do not matter to the door, which leaves them as they are: a person's
// draft, copy mode, a menu over the composer, a synchronised window.
func TestLab_G1_G2_G5_G7_HardMoments(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Claude})
	a := l.agent(labtest.Claude)
	chat, _ := l.doored(a)
	shows := func(text string) func() bool {
		a.WaitForText(text)
		x := a.screen().CursorX
		return func() bool { s := a.screen(); return s.Contains(text) && s.CursorX == x }
	}
	erase := func(text string) { a.Keys(append([]string{"C-e"}, slices.Repeat([]string{"BSpace"}, len(text))...)...) }
	draft := func(i int) string { return fmt.Sprintf("half a thought %d", i) }
	moments := []doorMoment{
		{"draft", func(i int) func() bool {
			a.Keys("-l", draft(i))
			return shows("❯\u00a0" + draft(i))
		}, func(i int) { erase(draft(i)) }},
		{"copy mode", func(int) func() bool {
			l.rig.Run("copy-mode", "-t", a.Pane)
			return func() bool { return l.rig.Fact(a.Pane, "#{pane_in_mode}") == "1" }
		}, func(int) { l.rig.Run("send-keys", "-X", "-t", a.Pane, "cancel") }},
		{"menu", func(int) func() bool {
			a.Keys("-l", "/mo")
			a.WaitForText("/model")
			return shows("❯\u00a0/mo")
		}, func(int) { a.Keys("Escape"); a.WaitForStill(labtest.Stillness); erase("/mo") }},
		{"synchronised", func(int) func() bool {
			l.rig.Run("set-option", "-w", "-t", a.Pane, "synchronize-panes", "on")
			return func() bool { return l.rig.Fact(a.Pane, "#{pane_synchronized}") == "1" }
		}, func(int) { l.rig.Run("set-option", "-w", "-t", a.Pane, "synchronize-panes", "off") }},
	}
	for _, m := range moments {
		l.comesThrough(a, chat, m)
	}
}

// A dialog, a question or a turn of the agent's own holds a message. The message answers nothing, and comes once when
// that is over.
func TestLab_G2_G7_C46_DialogsAndTurnsHold(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Claude})
	a := l.agent(labtest.Claude)
	chat, _ := l.doored(a)
	proof := filepath.Join(a.Work, "proof")
	through := 0 // the composer is empty by then: a message is typed if the sidecar looks for the inbox just then
	for i := range doorTries {
		for _, o := range []struct {
			name          string
			begin, answer func()
		}{
			{"permission", a.asks("[[bash touch "+proof+"]]", "proof"), a.pressed("", "Escape")},
			{"question", a.asks("[[ask Which colour? | red | blue]]", "Which colour?"), a.pressed("", "Escape")},
			{"a turn", func() {
				a.Prompt("go on [[hold]]")
				l.until("it says so", func() bool { return a.explain().State == message.Working })
			}, func() { l.lab.Model.Release(a.Name) }},
		} {
			a.drawn()
			o.begin()
			body := fmt.Sprintf("%s %d: [[say as you like, %d]]", o.name, i, i)
			id := l.tellAll(chat, body)
			l.waitTold(id, a, "held")
			n := len(a.heard())
			assert.NotContains(t, l.trailTo(id, a), "typed", o.name)
			assert.Empty(t, a.through(id), o.name)
			o.answer()
			l.waitTold(id, a, "answered")
			if way := a.through(id); way != "" {
				assert.Equal(t, "inbox", way, o.name)
				through++
			}
			assert.Equal(t, 1, strings.Count(strings.Join(a.heard()[n:], "\n"), body), o.name)
			assert.NoFileExists(t, proof)
		}
	}
	t.Logf("%d of %d through the inbox", through, 3*doorTries)
	assert.NotZero(t, through)
}

// An agent that acts without asking would ask its person about a message, in a dialog of its own. It gets none
// through its inbox, unless its settings accept messages. Nor does an agent whose settings refuse them.
func TestLab_G10_BypassIsTyped(t *testing.T) {
	inALongRun(t)
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Claude})
	settings := func(text string) labtest.Option {
		return labtest.Configured(func(a *labtest.Agent) {
			require.NoError(t, a.WriteFile(filepath.Join(a.Home, ".claude", "settings.json"), text))
		})
	}
	const skip = `"skipDangerousModePermissionPrompt": true`
	bold := l.agent(labtest.Claude, labtest.Name("bold"), labtest.Environ("IS_SANDBOX=1"), labtest.Arguments("--dangerously-skip-permissions"), settings(`{`+skip+`}`))
	open := l.agent(labtest.Claude, labtest.Name("open"), labtest.Environ("IS_SANDBOX=1"), labtest.Arguments("--dangerously-skip-permissions"), settings(`{`+skip+`, "crossSessionInbound": "accept"}`))
	keeps := l.agent(labtest.Claude, labtest.Name("keeps"), settings(`{"crossSessionInbound": "refuse"}`))
	for _, c := range []struct {
		a    *labAgent
		door string
	}{{bold, ""}, {open, "inbox"}, {keeps, ""}} {
		chat, _ := l.alone(c.a, "door=auto")
		c.a.says("Good morning.")
		l.until("it is looked for", func() bool { return !strings.Contains(c.a.explain().DoorWhy, "looked for") })
		var ways []string
		for i := range doorTries {
			c.a.drawn()
			id := l.tellAll(chat, fmt.Sprintf("%d: [[say as you like, %d]]", i, i))
			l.waitTold(id, c.a, "answered")
			ways = append(ways, c.a.through(id))
			assert.NotContains(t, strings.Join(c.a.screen().Plain, "\n"), "Held message")
		}
		t.Logf("%s: %s: %q", c.a.Name, c.a.explain().DoorWhy, ways)
		assert.Contains(t, ways, c.door)
		if c.door == "" {
			assert.NotContains(t, ways, "inbox")
		}
		l.over(chat)
	}
}

// Between the look and the write, the person turns to another conversation: nothing goes through the door into a
// conversation that was not judged.
func TestLab_G6_ClearBetweenLookAndWrite(t *testing.T) {
	inALongRun(t)
	t.Parallel()
	var at func()
	l := newLab(t, []labtest.Kind{labtest.Claude}, func(c *daemon.Config) {
		c.Gap = func(_, moment string) {
			if moment == "door" && at != nil {
				at()
			}
		}
	})
	a := l.agent(labtest.Claude)
	chat, _ := l.doored(a)
	met := 0
	for i := range 6 {
		a.drawn()
		was := a.explain().Transcript
		met0 := met
		at = sync.OnceFunc(func() {
			met++
			a.command("/clear")
			status := func() string {
				text, _ := os.ReadFile(filepath.Join(a.Home, ".claude", "sessions", fmt.Sprint(a.session().Foreground.PID)+".json"))
				return string(text)
			}
			thread := strings.TrimSuffix(filepath.Base(was), ".jsonl")
			l.until("another conversation", func() bool { s := status(); return s != "" && !strings.Contains(s, thread) }, func() any { return status() })
		})
		body := fmt.Sprintf("%d: [[say as you like, %d]]", i, i)
		id := l.tellAll(chat, body)
		l.waitTold(id, a, "answered")
		at = nil
		t.Logf("%d: met %t, %q %q", i, met > met0, l.trailTo(id, a), a.through(id))
		assert.Empty(t, a.through(id), "it was typed into what was there then: %q", l.trailTo(id, a))
		assert.Equal(t, 1, strings.Count(strings.Join(a.heard(), "\n"), body))
		a.says("Good morning again.")
		l.until("its door", func() bool { return a.explain().DoorWhy == "" }, func() any { return a.explain().DoorWhy })
	}
	assert.Positive(t, met)
}

// A sidecar is killed before it hands a message over, or right after. The next one types it in neither case. The
// transcript proves that the agent took it; if it does not, the message is uncertain. The socket that the killed
// sidecar left beside the agent's is removed.
func TestLab_G4_G16_V14_KilledAtEachStep(t *testing.T) {
	inALongRun(t)
	t.Parallel()
	for moment, want := range map[string]string{"door": "uncertain", "passed": "answered"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, []labtest.Kind{labtest.Claude})
			a := l.agent(labtest.Claude)
			own := a.sockets()
			chat, _ := l.doored(a)
			first := l.tellAll(chat, "first [[say as you like]]")
			l.waitTold(first, a, "answered")
			require.Equal(t, "inbox", a.through(first))
			const body = "second of @scope/pkg [[say as you like, too]]" // typed, it would be another text
			var id message.ID
			l.killedAt(moment, func() {
				l.until("its door", func() bool { e := a.explain(); return e.Door != "" && e.DoorWhy == "" }, func() any { return a.explain().DoorWhy })
				id = l.tellAll(chat, body)
			})
			l.waitTold(id, a, want)
			heard := strings.Count(strings.Join(a.heard(), "\n"), body)
			if moment == "passed" {
				assert.Equal(t, 1, heard)
				assert.True(t, a.provenBy(id, "transcript"))
				l.until("the socket of the killed one is gone", func() bool { return len(a.sockets()) == len(own) }, func() any { return a.sockets() })
			} else {
				assert.Zero(t, heard)
			}
			assert.Equal(t, "inbox", a.through(id), "and it was not typed: %q", l.trailTo(id, a))
			third := l.tellAll(chat, "third [[say as you like, again]]")
			l.waitTold(third, a, "answered")
			assert.Equal(t, heard, strings.Count(strings.Join(a.heard(), "\n"), body))
			t.Logf("%s: %q %q %q", moment, l.trailTo(id, a), own, a.sockets())
		})
	}
}

// Between the look and the write, the agent's settings are changed: what the agent then says of the message becomes
// its receipt, and the message is not typed.
func TestLab_G3_G9_WhatTheAgentSaysOfIt(t *testing.T) {
	inALongRun(t)
	t.Parallel()
	for inbound, want := range map[string]string{"refuse": "failed: refused by the agent's settings", "hold": "held: the agent asks its person"} {
		t.Run(inbound, func(t *testing.T) {
			t.Parallel()
			var at func()
			l := newLab(t, []labtest.Kind{labtest.Claude}, func(c *daemon.Config) {
				c.Gap = func(_, moment string) {
					if moment == "door" && at != nil {
						at()
					}
				}
			})
			a := l.agent(labtest.Claude)
			chat, _ := l.doored(a)
			at = sync.OnceFunc(func() {
				text := fmt.Sprintf(`{"permissions": {"defaultMode": "default"}, "crossSessionInbound": %q}`, inbound)
				assert.NoError(t, os.WriteFile(filepath.Join(a.Home, ".claude", "settings.json"), []byte(text), 0o600))
				changed := time.Now()
				l.until("it has read them, which it does every two seconds", func() bool { return time.Since(changed) > 5*time.Second })
			})
			id := l.tellAll(chat, "a message [[say as you like]]")
			l.waitTold(id, a, want)
			assert.Equal(t, "inbox", a.through(id))
			if inbound == "hold" { // its session has ended by then
				session := a.session().ID
				a.Stop()
				l.until("it expires", func() bool {
					return slices.ContainsFunc(l.receiptsOf(id), func(r message.Receipt) bool { return r.Target == session && r.State == message.Expired })
				})
			}
			assert.NotContains(t, strings.Join(a.heard(), "\n"), "a message [[")
			t.Logf("%q", l.trailTo(id, a))
		})
	}
}

// Between the look and the write, the person gives the agent something to do: the message waits in the agent's own
// queue, for longer than it may take at rest, and is taken once.
func TestLab_G8_WorkBetweenLookAndWrite(t *testing.T) {
	inALongRun(t)
	t.Parallel()
	var at func()
	l := newLab(t, []labtest.Kind{labtest.Claude}, func(c *daemon.Config) {
		c.Gap = func(_, moment string) {
			if moment == "door" && at != nil {
				at()
			}
		}
	})
	a := l.agent(labtest.Claude)
	chat, _ := l.doored(a)
	for i := range 6 {
		a.drawn()
		at = sync.OnceFunc(func() { a.Prompt(fmt.Sprintf("person %d [[hold]]", i)) })
		body := fmt.Sprintf("%d: [[say as you like, %d]]", i, i)
		id := l.tellAll(chat, body)
		l.waitTold(id, a, "typed")
		if i == 0 { // for longer than it may take at rest
			l.until("time passes", func() bool { return time.Since(l.receiptsOf(id)[0].At) > 15*time.Second })
		}
		l.lab.Model.Release(a.Name)
		l.waitTold(id, a, "answered")
		at = nil
		assert.Equal(t, "inbox", a.through(id))
		assert.Equal(t, 1, strings.Count(strings.Join(a.heard(), "\n"), body), "%q", a.heard())
		t.Logf("%d: %q", i, l.trailTo(id, a))
	}
	assert.Empty(t, a.explain().DoorWhy)
}

// What the agent says to our address with its own tool is one message of its pane, to the one whom it answers. When
// the sidecar has ended, nothing of it is left beside the agent's own socket.
func TestLab_G15_G16_RepliesAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Claude}, files("init.lua", `intercom.configure { brakes = { door = "auto" } }`))
	a := l.agent(labtest.Claude)
	own := a.sockets()
	_, err := l.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.Pane})
	require.NoError(t, err)
	ben := l.adopted("Ben", bracketed...)
	a.says("Good morning.")
	l.until("its door", func() bool { e := a.explain(); return e.Door != "" && e.DoorWhy == "" }, func() any { return a.explain().DoorWhy })
	id := l.mail(a, "first [[say as you like]]")
	l.waitTold(id, a, "answered")
	require.Equal(t, "inbox", a.through(id))
	heard := a.heard()
	_, address, found := strings.Cut(heard[len(heard)-1], `from="uds:`)
	require.True(t, found)
	address, _, _ = strings.Cut(address, `"`)
	assert.Len(t, a.sockets(), len(own)+1)
	assert.Contains(t, a.sockets(), filepath.Base(address))
	for i := range 3 {
		a.drawn()
		ben.sends(&agent{pane: a.Pane}, fmt.Sprintf(`%d: please [[tool SendMessage {"to":"uds:%s","message":"the answer is %d","summary":"an answer"}]]`, i, address, i))
		text := ""
		l.until("Ben has the answer", func() bool {
			for _, one := range ben.received() {
				if strings.Contains(one, fmt.Sprintf("the answer is %d", i)) {
					text = one
				}
			}
			return text != ""
		}, func() any { return ben.received() })
		assert.Equal(t, fmt.Sprintf("AI[local:%s] | the answer is %d", a.session().ID, i), text)
	}
	assert.Equal(t, 3, strings.Count(strings.Join(ben.received(), "\n"), "the answer is"), "each once")
	require.NoError(t, l.end())
	assert.Equal(t, own, a.sockets())
}
