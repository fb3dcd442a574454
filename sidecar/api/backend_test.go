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

// call is a request to the backend.
type call struct {
	name string
	req  any
	from api.Caller
}

// backend gives the answers that it was told to give, and keeps the last request.
type backend struct {
	status   api.Status
	sessions []message.Peer
	chats    []message.Chat
	sent     api.Sent
	said     api.Said
	stats    message.Stats
	recorded api.Recording
	asked    api.Asked
	peers    []api.Peer
	log      []message.Event
	block    chan struct{}      // if set, Send signals on it that it waits, and waits for its context
	events   chan message.Event // if set, the stream stays open

	mu     sync.Mutex // guards the fields below
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

func (b *backend) session() message.Peer {
	if len(b.sessions) == 0 {
		return message.Peer{}
	}
	return b.sessions[0]
}

func (b *backend) chat() message.Chat {
	if len(b.chats) == 0 {
		return message.Chat{}
	}
	return b.chats[0]
}

func (b *backend) ShowStatus(context.Context, api.Caller, api.None) (api.Status, error) {
	return b.status, nil
}

func (b *backend) Down(_ context.Context, from api.Caller, _ api.None) (none api.None, _ error) {
	return none, b.take("down", nil, from)
}

func (b *backend) Adopt(_ context.Context, from api.Caller, req api.AdoptRequest) (message.Peer, error) {
	return b.session(), b.take("adopt", req, from)
}

func (b *backend) Pressed(_ context.Context, from api.Caller, req api.PressedRequest) (none api.None, _ error) {
	return none, b.take("pressed", req, from)
}

func (b *backend) Release(_ context.Context, from api.Caller, req api.ReleaseRequest) (message.Peer, error) {
	return b.session(), b.take("release", req, from)
}

func (b *backend) Rename(_ context.Context, from api.Caller, req api.RenameRequest) (message.Peer, error) {
	return b.session(), b.take("rename", req, from)
}

func (b *backend) Sessions(_ context.Context, from api.Caller, _ api.None) ([]message.Peer, error) {
	return b.sessions, b.take("sessions", nil, from)
}

func (b *backend) StartChat(_ context.Context, from api.Caller, req api.StartChatRequest) (message.Chat, error) {
	return message.Chat{}, b.take("start", req, from)
}

func (b *backend) Chats(_ context.Context, from api.Caller, q api.ChatsQuery) ([]message.Chat, error) {
	return b.chats, b.take("chats", q.Ended, from)
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

func (b *backend) ShowChat(_ context.Context, from api.Caller, q api.ChatQuery) (api.ChatDetail, error) {
	return api.ChatDetail{Chat: b.chat(), Sessions: b.sessions}, b.take("show", q.Chat, from)
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

func (b *backend) AwaitAnswers(_ context.Context, from api.Caller, q api.AskedQuery) (api.Asked, error) {
	return b.asked, b.take("asked", q, from)
}

func (b *backend) Inbox(_ context.Context, from api.Caller, _ api.None) ([]api.Held, error) {
	return nil, b.take("inbox", nil, from)
}

func (b *backend) Vouch(_ context.Context, from api.Caller, req api.VouchRequest) (api.Held, error) {
	return api.Held{}, b.take("vouch", req, from)
}

func (b *backend) Decide(_ context.Context, from api.Caller, req api.DecideRequest) (api.Decided, error) {
	return api.Decided{}, b.take("decide", req, from)
}

func (b *backend) Policy(_ context.Context, from api.Caller, _ api.None) (policy.Status, error) {
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

func (b *backend) Peers(_ context.Context, from api.Caller, _ api.None) ([]api.Peer, error) {
	return b.peers, b.take("peers", nil, from)
}

func (b *backend) Stats(_ context.Context, from api.Caller, q api.ChatQuery) (message.Stats, error) {
	return b.stats, b.take("stats", q.Chat, from)
}

func (b *backend) Explain(_ context.Context, from api.Caller, req api.ExplainRequest) (message.Explanation, error) {
	return b.recorded.Explanation, b.take("explain", req, from)
}

func (b *backend) Record(_ context.Context, from api.Caller, req api.ExplainRequest) (api.Recording, error) {
	return b.recorded, b.take("record", req, from)
}

func (b *backend) Hook(_ context.Context, from api.Caller, hook api.HookRequest) (none api.None, _ error) {
	return none, b.take("hook", hook, from)
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

func (b *backend) Events(ctx context.Context, from api.Caller, q api.EventsQuery) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		defer b.end()
		since := q.Since
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

// offered registers everything that the backend serves.
func (b *backend) offered(s *api.Server) *api.Server {
	api.Handle(s, api.ShowStatus, b.ShowStatus)
	api.Handle(s, api.Down, b.Down)
	api.Handle(s, api.Adopt, b.Adopt)
	api.Handle(s, api.Release, b.Release)
	api.Handle(s, api.Rename, b.Rename)
	api.Handle(s, api.Pressed, b.Pressed)
	api.Handle(s, api.Sessions, b.Sessions)
	api.Handle(s, api.Peers, b.Peers)
	api.Handle(s, api.StartChat, b.StartChat)
	api.Handle(s, api.Chats, b.Chats)
	api.Handle(s, api.StopChat, b.StopChat)
	api.Handle(s, api.PauseChat, b.PauseChat)
	api.Handle(s, api.ResumeChat, b.ResumeChat)
	api.Handle(s, api.ShowChat, b.ShowChat)
	api.Handle(s, api.Stats, b.Stats)
	api.Handle(s, api.Say, b.Say)
	api.Handle(s, api.AddMember, b.AddMember)
	api.Handle(s, api.RemoveMember, b.RemoveMember)
	api.Handle(s, api.MuteMember, b.MuteMember)
	api.Handle(s, api.Ask, b.Ask)
	api.Handle(s, api.AwaitAnswers, b.AwaitAnswers)
	api.Handle(s, api.Inbox, b.Inbox)
	api.Handle(s, api.Vouch, b.Vouch)
	api.Handle(s, api.Decide, b.Decide)
	api.Handle(s, api.Policy, b.Policy)
	api.Handle(s, api.RollbackPolicy, b.RollbackPolicy)
	api.Handle(s, api.DiffPolicy, b.DiffPolicy)
	api.Handle(s, api.ExplainPolicy, b.ExplainPolicy)
	api.Handle(s, api.Explain, b.Explain)
	api.Handle(s, api.Record, b.Record)
	api.Handle(s, api.Hook, b.Hook)
	api.Handle(s, api.Send, b.Send)
	api.Handle(s, api.Log, b.Log)
	api.Feed(s, api.Events, b.Events)
	return s
}
