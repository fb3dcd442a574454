package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// The sidecar is killed at each step of typing into an agent. The next one delivers the message once, goes on with
// the chat, and relays no answer twice.
func TestV8_KilledAtEachStepOfAnAgent(t *testing.T) {
	t.Parallel()
	for k, kind := range coders {
		for i, moment := range moments {
			if moment != "entered" && moment != []string{"pasted", "enter"}[k] && !longTest() {
				continue // the line programs' test and the table cover the other steps
			}
			t.Run(kind+"/"+moment, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				require.NoError(t, r.end())
				a, b := r.line("A", bracketed...), r.coder(kind, "B")
				c := r.childKilled(moment)
				a.adopt("line-paste")
				b.adopt("")
				r.chat([]*agent{a, b}, unlimited...)
				text := "over\nand out" + texts[i/2%2][len("hello"):]
				b.ready()
				a.do(":say %s", strings.ReplaceAll(text, "\n", `\n`))
				// The first typing is the one into B: nothing is said to A yet.
				r.dies(c)
				r.start()
				b.gets("[A] (1):\n\n" + text)
				a.do(":say next")
				b.gets("[A] (1):\n\nnext")
				r.waitFor("answers", func() bool { return len(b.said()) > 0 && b.count(persona.EventReady) == len(b.received())+1 })
				answers := b.said()
				a.gets("[B] (2):\n\n" + answers[len(answers)-1])
				r.waitFor("nothing under way", func() bool { return r.open() == 0 })
				assert.Equal(t, []string{"[A] (1):\n\n" + text, "[A] (1):\n\nnext"}, partsOf(b), "each once, in order")
				for _, words := range answers { // an answer that came while no sidecar ran may be lost
					assert.LessOrEqual(t, count(partsOf(a), "[B] (2):\n\n"+words), 1, "%q of %q", words, partsOf(a))
				}
				for _, receipt := range r.receipts() {
					assert.NotContains(t, []message.ReceiptState{message.Uncertain, message.Failed}, receipt.State, told(receipt))
				}
			})
		}
	}
}

// The transcript tells the next sidecar what an agent took while none ran. A pasted message that a person sent counts
// as submitted, and is not typed again. One that the person took away or added to is not typed again either.
func TestV8_TakenWhileNoSidecarRan(t *testing.T) {
	t.Parallel()
	for _, kind := range coders {
		for name, c := range map[string]struct {
			key   string
			told  string
			heard int
		}{
			"sent":       {"Enter", "submitted", 1},
			"taken away": {"C-u", "uncertain", 0},
			"added to":   {"x", draftHeld, 0},
		} {
			if name != "sent" && !longTest() {
				continue // the table covers them: "never seen" and "words beside it", of an earlier life
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				require.NoError(t, r.end())
				child := r.childKilled("pasted")
				a := r.coder(kind, "Ada", silent...)
				a.adopt("")
				_, _ = r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "hello"})
				r.dies(child)
				r.waitFor("our text", func() bool { return a.count(persona.EventPaste) == 1 })
				a.types("", c.key)
				r.waitFor("the keys", func() bool {
					_, after, pasted := strings.Cut(string(a.bytes()), "\x1b[201~")
					return pasted && after != "" && len(a.received()) == c.heard
				})
				a.do(":draft ") // when this is done, the agent has acted on the keys too
				before := string(a.bytes())
				r.start()
				id := r.idOf("hello")
				defer func() {
					if t.Failed() {
						t.Logf("%+v\n%+v\n%s\n%q", r.receiptsOf(id), a.explain(), a.screen(), a.bytes())
					}
				}()
				r.told(id, c.told)
				r.looked(func() bool { return string(a.bytes()) == before })
				if c.heard == 1 {
					assert.Equal(t, []string{hello}, a.received())
					assert.Equal(t, "transcript", r.evidenceOf(id, message.Submitted).Source)
					next := r.post(a, "next")
					r.told(next, "submitted")
				}
			})
		}
	}
}

// A sidecar is killed in the middle of an agent's turn. The next one relays the words of that turn once, and nothing
// of the turns before it.
func TestR17_TurnOverTheEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, r.end())
			c := r.child()
			a, ben := r.coder(kind, "Ada", silent...), r.adopted("Ben", bracketed...)
			a.adopt("")
			r.chat([]*agent{a, ben}, unlimited...)
			a.do(":turn say of before")
			ben.do(":say begin")
			ben.gets("[Ada] (1):\n\nof before")
			a.do(":turn stream over the end")
			ben.do(":say question")
			a.gets("[Ben] (2):\n\nquestion")
			id := r.idOf("question")
			r.told(id, "submitted")
			kill(t, c)
			r.start()
			r.waitFor("it still works", func() bool { return r.state(a) == message.Working })
			a.do(":go")
			ben.gets("[Ada] (1):\n\nover the end")
			a.do(":turn say of after")
			ben.do(":say and now")
			ben.gets("[Ada] (1):\n\nof after")
			var all []string
			for _, one := range []string{"of before", "over the end", "of after"} {
				all = append(all, fmt.Sprintf("[Ada] (1):\n\n%s", one))
			}
			assert.Equal(t, all, partsOf(ben))
			assert.Equal(t, 3, len(slices.Compact(a.received())))
		})
	}
}

// A sidecar is killed while its text stands in a composer, behind a dialog or after an Enter that did nothing. The
// next one goes on from there, and types neither the text nor Enter twice.
func TestV8_KilledWhileOurTextStands(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: it stands, covered", "pane/core_test.go: Enter came, too")
	for _, kind := range coders {
		for moment, c := range map[string]struct{ before, told, mend, after string }{
			"pasted":  {":dialog paste true", dialogHeld, "Escape", "submitted"},
			"entered": {":swallow 1", "", "Enter", "submitted"},
		} {
			if (moment == "pasted") != (kind == "claude") && !longTest() {
				continue // the other agent's part
			}
			t.Run(kind+"/"+moment, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				require.NoError(t, r.end())
				child := r.childKilled(moment)
				a := r.coder(kind, "Ada", silent...)
				a.adopt("")
				a.do("%s", c.before)
				_, _ = r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "hello"})
				r.dies(child)
				r.waitFor("our text", func() bool { return a.count(persona.EventPaste) == 1 })
				entered := 0
				if moment == "entered" {
					entered = 1
					r.waitFor("Enter", func() bool { return a.enters() == 1 })
				}
				r.start()
				id := r.idOf("hello")
				if c.told != "" {
					r.told(id, c.told)
				}
				r.looked(func() bool { return a.enters() == entered && len(a.received()) == 0 })
				a.types("", c.mend)
				r.told(id, c.after)
				assert.Equal(t, []string{hello}, a.received())
				assert.Equal(t, 1, a.count(persona.EventPaste))
			})
		}
	}
}
