package waits_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/waits"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func dialog(text string) message.Wait {
	return message.Wait{ID: "pane:a", Kind: message.WaitDialog, Words: "dialog", Name: "ada", Pane: "%1", Text: text}
}

// board returns a Board whose first look is past.
func board() *waits.Board {
	b := &waits.Board{}
	b.See(noon.Add(-time.Hour), nil)
	return b
}

// shown returns what is listed, in words.
func shown(b *waits.Board) (words []string) {
	for _, w := range b.List() {
		words = append(words, w.Name+" "+w.Words)
	}
	return words
}

// seen is a board that a person looks at: all that it showed, and how often it changed.
type seen struct {
	*waits.Board
	last    string
	changes int
	notices []string
}

func (s *seen) at(now time.Time, all ...message.Wait) {
	s.See(now, all)
	if now := strings.Join(shown(s.Board), ", "); now != s.last {
		s.last = now
		s.changes++
	}
	for _, w := range s.Tell(now) {
		s.notices = append(s.notices, w.Name+" "+w.Words)
	}
}

func TestU20_ListedWithinASecondAndGoneWithinOne(t *testing.T) {
	b := board()
	for at, want := range map[time.Duration][]string{0: nil, 299 * time.Millisecond: nil, 300 * time.Millisecond: {"ada dialog"}} {
		b := board()
		b.See(noon, []message.Wait{dialog("")})
		b.See(noon.Add(at), []message.Wait{dialog("")})
		assert.Equal(t, want, shown(b), "after %s", at)
	}
	b.See(noon, []message.Wait{dialog("")})
	b.See(noon.Add(time.Second), []message.Wait{dialog("")})
	b.See(noon.Add(10*time.Second), nil)
	assert.Equal(t, []string{"ada dialog"}, shown(b), "for a moment")
	b.See(noon.Add(10300*time.Millisecond), nil)
	assert.Empty(t, shown(b))
}

// What the journal states needs no second look.
func TestU20_WhatWeSayIsSoAtOnce(t *testing.T) {
	for _, kind := range []message.WaitKind{message.WaitApprove, message.WaitPaused} {
		b := board()
		b.See(noon, []message.Wait{{ID: "x", Kind: kind, Words: "w"}})
		assert.Len(t, b.List(), 1, kind)
		b.See(noon.Add(time.Millisecond), nil)
		assert.Empty(t, b.List(), kind)
	}
}

func TestU20_OneNoticeAWait(t *testing.T) {
	s := &seen{Board: board()}
	step := func(from, to time.Duration, all ...message.Wait) {
		for at := from; at < to; at += 100 * time.Millisecond {
			s.at(noon.Add(at), all...)
		}
	}
	step(0, time.Second, dialog("rm build?"))
	assert.Empty(t, s.notices, "it has not lasted")
	step(time.Second, time.Minute, dialog("rm build?"))
	assert.Equal(t, []string{"ada dialog"}, s.notices)
	step(time.Minute, 61*time.Second)
	step(61*time.Second, 65*time.Second, dialog("rm build?"))
	assert.Len(t, s.notices, 1, "the same is back after a second")
	step(65*time.Second, 67*time.Second)
	step(67*time.Second, 70*time.Second, dialog("rm /?"))
	assert.Len(t, s.notices, 2, "another one")
	step(70*time.Second, 100*time.Second)
	step(100*time.Second, 110*time.Second, dialog("rm /?"))
	assert.Len(t, s.notices, 3, "the same, much later")
}

// What waited when a sidecar began was told by the run before.
func TestU20_WhatWaitedBeforeIsNotToldAgain(t *testing.T) {
	b := &waits.Board{}
	b.See(noon, []message.Wait{{ID: "x", Kind: message.WaitPaused, Words: "paused"}})
	b.See(noon.Add(time.Minute), []message.Wait{{ID: "x", Kind: message.WaitPaused, Words: "paused"}})
	assert.Empty(t, b.Tell(noon.Add(time.Minute)))
	assert.Len(t, b.List(), 1)
}

func TestU20_TheLongestWaitComesFirst(t *testing.T) {
	b := board()
	one, two := dialog(""), dialog("")
	two.ID, two.Name, two.Since = "pane:b", "ben", noon.Add(-time.Minute)
	for at := range 5 {
		b.See(noon.Add(time.Duration(at)*time.Second), []message.Wait{one, two})
	}
	assert.Equal(t, []string{"ben dialog", "ada dialog"}, shown(b))
	assert.Equal(t, noon, b.List()[1].Since)
}

// A pane that cannot decide between a dialog and a draft is listed as it was first.
func TestU20_WordsDoNotFlickerEither(t *testing.T) {
	s := &seen{Board: board()}
	draft := dialog("")
	draft.Kind, draft.Words = message.WaitDraft, "your draft"
	for at := range 600 {
		s.at(noon.Add(time.Duration(at)*100*time.Millisecond), [...]message.Wait{dialog(""), draft}[at/2%2])
	}
	assert.LessOrEqual(t, s.changes, 1)
	for at := range 30 {
		s.at(noon.Add(time.Minute+time.Duration(at)*100*time.Millisecond), draft)
	}
	assert.Equal(t, []string{"ada your draft"}, shown(s.Board))
}

// A question that its agent has recorded as answered, while its screen still shows it, is no dialog
// on top; a dialog that asks something else is.
func TestU20_AnAnsweredQuestionIsNoDialog(t *testing.T) {
	question := dialog("Which colour?")
	question.Kind, question.Words = message.WaitQuestion, "question"
	for text, want := range map[string]string{"Which colour?": "ada question", "Run rm -rf build?": "ada dialog"} {
		b := board()
		for at := range 40 {
			now := noon.Add(time.Duration(at) * 50 * time.Millisecond)
			if at < 20 {
				b.See(now, []message.Wait{question})
			} else {
				b.See(now, []message.Wait{dialog(text)})
			}
		}
		assert.Equal(t, []string{want}, shown(b))
	}
}

// flapping is 60 s of a wait that alternates between there and not there, each for that long.
func flapping(s *seen, phase func() time.Duration) {
	there, until := true, noon.Add(phase())
	for now := noon; now.Before(noon.Add(time.Minute)); {
		if there {
			s.at(now, dialog(""))
		} else {
			s.at(now)
		}
		if now = now.Add(50 * time.Millisecond); !now.Before(until) {
			now, there, until = until, !there, until.Add(phase())
		}
	}
}

func TestU20_AMinuteOfFlapping(t *testing.T) {
	for _, c := range []struct{ phase, most int }{{20, 0}, {100, 0}, {280, 0}, {400, 4}, {700, 4}, {980, 4}} {
		s := &seen{Board: board()}
		flapping(s, func() time.Duration { return time.Duration(c.phase) * time.Millisecond })
		assert.Empty(t, s.notices, "phases of %d ms", c.phase)
		assert.LessOrEqual(t, s.changes, c.most, "phases of %d ms", c.phase)
	}
}

func TestU20_AMinuteOfFlappingAsOneLikes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &seen{Board: board()}
		flapping(s, func() time.Duration { return time.Duration(rapid.IntRange(1, 299).Draw(t, "ms")) * time.Millisecond })
		assert.Empty(t, s.notices)
		assert.Zero(t, s.changes)
	})
}

// A wait that came often is due once it counts as seldom again: its first coming is forgotten then.
func TestBoard_DueWhenTheFirstComingIsForgotten(t *testing.T) {
	b := board()
	for _, at := range []time.Duration{0, 3 * time.Second, 6 * time.Second} {
		b.See(noon.Add(at), []message.Wait{dialog("")})
		b.See(noon.Add(at+100*time.Millisecond), nil)
	}
	b.See(noon.Add(9*time.Second), []message.Wait{dialog("")})
	due, ok := b.Due()
	require.True(t, ok)
	assert.Equal(t, 10500*time.Millisecond, due.Sub(noon), "three comings in the memory, and not four")
	b.See(due.Add(-time.Millisecond), []message.Wait{dialog("")})
	assert.Empty(t, shown(b))
	b.See(due, []message.Wait{dialog("")})
	assert.Equal(t, []string{"ada dialog"}, shown(b))
}

// Whatever comes and goes: what was there for long enough is listed and told once, what was not
// there for long enough is not listed, and looking again when Due says so misses nothing.
func TestU20_BoardHoldsWhatItPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &seen{Board: board()}
		now := noon
		for range rapid.IntRange(1, 30).Draw(t, "phases") {
			var all []message.Wait
			there := rapid.Bool().Draw(t, "there")
			if there {
				all = append(all, dialog(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text")))
			}
			end := now.Add(time.Duration(rapid.IntRange(0, 8000).Draw(t, "for")) * time.Millisecond)
			before := len(s.notices)
			began := now
			for s.at(now, all...); ; s.at(now, all...) {
				due, ok := s.Due()
				if !ok || due.After(end) {
					break
				}
				require.True(t, due.After(now), "time goes on")
				now = due
			}
			lasted := end.Sub(began)
			s.at(end, all...)
			now = end
			switch {
			case there && lasted >= 5*time.Second:
				require.Len(t, s.List(), 1)
			case !there && lasted >= 300*time.Millisecond:
				require.Empty(t, s.List())
			}
			require.LessOrEqual(t, len(s.notices)-before, 1)
		}
	})
}
