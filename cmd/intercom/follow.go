package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	succession = 3 * time.Second        // for another sidecar to take the place of one that ended
	askAgain   = 100 * time.Millisecond // between two checks for it
)

// events yields the events after the number since. If another sidecar replaces the one that answers, as `up` does,
// events goes on with the new one, whose journal is the same. If the sidecar has cut off a reader that stood still,
// events goes on with the same sidecar. Otherwise it yields the error of the stream, or notes that the sidecar has
// ended.
func (a *app) events(ctx context.Context, c *api.Client, since int64) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		for {
			c = &api.Client{Socket: c.Socket} // a client that starts no sidecar
			was, _ := quickStatus(ctx, c)
			var broken error
			from := since
			for e, err := range api.Follow(ctx, c, api.Events, api.EventsQuery{Since: since}) {
				if err != nil {
					broken = err
					break
				}
				since = max(since, e.Seq)
				if !yield(e, nil) {
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
			if cutOff(broken) && since > from && stillRuns(ctx, c, was) {
				continue
			}
			next := a.successor(ctx, was)
			switch {
			case next != nil:
				c = next
			case broken != nil && ctx.Err() == nil:
				yield(message.Event{}, broken)
				return
			default:
				if ctx.Err() == nil {
					a.note("the sidecar has ended; intercom up starts one")
				}
				return
			}
		}
	}
}

// cutOff reports whether a stream broke off in the middle.
func cutOff(err error) bool {
	told, ok := errors.AsType[*api.Error](err)
	return ok && told.Kind == api.CutOff
}

// stillRuns reports whether the sidecar whose status was still answers.
func stillRuns(ctx context.Context, c *api.Client, was api.Status) bool {
	is, err := quickStatus(ctx, c)
	return err == nil && is.PID == was.PID && is.Started.Equal(was.Started)
}

// successor waits for a sidecar other than the one whose status was; it returns nil if none comes.
func (a *app) successor(ctx context.Context, was api.Status) *api.Client {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.Succession, succession))
	defer cancel()
	for {
		if c, _, running, err := a.running(ctx); err == nil && running {
			is, err := api.Call(ctx, c, api.ShowStatus, api.None{})
			if err == nil && (is.PID != was.PID || !is.Started.Equal(was.Started)) {
				return c
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(askAgain):
		}
	}
}
