package daemon_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// When the agent has gone, and the shell from which it was started is there again, nothing is typed into the shell.
func TestLab_S4_H27_NothingIsTypedIntoTheShell(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, ben := l.alone(a)
		touched := filepath.Join(l.lab.Dir, "touched")
		body := "touch " + touched
		// A message is held for a dialog, and then the agent is killed, as by a crash.
		a.Prompt("please [[bash touch proof]]")
		a.WaitForDialog()
		id := l.tellAll(chat, body)
		l.waitTold(id, a, "held")
		session := a.session()
		killGroup(t, session.Foreground.PID)
		l.WaitForFact(a.Pane, "#{pane_current_command}", "sh")
		a.WaitFor("the prompt", prompted)
		l.until("the end of the session", func() bool { return a.session().ID == "" })
		trail := []string{}
		for _, r := range l.receiptsOf(id) {
			if r.Target == session.ID {
				trail = append(trail, told(r))
			}
		}
		assert.Equal(t, "held: agent gone", trail[len(trail)-1], "%q", trail)
		assert.NotContains(t, trail, "typed")
		assert.Equal(t, message.ChatOver, l.current(chat).State, "one is no chat")

		for _, to := range []string{a.Pane, string(session.ID), session.Name} {
			sent, err := l.client.Send(l.Context(), api.SendRequest{To: to, Text: body, Timeout: tmuxtest.Patience})
			if err == nil { // else it is known already that nobody is there
				l.until("the end of the message", func() bool { return l.last(sent.Message) == "failed: agent gone" })
			}
		}
		require.NoError(t, l.client.Ping(l.Context()))
		assert.True(t, prompted(a.screen()), "nothing stands behind the shell's prompt")
		assert.NoFileExists(t, touched)

		// A message is sent to an agent that has died before the sidecar could know.
		again := l.agent(a.Kind)
		require.NotEmpty(t, l.begin("", []string{again.Pane, ben.pane}).ID)
		killGroup(t, again.session().Foreground.PID)
		sent, err := l.client.Send(l.Context(), api.SendRequest{To: again.Pane, Text: body, Timeout: tmuxtest.Patience})
		if err == nil { // the sidecar may see the shell in front first
			l.until("the end of the message", func() bool { return l.last(sent.Message) == "failed: agent gone" })
			assert.NotContains(t, l.trail(sent.Message), "typed")
		}
		l.WaitForFact(again.Pane, "#{pane_current_command}", "sh")
		again.WaitFor("the prompt", prompted)
		l.stays(func() bool { return prompted(again.screen()) && !exists(touched) })
	})
}

// prompted reports whether the cursor stands right behind a shell's prompt, anywhere among what a killed agent has
// left on the screen.
func prompted(s labtest.Screen) bool {
	row := []rune(s.Plain[s.CursorY] + " ")
	return s.CursorX >= 2 && s.CursorX <= len(row) && string(row[s.CursorX-2:s.CursorX]) == "$ "
}

// A person's draft is neither sent, merged nor lost: a message waits until the person has sent or cleared it.
func TestLab_S5_S6_H23_DraftIsLeftAlone(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, _ := l.alone(a)
		// Text that the agent itself shows in an empty composer is no draft.
		ghost := func() string {
			s := a.screen()
			row := s.Plain[s.CursorY]
			if a.Kind == labtest.Gemini {
				i := slices.IndexFunc(s.Plain, func(row string) bool { return strings.Contains(row, "Type your message") })
				row = s.Plain[max(i, 0)]
			}
			return strings.TrimSpace(strings.TrimLeft(row, "❯›┃ \u00a0"))
		}
		if a.Kind == labtest.Claude { // it offers to send a prompt again that its service did not take
			a.Prompt("[[error 529]]")
			a.WaitForStill(4 * labtest.Stillness)
			a.WaitForIdle()
		}
		l.until("ghost text", func() bool { return ghost() != "" })
		l.until("idle", func() bool { return a.session().State == message.Idle })
		e := a.explain()
		assert.True(t, e.MayType && e.WouldType, "%+v", e)
		assert.Empty(t, e.Composer.Text)
		id := l.tellAll(chat, "[[say hello]]")
		l.waitTold(id, a, "answered")
		heard := a.heard()
		assert.Equal(t, attributed("tester", 0, []string{"[[say hello]]"})[0], heard[len(heard)-1], "without what was shown")
		a.WaitForIdle()

		long := strings.TrimSpace(strings.Repeat("a long pasted line\n", 30))
		for i, draft := range []struct {
			name, text string
			by         func(text string)
			sent       bool
		}{
			{"cleared", "rm -rf my-draft-not-ready", func(text string) { a.Keys("-l", text) }, false},
			{"sent", "half a thought [[say of your own]]", func(text string) { a.Keys("-l", text) }, true},
			{"with its cursor at the start", "half a line", func(text string) {
				a.Keys("-l", text)
				a.WaitForText(text)
				a.Keys("C-a")
				a.WaitForStill(labtest.Stillness)
			}, false},
			{"of two lines", "one [[say two lines]]\ntwo", a.Paste, true},
			{"of many", long, a.Paste, false},
		} {
			draft.by(draft.text)
			first, _, _ := strings.Cut(draft.text, "\n")
			a.WaitFor("the draft", func(s labtest.Screen) bool { return s.Contains(first) || s.Contains("[Pasted") })
			a.WaitForStill(labtest.Stillness)
			was, heard := composed(a, draft.text), len(a.Received())
			body := fmt.Sprintf("behind the draft %d [[say yes %d]]", i, i)
			id := l.tellAll(chat, body)
			l.waitTold(id, a, "held: draft in the composer")
			for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				require.Equal(t, was, composed(a, draft.text), draft.name)
			}
			assert.Len(t, a.Received(), heard, draft.name)
			want := attributed("tester", 0, []string{body})
			if draft.sent {
				a.Keys("Enter")
				want = append([]string{draft.text}, want...)
			} else {
				a.clear()
			}
			l.waitTold(id, a, "answered")
			assert.Equal(t, want, a.heard()[heard:], draft.name)
			trail := l.trailTo(id, a)
			assert.Equal(t, 1, count(trail, "submitted"), "%s: %q", draft.name, trail)
		}
	}, labtest.Environ("CLAUDE_CODE_MAX_RETRIES=0"))
}

// composed is what an agent shows of a draft, and where its cursor stands. Codex moves its composer up and down as it
// likes.
func composed(a *labAgent, draft string) (shown []string) {
	s := a.screen()
	for y, row := range s.Plain {
		for line := range strings.SplitSeq(draft, "\n") {
			if strings.Contains(row, line) || strings.Contains(row, "[Pasted") {
				if a.Kind != labtest.Gemini { // the cursor of its terminal stands anywhere
					row = fmt.Sprintf("%d %s", y-s.CursorY, row)
				}
				shown = append(shown, strings.TrimSpace(row))
				break
			}
		}
	}
	if a.Kind != labtest.Gemini {
		shown = append(shown, fmt.Sprint(s.CursorX))
	}
	return shown
}

// clear removes a draft of any length, by hand.
func (a *labAgent) clear() {
	a.l.Helper()
	a.Keys("C-e")
	var pressed time.Time
	a.l.until("the draft to be gone", func() bool {
		// An agent that is late reads keys that come too fast all at once, and takes them for no keys.
		if now := time.Now(); now.Sub(pressed) > labtest.Stillness/4 {
			pressed = now
			a.Keys("C-u", "C-u", "BSpace", "BSpace")
		}
		return a.Idle()
	})
}

// Modes of tmux hold the message, a zoomed pane is served as ever, and a message to a window whose panes are
// synchronised fails. No other pane gets a byte.
func TestLab_S7_H24_H25_ModesOfTmux(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, _ := l.alone(a)
		beside := l.NewRecorder(false)
		l.rig.Run("join-pane", "-d", "-l", "3", "-s", beside.Pane, "-t", a.Pane)
		p := l.person(a.Pane)
		l.rig.Run("select-pane", "-t", a.Pane)
		a.WaitForIdle()
		var want []string
		for i, mode := range [][]string{{"copy-mode"}, {"choose-tree"}} {
			l.rig.Run(append(mode, "-t", a.Pane)...)
			l.WaitForFact(a.Pane, "#{pane_in_mode}", "1")
			body := fmt.Sprintf("in a mode %d [[say yes]]", i)
			id := l.tellAll(chat, body)
			l.waitTold(id, a, "held: pane in a mode")
			l.stays(func() bool { return len(a.Received()) == len(want) && l.Fact(a.Pane, "#{pane_in_mode}") == "1" })
			p.keys("q")
			l.waitTold(id, a, "answered")
			want = append(want, attributed("tester", 0, []string{body})...)
			assert.Equal(t, want, a.heard(), "once, behind %s", mode)
		}
		l.rig.Run("resize-pane", "-Z", "-t", a.Pane)
		l.waitTold(l.tellAll(chat, "zoomed [[say yes]]"), a, "answered")
		l.rig.Run("resize-pane", "-Z", "-t", a.Pane)
		want = append(want, attributed("tester", 0, []string{"zoomed [[say yes]]"})...)

		l.rig.Run("set-option", "-w", "-t", a.Pane, "synchronize-panes", "on")
		id := l.mail(a, "to all panes")
		l.waitTold(id, a, "failed: synchronised window")
		l.rig.Run("set-option", "-w", "-t", a.Pane, "synchronize-panes", "off")
		assert.Equal(t, want, a.heard())
		assert.Empty(t, beside.Bytes(), "the other pane of the window")
		assert.True(t, l.Alive())
	})
}

// An agent ends right before the paste, and tmux keeps its pane. A paste there would take this version of tmux down:
// it does not come, and the message is held.
func TestLab_H26_PaneOfADeadAgent(t *testing.T) {
	eachLabKind(t, func(t *testing.T, kind labtest.Kind) {
		g := &gaps{}
		l := newLab(t, []labtest.Kind{kind}, g.option())
		l.rig.Run("set-option", "-g", "remain-on-exit", "on")
		a := &labAgent{l: l, Agent: l.lab.Start(l.Server, kind)}
		chat, _ := l.alone(a)
		session := a.session()
		g.plan(a.Pane, "paste", func() { // at the very last moment
			_ = syscall.Kill(a.PID, syscall.SIGKILL)
			for end := time.Now().Add(tmuxtest.Patience); time.Now().Before(end); {
				if out, err := l.Try("display-message", "-p", "-t", a.Pane, "#{pane_dead}"); err != nil || out == "1" {
					return
				}
			}
		})
		id := l.tellAll(chat, "hello")
		l.until("held", func() bool {
			for _, r := range l.receiptsOf(id) {
				if r.Target == session.ID && told(r) == "held: agent gone" {
					return true
				}
			}
			return false
		}, func() any { return l.trail(id) })
		assert.Equal(t, "1", l.Fact(a.Pane, "#{pane_dead}"))
		assert.True(t, g.came(a.Pane, "paste"))
		assert.True(t, l.Alive(), "the tmux server lives")
		assert.Empty(t, a.Received())
	})
}
