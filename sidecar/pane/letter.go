package pane

import (
	"context"
	"errors"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// letter is what Panes hands to a pane, whose goroutine reads it.
type letter interface{ read(context.Context, *Pane) }

type (
	toDeliver []message.Delivery // in this order
	toCancel  []message.ID       // deliveries that nothing was typed of yet
	listed    tmux.Facts         // what the list of panes says of this one
	unlisted  struct{}           // the list of panes no longer has it
	renamed   string             // what the session is called now
	forgotten struct{}           // the session has ended for the relay

	// told is what a hook of the agent's tells; proven: its processes lie below this pane.
	told struct {
		hook   message.Hook
		proven bool
	}
	// reply is what the agent says to the address that it was given, and where it goes to what that replies, if it
	// does: there is room.
	reply struct {
		word    door.Word
		replies chan<- message.Envelope
	}
	question func(context.Context, *Pane) // see answerOf
)

func (ds toDeliver) read(ctx context.Context, p *Pane) {
	p.decide(ctx, delivered{ds})
	p.nextPoll = p.clock.now()
}

// without is what is left once some were taken back.
func (ds toDeliver) without(ids []message.ID) toDeliver {
	return slices.DeleteFunc(ds, func(d message.Delivery) bool { return slices.Contains(ids, d.ID) })
}

func (ids toCancel) read(ctx context.Context, p *Pane) { p.decide(ctx, cancelled{ids}) }

func (l listed) read(ctx context.Context, p *Pane) { p.checkListed(ctx, tmux.Facts(l)) }

func (unlisted) read(ctx context.Context, p *Pane) { p.gone(ctx, message.PaneMissing) }

func (name renamed) read(_ context.Context, p *Pane) {
	p.session.Name, p.core.name = string(name), called(string(name), p.session.Pane)
}

func (forgotten) read(ctx context.Context, p *Pane) {
	p.ended = true
	p.decide(ctx, released{})
}

func (t told) read(ctx context.Context, p *Pane) { p.hooked(ctx, t.hook, t.proven) }

func (r reply) read(ctx context.Context, p *Pane) {
	if r.word.Status == "" {
		r.replies <- p.repliesTo()
		return
	}
	about := message.ID(r.word.About)
	p.notTaken(about, r.word.Status)
	p.decide(ctx, reported{about, r.word.Status})
}

func (q question) read(ctx context.Context, p *Pane) { q(ctx, p) }

// errBroken answers for a goroutine that panicked meanwhile.
var errBroken = errors.New("the pane's goroutine broke down")

// answerOf has a session's pane answer a question, in its own goroutine, and waits for that. ok is false where the session is not
// here, or has ended meanwhile: it has nothing to be asked.
func answerOf[T any](ctx context.Context, ps *Panes, session message.ID, of func(context.Context, *Pane) (T, error)) (value T, ok bool, err error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	var en *entry
	err = ps.do(ctx, func(s *set) {
		if en = s.byID[session]; en != nil {
			en.send(question(func(ctx context.Context, p *Pane) {
				a := answer{err: errBroken}
				defer func() { answers <- a }() // whatever happens, somebody waits
				a.value, a.err = of(ctx, p)
			}))
		}
	})
	if err != nil || en == nil {
		return value, false, err
	}
	select {
	case a := <-answers:
		return a.value, true, a.err
	case <-en.done:
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
	select {
	case a := <-answers: // the last one that it gave
		return a.value, true, a.err
	default:
		return value, false, nil
	}
}
