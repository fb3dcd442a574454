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

// Policy decides about messages, each once, after the message is on disk: while it thinks,
// everything else goes on, and a message that was not decided when the sidecar ended is asked
// about again by the next one. It is asked about one message at a time, unless it is Wide or
// Ahead.
//
// What one sender says, and what is said in one chat, it is asked about in that order, the next
// one only after the verdict on the one before, or, if it is Ahead, together with that; outside of
// chats maybe before that verdict is written down, since those on what is said quickly are written
// together. Senders and chats take turns: however much one of them says, the others wait for no more
// than one message of it, or than one that is Ahead has begun.
//
// The verdict is about the whole message, whoever gets it. An error, a panic, a verb that is
// none, and no answer within Relay.Patience, when ctx ends, hold the message as one that no
// filter has seen. The patience begins when the message is asked about, however long it waited
// for its turn. As long as a Decide that was given up has not returned, what comes after it of
// that sender and in that chat is held too, and everything once no other question may be asked
// beside those.
//
// What a chat's own settings and the brakes say comes after the verdict, and is only ever
// stricter.
type Policy interface {
	Decide(ctx context.Context, q Question) (message.Verdict, error)
}

// Wide is a Policy that may be asked about more than one message at a time, of different
// senders and chats.
type Wide interface {
	Policy
	Width() int
}

// Ahead is a Policy that is asked faster about several messages at once, which one sender said one after the other. It
// returns the verdicts on the first of them, in their order, as Decide would. Later than within it begins none, but for a
// few that it has begun by then. Where it returns none, Decide is asked about the first. The patience is that of one message.
type Ahead interface {
	Policy
	DecideAhead(ctx context.Context, qs []Question, within time.Duration) []message.Verdict
}

// Question is one message that is to be decided, and what was known when it was asked about.
type Question struct {
	Message  message.Envelope
	Chat     *message.Chat  // that it was said in; nil for a single message
	Targets  []message.Peer // who gets it if it is delivered, in the order of the participants
	Snapshot registry.Snapshot
}

// question is what the policy is asked about a message, nil if it needs no answer any more.
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

// verbs are those that a policy may answer with.
var verbs = []message.Verb{
	message.VerbDeliver, message.VerbAck, message.VerbAsk, message.VerbHold, message.VerbBounce, message.VerbDrop,
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
