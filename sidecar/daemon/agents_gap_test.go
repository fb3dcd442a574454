package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// Whatever changes in an agent's pane between the look and the paste, or between the look
// and Enter: what was judged is not typed on, and once all is as it should be it is typed
// once.
func TestFactsOfAnAgentsPaneInTheGap(t *testing.T) {
	t.Parallel()
	tmux := func(words ...string) func(a *agent) {
		return func(a *agent) { a.Run(append([]string{words[0], "-t", a.pane}, words[1:]...)...) }
	}
	tell := func(command string) func(a *agent) {
		return func(a *agent) {
			if err := persona.Control(a.control, command); err != nil {
				a.t.Error(err)
			}
		}
	}
	all := []struct {
		fact         string
		change, mend func(a *agent)
		paste, enter string // what is told then; "": it goes on by itself
	}{
		{"mode", tmux("copy-mode"), tmux("send-keys", "-X", "cancel"), "held: pane in a mode", "held: pane in a mode"},
		{"inputoff", tmux("select-pane", "-d"), tmux("select-pane", "-e"), "held: input of the pane is off", "held: input of the pane is off"},
		{"size", tmux("resize-window", "-x", "60", "-y", "20"), nil, "", ""},
		{"question", tell(":ask Which colour?"), tmux("send-keys", "Escape"), dialogHeld, dialogHeld},
	}
	eachCoderGap(t, func(t *testing.T, r *rig, g *gaps, a *agent) {
		n := 0
		for i, ch := range all {
			for moment, want := range map[string]string{"paste": ch.paste, "enter": ch.enter} {
				if ((moment == "paste") == (a.session.Profile == "claude")) == (i%2 == 0) && !longTest() {
					continue // of the other one
				}
				what := ch.fact + " before " + moment
				g.plan(a.pane, moment, func() {
					ch.change(a)
					if ch.fact == "question" {
						a.WaitForText(a.pane, "Which colour?")
					}
				})
				text := fmt.Sprintf("hello %d", n)
				id := r.post(a, text)
				r.waitFor(what, func() bool { return g.came(a.pane, moment) })
				if want != "" {
					r.told(id, want)
					assert.Equal(t, n, a.enters(), what)
					ch.mend(a)
				}
				r.told(id, "submitted")
				n++
				require.Len(t, a.received(), n, what)
				assert.Equal(t, "[tester] (0):\n\n"+text, a.received()[n-1])
				assert.Equal(t, n, a.enters(), what)
				assert.Equal(t, n, a.count(persona.EventPaste), what)
				g.forget()
			}
		}
		assert.True(t, r.Alive())
	})
}

// forget lets a moment be planned once more.
func (g *gaps) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.happens = nil
}

// A goroutine of an agent's pane that panics at any step of a typing begins anew, and so does
// the delivery: once.
func TestPanicInAnAgentsPane(t *testing.T) {
	t.Parallel()
	eachCoderGap(t, func(t *testing.T, r *rig, g *gaps, a *agent) {
		_, ben := a.inChat()
		for i, moment := range moments {
			if (i%2 == 0) == (a.session.Profile == "claude") && !longTest() {
				continue // of the other one
			}
			g.plan(a.pane, moment, func() { panic("on purpose: " + moment) })
			words := fmt.Sprintf("word %d", i)
			a.do(":turn say answer %d", i)
			ben.do(":say %s", words)
			a.gets("[Ben] (2):\n\n" + words)
			r.waitFor("nothing under way", func() bool { return r.open() == 0 })
			ben.gets(fmt.Sprintf("[Ada] (1):\n\nanswer %d", i))
		}
		assert.Equal(t, len(a.received()), len(ben.received()))
	})
}

// Enter needs leave of its own: of a chat that is paused while our text stands in an agent's
// composer, it comes when the chat goes on; of one that is over, never.
func TestEnterOfAnAgentNeedsLeave(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		chat, _ := a.inChat()
		for n, end := range []string{"pause", "stop"} {
			a.do(":dialog paste true")
			said, err := r.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: "hello " + end})
			require.NoError(t, err)
			state := func() string { return r.trails(said.Message)[a.session.ID] }
			r.waitFor("held", func() bool { return state() == dialogHeld })
			if end == "pause" {
				_, err = r.client.PauseChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
			} else {
				_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
			}
			require.NoError(t, err)
			a.types("", "Escape")
			r.looked(func() bool { return a.enters() == n })
			if end == "pause" {
				_, err = r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
				require.NoError(t, err)
				r.waitFor("delivered", func() bool { return state() == "submitted" || state() == "answered" })
				assert.Equal(t, 1, a.enters())
				assert.Equal(t, 1, a.count(persona.EventPaste), "pasted once")
				continue
			}
			r.waitFor("uncertain", func() bool { return strings.HasPrefix(state(), string(message.Uncertain)) })
			assert.Equal(t, 1, a.enters())
		}
		assert.Equal(t, []string{"[tester] (0):\n\nhello pause"}, a.received())
	}, silent...)
}

// An agent that does not read: what was typed may still wait in its terminal. It is uncertain,
// and nothing more is typed until it has shown itself and is gone.
func TestDeafAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ids := map[*agent]message.ID{}
	for _, kind := range inTurn(t) {
		a := r.coder(kind, kind, silent...)
		a.adopt("")
		a.do(":deaf")
		ids[a] = r.post(a, "hello")
	}
	next := map[*agent]message.ID{}
	for a, id := range ids {
		r.told(id, "uncertain: text was not seen in the composer")
		next[a] = r.post(a, "next")
	}
	for a := range ids {
		r.told(next[a], "held: our text stands in the composer")
		assert.Empty(t, a.bytes())
		a.do(":hear")
	}
	for a := range ids {
		r.told(next[a], draftHeld)
		assert.Equal(t, "\x1b[200~"+hello+"\x1b[201~", strings.ReplaceAll(string(a.bytes()), "\r", "\n"))
		a.types("", "Enter")
	}
	for a, id := range ids {
		r.told(next[a], "submitted")
		assert.Equal(t, []string{hello, "[tester] (0):\n\nnext"}, a.received(), "the first by the person")
		assert.Equal(t, "uncertain: text was not seen in the composer", r.last(id))
	}
}
