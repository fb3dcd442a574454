package service

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Log serves the log: past events, and new ones as they happen.
type Log struct {
	Names   *Names
	Journal interface {
		events
		messages
		ids
	}
	Bell *Bell
}

// ids finds messages, deliveries and chats by id.
type ids interface {
	Find(ctx context.Context, idOrShort string) (journal.Query, error)
	Delivery(ctx context.Context, id message.ID) (message.Delivery, error)
	Verdicts(ctx context.Context, id message.ID) ([]message.Verdict, error)
}

// Offer registers the operations with a server.
func (s *Log) Offer(server *api.Server) {
	api.Handle(server, api.Log, s.List)
	api.Feed(server, api.Events, s.Events)
}

// List lists what happened, without credentials.
func (s *Log) List(ctx context.Context, from api.Caller, q api.LogQuery) ([]message.Event, error) {
	events, err := s.list(ctx, from, q)
	for i := range events {
		events[i] = redacted(events[i])
	}
	return events, err
}

func (s *Log) list(ctx context.Context, _ api.Caller, q api.LogQuery) ([]message.Event, error) {
	query := journal.Query{Since: q.Since, Before: q.Before, Limit: q.Limit, Search: q.Search, Newest: !q.Oldest, Notices: q.Notices, Origin: message.Origin(q.Origin)}
	if q.Chat != "" {
		id, err := s.Names.chatID(ctx, q.Chat)
		if err != nil {
			return nil, err
		}
		query.Chat = id
	}
	if q.ID != "" {
		switch m, err := s.Journal.Message(ctx, q.ID); {
		case err == nil:
			query.Message = m.ID
		case errors.Is(err, journal.ErrNotFound):
			if found, err := s.Journal.Find(ctx, q.ID); err == nil && found.Delivery != "" {
				d, err := s.Journal.Delivery(ctx, found.Delivery)
				if err != nil {
					return nil, err
				}
				query.Message = d.Message.ID // so that the list shows the message and the decisions, too
				break
			}
			id, err := s.Names.chatID(ctx, q.ID)
			if err != nil {
				return nil, api.Errorf(api.CodeNotFound, "no message, delivery or chat %q", q.ID).WithHint("intercom log lists the messages, intercom chat list the chats")
			}
			query.Chat = id
		default:
			return nil, api.Errorf(api.CodeUsage, "%w", err)
		}
	}
	events, err := s.Journal.Events(ctx, query)
	if err != nil || query.Message == "" {
		return events, err
	}
	verdicts, err := s.Journal.Verdicts(ctx, query.Message)
	if err != nil {
		return nil, err
	}
	for i := range verdicts {
		at := slices.IndexFunc(events, func(e message.Event) bool { return e.Message == nil && !e.At.Before(verdicts[i].At) })
		if at < 0 {
			at = len(events)
		}
		events = slices.Insert(events, at, message.Event{At: verdicts[i].At, Kind: "decision", Verdict: &verdicts[i]})
	}
	return events, nil
}

// Events yields the events of the journal in their order, without credentials.
func (s *Log) Events(ctx context.Context, _ api.Caller, q api.EventsQuery) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		since := q.Since
		if since < 0 {
			last, err := s.Journal.Events(ctx, journal.Query{Limit: 1, Newest: true})
			if err != nil {
				yield(message.Event{}, err)
				return
			}
			since = 0
			if len(last) > 0 {
				since = last[0].Seq
			}
		}
		for ctx.Err() == nil {
			rung := s.Bell.Wait()
			events, err := s.Journal.Events(ctx, journal.Query{Since: since})
			if err != nil {
				if ctx.Err() == nil {
					yield(message.Event{}, err)
				}
				return
			}
			for _, e := range events {
				if !yield(redacted(e), nil) {
					return
				}
				since = e.Seq
			}
			if len(events) > 0 {
				continue // there may be more events than one read returns
			}
			select {
			case <-rung:
			case <-ctx.Done():
			}
		}
	}
}
