package service

import (
	"context"
	"errors"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// refusal puts a pane's refusal on the wire, with its hint.
func refusal(err error) error {
	if r, ok := errors.AsType[*pane.Refusal](err); ok {
		return api.Errorf(api.CodeRefused, "%w", r).WithHint("%s", r.Hint).About(api.Unadoptable, r.Pane)
	}
	return wire(err)
}

// wire gives the errors of the relay and the registry their codes.
func wire(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, registry.ErrUnknown), errors.Is(err, registry.ErrEnded):
		return about(api.Errorf(api.CodeNotFound, "%w", err)).WithHint("intercom status lists who is here")
	case errors.Is(err, registry.ErrAmbiguous):
		return api.Errorf(api.CodeUsage, "%w", err).WithHint("give the whole id")
	case errors.Is(err, relay.ErrInChat):
		return inChat(err)
	case errors.Is(err, relay.ErrStopped):
		return api.Errorf(api.CodeRefused, "everything is stopped").WithHint("intercom chat resume --all")
	case errors.Is(err, relay.ErrEnded):
		return api.Errorf(api.CodeNotFound, "%w", err).WithHint("intercom chat list --ended").About(api.ChatEnded, "")
	case isBraked(err):
		return api.Errorf(api.CodeUnsure, "%w", err).WithHint("intercom chat resume, in a pane that is not adopted, and y there")
	case errors.Is(err, relay.ErrPersonOnly):
		return api.Errorf(api.CodeRefused, "%w", err).WithHint("do it from a pane that is not adopted")
	case errors.Is(err, relay.ErrNothingSaid):
		return api.Errorf(api.CodeRefused, "%w", err).WithHint("let it answer something first; intercom send sends your own words")
	case errors.Is(err, relay.ErrUnfiltered):
		return api.Errorf(api.CodeRefused, "%w", err).WithHint("intercom policy log shows what failed; once that is fixed the message is decided again, or send your own words with intercom inbox edit")
	case errors.Is(err, relay.ErrAdopted):
		return api.Errorf(api.CodeRefused, "%w", err)
	case errors.Is(err, registry.ErrName):
		if taken, ok := errors.AsType[*registry.TakenError](err); ok {
			return api.Errorf(api.CodeRefused, "%w", taken).WithHint("choose another; intercom status lists the names")
		}
		return api.Errorf(api.CodeUsage, "%w", err)
	case errors.Is(err, relay.ErrRequest):
		return api.Errorf(api.CodeUsage, "%w", err)
	}
	if full, ok := errors.AsType[*message.UnwritableError](err); ok {
		return api.Errorf(api.CodeFailed, "%w", full).WithHint("free some space there; what is held resumes by itself")
	}
	return err
}

// about tells of which kind a lookup's error is.
func about(err *api.Error) *api.Error {
	lookup, ok := errors.AsType[*registry.LookupError](err)
	if !ok {
		return err
	}
	kinds := map[bool]api.Kind{false: api.NoSession, true: api.SessionEnded}
	if lookup.Kind == "chat" {
		kinds = map[bool]api.Kind{false: api.NoChat, true: api.ChatEnded}
	}
	return err.About(kinds[errors.Is(lookup, registry.ErrEnded)], lookup.Ref)
}

func isBraked(err error) bool {
	_, braked := errors.AsType[*relay.BrakedError](err)
	return braked
}

// inChat says in which chat a session is, and how it comes out of it.
func inChat(err error) error {
	in, ok := errors.AsType[*relay.InChatError](err)
	told := api.Errorf(api.CodeRefused, "%w", err)
	switch {
	case !ok:
		return told.WithHint("intercom chat stop ends it").About(api.InChat, "")
	case in.Same:
		return told.WithHint("intercom chat stop %s ends it", called(in.Chat)).About(api.InChat, in.Name)
	}
	return told.WithHint("intercom chat remove %s %s takes it out of there", called(in.Chat), in.Name).About(api.InChat, in.Name)
}

// ErrServerEnded is why all parts end when the tmux server has.
var ErrServerEnded = errors.New(string(message.ServerEnded))

// sayWhy is the error of a wait that our own end cuts off. With the tmux server all agents
// have ended, so that whoever waits for an answer is told that, and not only that we end.
func sayWhy(ctx context.Context, state message.ReceiptState, err error) error {
	if !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(ctx), ErrServerEnded) {
		return err
	}
	code := api.CodeFailed
	if state == message.Typed || state == message.Uncertain {
		code = api.CodeUncertain
	}
	return api.Errorf(code, "%s: %w", state, ErrServerEnded).WithHint("all agents in it have ended with it")
}
