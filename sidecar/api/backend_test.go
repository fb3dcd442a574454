package api_test

import (
	"context"
	"iter"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Helpers: a backend.

// call is what the backend was asked.
type call struct {
	name string
	req  any
	from api.Caller
}

// backend answers what it was told to answer, and keeps the last question.
type backend struct {
	status   api.Status
	sessions []message.Session
	chats    []message.Chat
	sent     api.Sent
	said     api.Said
	stats    message.Stats
	recorded api.Recording
	asked    api.Asked
	peers    []api.Peer
	log      []message.Event
	block    chan struct{}      // if set, Send says on it that it waits, and waits for its context
	events   chan message.Event // if set, the stream stays open

	mu     sync.Mutex // guards what follows
	last   call
	err    error
	panics bool
	ended  bool
}

func (b *backend) take(name string, req any, from api.Caller) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = call{name, req, from}
	if b.panics {
		panic("defect")
	}
	return b.err
}

func (b *backend) took() call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

func (b *backend) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *backend) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

func (b *backend) cancelled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

func (b *backend) session() message.Session {
	if len(b.sessions) == 0 {
		return message.Session{}
	}
	return b.sessions[0]
}

func (b *backend) chat() message.Chat {
	if len(b.chats) == 0 {
		return message.Chat{}
	}
	return b.chats[0]
}

func (b *backend) Status(context.Context, api.Caller) (api.Status, error) { return b.status, nil }

func (b *backend) Down(_ context.Context, from api.Caller) error { return b.take("down", nil, from) }

func (b *backend) Adopt(_ context.Context, from api.Caller, req api.AdoptRequest) (message.Session, error) {
	return b.session(), b.take("adopt", req, from)
}

func (b *backend) Pressed(_ context.Context, from api.Caller, req api.PressedRequest) error {
	return b.take("pressed", req, from)
}

func (b *backend) Release(_ context.Context, from api.Caller, req api.ReleaseRequest) (message.Session, error) {
	return b.session(), b.take("release", req, from)
}

func (b *backend) Rename(_ context.Context, from api.Caller, req api.RenameRequest) (message.Session, error) {
	return b.session(), b.take("rename", req, from)
}

func (b *backend) Sessions(_ context.Context, from api.Caller) ([]message.Session, error) {
	return b.sessions, b.take("sessions", nil, from)
}

func (b *backend) StartChat(_ context.Context, from api.Caller, req api.StartChatRequest) (message.Chat, error) {
	return message.Chat{}, b.take("start", req, from)
}

func (b *backend) Chats(_ context.Context, from api.Caller, ended bool) ([]message.Chat, error) {
	return b.chats, b.take("chats", ended, from)
}

func (b *backend) StopChat(_ context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return b.chats, b.take("stop", which, from)
}

func (b *backend) PauseChat(_ context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return b.chats, b.take("pause", which, from)
}

func (b *backend) ResumeChat(_ context.Context, from api.Caller, which api.ChatRef) ([]message.Chat, error) {
	return b.chats, b.take("resume", which, from)
}

func (b *backend) ShowChat(_ context.Context, from api.Caller, chat string) (api.ChatDetail, error) {
	return api.ChatDetail{Chat: b.chat(), Sessions: b.sessions}, b.take("show", chat, from)
}

func (b *backend) AddMember(_ context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	return b.chat(), b.take("add", req, from)
}

func (b *backend) RemoveMember(_ context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	return b.chat(), b.take("remove", req, from)
}

func (b *backend) MuteMember(_ context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	return b.chat(), b.take("mute", req, from)
}

func (b *backend) Say(_ context.Context, from api.Caller, req api.SayRequest) (api.Said, error) {
	return b.said, b.take("say", req, from)
}

func (b *backend) Ask(_ context.Context, from api.Caller, req api.AskRequest) (message.Chat, error) {
	return b.chat(), b.take("ask", req, from)
}

func (b *backend) Asked(_ context.Context, from api.Caller, q api.AskedQuery) (api.Asked, error) {
	return b.asked, b.take("asked", q, from)
}

func (b *backend) Inbox(_ context.Context, from api.Caller) ([]api.Held, error) {
	return nil, b.take("inbox", nil, from)
}

func (b *backend) Vouch(_ context.Context, from api.Caller, req api.VouchRequest) (api.Held, error) {
	return api.Held{}, b.take("vouch", req, from)
}

func (b *backend) Decide(_ context.Context, from api.Caller, req api.DecideRequest) (api.Decided, error) {
	return api.Decided{}, b.take("decide", req, from)
}

func (b *backend) Policy(_ context.Context, from api.Caller) (policy.Status, error) {
	return policy.Status{}, b.take("policy", nil, from)
}

func (b *backend) RollbackPolicy(_ context.Context, from api.Caller, _ api.RollbackPolicyRequest) (policy.Status, error) {
	return policy.Status{}, b.take("rollback", nil, from)
}

func (b *backend) DiffPolicy(_ context.Context, from api.Caller, req api.DiffPolicyRequest) (policy.Trial, error) {
	return policy.Trial{}, b.take("diff", req, from)
}

func (b *backend) ExplainPolicy(_ context.Context, from api.Caller, req api.ExplainPolicyRequest) (policy.Explained, error) {
	return policy.Explained{}, b.take("explain policy", req, from)
}

func (b *backend) Peers(_ context.Context, from api.Caller) ([]api.Peer, error) {
	return b.peers, b.take("peers", nil, from)
}

func (b *backend) Stats(_ context.Context, from api.Caller, chat string) (message.Stats, error) {
	return b.stats, b.take("stats", chat, from)
}

func (b *backend) Explain(_ context.Context, from api.Caller, req api.ExplainRequest) (message.Explanation, error) {
	return b.recorded.Explanation, b.take("explain", req, from)
}

func (b *backend) Record(_ context.Context, from api.Caller, req api.ExplainRequest) (api.Recording, error) {
	return b.recorded, b.take("record", req, from)
}

func (b *backend) Hook(_ context.Context, from api.Caller, hook api.HookRequest) error {
	return b.take("hook", hook, from)
}

func (b *backend) Send(ctx context.Context, from api.Caller, req api.SendRequest) (api.Sent, error) {
	err := b.take("send", req, from)
	if b.block != nil {
		close(b.block)
		<-ctx.Done()
		b.end()
		return api.Sent{}, ctx.Err()
	}
	return b.sent, err
}

func (b *backend) Log(_ context.Context, from api.Caller, q api.LogQuery) ([]message.Event, error) {
	return b.log, b.take("log", q, from)
}

func (b *backend) Events(ctx context.Context, from api.Caller, since int64) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		defer b.end()
		err := b.take("events", since, from)
		if !yield(message.Event{Seq: since + 1, Kind: "notice"}, nil) {
			return
		}
		if err != nil {
			yield(message.Event{}, err)
			return
		}
		for {
			select {
			case event := <-b.events:
				if !yield(event, nil) {
					return
				}
			case <-ctx.Done():
				yield(message.Event{}, ctx.Err())
				return
			}
		}
	}
}
