package daemon_test

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// gaps lets a test do something, once, at the very moment between a look at a pane and
// the typing that rests on it.
type gaps struct {
	mu      sync.Mutex
	planned map[string]func() // by pane and moment
	happens []string          // the planned moments that came
}

func (g *gaps) plan(pane, moment string, do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.planned == nil {
		g.planned = map[string]func(){}
	}
	g.planned[pane+" "+moment] = do
}

func (g *gaps) option() option {
	return inGap(func(pane, moment string) {
		g.mu.Lock()
		do := g.planned[pane+" "+moment]
		delete(g.planned, pane+" "+moment)
		g.mu.Unlock()
		if do != nil {
			do()
			g.mu.Lock()
			g.happens = append(g.happens, pane+" "+moment)
			g.mu.Unlock()
		}
	})
}

func (g *gaps) came(pane, moment string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.happens {
		if one == pane+" "+moment {
			return true
		}
	}
	return false
}

// A change is one fact that becomes different in the gap, and back.
type change struct {
	fact   string // the name of its gate
	change func(a *agent)
	mend   func(a *agent)
	paste  string // the receipt after a change before the paste; "" if the text may go at once
	enter  string // the same before Enter
	also   string // bytes that the change itself types
	flat   bool   // without a history
}

func changes() []change {
	tmux := func(words ...string) func(a *agent) {
		return func(a *agent) { a.Run(append([]string{words[0], "-t", a.pane}, words[1:]...)...) }
	}
	tell := func(command, format, want string) func(a *agent) {
		return func(a *agent) {
			if err := persona.Control(a.control, command); err != nil {
				a.t.Error(err)
			}
			if format != "" {
				a.WaitForFact(a.pane, format, want)
			}
		}
	}
	return []change{
		{
			fact: "mode", change: tmux("copy-mode"), mend: tmux("send-keys", "-X", "cancel"),
			paste: "held: pane in a mode", enter: "held: pane in a mode",
		},
		{
			fact: "inputoff", change: tmux("select-pane", "-d"), mend: tmux("select-pane", "-e"),
			paste: "held: input of the pane is off", enter: "held: input of the pane is off",
		},
		{
			fact: "synchronised", change: tmux("set-option", "-w", "synchronize-panes", "on"), mend: tmux("set-option", "-w", "synchronize-panes", "off"),
			paste: "failed: synchronised window", enter: "held: synchronised window",
		},
		{
			fact: "alternate", flat: true, // the alternate screen has no history, and the cursor stays where it is
			change: tell(`:raw \x1b[?1049h`, "#{alternate_on}", "1"), mend: tell(`:raw \x1b[?1049l`, "", ""),
			paste: "held: a full-screen program is shown", enter: "held: a full-screen program is shown",
		},
		{
			fact: "cursorflag", change: tell(":cursor hide", "#{cursor_flag}", "0"), mend: tell(":cursor show", "", ""),
			paste: "held: screen not recognised",
		},
		{
			fact: "cursor", change: func(a *agent) {
				at := a.Fact(a.pane, "#{cursor_x}")
				a.Run("send-keys", "-l", "-t", a.pane, "y")
				tmuxtest.WaitFor(a.t, "the key", func() bool { return a.Fact(a.pane, "#{cursor_x}") != at })
			},
			mend: func(a *agent) { a.Run("send-keys", "-t", a.pane, "BSpace") }, also: "y\x7f",
			paste: "held: draft in the composer", enter: "held: draft in the composer",
		},
		{fact: "history", change: tmux("clear-history")},
		{fact: "width", change: tmux("resize-window", "-x", "79"), mend: tmux("resize-window", "-x", "80")},
	}
}

// Each fact that tmux compares changes between the look and the paste, and between the look and Enter: nothing is
// typed until the fact is as it should be, and then once.
func TestS21_EachFactChangedInTheGap(t *testing.T) {
	t.Parallel()
	dealt(t, func(t *testing.T, r *rig, g *gaps, mine func(int) bool) {
		both := func(fact string, inGap func(t *testing.T, moment string)) {
			t.Run(fact, func(t *testing.T) {
				inGap(t, "paste")
				inGap(t, "enter")
			})
		}
		facts := changes()
		for n, ch := range facts {
			if mine(n) {
				both(ch.fact, func(t *testing.T, moment string) { changedInGap(t, r, g, ch, moment) })
			}
		}
		for n, how := range []string{"pid", "dead"} {
			if mine(len(facts) + n) {
				both(how, func(t *testing.T, moment string) { endedInGap(t, r, g, how, moment) })
			}
		}
		if mine(len(facts) + 2) {
			t.Run("tail", func(t *testing.T) { coveredInGap(t, r, g) })
		}
		assert.True(t, r.Alive())
	})
}

// changedInGap delivers one message to an agent of its own, and has one fact change and change back on the way.
func changedInGap(t *testing.T, r *rig, g *gaps, ch change, moment string) {
	name := ch.fact + "-" + moment
	banner := "40" // a history that can be cleared
	if ch.flat {
		banner = "0"
	}
	a := r.adopted(name, "--reply", "none", "--banner", banner)
	before := "" // what the pane had received by the time of the change
	g.plan(a.pane, moment, func() {
		ch.change(a)
		before = string(a.bytes())
	})
	id := r.post(a, "hello")
	want, text := ch.paste, "[tester] (0): hello"
	typed := ""
	if moment == "enter" {
		want, typed = ch.enter, text
	}
	r.waitFor(name+": the change", func() bool { return g.came(a.pane, moment) })
	if want != "" {
		r.waitFor(name+": "+want, func() bool { return r.last(id) == want })
		also, _, _ := strings.Cut(ch.also, "\x7f")
		assert.Equal(t, typed+also, string(a.bytes()), "%s: before the change %q", name, before)
		assert.Empty(t, a.received())
	}
	if ch.mend != nil && want != "" {
		ch.mend(a)
	}
	if strings.HasPrefix(want, "failed") {
		assert.Equal(t, message.Submitted, r.send(a, "hello", "", tmuxtest.Patience).State)
	} else {
		r.waitFor(name+": delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
	}
	tmuxtest.WaitFor(t, "Enter", func() bool { return len(a.received()) == 1 })
	if ch.mend != nil && want == "" {
		ch.mend(a)
	}
	if moment == "enter" {
		assert.Equal(t, text+ch.also+"\r", string(a.bytes()), name)
	} else {
		assert.Equal(t, ch.also+text+"\r", string(a.bytes()), name)
	}
	// The refusal left a trace: the look after it decided, not this one.
	trail := strings.Join(r.trail(id), ", ")
	if moment == "paste" {
		assert.Contains(t, trail, "held: pane changed while we looked", name)
	} else {
		assert.GreaterOrEqual(t, strings.Count(trail, "typed"), 3, "%s: leave for the paste, for the Enter that was refused, and for Enter: %s", name, trail)
	}
	assert.Empty(t, r.Run("list-buffers"))
}

// coveredInGap draws something over our text, and leaves all other facts as they are.
func coveredInGap(t *testing.T, r *rig, g *gaps) {
	a := r.adopted("covered", "--reply", "none")
	text := "[tester] (0): hello"
	draw := func(what string) {
		cover := fmt.Sprintf(`:raw \x1b7\r\x1b[K%s\x1b8`, what)
		if err := persona.Control(a.control, cover); err != nil {
			t.Error(err)
		}
		a.WaitForText(a.pane, strings.TrimSpace(what))
	}
	g.plan(a.pane, "enter", func() { draw("Really delete everything?") })
	id := r.post(a, "hello")
	r.waitFor("the change", func() bool { return g.came(a.pane, "enter") })
	r.stays(func() bool { return len(a.received()) == 0 })
	assert.Equal(t, text, string(a.bytes()), "no Enter")
	draw("covered> " + text)
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
	assert.Equal(t, text+"\r", string(a.bytes()))
}

// endedInGap ends the agent: another one is put in its place, or its pane is dead.
func endedInGap(t *testing.T, r *rig, g *gaps, how, moment string) {
	name := how + "-" + moment
	a := r.adopted(name, "--reply", "none")
	r.Run("set-option", "-w", "-t", a.pane, "remain-on-exit", "on")
	var other *agent
	g.plan(a.pane, moment, func() {
		if how == "pid" {
			// All else is as it was: size, cursor, history, prompt and, for Enter, the text.
			other = r.agentOf(name + "2")
			other.prompt, other.pane = a.prompt, a.pane
			r.Run(append([]string{"respawn-pane", "-k", "-t", a.pane}, other.command()...)...)
			tmuxtest.WaitFor(t, "it reads keys", func() bool { return other.count(persona.EventReady) > 0 })
			if moment == "enter" {
				if err := persona.Control(other.control, ":draft [tester] (0): hello"); err != nil {
					t.Error(err)
				}
				r.WaitForText(a.pane, "hello")
			}
			r.WaitForText(a.pane, strings.TrimSpace(a.prompt))
			return
		}
		if err := syscall.Kill(a.session.Foreground.PID, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		r.WaitForFact(a.pane, "#{pane_dead}", "1")
	})
	id := r.post(a, "hello")
	want := "failed: agent gone"
	if moment == "enter" {
		want = "uncertain: agent gone"
	}
	r.waitFor(name+": "+want, func() bool { return r.last(id) == want })
	assert.True(t, g.came(a.pane, moment))
	assert.Empty(t, a.received())
	if other != nil {
		assert.Empty(t, other.bytes(), "the process that has the pane now")
	}
	require.True(t, r.Alive(), "the server")
	r.Run("kill-window", "-t", a.pane)
}

// A pane dies right before a paste or an Enter, with nothing but the test inside the server between them: nothing is
// typed, and the server survives.
func TestS8_H26_PasteMeetsADeadPane(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		g := &gaps{}
		r := newRigOn(t, v, g.option())
		for _, moment := range []string{"paste", "enter"} {
			endedInGap(t, r, g, "dead", moment)
		}
		// A pane that died long before.
		a := r.adopted("late", "--reply", "none")
		r.Run("set-option", "-w", "-t", a.pane, "remain-on-exit", "on")
		a.kill()
		r.WaitForFact(a.pane, "#{pane_dead}", "1")
		sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "hello", Timeout: tmuxtest.Patience})
		if err == nil {
			assert.Equal(t, "failed: agent gone", r.last(sent.Message))
		}
		assert.True(t, r.Alive())
	})
}

// After the leave to type was given, the sidecar looks at the processes once more: facts that tmux cannot compare may
// have changed while the journal was written.
func TestS20_WhatTmuxCannotSeeChangesInTheGap(t *testing.T) {
	t.Parallel()
	g := &gaps{}
	r := newRig(t, g.option())
	for _, moment := range []string{"paste", "enter"} {
		t.Run(moment, func(t *testing.T) {
			a := r.adopted("Ada"+moment, "--cooked", "--reply", "none")
			tty := r.Fact(a.pane, "#{pane_tty}")
			stty := func(mode string) {
				r.Run("run-shell", "stty "+mode+" <"+tty)
			}
			g.plan(a.pane, moment+" unchecked", func() { stty("-echo") })
			id := r.post(a, "hello")
			r.waitFor("held", func() bool { return r.last(id) == "held: terminal does not echo (a password prompt?)" })
			r.stays(func() bool { return len(a.bytes()) == 0 })
			stty("echo")
			r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
			assert.Equal(t, "[tester] (0): hello\n", string(a.bytes()))
		})
	}
}

// When our text has arrived, a dialog opens or somebody types: Enter is withheld.
func TestS21_EnterIsWithheldFromWhatOpensOnThePaste(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, flag string
		want       string // in the trail
		mend       func(a *agent)
		submitted  string // "": never
	}{
		{
			"a person's words", "draft", "held: draft in the composer",
			func(a *agent) { a.Run("send-keys", "-t", a.pane, "C-u") }, "",
		},
		{
			"full screen", "alt", "held: a full-screen program is shown",
			func(a *agent) { a.do(":alt off") }, "[tester] (0): hello",
		},
		// The words depend on which look sees it first, the one right after the paste or the next.
		{"another prompt", "prompt", "uncertain: text was not seen ", nil, ""},
		{"a dialog of lines", `raw \r\nDelete everything? [y/N] `, "uncertain: text was not seen ", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.adopted("Ada", "--reply", "none", "--change-on-paste", tt.flag)
			id := r.post(a, "hello")
			r.waitFor(tt.want, func() bool { return strings.Contains(strings.Join(r.trail(id), ","), tt.want) })
			assert.Equal(t, "[tester] (0): hello", string(a.bytes()), "no Enter")
			assert.Empty(t, a.received())
			if tt.mend != nil {
				tt.mend(a)
			}
			if tt.submitted != "" {
				r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
				assert.Equal(t, []string{tt.submitted}, a.received())
				return
			}
			r.waitFor("uncertain", func() bool { return strings.HasPrefix(r.last(id), "uncertain") })
			assert.Empty(t, a.received(), "no Enter")
		})
	}
}

// Nobody sees words that a program has read and not drawn: if a person types them between our last look and our
// Enter, they go out with ours. No receipt calls that a delivery, and nothing is typed again.
func TestS21_WordsThatNobodySawAreTakenWithOurs(t *testing.T) {
	t.Parallel()
	g := &gaps{}
	r := newRig(t, g.option())
	a := r.adopted("Ada", "--reply", "none")
	g.plan(a.pane, "enter", func() {
		if err := persona.Control(a.control, ":unseen and a person's words"); err != nil {
			t.Error(err)
		}
	})
	id := r.post(a, "hello")
	r.waitFor("uncertain", func() bool { return r.last(id) == "uncertain: "+string(message.TakenTogether) })
	assert.Equal(t, []string{"[tester] (0): helloand a person's words"}, a.received())
	next := r.post(a, "and now")
	r.waitFor("the next one", func() bool { return strings.HasPrefix(r.last(next), "submitted") })
	assert.Equal(t, []string{"[tester] (0): helloand a person's words", "[tester] (0): and now"}, a.received())
	assert.Equal(t, "[tester] (0): hello\r[tester] (0): and now\r", string(a.bytes()))
}

// A body may have every character that JSON can carry: over both transports, the program gets only what the sanitiser
// leaves of it.
func TestS10_S21_EveryCharacter(t *testing.T) {
	t.Parallel()
	last := rune(0x100)
	if longTest() {
		last = 0x3000
	}
	eachTransport(t, func(t *testing.T, r *rig) {
		a := r.adopted("Ada", "--bracketed", "--reply", "none")
		var body, want strings.Builder
		for c := rune(1); c < 0x20; c++ {
			fmt.Fprintf(&body, "%02x%c", c, c)
			switch c {
			case 0x1b: // ESC 1 is a sequence
				fmt.Fprintf(&want, "%02x", c)
			case '\t', '\n':
				fmt.Fprintf(&want, "%02x%c", c, c)
			case '\r', '\v', '\f':
				fmt.Fprintf(&want, "%02x\n", c)
			default:
				fmt.Fprintf(&want, "%02x", c)
			}
		}
		for _, part := range []string{"; kill-server\n", "#(touch " + r.dir + "/touched) #{pid} %H %%", `'" \; $HOME`, "`id`", "~!@^&*()_+={}[]|:,.<>?/", "\\\n"} {
			body.WriteString(part)
			want.WriteString(part)
		}
		send := func(body string) string {
			before := len(a.bytes())
			sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: body, Wait: api.WaitSubmitted, Timeout: tmuxtest.Patience})
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(r.last(sent.Message), "submitted"), "%v\n%s", r.trail(sent.Message), a.screen())
			got, ok := strings.CutPrefix(string(a.bytes()[before:]), "\x1b[200~[tester] (0):\n\n")
			require.True(t, ok, "%q", a.bytes()[before:])
			got, ok = strings.CutSuffix(got, "\x1b[201~\r")
			require.True(t, ok, "%q\n%+v\n%s", got, r.receiptsOf(sent.Message), a.screen())
			for _, c := range got {
				if c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f && c <= 0x9f {
					t.Errorf("%U arrived", c)
				}
			}
			return got
		}
		assert.Equal(t, want.String(), send(body.String()))
		for c := rune(0x7f); c < last; c += 16 {
			var some strings.Builder
			for n := range rune(16) {
				if !unicode.IsPrint(c+n) && !unicode.In(c+n, unicode.Cc, unicode.Cf) {
					continue // unassigned: a terminal need not show it
				}
				fmt.Fprintf(&some, "<%c>\n", c+n) // some eat the rest of their line
			}
			send(some.String())
		}
		assert.NoFileExists(t, r.dir+"/touched")
		assert.True(t, r.Alive())
	})
}
