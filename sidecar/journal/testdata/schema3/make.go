//go:build ignore

// Make writes a journal of schema 3 with the relay and the journal of commit e74c688, in which chats
// and deliveries stand in every state that there was then, and beside it an account of it in words
// that are no version's own. make.sh runs it in a checkout of that commit.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	j, err := journal.Open(ctx, dir)
	if err != nil {
		return err
	}
	w := &world{panes: make(chan message.Delivery, 1000), ids: map[string]message.ID{}}
	r := &relay.Relay{Journal: j, Sink: w, Policy: w, Patience: time.Hour, Person: "zoe"}
	w.Relay = r
	running, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.Run(running) }()
	w.live(ctx, j)
	end()
	if err := <-done; err != nil {
		return err
	}
	a, err := accountOf(ctx, j)
	if err != nil {
		return err
	}
	doc, err := json.MarshalIndent(a, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "account.json"), append(doc, '\n'), 0o600); err != nil {
		return err
	}
	return j.Close()
}

type world struct {
	*relay.Relay
	panes chan message.Delivery
	mu    sync.Mutex
	seen  []message.Delivery
	ids   map[string]message.ID
}

func (w *world) Deliver(ds ...message.Delivery) {
	for _, d := range ds {
		w.panes <- d
	}
}
func (w *world) Cancel([]message.ID, message.Reason) {}
func (w *world) Forget(message.ID)                   {}

// Decide does what the body says.
func (w *world) Decide(ctx context.Context, q relay.Question) (message.Verdict, error) {
	v := message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "rules.lua"}, At: time.Now(), Memory: map[string][]byte{"rules.lua": []byte(`{"n":3}`)}}
	switch body := q.Message.Body; {
	case body == "undecided":
		<-ctx.Done()
		return v, ctx.Err()
	case body == "hold: filter":
		return v, errors.New("the script ended")
	case body == "hold: policy":
		v.Verb, v.Reason = message.VerbHold, "needs a look"
	case body == "hold: approval, for an hour":
		v.Verb, v.Reason, v.Expires, v.Otherwise = message.VerbAsk, "names a file", time.Hour, message.VerbDrop
	case body == "drop":
		v.Verb, v.Reason = message.VerbDrop, "no news"
	case body == "bounce":
		v.Verb, v.Reason = message.VerbBounce, "not today"
	case strings.Contains(body, "secret"):
		masked := strings.ReplaceAll(body, "secret", "******")
		v.Body = &masked
	}
	return v, nil
}

// to waits for what is handed to that session next, with that in its body.
func (w *world) to(name, body string) message.Delivery {
	for i, d := range w.seen {
		if d.Target == w.ids[name] && strings.Contains(d.Message.Body, body) {
			w.seen = append(w.seen[:i:i], w.seen[i+1:]...)
			return d
		}
	}
	for {
		select {
		case d := <-w.panes:
			if d.Target == w.ids[name] && strings.Contains(d.Message.Body, body) {
				return d
			}
			w.seen = append(w.seen, d)
		case <-time.After(10 * time.Second):
			panic(fmt.Sprintf("%s was not handed %q", name, body))
		}
	}
}

func (w *world) live(ctx context.Context, j *journal.Journal) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	do := func(r relay.Request) relay.Answer {
		a, err := w.Do(ctx, r)
		must(err)
		return a
	}
	for i, name := range []string{"ada", "ben", "cyd", "dan", "eve", "fay", "gil", "hal", "ian", "jon", "kim", "leo", "mia", "nan"} {
		s, err := w.Adopt(ctx, message.Session{
			ID: message.ID(fmt.Sprintf("01930000-0000-7000-8000-%012x", i+1)), Name: name, Title: "pane of " + name, Pane: fmt.Sprint("%", i), TTY: fmt.Sprint("/dev/pts/", i),
			Computer: message.LocalComputer, Profile: []string{"claude", "codex", "line"}[i%3], State: message.Idle, StateWhy: "prompt", Adopted: time.Now(),
			PaneProc: message.Process{PID: 100 + i, Start: 7, Name: "sh"}, Foreground: message.Process{PID: 200 + i, Start: 8, Name: name},
			Server: message.Process{PID: 50, Start: 5, Name: "tmux"},
		})
		must(err)
		w.ids[name] = s.ID
	}
	chat := func(name string, limits message.Limits, members ...string) string {
		return string(do(relay.StartChat{Sessions: members, Name: name, Limits: limits, Turns: 50, Roles: []string{"asks"}}).Chats[0].ID)
	}
	says := func(name, words string, answers ...message.ID) {
		must(w.Spoke(ctx, message.Turn{ID: message.NewID(), Session: w.ids[name], Words: words, Answers: answers, Source: "transcript", Ended: time.Now()}))
	}
	report := func(d message.Delivery, state message.ReceiptState, reason message.Reason) {
		must(w.Report(ctx, message.Receipt{Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: state, Reason: reason, At: time.Now()}))
	}
	submit := func(d message.Delivery) {
		report(d, message.Typed, "")
		report(d, message.Typed, "")
		report(d, message.Submitted, "")
	}
	send := func(to string, m message.Envelope) { do(relay.Send{To: to, Message: m}) }
	settle := func() {
		do(relay.Recall{Session: "ada"})
		time.Sleep(20 * time.Millisecond)
		do(relay.Recall{Session: "ada"})
	}

	chat("talk", message.Limits{Rate: 1000}, "ada", "ben")
	says("ada", "what do you think?")
	question := w.to("ben", "what do you think?")
	submit(question)
	says("ben", "it is well", question.ID)
	submit(w.to("ada", "it is well"))
	says("ada", "and then? – typed")
	report(w.to("ben", "and then?"), message.Typed, "")
	says("ben", "queued\nin two lines")
	w.to("ada", "queued")
	says("ada", "a secret word")
	report(w.to("ben", "******"), message.Held, message.AgentWorking)

	id := chat("", message.Limits{}, "cyd", "dan")
	says("cyd", "typed before the pause")
	report(w.to("dan", "typed before"), message.Typed, "")
	do(relay.PauseChat{Chat: id})
	says("cyd", "hold: pause")

	chat("", message.Limits{Rate: 1}, "eve", "fay")
	says("eve", "submitted")
	submit(w.to("fay", "submitted"))
	says("eve", "hold: limit")

	chat("asking", message.Limits{Approve: relay.ApproveAll}, "gil", "hal")
	says("gil", "hold: approval")

	id = chat("over", message.Limits{}, "ian", "jon")
	says("ian", "nobody gets it any more")
	w.to("jon", "nobody gets it")
	settle()
	do(relay.StopChat{Chat: id})

	chat("three", message.Limits{}, "kim", "leo", "mia")
	says("kim", "for two")
	report(w.to("leo", "for two"), message.Held, message.InComposer)
	submit(w.to("mia", "for two"))
	must(w.Gone(ctx, w.ids["leo"], message.PaneMissing))
	do(relay.Release{Session: "nan"})

	send("ian", message.Envelope{Body: "hold: policy"})
	send("ian", message.Envelope{Body: "hold: approval, for an hour"})
	send("ian", message.Envelope{Body: "hold: filter"})
	send("ian", message.Envelope{Body: "drop"})
	do(relay.Send{By: relay.By{Session: w.ids["ada"]}, To: "jon", Message: message.Envelope{Body: "bounce"}})
	send("jon", message.Envelope{Subject: "news", Body: "queued, with a subject", Type: "request", Priority: "high", Tags: []string{"a", "b"}, Meta: map[string]string{"k": "v"}})
	w.to("jon", "queued, with")
	do(relay.Send{By: relay.By{Session: w.ids["ada"]}, To: "jon", Message: message.Envelope{Body: "uncertain"}})
	d := w.to("jon", "uncertain")
	report(d, message.Typed, "")
	report(d, message.Uncertain, message.NotSeen)
	send("jon", message.Envelope{Body: "failed"})
	report(w.to("jon", "failed"), message.Failed, message.TmuxRefused)
	send("jon", message.Envelope{Body: "expired"})
	report(w.to("jon", "expired"), message.Expired, message.AgentWorking)
	must(w.Notify(ctx, w.ids["ada"], "something that a person must know"))
	settle()

	last := message.NewID()
	go func() {
		_, _ = w.Do(ctx, relay.Send{To: "ada", Message: message.Envelope{ID: last, Body: "undecided"}})
	}()
	for {
		seen, err := j.Seen(ctx, last)
		must(err)
		if seen {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// account is what stands in a journal, in words that do not change with the program's own.
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

// accountOf reads all of a journal.
func accountOf(ctx context.Context, j *journal.Journal) (account, error) {
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
	has := func(list []journal.Pending, id message.ID) bool {
		return slices.ContainsFunc(list, func(p journal.Pending) bool { return p.Delivery.ID == id })
	}
	events, err := j.Events(ctx, journal.Query{})
	if err != nil {
		return a, err
	}
	known := map[message.ID]bool{}
	for _, e := range events {
		switch e.Kind {
		case "notice":
			a.Notices = append(a.Notices, e.Notice)
		case "session":
			if known[e.Session.ID] {
				continue
			}
			known[e.Session.ID] = true
			s, err := j.Session(ctx, e.Session.ID)
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
				InReplyTo: string(m.InReplyTo), From: m.From.Name, FromSession: string(m.From.Session), Tags: m.Tags, Meta: m.Meta, Depth: m.Depth, Created: m.Created,
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
					ID: string(d.ID), Target: string(d.Target), Chat: string(d.Chat), Body: d.Message.Body, Attempt: d.Attempt, Typed: d.Typed, Asked: d.Asked,
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
				one.Members = append(one.Members, fmt.Sprintf("%d %s %s %q speaks %t, asked %t, left %t, gone %t", p.Number, p.Name, p.Session, p.Role, p.MaySpeak, p.Approve, p.Left, p.Gone))
			}
			for state, n := range stats.Deliveries {
				one.Deliveries[string(state)] = n
			}
			a.Chats = append(a.Chats, one)
		}
	}
	return a, nil
}
