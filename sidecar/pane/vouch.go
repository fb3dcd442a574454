package pane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// An agent that was updated may draw a screen that is not recognised. It may rest there for ever, by
// its own account, and nothing is typed. A person is told so once, and may vouch for that screen:
// then one message is typed on their word. Everything else that keeps typing away still does, above
// all the agent's own account. Enter is pressed only if the text stands right before the cursor, where
// it did not stand before, and only the agent itself can tell that it took the text.

// These errors say why a person's word changes nothing.
var (
	ErrNotHeld  = errors.New("it does not wait at its pane")
	ErrOwnTerms = errors.New("vouching does not change what it waits for")
)

// strangeFor is how long an agent must rest behind a screen that is not recognised before a person is
// told.
const strangeFor = time.Minute

// wordFor is how long a person's word counts: they have not seen what the screen shows later.
const wordFor = 10 * time.Second

// word is a person's word that a delivery may be typed.
type word struct {
	delivery message.ID
	given    time.Time
}

// counts reports whether the word is for that delivery, and was given just now.
func (w word) counts(id message.ID, now time.Time) bool {
	return w.delivery == id && id != "" && now.Sub(w.given) < wordFor
}

// strange is a screen that is not recognised although its agent rests.
type strange struct {
	since time.Time // in every look; zero: the last one was recognised
	told  bool
}

// Vouch takes a person's word for the screen of a session's pane: a delivery that waits because that
// screen is not recognised is typed. Unless sure is set, Vouch only tells whether their word would
// count. It returns ErrNotHeld or ErrOwnTerms if it does not.
func (ps *Panes) Vouch(ctx context.Context, session, delivery message.ID, sure bool) error {
	_, ok, err := answerOf(ctx, ps, session, func(_ context.Context, p *Pane) (struct{}, error) { return struct{}{}, p.vouch(delivery, sure) })
	if err == nil && !ok {
		err = ErrNotHeld
	}
	return err
}

// vouch takes in a person's word.
func (p *Pane) vouch(id message.ID, sure bool) error {
	w := p.core.waiting(id)
	if w == nil || w.held == "" {
		return ErrNotHeld
	}
	first, why := p.core.queue[0].ID == id, w.held
	switch {
	case p.generic != nil && why == message.UnknownScreen && first && p.generic.doubts(p.shown) != "":
		if sure {
			p.generic.vigil.rest(p.generic.view(p.shown), p.shown.Facts)
			p.nextPoll = p.clock.now()
		}
		return nil
	case p.account == nil:
		return fmt.Errorf("%w: %s, and %s is no agent that tells what it takes", ErrOwnTerms, why, p.session.Name)
	case pastesOff(sight{look: p.shown}, p.prof):
		return fmt.Errorf("%w: bracketed paste is off, so that %s would read each line of it as one of its own", ErrOwnTerms, p.session.Name)
	case why != message.UnknownScreen && why != message.NotEmpty:
		return fmt.Errorf("%w: %s", ErrOwnTerms, why)
	case !first:
		return fmt.Errorf("%w: another message is before it", ErrOwnTerms)
	}
	if sure {
		p.core.word, p.nextPoll = word{id, p.clock.now()}, p.clock.now()
	}
	return nil
}

// rests reports whether an agent itself says that it is idle, and only a screen that is not recognised
// stands against typing.
func (p *Pane) rests(s sight) bool {
	if p.account == nil || s.reading.State != message.Unknown {
		return false
	}
	if why, _ := bar(s, p.session, p.prof); why != "" {
		return false
	}
	told := p.account.signals()
	state, _ := told.exact()
	// A hook that was called once tells nothing of a dialog that opened since.
	return state == message.Idle && (told.read || told.status.State != "")
}

// onTheirWord reports whether a delivery may be typed now since a person vouched for the
// screen: the agent rests, nothing is being drawn, and what is to be typed does not stand
// there already.
func (c *core) onTheirWord(f found, id message.ID, text string, now time.Time) bool {
	return c.word.counts(id, now) && f.rests && now.Sub(f.wrote) >= unsure && !pastesOff(f.sight, c.prof) && !screen.Before(screenOf(f.look), text)
}

// wonder tells a person once that a delivery waits at an agent which rests behind a screen that is not
// recognised, and what in that screen is not.
func (p *Pane) wonder(ctx context.Context, s sight, now time.Time) {
	switch {
	case len(p.core.queue) == 0 || p.core.batch() != nil || !p.rests(s):
		p.strange.since = time.Time{}
		if s.reading.MayType {
			p.strange.told = false
		}
		return
	case p.strange.since.IsZero():
		p.strange.since = now
	}
	if p.strange.told || now.Sub(p.strange.since) < strangeFor {
		return
	}
	p.strange.told = true
	fact := string(s.reading.Why)
	if n := len(s.reading.Evidence); n > 0 {
		fact = s.reading.Evidence[n-1].Says
	}
	p.notify(ctx, fmt.Sprintf("%s (%s) rests, but its screen is not recognised: %s; to type anyway, run intercom inbox release %s; for details, intercom explain %s",
		p.session.Name, p.session.Pane, fact, p.core.queue[0].ID.Short(), p.session.Pane))
}
