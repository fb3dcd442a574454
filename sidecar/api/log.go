package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Log lists what happened, oldest first.
var Log = Op[LogQuery, []message.Event]{Name: "log", Door: everybody("read the log", "credentials are masked"), Reads: true, Whole: list[message.Event], Check: func(q LogQuery) error {
	if q.Limit < 0 {
		return Errorf(CodeUsage, "limit %d: must not be negative", q.Limit)
	}
	return nil
}}

// Events yields past events and then new ones as they happen, until the sidecar ends or the reader stops.
var Events = Stream[EventsQuery, message.Event]{Name: "events", Door: everybody("follow what happens", "credentials are masked")}

// LogQuery selects from the log. Each field that is set narrows the selection.
type LogQuery struct {
	ID     string `json:"id,omitempty"`     // of a message, delivery or chat, also in its short form
	Chat   string `json:"chat,omitempty"`   // by id, its short form or name
	Search string `json:"search,omitempty"` // words that a body contains
	Origin string `json:"origin,omitempty"` // the origin of messages: human, agent, system, remote; selects only messages
	// Notices selects only what a person was told: the list of past notices.
	Notices bool  `json:"notices,omitempty"`
	Since   int64 `json:"since,omitempty"`  // only events with a greater number
	Before  int64 `json:"before,omitempty"` // only events with a smaller number; 0: no bound
	Limit   int   `json:"limit,omitempty"`  // at most this many, the latest; 0 lets the sidecar choose: 1000
	Oldest  bool  `json:"oldest,omitempty"` // if there are more than Limit, the first rather than the latest: with Since, page by page
}

// EventsQuery says where a stream of events begins.
type EventsQuery struct {
	Since int64 `json:"since,omitempty"` // only events with a greater number; negative: only new events
}
