package daemon_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

const (
	dialogHeld = "held: a dialog or a panel is open"
	draftHeld  = "held: draft in the composer"
)

// hello is what an agent receives when a person says "hello".
const hello = "[tester] (0):\n\nhello"

// texts are one that an agent shows in its composer, and one for which it shows only a mark.
var texts = []string{"hello", "hello" + strings.Repeat("\nand more of it", 80)}

// eachCoderGap is eachCoder with gaps that a test can plan.
func eachCoderGap(t *testing.T, test func(t *testing.T, r *rig, g *gaps, a *agent), flags ...string) {
	t.Helper()
	ofCodersGap(t, coders, test, flags...)
}

// aCoderGap is eachCoderGap for the agents of inTurn.
func aCoderGap(t *testing.T, test func(t *testing.T, r *rig, g *gaps, a *agent), flags ...string) {
	t.Helper()
	ofCodersGap(t, inTurn(t), test, flags...)
}

func ofCodersGap(t *testing.T, kinds []string, test func(t *testing.T, r *rig, g *gaps, a *agent), flags ...string) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := &gaps{}
			r := newRig(t, g.option())
			a := r.coder(kind, "Ada", append([]string{"--reply", "none"}, flags...)...)
			a.adopt("")
			test(t, r, g, a)
		})
	}
}

// decides has a person send the second of the texts by hand, if Codex shows its mark alone again after other words:
// Codex does not number its marks, so this may be the mark of another paste. The message is held until then.
func (a *agent) decides(id message.ID, n int) {
	a.t.Helper()
	if a.session.Profile != "codex" || n == 0 {
		return
	}
	a.rig.told(id, draftHeld)
	a.looked(func() bool { return a.enters() == n })
	a.types("", "Enter")
}

// A dialog opens when our text has arrived, before our look or after it. Enter is withheld until the dialog is gone,
// and the dialog's command is not run.
func TestS3_H2_DialogBetweenPasteAndEnter(t *testing.T) {
	t.Parallel()
	aCoderGap(t, func(t *testing.T, r *rig, g *gaps, a *agent) {
		proof := r.dir + "/proof"
		for n, opens := range []func(){
			func() { a.do(":dialog paste touch %s", proof) },
			func() {
				g.plan(a.pane, "enter", func() {
					assert.NoError(t, persona.Control(a.control, ":dialog touch "+proof))
					a.waitFor("the dialog", func() bool { return r.Fact(a.pane, "#{?#{C:proof},1,0}") == "1" })
				})
			},
		} {
			opens()
			id := r.post(a, texts[n])
			r.told(id, dialogHeld)
			r.looked(func() bool { return a.enters() == n })
			assert.Len(t, a.received(), n)
			assert.Equal(t, n+1, a.count(persona.EventDialog))
			assert.Equal(t, n, a.count(persona.EventAnswer))
			a.types("", "Escape")
			r.told(id, "submitted")
			assert.Equal(t, n+1, a.enters())
			require.Len(t, a.received(), n+1)
			assert.Equal(t, "[tester] (0):\n\n"+texts[n], a.received()[n])
		}
		assert.NoFileExists(t, proof)
		assert.Zero(t, a.count(persona.EventApproved))
	})
}

// A person's half-typed line is not touched. The message that waits is typed when the line is gone.
func TestS5_H23_DraftOfAPerson(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		a.types("rm -rf not-ready ")
		id := r.post(a, "hello")
		r.told(id, draftHeld)
		r.looked(func() bool { return string(a.bytes()) == "rm -rf not-ready " })
		assert.Equal(t, "rm -rf not-ready", strings.TrimSpace(a.explain().Composer.Text))
		a.types("", "C-u")
		r.told(id, "submitted")
		assert.Equal(t, []string{hello}, a.received())

		a.types("my own words")
		last := r.post(a, "hello")
		r.told(last, draftHeld)
		a.types("", "Enter")
		r.told(last, "submitted")
		assert.Equal(t, []string{hello, "my own words", hello}, a.received())
	}, silent...)
}

// A suggestion that the agent shows in its empty composer is no draft.
func TestS6_SuggestionIsNoDraft(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		r.told(r.post(a, "hello"), "submitted")
		assert.Equal(t, []string{hello}, a.received())
	}, "--reply", "none", "--ghost", "Try \"explain this\"")
}

// A person types beside our text, before our look or after it. Enter is withheld until their words are gone, and is
// then pressed once.
func TestS17_PersonTypesBesideOurText(t *testing.T) {
	t.Parallel()
	aCoderGap(t, func(t *testing.T, r *rig, g *gaps, a *agent) {
		for n, moment := range []string{"pasted", "enter"} {
			g.plan(a.pane, moment, func() {
				if moment == "pasted" {
					a.waitFor("our text", func() bool { return a.count(persona.EventPaste) == n+1 })
				}
				at := r.Fact(a.pane, "#{cursor_x}")
				a.types("wait")
				a.waitFor("the keys", func() bool { return r.Fact(a.pane, "#{cursor_x}") != at })
			})
			id := r.post(a, texts[n])
			r.told(id, draftHeld)
			assert.True(t, g.came(a.pane, moment))
			r.waitFor("they are told, once", func() bool {
				return strings.Count(strings.Join(r.notices(), "\n"), "is in its composer next to your draft") == n+1
			})
			r.looked(func() bool { return a.enters() == n })
			a.types("", "BSpace", "BSpace", "BSpace", "BSpace")
			a.decides(id, n)
			r.told(id, "submitted")
			assert.Equal(t, n+1, a.enters())
			assert.Equal(t, n+1, a.count(persona.EventPaste), "not pasted again")
			require.Len(t, a.received(), n+1)
			assert.Equal(t, "[tester] (0):\n\n"+texts[n], a.received()[n])
		}
	})
}

// At its start, an agent may draw its composer before it turns on bracketed paste, and would read a text as keys.
// From 3.7 on, tmux tells whether bracketed paste is on, and the text waits for it.
func TestComposerBeforePastesAreTaken(t *testing.T) {
	t.Parallel()
	all := tmuxtest.Versions(t)
	newest := all[len(all)-1]
	if !newest.AtLeast(3, 7) {
		t.Skipf("tmux %s does not tell whether bracketed paste is on: .ci/tmuxes installs 3.7 and later", newest.Name)
	}
	for _, kind := range coders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRigOn(t, newest)
			a := r.coder(kind, "Ada", silent...)
			a.adopt("")
			a.do(":bracketed off")
			a.WaitForFact(a.pane, "#{bracket_paste_flag}", "0")
			id := r.post(a, "hello")
			r.told(id, "held: screen not recognised")
			e, err := r.client.Explain(t.Context(), api.ExplainRequest{Pane: a.pane})
			require.NoError(t, err)
			assert.False(t, e.WouldType)
			assert.True(t, slices.ContainsFunc(e.Evidence, func(g message.Ground) bool { return g.Says == "bracketed paste is off" }), "%+v", e.Evidence)
			assert.Empty(t, a.bytes())
			a.do(":bracketed on")
			r.told(id, "submitted")
			assert.Equal(t, []string{hello}, a.received())
			assert.Equal(t, 1, a.count(persona.EventPaste))
		})
	}
}

// A dialog that is open when a message comes holds the message. Nothing is typed, and only the person answers the
// dialog.
func TestS2_H1_H3_OpenDialogsHold(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: a dialog", "pane/core_test.go: a dialog opens")
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		proof := r.dir + "/proof"
		for n, asks := range []struct{ turn, answer string }{
			{"dialog touch " + proof, "Escape"}, {"ask Which colour?", "Enter"}, {"dialog touch " + proof, "Enter"},
		} {
			a.do(":turn %s | say thanks", asks.turn)
			a.types(fmt.Sprintf("task %d", n), "Enter")
			r.waitFor("it asks", func() bool { return a.count(persona.EventDialog) == n+1 })
			before := len(a.bytes())
			id := r.post(a, "hello")
			r.told(id, dialogHeld)
			if n == 0 {
				r.looked(func() bool { return len(a.bytes()) == before })
			}
			assert.Len(t, a.bytes(), before)
			assert.Equal(t, n, a.count(persona.EventAnswer))
			assert.NoFileExists(t, proof)
			a.types("", asks.answer)
			r.told(id, "submitted")
		}
		assert.Equal(t, []string{"task 0", hello, "task 1", hello, "task 2", hello}, a.received())
		assert.FileExists(t, proof, "the person's yes, the last time")
		assert.Equal(t, 1, a.count(persona.EventApproved))
	}, silent...)
}

// An agent that has started programs is still typed into, even if one of them is a shell. A program that has the
// agent's terminal, as an editor would, holds messages.
func TestProgramsOfAnAgent(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		over := r.dir + "/over"
		wait := "while ! test -e " + over + "; do sleep 0.05; done"
		a.do(":run %s", wait)
		r.told(r.post(a, "hello"), "submitted")
		require.NoError(t, os.WriteFile(over, nil, 0o600))
		r.waitFor("its end", func() bool { return a.count(persona.EventChildEnd) == 1 })
		require.NoError(t, os.Remove(over))

		a.do(":exec %s", wait)
		before := len(a.bytes())
		id := r.post(a, "hello")
		r.told(id, "held: another program is in front")
		assert.Len(t, a.bytes(), before)
		require.NoError(t, os.WriteFile(over, nil, 0o600))
		r.told(id, "submitted")
		assert.Equal(t, []string{hello, hello}, a.received())
	}, silent...)
}
