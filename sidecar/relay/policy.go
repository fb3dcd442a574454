package relay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Policy decides about each message once, after the message is on disk. While it decides,
// everything else goes on. If the sidecar ends before a message is decided, the next run asks about
// it again. The policy is asked about one message at a time, unless it is Wide or Ahead.
//
// It is asked about the messages of one sender, and about those of one chat, in their order: about
// the next one only after the verdict on the one before, or, if it is Ahead, together with that
// one. Outside of chats this may be before that verdict is written down, since the verdicts on
// quick messages are written together. Senders and chats take turns: however much one of them says,
// the others wait for no more than one message of it, or for those that an Ahead has begun.
//
// The verdict is about the whole message, whoever gets it. An error, a panic, an unknown verb, or
// no answer within Relay.Patience, when ctx ends, holds the message as one that no filter has seen.
// The patience begins when the policy is asked about the message, however long the message waited
// for its turn. As long as an abandoned Decide has not returned, later messages of that sender and
// in that chat are held too, and all messages once no further question may be asked beside the
// abandoned ones.
//
// The settings of a chat and the brakes apply after the verdict, and only make it stricter.
type Policy interface {
	Decide(ctx context.Context, q Question) (message.Verdict, error)
}

// Wide is a Policy that may be asked about more than one message at a time, of different
// senders and chats.
type Wide interface {
	Policy
	Width() int
}

// Ahead is a Policy that answers faster when it is asked about several messages at once, which one
// sender said one after the other. DecideAhead returns the verdicts on the first of them, in their
// order, as Decide would. After the time within it begins no more, except for the few that it has
// begun by then. If it returns none, Decide is asked about the first. The patience is that of one
// message.
type Ahead interface {
	Policy
	DecideAhead(ctx context.Context, qs []Question, within time.Duration) []message.Verdict
}

// Question is one message to decide, with what was known when the policy was asked about it.
type Question struct {
	Message  message.Envelope
	Chat     *message.Chat  // the chat that it was said in; nil for a single message
	Targets  []message.Peer // the peers that get it if it is delivered, in the order of the participants
	Snapshot registry.Snapshot
}

// question returns the Question about a message, or nil if it needs no answer any more.
func (s *State) question(id message.ID) *Question {
	t := s.undecided[id]
	if t == nil {
		return nil
	}
	q := Question{Message: t.message, Snapshot: s.Snapshot()}
	if t.chat != nil {
		chat := t.chat.copy()
		q.Chat = &chat
	}
	for _, d := range route.Plan(t.message, message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}}, q.Snapshot, q.Chat) {
		if target, ok := q.Snapshot.Peer(d.Target); ok {
			q.Targets = append(q.Targets, target)
		}
	}
	return &q
}

// verbs are the verbs that a policy may answer with.
var verbs = []message.Verb{
	message.VerbDeliver, message.VerbAck, message.VerbAsk, message.VerbHold, message.VerbBounce, message.VerbDrop,
}

// checkVerdict refuses a verdict that no policy may give, for all targets or for one.
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
