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

	// told is what a hook of the agent tells; proven: the hook's processes lie below this pane.
	told struct {
		hook   message.Hook
		proven bool
	}
	// reply is a word that the agent sent to the address that it was given. If the word is a reply, the message to
	// which it replies goes into replies, which has room.
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

// without returns the deliveries that are left once some were taken back.
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

// errBroken is the answer of a goroutine that panicked meanwhile.
var errBroken = errors.New("the pane's goroutine broke down")

// answerOf asks a session's pane a question, which the pane answers in its own goroutine, and waits for the answer. ok is
// false if the session is not here, or has ended meanwhile.
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
				defer func() { answers <- a }() // whatever happens, since somebody waits
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
