package relay

import (
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// replay applies the same events to another State.
func (w *world) replay() {
	again, life := modelState(0), byte(0)
	for i, p := range w.history {
		if _, restart := p.event.(Restored); restart {
			life++
			again = modelState(life)
		}
		require.Equal(w.t, p.effects, fmt.Sprintf("%#v", flat(again.Step(p.now, p.event))), "event %d", i)
	}
}

// flat makes effects comparable as text: pointers and errors are followed.
func flat(effects []Effect) []any {
	var out []any
	for _, e := range effects {
		switch f := e.(type) {
		case Commit:
			for _, c := range f.Step.Chats {
				out = append(out, c.ID, c.State, c.Why, c.Participants, c.Ended == nil)
			}
			for _, s := range f.Step.Peers {
				out = append(out, s.ID, s.Name, s.EndReason, s.Closed, s.Lost, s.Ended == nil)
			}
			for _, v := range f.Step.Verdicts {
				patched := v.Patched(message.Envelope{Subject: "\x00", Body: "\x00"})
				v.Subject, v.Body = nil, nil
				out = append(out, v, patched.Subject, patched.Body)
			}
			out = append(out, f.Step.Received, f.Step.Deliveries, f.Step.Receipts, f.Step.Notices)
			if f.Step.Stopped != nil {
				out = append(out, *f.Step.Stopped)
			}
		case Allow:
			out = append(out, f.Token, text2(f.Err))
		case Reply:
			out = append(out, f.Token, f.Answer.Message, f.Answer.Receipts, text2(f.Err))
		case Publish:
			for _, one := range f.Events {
				out = append(out, one.Kind, one.Chat, one.Notice)
			}
		default:
			out = append(out, e)
		}
	}
	return out
}

func text2(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []error{ErrPaused, ErrEnded, ErrStopped, ErrNotOurs, ErrImpossible} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}
