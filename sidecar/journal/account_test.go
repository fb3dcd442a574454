package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// account is the content of a journal, in words that do not change with the program's own: those of
// testdata/schema3/make.go.
type account struct {
	Stopped  bool
	Held     int
	Sessions []accountSession
	Chats    []accountChat
	Messages []accountMessage
	Memory   map[string]string
	Notices  []string
}

type accountSession struct {
	ID, Name, Title, Pane, TTY, Profile, State, EndReason string
	PaneProcess, Program, Server                          int
	Present                                               bool
	Adopted                                               time.Time
	Last, Cause                                           int // of its brake
}

type accountChat struct {
	ID, Name, State, Why, Approve string
	Braked                        bool
	Rate, Turns, Taken            int
	Members                       []string // number, name, session, role, and what else is known
	Started                       time.Time
	Ended                         *time.Time
	Deliveries                    map[string]int // by state
}

type accountMessage struct {
	ID, Chat, Type, Priority, Subject, Body, Origin, Trust, InReplyTo string
	From, FromSession                                                 string
	To, Tags                                                          []string
	Meta                                                              map[string]string
	Depth                                                             int
	Created                                                           time.Time
	Undecided                                                         bool
	Verdicts                                                          []accountVerdict
	Deliveries                                                        []accountDelivery
}

type accountVerdict struct {
	Verb, Reason, By, Otherwise string
	Body                        *string
	Expires                     time.Duration
	Unfiltered                  bool
	At                          time.Time
}

type accountDelivery struct {
	ID, Target, Chat, Body string
	Attempt                int
	Typed, Asked           bool
	Unfiltered             bool
	UnderWay, Waits        bool // a start goes on with it; it is handed out once more, to whomever
	Receipts               []accountReceipt
}

type accountReceipt struct {
	State, Reason, Words string
	At                   time.Time
}

// accountOf reads the whole journal.
func accountOf(ctx context.Context, j *Journal) (account, error) {
	was, err := j.Restore(ctx)
	if err != nil {
		return account{}, err
	}
	a := account{Stopped: was.Stopped, Memory: map[string]string{}}
	if a.Held, err = j.Held(ctx); err != nil {
		return a, err
	}
	memories, err := j.Memories(ctx)
	for script, doc := range memories {
		a.Memory[script] = string(doc)
	}
	if err != nil {
		return a, err
	}
	waiting, err := j.Waiting(ctx, "")
	if err != nil {
		return a, err
	}
	has := func(list []Pending, id message.ID) bool {
		return slices.ContainsFunc(list, func(p Pending) bool { return p.Delivery.ID == id })
	}
	events, err := j.Events(ctx, Query{})
	if err != nil {
		return a, err
	}
	known := map[message.ID]bool{}
	for _, e := range events {
		switch e.Kind {
		case "notice":
			a.Notices = append(a.Notices, e.Notice)
		case "session":
			if known[e.Peer.ID] {
				continue
			}
			known[e.Peer.ID] = true
			s, err := j.Session(ctx, e.Peer.ID)
			if err != nil {
				return a, err
			}
			depth := was.Depths[s.ID]
			a.Sessions = append(a.Sessions, accountSession{
				ID: string(s.ID), Name: s.Name, Title: s.Title, Pane: s.Pane, TTY: s.TTY, Profile: s.Profile, State: string(s.State), EndReason: s.EndReason,
				PaneProcess: s.PaneProc.PID, Program: s.Foreground.PID, Server: s.Server.PID,
				Present: s.Ended == nil, Adopted: s.Adopted, Last: depth.Last, Cause: depth.Cause,
			})
		case "message":
			m := *e.Message
			one := accountMessage{
				ID: string(m.ID), Chat: string(e.Chat), Type: m.Type, Priority: m.Priority, Subject: m.Subject, Body: m.Body, Origin: string(m.Origin), Trust: string(m.Trust),
				InReplyTo: string(m.InReplyTo), From: m.From.Name, FromSession: string(m.From.Peer), Tags: m.Tags, Meta: m.Meta, Depth: m.Depth, Created: m.Created,
				Undecided: slices.ContainsFunc(was.Undecided, func(u message.Envelope) bool { return u.ID == m.ID }),
			}
			for _, to := range m.To {
				one.To = append(one.To, to.Name)
			}
			verdicts, err := j.Verdicts(ctx, m.ID)
			if err != nil {
				return a, err
			}
			for _, v := range verdicts {
				one.Verdicts = append(one.Verdicts, accountVerdict{
					Verb: string(v.Verb), Reason: v.Reason, By: v.By, Otherwise: string(v.Otherwise), Body: v.Body, Expires: v.Expires, Unfiltered: v.Unfiltered, At: v.At,
				})
			}
			deliveries, err := j.Deliveries(ctx, m.ID)
			if err != nil {
				return a, err
			}
			receipts, err := j.Receipts(ctx, m.ID)
			if err != nil {
				return a, err
			}
			for _, made := range deliveries {
				d, err := j.Delivery(ctx, made.ID)
				if err != nil {
					return a, err
				}
				to := accountDelivery{
					ID: string(d.ID), Target: string(d.Target), Chat: string(d.Chat), Body: render.Words(d.Form, d.Message), Attempt: d.Attempt, Typed: d.Typed, Asked: d.Asked,
					Unfiltered: d.Unfiltered, UnderWay: has(was.Pending, d.ID), Waits: has(waiting, d.ID),
				}
				for _, r := range receipts {
					if r.Delivery == d.ID {
						to.Receipts = append(to.Receipts, accountReceipt{State: string(r.State), Reason: string(r.Reason), Words: r.Words, At: r.At})
					}
				}
				one.Deliveries = append(one.Deliveries, to)
			}
			a.Messages = append(a.Messages, one)
		}
	}
	for _, ended := range []bool{false, true} {
		chats, err := j.Chats(ctx, ended)
		if err != nil {
			return a, err
		}
		for _, c := range chats {
			stats, err := j.Stats(ctx, c.ID)
			if err != nil {
				return a, err
			}
			one := accountChat{
				ID: string(c.ID), Name: c.Name, State: string(c.State), Why: c.Why, Approve: c.Limits.Approve, Braked: c.Braked, Rate: c.Limits.Rate, Turns: c.Turns, Taken: was.Taken[c.ID],
				Started: c.Started, Ended: c.Ended, Deliveries: map[string]int{},
			}
			for _, p := range c.Participants {
				one.Members = append(one.Members, fmt.Sprintf("%d %s %s %q speaks %t, asked %t, left %t, gone %t", p.Number, p.Name, p.Peer, p.Role, p.MaySpeak, p.Approve, p.Left, p.Gone))
			}
			for state, n := range stats.Deliveries {
				one.Deliveries[string(state)] = n
			}
			a.Chats = append(a.Chats, one)
		}
	}
	return a, nil
}
