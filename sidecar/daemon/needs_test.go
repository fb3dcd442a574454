package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
)

// statusLine returns the text of the status line.
func (r *rig) statusLine() string {
	return strings.TrimSuffix(r.Run("display-message", "-p", "#{"+service.StatusOption+"}"), "\n")
}

// The status line names what a person must do: answer a question or a dialog, even if no message waits behind it,
// or deal with a draft that holds a message back. It is empty again when that is done. The list of needs and the
// list of waits name the question and the dialog too.
func TestU20_StatusLineNamesWhoNeedsYou(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		says := func(want string) {
			t.Helper()
			r.waitFor(fmt.Sprintf("the status line says %q", want), func() bool { return r.statusLine() == want })
		}
		for i, one := range []struct {
			verb, words string
			kind        message.WaitKind
		}{{"ask Which colour?", "question", message.WaitQuestion}, {"dialog rm build", "dialog", message.WaitDialog}} {
			a.do(":turn %s | say thanks", one.verb)
			a.types("task", "Enter")
			r.waitFor("it asks", func() bool { return a.count(persona.EventDialog) == i+1 })
			says(a.name + ": " + one.words)
			status, err := r.client.Status(t.Context())
			assert.NoError(t, err)
			assert.Equal(t, []api.Need{{For: one.words, Name: a.name, Pane: a.pane}}, status.Needs)
			waits, err := api.Call(t.Context(), r.client.Client, api.ListWaits, api.None{})
			assert.NoError(t, err)
			if assert.Len(t, waits, 1) {
				assert.Equal(t, one.kind, waits[0].Kind)
				assert.Equal(t, a.pane, waits[0].Pane)
				assert.NotEmpty(t, waits[0].Evidence)
				assert.NotEmpty(t, waits[0].Next)
				t.Logf("%+v", waits[0])
			}
			a.types("", "Enter")
			says("")
		}

		a.types("half a line ")
		id := r.post(a, "hello")
		r.told(id, draftHeld)
		says(a.name + ": your draft")
		a.types("", "C-u")
		r.told(id, "submitted")
		says("")
	}, silent...)
}

// A message that waits for a working agent is nothing that a person must do, so the status line of a healthy chat
// shows no hold.
func TestU20_HealthyChatShowsNoHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", "--reply", "done {n}", "--think", "1500ms")
	r.chatSaying("begin", []*agent{a, b})
	for range 3 {
		id := r.post(b, "more")
		r.told(id, "held: agent working")
		assert.Equal(t, "1 chat", r.statusLine())
		r.told(id, "submitted")
	}
}
