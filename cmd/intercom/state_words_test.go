package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A message that was sent to another computer is "on its way", not typed, until that computer says that it was typed.
func TestStateWords_onItsWayToAnotherComputer(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{env: env{Stdout: &out}}
	r := message.Receipt{Message: message.NewID(), Delivery: message.NewID(), State: message.Typed, Door: message.DoorLink}
	sent := api.Sent{Message: r.Message, Receipt: r}
	a.showSent(sent)
	assert.Equal(t, string(r.Message)+" on its way\n", out.String())
	assert.EqualError(t, a.judge(sent, api.WaitSubmitted), "not taken in time: still on its way")
	head, _ := (&teller{app: a}).line(message.Event{Receipt: &r})
	assert.True(t, strings.HasSuffix(head, ": on its way"), head)
	assert.Equal(t, "on its way", heldState(api.Held{Waiting: api.Waiting{State: message.Typed, Door: message.DoorLink}}))

	r.Door = ""
	out.Reset()
	a.showSent(api.Sent{Message: r.Message, Receipt: r})
	assert.Equal(t, string(r.Message)+" typed\n", out.String())
}

// A message that was submitted but will not be answered is not reported as failed only: its program has it.
func TestStateWords_takenAndNotAnswered(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{env: env{Stdout: &out}}
	sent := api.Sent{Message: message.NewID(), Receipt: message.Receipt{State: message.Failed, Reason: message.AgentGone}, Gone: string(message.AgentGone)}
	a.showSent(sent)
	assert.Equal(t, string(sent.Message)+" submitted, and not answered: agent gone\n", out.String())
	err := a.judge(sent, api.WaitAnswered)
	assert.EqualError(t, err, "submitted, and not answered: agent gone")
	assert.Equal(t, 1, api.AsError(err).Code.Exit())
}

// A text that already stands in the composer is not announced to be typed later.
func TestStateWords_standsAlready(t *testing.T) {
	t.Parallel()
	a := &app{}
	r := message.Receipt{State: message.Held, Reason: message.AgentWorking}
	hint := func() string { return api.AsError(a.judge(api.Sent{Receipt: r}, api.WaitSubmitted)).Hint }
	assert.Contains(t, hint(), "it is typed as soon as that is over")
	r.Evidence = []message.Evidence{{Source: "screen", Says: "our text stands in the composer"}}
	assert.Contains(t, hint(), "it is typed already, and gets its Enter as soon as that is over")
}

// A delivery that another one has replaced is "superseded", not failed, and is shown only where every step is.
func TestStateWords_superseded(t *testing.T) {
	t.Parallel()
	e := message.Event{Receipt: &message.Receipt{Message: message.NewID(), Delivery: message.NewID(), State: message.Failed, Reason: message.DecidedAnew}}
	head, _ := (&teller{}).line(e)
	assert.True(t, strings.HasSuffix(head, ": superseded: decided anew"), head)
	for one, want := range map[*teller]bool{{}: false, {detail: steps}: true} {
		shown, _ := one.shows(e)
		assert.Equal(t, want, shown)
	}
}

// A reason that begins with "waiting" gets no second "waiting" before it.
func TestStateWords_waitingFor(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "waiting for approval", waitingFor(message.AwaitingApproval))
	assert.Equal(t, "waiting: draft in the composer", waitingFor(message.InComposer))
}

// A reserved word is no name. A session of another computer is COMPUTER/SESSION; SESSION@COMPUTER is refused, and the hint says so.
func TestNames_ofSessions(t *testing.T) {
	t.Parallel()
	assert.ErrorContains(t, checkName("system"), "reserved")
	assert.NoError(t, atComputer("ada"))
	assert.NoError(t, atComputer("desk/Dee"))
	assert.NoError(t, atComputer("@3"))
	assert.Contains(t, api.AsError(atComputer("Dee@desk")).Hint, "desk/Dee")
}
