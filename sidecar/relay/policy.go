package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// defaultPatience is how long a policy may think about one message.
const defaultPatience = 5 * time.Second

// grace is how long a Decide may take to return once its time is over.
const grace = 100 * time.Millisecond

// Policy decides about messages, each once, in the order in which they were received. It is
// asked by one goroutine that is not Run's, one message at a time, after the message is on
// disk: while it thinks, everything else goes on, and a message that was not decided when
// the sidecar ended is asked about again by the next one.
//
// The verdict is about the whole message, whoever gets it. An error, a panic, a verb that is
// none, and no answer within Relay.Patience, when ctx ends, hold the message as one that no
// filter has seen.
// As long as a Decide that was given up has not returned, what comes after it is held too.
//
// What a chat's own settings and the brakes say comes after the verdict, and is only ever
// stricter.
type Policy interface {
	Decide(ctx context.Context, q Question) (message.Verdict, error)
}

// Question is one message that is to be decided, and what was known when it was asked about.
type Question struct {
	Message  message.Envelope
	Chat     *message.Chat     // that it was said in; nil for a single message
	Targets  []message.Session // who gets it if it is delivered, in the order of the participants
	Snapshot registry.Snapshot
}

// question is what the policy is asked about a message, nil if it needs no answer any more.
func (s *State) question(id message.ID) *Question {
	t := s.thoughts[id]
	if t == nil {
		return nil
	}
	q := Question{Message: t.message, Snapshot: s.Snapshot()}
	if t.chat != nil {
		chat := t.chat.copy()
		q.Chat = &chat
	}
	for _, d := range route.Plan(t.message, message.Verdict{Verb: message.VerbDeliver}, q.Snapshot, q.Chat) {
		if target, ok := q.Snapshot.Session(d.Target); ok {
			q.Targets = append(q.Targets, target)
		}
	}
	return &q
}

// verbs are those that a policy may answer with.
var verbs = []message.Verb{
	message.VerbDeliver, message.VerbAck, message.VerbAsk, message.VerbHold, message.VerbBounce, message.VerbDrop,
}

// decider asks the policy. Its questions come from the loop of Run and its verdicts go back
// there, both by channels without room: neither keeps the loop waiting.
type decider struct {
	policy    Policy
	patience  time.Duration
	log       *slog.Logger
	now       func() time.Time
	questions chan Question
	verdicts  chan message.Verdict
	stuck     <-chan struct{} // closed when a Decide that was given up returns; nil: there is none
}

// run takes questions until ctx ends.
func (d *decider) run(ctx context.Context) {
	for {
		var q Question
		select {
		case <-ctx.Done():
			return
		case q = <-d.questions:
		}
		v, err := d.ask(ctx, q)
		if ctx.Err() != nil {
			return // undecided: it is asked about again
		}
		if err != nil {
			d.log.Error("policy", "msg", q.Message.ID, "err", err)
			v = message.Verdict{Verb: message.VerbHold, Reason: "policy: " + err.Error(), By: "built in", Notify: true, Unfiltered: true}
		}
		v.Message = q.Message.ID
		if v.At.IsZero() {
			v.At = d.now()
		}
		select {
		case <-ctx.Done():
			return
		case d.verdicts <- v:
		}
	}
}

var (
	errNoAnswer = errors.New("no answer in time")
	errStuck    = errors.New("still busy with an earlier message")
)

// ask asks about one message. A Decide that does not come back is left to itself.
func (d *decider) ask(ctx context.Context, q Question) (message.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	if d.stuck != nil {
		select {
		case <-d.stuck:
			d.stuck = nil
		default:
			return message.Verdict{}, errStuck
		}
	}
	var v message.Verdict
	var err error
	back := make(chan struct{})
	go func() {
		defer close(back)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		v, err = d.policy.Decide(ctx, q)
	}()
	select {
	case <-back:
	case <-ctx.Done():
		select {
		case <-back:
		case <-time.After(grace): // one that heeds ctx is on its way
			d.stuck = back
			return message.Verdict{}, errNoAnswer
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	if err == nil {
		err = checkVerdict(v)
	}
	return v, err
}

// checkVerdict refuses what no policy may say, of all targets or of one.
func checkVerdict(v message.Verdict) error {
	for _, o := range append([]message.Outcome{v.For("")}, v.Outcomes...) {
		switch {
		case !slices.Contains(verbs, o.Verb):
			return fmt.Errorf("it said %q", o.Verb)
		case o.Otherwise != "" && !slices.Contains(verbs, o.Otherwise):
			return fmt.Errorf("it said %q, otherwise %q", o.Verb, o.Otherwise)
		}
	}
	return nil
}
