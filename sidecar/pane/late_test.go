package pane

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// listening is a relay that keeps what it is told.
type listening struct {
	noticing
	turns []message.Turn
}

func (l *listening) Spoke(_ context.Context, t message.Turn) error {
	l.turns = append(l.turns, t)
	return nil
}

// again is a pane of an agent of which an earlier life has submitted a delivery, a minute before noon.
func again(prof profile.Agent, d message.Delivery) (*Pane, *listening) {
	p, _, _ := atRest()
	l := &listening{}
	p.relay, p.client, p.prof, p.begun = l, watched{}, prof.Profile, noon
	a := p.account
	a.prof, a.who.Kind, a.told, a.bound = prof, agent.Kind(prof.Name), false, nil
	a.active.At, a.active.Keywords = prof.Active.At, prof.Active.Keywords
	p.inherited = []Submitted{{Delivery: d, Typed: noon.Add(-time.Minute)}}
	a.since = noon.Add(-time.Minute)
	return p, l
}

// tells makes the pane hear a turn that answers a prompt.
func (p *Pane) tells(t *testing.T, past bool, prompt agent.Event, words string) {
	t.Helper()
	at := noon.Add(-30 * time.Second)
	if !past {
		at = noon
	}
	prompt.Kind, prompt.At, prompt.Past = agent.Prompted, noon.Add(-time.Minute), true
	said := agent.Event{Kind: agent.Spoke, At: at, Text: words, Past: past}
	for _, e := range []agent.Event{prompt, said, {Kind: agent.TurnEnded, At: at, Past: past}} {
		e.Thread = thread
		p.hear(t.Context(), agent.Update{Event: &e})
	}
}

func (p *Pane) bind(t *testing.T) {
	t.Helper()
	p.hear(t.Context(), agent.Update{Bound: &agent.Transcript{Path: "/t", Thread: thread}})
}

// A text that an earlier life handed over by the agent's door is recognised by what was handed over, which
// differs from what would have been typed.
func TestLate_theAnswerToWhatWentThroughTheDoor(t *testing.T) {
	for _, body := range []string{"see @scope/pkg", "ultrathink about it", "a </cross-session-message> in it"} {
		t.Run(body, func(t *testing.T) {
			d := doored("a")
			d.Message.Body, d.Door = body, "inbox"
			p, l := again(profile.Claude(), d)
			handed, ok := p.enclose(d, "inbox")
			require.True(t, ok)
			p.tells(t, true, agent.Event{Text: handed.text, By: agent.BySystem, ID: "a"}, "the answer")
			p.bind(t)
			require.Len(t, l.turns, 1)
			assert.Equal(t, []message.ID{"a"}, l.turns[0].Answers)
			assert.True(t, l.turns[0].Late)
		})
	}
}

// A turn that ends while a new life still reads what was recorded before answers what the earlier life
// had typed. A turn that ended before that is told as well.
func TestLate_aTurnThatEndsWhileWeStillRead(t *testing.T) {
	d := deliveryOf("a")
	p, l := again(profile.Claude(), d)
	second := deliveryOf("b")
	p.inherited = append(p.inherited, Submitted{Delivery: second, Typed: noon.Add(-time.Minute)})
	p.tells(t, true, agent.Event{Text: "a", By: agent.ByKeys}, "the first answer")
	p.tells(t, false, agent.Event{Text: "b", By: agent.ByKeys}, "the answer")
	p.bind(t)
	require.Len(t, l.turns, 2)
	assert.Equal(t, []message.ID{"a"}, l.turns[0].Answers)
	assert.True(t, l.turns[0].Late)
	assert.Equal(t, []message.ID{"b"}, l.turns[1].Answers)
	assert.False(t, l.turns[1].Late)
	assert.False(t, l.turns[1].Person)
	assert.Empty(t, p.answers)
}

// A message that the agent asked for itself is answered by the turn in which it did, in whichever life that ended.
func TestLate_theTurnInWhichItWasTaken(t *testing.T) {
	for name, c := range map[string]struct {
		past  bool
		taken time.Duration // before noon; the turn goes on for half a minute from a minute before, or until noon
		late  bool
		lost  bool
	}{
		"it ended while nobody looked":    {past: true, taken: 40 * time.Second, late: true},
		"it ends now":                     {taken: 40 * time.Second},
		"it ended before anything of it":  {past: true, taken: 20 * time.Second, lost: true},
		"it began after it had been told": {past: true, taken: 70 * time.Second, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := deliveryOf("a")
			d.Door = message.DoorMCP
			p, l := again(profile.Claude(), d)
			p.inherited[0].Typed = noon.Add(-c.taken)
			p.tells(t, c.past, agent.Event{Text: "look at your messages", By: agent.ByKeys}, "the answer")
			p.bind(t)
			p.overdueAnswers(t.Context(), noon.Add(lateFor+time.Second))
			if c.lost {
				assert.Empty(t, l.turns)
				assert.Len(t, l.told, 1)
				return
			}
			require.Len(t, l.turns, 1)
			assert.Equal(t, []message.ID{"a"}, l.turns[0].Answers)
			assert.Equal(t, c.late, l.turns[0].Late)
			assert.Empty(t, l.told)
			assert.Empty(t, p.answers)
		})
	}
}

// Skills change what is typed into Codex: it is not known what was typed before they were read.
func TestLate_theAnswerToWhatNamesASkill(t *testing.T) {
	for name, after := range map[string]bool{"read before its transcript": false, "read after it": true} {
		t.Run(name, func(t *testing.T) {
			d := deliveryOf("a")
			d.Message.Body = "what does $imagegen cost?"
			p, l := again(profile.Codex(), d)
			p.account.setup.prof = profile.Codex()
			known := &habits{at: noon, skills: []string{"imagegen"}}
			p.account.setup.known.Store(known)
			typed, ok := p.compose(d)
			require.True(t, ok)
			require.NotContains(t, typed.text, "$imagegen")
			p.account.active.Skills = nil
			if after {
				p.account.setup.known.Store(nil)
			}
			p.tells(t, true, agent.Event{Text: typed.text, By: agent.ByKeys}, "the answer")
			p.bind(t)
			if after {
				require.Empty(t, l.turns)
				p.account.setup.known.Store(known)
				p.learned(t.Context(), noon)
			}
			require.Len(t, l.turns, 1)
			assert.Equal(t, []message.ID{"a"}, l.turns[0].Answers)
		})
	}
}

// If they cannot be read, what was typed is assumed to be what would be typed without them.
func TestLate_skillsThatCannotBeRead(t *testing.T) {
	p, l := again(profile.Codex(), deliveryOf("a"))
	p.account.setup.prof = profile.Codex()
	p.account.setup.known.Store(nil)
	p.tells(t, true, agent.Event{Text: "a", By: agent.ByKeys}, "the answer")
	p.hear(t.Context(), agent.Update{Err: errors.New("somewhere else")})
	require.Empty(t, l.turns)
	p.overdueAnswers(t.Context(), noon.Add(lateFor+time.Second))
	require.Len(t, l.turns, 1)
	assert.Equal(t, []message.ID{"a"}, l.turns[0].Answers)
	assert.Empty(t, l.told)
}
