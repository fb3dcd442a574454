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

// told says how errors of one kind go over the wire.
type told struct {
	code api.Code
	hint string
	more func(*api.Error, error) *api.Error // completes it; nil: it is complete
}

var tellings = map[message.ErrorKind]told{
	message.KindUnknown:   {api.CodeNotFound, "intercom status lists who is here", lookedUp(api.NoSession, api.NoChat)},
	message.KindGone:      {api.CodeNotFound, "intercom status lists who is here", lookedUp(api.SessionEnded, api.ChatEnded)},
	message.KindAmbiguous: {api.CodeUsage, "give the whole id", nil},
	message.KindBadName:   {api.CodeUsage, "", nil},
	message.KindTaken:     {api.CodeRefused, "choose another; intercom status lists the names", alone[*registry.TakenError]},
	message.KindInChat:    {api.CodeRefused, "intercom chat stop ends it", inChat},
	message.KindStopped: {api.CodeRefused, "", func(*api.Error, error) *api.Error {
		return api.Errorf(api.CodeRefused, "%s", message.Stopped).WithHint("intercom chat resume --all").About(api.PersonOnly, "")
	}},
	message.KindChatEnded:   {api.CodeNotFound, "intercom chat list --ended", func(e *api.Error, _ error) *api.Error { return e.About(api.ChatEnded, "") }},
	message.KindAtLimit:     {api.CodeUnsure, "intercom chat resume, in a pane that is not adopted, and y there", personOnly},
	message.KindPersonOnly:  {api.CodeRefused, "do it from a pane that is not adopted", personOnly},
	message.KindNothingSaid: {api.CodeRefused, "let it answer something first; intercom send sends your own words", nil},
	message.KindUnfiltered:  {api.CodeRefused, "intercom policy log shows what failed; once that is fixed the message is decided again, or send your own words with intercom inbox edit", nil},
	message.KindAdopted:     {api.CodeRefused, "", nil},
	message.KindNotPossible: {api.CodeUsage, "", nil},
	message.KindUnwritable:  {api.CodeFailed, "", unwritable},
	message.KindUnanswered:  {api.CodeUncertain, "it may have been done: look before you do it again", nil},
	message.KindNotAdoptable: {api.CodeRefused, "", func(e *api.Error, err error) *api.Error {
		r, _ := errors.AsType[*pane.Refusal](err)
		return alone[*pane.Refusal](e, err).WithHint("%s", r.Hint).About(api.Unadoptable, r.Pane)
	}},
}

// wire gives an error that has a kind its code and a hint.
func wire(err error) error {
	of, ok := errors.AsType[message.OfKind](err)
	if !ok {
		return err
	}
	t := tellings[of.ErrorKind()]
	e := api.Errorf(t.code, "%w", err).WithHint("%s", t.hint)
	if t.more != nil {
		e = t.more(e, err)
	}
	return e
}

// personOnly marks an error that an agent can do nothing about.
func personOnly(e *api.Error, _ error) *api.Error { return e.About(api.PersonOnly, "") }

// lookedUp says whether a lookup missed a session or a chat.
func lookedUp(session, chat api.Kind) func(*api.Error, error) *api.Error {
	return func(e *api.Error, err error) *api.Error {
		lookup, ok := errors.AsType[*registry.LookupError](err)
		switch {
		case !ok:
			return e
		case lookup.Kind == "chat":
			return e.About(chat, lookup.Ref)
		}
		return e.About(session, lookup.Ref)
	}
}

// alone drops the text around an error of type E, whose own text is enough.
func alone[E error](e *api.Error, err error) *api.Error {
	one, _ := errors.AsType[E](err)
	return api.Errorf(e.Code, "%w", one).WithHint("%s", e.Hint)
}

// unwritable says how to make the journal writable again.
func unwritable(e *api.Error, err error) *api.Error {
	one, _ := errors.AsType[*message.UnwritableError](err)
	return api.Errorf(e.Code, "%w", one).WithHint("%s; what is held resumes by itself", one.Remedy())
}

// inChat says which chat a session is in, and how to take it out.
func inChat(e *api.Error, err error) *api.Error {
	in, ok := errors.AsType[*relay.InChatError](err)
	switch {
	case !ok:
		return e.About(api.InChat, "")
	case in.Same:
		return e.WithHint("intercom chat stop %s ends it", called(in.Chat)).About(api.InChat, in.Name)
	}
	return e.WithHint("intercom chat remove %s %s takes it out of there", called(in.Chat), in.Name).About(api.InChat, in.Name)
}

// ErrServerEnded is the reason why all parts of the sidecar end when the tmux server has ended.
var ErrServerEnded = errors.New(string(message.ServerEnded))

// remote reports whether a session belongs to another computer.
func remote(s registry.Snapshot, session message.ID) bool {
	peer, known := s.Peer(session)
	return known && peer.Kind == message.PeerRemote
}

// sayWhy returns the error of a wait that the end of the sidecar cuts off. If the tmux server has ended, all
// its agents have ended too, so a caller that waits for an answer is told that, and not only that the sidecar
// ends. An agent on another computer lives on.
func sayWhy(ctx context.Context, state message.ReceiptState, elsewhere bool, err error) error {
	if !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(ctx), ErrServerEnded) {
		return err
	}
	if elsewhere {
		return api.Errorf(api.CodeUncertain, "%s: %w", state, ErrServerEnded).WithHint("it is accepted, and goes on once another sidecar runs here")
	}
	code := api.CodeFailed
	if state == message.Typed || state == message.Uncertain {
		code = api.CodeUncertain
	}
	return api.Errorf(code, "%s: %w", state, ErrServerEnded).WithHint("all agents in it have ended with it")
}
