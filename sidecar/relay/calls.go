package relay

import (
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Begun waits until Run has taken over what an earlier run left: from then on Snapshot knows of it.
// Errors: ErrDown; the cause of ctx's end.
func (r *Relay) Begun(ctx context.Context) error {
	r.init()
	select {
	case <-r.begun:
		return nil
	case <-r.done:
		return ErrDown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Snapshot returns the peers and chats as of the last step that is on disk.
func (r *Relay) Snapshot() registry.Snapshot {
	if s := r.snapshot.Load(); s != nil {
		return *s
	}
	return registry.Snapshot{}
}

// Protocols returns what is known of teams and of waiting starts, as of the last step that is on
// disk.
func (r *Relay) Protocols() Protocols {
	if p := r.teams.Load(); p != nil {
		return *p
	}
	return Protocols{}
}

// Settled says that something owed of a handshake has been done.
func (r *Relay) Settled(ctx context.Context, id string, what Owed) error {
	return r.post(ctx, posted{event: Settled{ID: id, What: what}})
}

// EndFailed says that a session that approved its end is still there after an attempt to end it.
func (r *Relay) EndFailed(ctx context.Context, id, why string) error {
	return r.post(ctx, posted{event: EndFailed{ID: id, Why: why}})
}

// SeatLeft says that the file of a team now says the last of a session that has ended.
func (r *Relay) SeatLeft(ctx context.Context, dir, name string, holder message.ID) error {
	return r.post(ctx, posted{event: SeatLeft{Dir: dir, Name: name, Holder: holder}})
}

// Killing says that somebody is about to end a session without asking it.
func (r *Relay) Killing(ctx context.Context, peer message.ID) error {
	return r.post(ctx, posted{event: Killing{Peer: peer}})
}

// KillFailed says that a session that somebody was about to end goes on; see KillFailed.
func (r *Relay) KillFailed(ctx context.Context, peer message.ID) error {
	return r.post(ctx, posted{event: KillFailed{Peer: peer}})
}

// Stopped reports whether everything is stopped until a person resumes all, as of the last
// step that is on disk.
func (r *Relay) Stopped() bool { return r.stopped.Load() }

// Do makes a request of the relay and waits for the outcome. Errors: those of the request; ErrDown;
// those of ctx, after which the request may still be carried out.
func (r *Relay) Do(ctx context.Context, request Request) (Answer, error) {
	return r.wait(ctx, Requested{Request: request})
}

// Adopt takes in a peer and returns it with the name that it got.
func (r *Relay) Adopt(ctx context.Context, s message.Peer) (message.Peer, error) {
	a, err := r.wait(ctx, Adopted{Peer: s})
	return a.Peer, err
}

// Update brings a peer that was taken in up to date. The error is ErrGone if it has ended since.
func (r *Relay) Update(ctx context.Context, s message.Peer) (message.Peer, error) {
	a, err := r.wait(ctx, Adopted{Peer: s, Known: true})
	return a.Peer, err
}

// Join takes in a peer without a pane, and returns it with the id and name that it got.
func (r *Relay) Join(ctx context.Context, peer message.Peer) (message.Peer, error) {
	a, err := r.wait(ctx, Joined{Peer: peer})
	return a.Peer, err
}

// Mirror takes in a chat of another computer; see Mirrored.
func (r *Relay) Mirror(ctx context.Context, c message.Chat, consent bool) (message.Chat, error) {
	a, err := r.wait(ctx, Mirrored{Chat: c, Consent: consent})
	if err != nil {
		return message.Chat{}, err
	}
	return a.Chats[0], nil
}

// MirrorLeft says that sessions of another computer have left a chat, or that the chat has ended
// there; see MirrorLeft.
func (r *Relay) MirrorLeft(ctx context.Context, chat message.ID, from string, peers []message.ID, why string) error {
	return r.post(ctx, posted{event: MirrorLeft{Chat: chat, From: from, Peers: peers, Why: why}})
}

// Receive hands in what a joined peer says; see Received. When it returns nil, the message is on
// disk, now or from before: only then may the peer's protocol acknowledge it.
func (r *Relay) Receive(ctx context.Context, m message.Envelope) (fresh bool, err error) {
	return r.Hand(ctx, m, "")()
}

// ReceiveAnswer is Receive for a message that answers a delivery: both the message and the receipt
// are written, or neither. If to is "", it is Receive.
func (r *Relay) ReceiveAnswer(ctx context.Context, m message.Envelope, to message.ID) (fresh bool, err error) {
	a, err := r.wait(ctx, Received{Message: m, Answers: to})
	return a.Message != "", err
}

// Hand is Receive that waits later: messages that are handed in before the wait go to disk
// together. The messages of one caller keep their order. With after, m is refused if the message of
// that id is.
func (r *Relay) Hand(ctx context.Context, m message.Envelope, after message.ID) (wait func() (fresh bool, err error)) {
	asked := r.ask(ctx, Received{Message: m, After: after})
	return func() (bool, error) {
		a, err := asked()
		return a.Message != "", err
	}
}

// Report hands in a receipt and returns once it is on disk. While nothing can be written,
// permission is refused with a message.UnwritableError, and the outcome of typing is kept. A sink
// also asks for permission by it: with state typed before the first byte, and again before Enter.
// Any error means that nothing may be typed: ErrPaused, ErrEnded, ErrStopped, ErrNotOurs,
// ErrImpossible, ErrDown, or that of ctx; after the last, the receipt may still be written.
func (r *Relay) Report(ctx context.Context, receipt message.Receipt) error {
	_, err := r.wait(ctx, Reported{Receipt: receipt})
	return err
}

// Spoke says that a turn has ended.
func (r *Relay) Spoke(ctx context.Context, t message.Turn) error {
	return r.post(ctx, posted{event: Spoke{Turn: t}})
}

// StateChanged says what the program in a pane does now, and what it asks its person.
func (r *Relay) StateChanged(ctx context.Context, id message.ID, state message.PaneState, why string, asks *message.Asking) error {
	return r.post(ctx, posted{event: StateChanged{Peer: id, State: state, Why: why, Asks: asks}})
}

// Gone says that a pane or its program has ended.
func (r *Relay) Gone(ctx context.Context, id message.ID, reason message.Reason) error {
	return r.post(ctx, posted{event: Gone{Peer: id, Reason: reason}})
}

// Released says that a person took a pane back.
func (r *Relay) Released(ctx context.Context, id message.ID) error {
	return r.post(ctx, posted{event: Released{Peer: id}})
}

// Closed says why nothing more can be typed into a peer's pane, and which delivery's text was lost
// there, if one was. With no reason, the pane is open again.
func (r *Relay) Closed(ctx context.Context, id message.ID, why message.Reason, lost message.ID, draft *message.Place) error {
	return r.post(ctx, posted{event: PaneLocked{Peer: id, Why: why, Lost: lost, Draft: draft}})
}

// Notify tells a person something about a peer.
func (r *Relay) Notify(ctx context.Context, id message.ID, text string) error {
	return r.post(ctx, posted{event: NoticeRaised{Peer: id, Text: text}})
}

// Tell is Notify that returns once the notice is on disk: only then may a protocol acknowledge what
// it tells. It also tells of a peer that has ended. While nothing can be written, it is refused
// with a message.UnwritableError. Other errors: ErrDown; those of ctx, after which it may still be
// told.
func (r *Relay) Tell(ctx context.Context, id message.ID, text string) error {
	_, err := r.wait(ctx, NoticeRaised{Peer: id, Text: text})
	return err
}

// Replied takes in what the agent of a peer replies to a message with a tool of its own. The reply
// goes to the author of that message as a message of the agent; if it was from no peer, a person is
// told instead. Replied returns once the reply is decided. Errors: those of Send.
func (r *Relay) Replied(ctx context.Context, id message.ID, to message.Envelope, text string) error {
	if to.From.Peer == "" {
		return r.Notify(ctx, id, "replies: "+text)
	}
	_, err := r.Do(ctx, Send{By: By{Kind: Agent, Peer: id}, To: string(to.From.Peer), Message: message.Envelope{Body: text, InReplyTo: to.ID}})
	return err
}

// NotifyOf tells a person something about a chat, or, with "", about no chat.
func (r *Relay) NotifyOf(ctx context.Context, chat message.ID, text string) error {
	return r.post(ctx, posted{event: NoticeRaised{Chat: chat, Text: text}})
}

// Elsewhere says that a message was decided about at another sidecar; see Elsewhere.
func (r *Relay) Elsewhere(ctx context.Context, id message.ID) error {
	return r.post(ctx, posted{event: Elsewhere{Message: id}})
}

// Attended says that a person is at a terminal, or just came.
func (r *Relay) Attended(ctx context.Context) error {
	return r.post(ctx, posted{event: UserActive{}})
}

// Reconsider has messages decided once more whose deliveries are held because a filter failed,
// since the policies have changed. Messages are given as they were received. It returns once the
// relay knows.
func (r *Relay) Reconsider(ctx context.Context, messages []message.Envelope) error {
	_, err := r.wait(ctx, Reconsider{Messages: messages})
	return err
}

// Limit sets the default limits.
func (r *Relay) Limit(ctx context.Context, limits LimitsChanged) error {
	return r.post(ctx, posted{event: limits})
}

// CheckAfter sets how long a turn that took a session's message goes on before it is asked about;
// see HealthChanged.
func (r *Relay) CheckAfter(ctx context.Context, after time.Duration) error {
	return r.post(ctx, posted{event: HealthChanged{After: after}})
}

// post puts an event into the queue, and waits while the queue is full.
func (r *Relay) post(ctx context.Context, p posted) error {
	r.init()
	select {
	case <-r.done: // even if the queue has room: nobody empties it
		return ErrDown
	default:
	}
	queue := r.queue
	if e, ok := p.event.(hurried); ok && e.hurries() {
		queue = r.urgent
	}
	select {
	case queue <- p:
		return nil
	case <-r.done:
		return ErrDown
	case <-ctx.Done():
		return cutOff(ctx)
	}
}

// cutOff returns the error of a call that ended with its context: the cause, marked as cut off
// rather than refused.
func cutOff(ctx context.Context) error {
	err, why := ctx.Err(), context.Cause(ctx)
	if why == err {
		return err
	}
	return &cut{why, err}
}

type cut struct{ why, err error }

func (c *cut) Error() string   { return c.why.Error() }
func (c *cut) Unwrap() []error { return []error{c.why, c.err} }

// Unanswered is the error of a call that was cut off after it was handed over: it happens, or has
// happened, but the caller does not learn the outcome.
type Unanswered struct{ Err error }

func (e *Unanswered) Error() string { return e.Err.Error() }
func (e *Unanswered) Unwrap() error { return e.Err }

// ErrorKind returns message.KindUnanswered.
func (e *Unanswered) ErrorKind() message.ErrorKind { return message.KindUnanswered }

// wait posts an event and waits for its outcome.
func (r *Relay) wait(ctx context.Context, event Event) (Answer, error) { return r.ask(ctx, event)() }

// ask posts an event, and returns a function that waits for its outcome.
func (r *Relay) ask(ctx context.Context, event Event) func() (Answer, error) {
	back := make(chan outcome, 1)
	if err := r.post(ctx, posted{event, back}); err != nil {
		return func() (Answer, error) { return Answer{}, err }
	}
	return func() (Answer, error) {
		select {
		case o := <-back:
			return o.answer, o.err
		case <-ctx.Done():
			return Answer{}, &Unanswered{cutOff(ctx)}
		case <-r.done:
		}
		// The last step may have answered before the loop ended.
		select {
		case o := <-back:
			return o.answer, o.err
		default:
			return Answer{}, ErrDown
		}
	}
}
