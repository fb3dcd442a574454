package daemon_test

import (
	"context"
	"iter"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// client has a method for each operation that the tests ask a sidecar for.
type client struct{ *api.Client }

// clientAt is the client of the sidecar that listens at a socket.
func clientAt(socket string) client { return client{&api.Client{Socket: socket}} }

func (c client) Status(ctx context.Context) (api.Status, error) {
	return api.Call(ctx, c.Client, api.ShowStatus, api.None{})
}

func (c client) Down(ctx context.Context) error {
	_, err := api.Call(ctx, c.Client, api.Down, api.None{})
	return err
}

func (c client) Hook(ctx context.Context, req api.HookRequest) error {
	_, err := api.Call(ctx, c.Client, api.Hook, req)
	return err
}

func (c client) Chats(ctx context.Context, ended bool) ([]message.Chat, error) {
	return api.Call(ctx, c.Client, api.Chats, api.ChatsQuery{Ended: ended})
}

func (c client) ShowChat(ctx context.Context, chat string) (api.ChatDetail, error) {
	return api.Call(ctx, c.Client, api.ShowChat, api.ChatQuery{Chat: chat})
}

func (c client) Stats(ctx context.Context, chat string) (message.Stats, error) {
	return api.Call(ctx, c.Client, api.Stats, api.ChatQuery{Chat: chat})
}

func (c client) Asked(ctx context.Context, q api.AskedQuery) (api.Asked, error) {
	return api.Call(ctx, c.Client, api.AwaitAnswers, q)
}

func (c client) Events(ctx context.Context, since int64) iter.Seq2[message.Event, error] {
	return api.Follow(ctx, c.Client, api.Events, api.EventsQuery{Since: since})
}

func (c client) Sessions(ctx context.Context) ([]message.Peer, error) {
	return api.Call(ctx, c.Client, api.Sessions, api.None{})
}

func (c client) Peers(ctx context.Context) ([]api.Peer, error) {
	return api.Call(ctx, c.Client, api.Peers, api.None{})
}

func (c client) Inbox(ctx context.Context) ([]api.Held, error) {
	return api.Call(ctx, c.Client, api.Inbox, api.None{})
}

func (c client) Policy(ctx context.Context) (policy.Status, error) {
	return api.Call(ctx, c.Client, api.Policy, api.None{})
}

func (c client) Adopt(ctx context.Context, req api.AdoptRequest) (message.Peer, error) {
	return api.Call(ctx, c.Client, api.Adopt, req)
}

func (c client) Release(ctx context.Context, req api.ReleaseRequest) (message.Peer, error) {
	return api.Call(ctx, c.Client, api.Release, req)
}

func (c client) Rename(ctx context.Context, req api.RenameRequest) (message.Peer, error) {
	return api.Call(ctx, c.Client, api.Rename, req)
}

func (c client) StartChat(ctx context.Context, req api.StartChatRequest) (message.Chat, error) {
	return api.Call(ctx, c.Client, api.StartChat, req)
}

func (c client) StopChat(ctx context.Context, req api.ChatRef) ([]message.Chat, error) {
	return api.Call(ctx, c.Client, api.StopChat, req)
}

func (c client) PauseChat(ctx context.Context, req api.ChatRef) ([]message.Chat, error) {
	return api.Call(ctx, c.Client, api.PauseChat, req)
}

func (c client) ResumeChat(ctx context.Context, req api.ChatRef) ([]message.Chat, error) {
	return api.Call(ctx, c.Client, api.ResumeChat, req)
}

func (c client) AddMember(ctx context.Context, req api.MemberRequest) (message.Chat, error) {
	return api.Call(ctx, c.Client, api.AddMember, req)
}

func (c client) RemoveMember(ctx context.Context, req api.MemberRequest) (message.Chat, error) {
	return api.Call(ctx, c.Client, api.RemoveMember, req)
}

func (c client) MuteMember(ctx context.Context, req api.MemberRequest) (message.Chat, error) {
	return api.Call(ctx, c.Client, api.MuteMember, req)
}

func (c client) Say(ctx context.Context, req api.SayRequest) (api.Said, error) {
	return api.Call(ctx, c.Client, api.Say, req)
}

func (c client) Ask(ctx context.Context, req api.AskRequest) (message.Chat, error) {
	return api.Call(ctx, c.Client, api.Ask, req)
}

func (c client) Explain(ctx context.Context, req api.ExplainRequest) (message.Explanation, error) {
	return api.Call(ctx, c.Client, api.Explain, req)
}

func (c client) Send(ctx context.Context, req api.SendRequest) (api.Sent, error) {
	return api.Call(ctx, c.Client, api.Send, req)
}

func (c client) Log(ctx context.Context, req api.LogQuery) ([]message.Event, error) {
	return api.Call(ctx, c.Client, api.Log, req)
}

func (c client) RollbackPolicy(ctx context.Context, req api.RollbackPolicyRequest) (policy.Status, error) {
	return api.Call(ctx, c.Client, api.RollbackPolicy, req)
}

func (c client) DiffPolicy(ctx context.Context, req api.DiffPolicyRequest) (policy.Trial, error) {
	return api.Call(ctx, c.Client, api.DiffPolicy, req)
}

func (c client) ExplainPolicy(ctx context.Context, req api.ExplainPolicyRequest) (policy.Explained, error) {
	return api.Call(ctx, c.Client, api.ExplainPolicy, req)
}
