package relay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// requests returns one of each request that an unverified caller could want, about agents a, b, c
// and d, the first two in a chat called pair.
func requests(held message.ID) []Request {
	return []Request{
		StartChat{Peers: []string{"c", "d"}},
		StopChat{Chat: "pair"},
		PauseChat{Chat: "pair"},
		ResumeChat{Chat: All, Sure: true},
		AddMember{Chat: "pair", Peer: "c"},
		RemoveMember{Chat: "pair", Peer: "a"},
		MuteMember{Chat: "pair", Peer: "a"},
		Say{Chat: "pair", Body: "as a person"},
		Send{To: "c", Message: message.Envelope{Body: "psst"}},
		Recall{Peer: "a"},
		Rename{Peer: "a", Name: "z"},
		Release{Peer: "a"},
		DecideHeld{Message: held, Verb: message.VerbDeliver},
		Spawning{Dir: "/p", Name: "alice"},
		TakeSeat{Seat: Seat{Dir: "/p", Name: "alice"}},
		AskShutdown{Dir: "/p", Name: "alice", ID: "0000000a"},
		AskPlan{Dir: "/p", Plan: "all of it", ID: "0000000b"},
		AnswerHandshake{Answer: handshake.Answer{Kind: handshake.Plan, ID: "0000000a"}},
		EndUnanswered{ID: "0000000a"},
		ShowHandshake{Kind: handshake.Plan, ID: "0000000a"},
		StopNotices{Peer: "a", Caller: "b"},
		Take{},
		Told{Deliveries: []message.ID{held}, State: message.Submitted},
		Quit{Peer: "a"},
		AskStart{},
		DecideStart{},
		BeginStart{},
		FinishStart{},
		FailStart{},
	}
}

// requestTypes returns the names of all requests, from the package's source.
func requestTypes(t *testing.T) (names []string) {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "by" && f.Recv != nil {
				names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// pair sets up a chat of two whose words wait for a yes, one message that waits, and two other
// agents.
func pair(t *testing.T) (r *rig, held message.ID) {
	t.Helper()
	r = newRig(t)
	s := r.adopt("a", "b", "c", "d")
	r.must(StartChat{Peers: []string{"a", "b"}, Name: "pair", Limits: message.Limits{Approve: message.ApproveAll}})
	r.say(s[0], "may I?")
	return r, r.book.Received[0].ID
}

// The zero By is nobody. No request of nobody is carried out, nor one with an inconsistent By, and
// none of them changes anything.
func TestS28_NobodyMayDoAnything(t *testing.T) {
	_, held := pair(t)
	var have []string
	for _, q := range requests(held) {
		have = append(have, reflect.TypeOf(q).Name())
	}
	slices.Sort(have)
	assert.Equal(t, requestTypes(t), have, "each request is tried here")

	for _, by := range []By{{}, {Name: "ada"}, {Peer: "x"}, {Kind: 77}, {Kind: Agent}, {Kind: Person, Peer: "x"}, {Kind: Unverified, Peer: "x"}} {
		for _, q := range requests(held) {
			r, _ := pair(t)
			before := len(r.commits)
			r.tokens++
			_, err := r.step(Requested{Token: r.tokens, Request: withBy(q, by)})
			assert.ErrorIs(t, err, ErrNobody, "%T by %+v", q, by)
			assert.Len(t, r.commits, before, "%T by %+v", q, by)
		}
	}
	r, _ := pair(t)
	_, err := r.step(Requested{Token: 1})
	assert.ErrorIs(t, err, ErrRequest)
}

// Of all requests an unverified caller may send, pause, and read what was said.
func TestS28_WhatAnUnverifiedCallerMay(t *testing.T) {
	_, held := pair(t)
	for _, q := range requests(held) {
		r, _ := pair(t)
		r.s.here = false
		before := len(r.commits)
		_, err := r.ask(withBy(q, By{Kind: Unverified}))
		assert.False(t, r.s.here, "%T: nobody is there for it", q)
		switch q.(type) {
		case Send, PauseChat, Recall:
			assert.NoError(t, err, "%T", q)
		case ShowHandshake:
			assert.IsType(t, new(handshake.UnknownError), err)
		default:
			assert.ErrorIs(t, err, ErrPersonOnly, "%T", q)
			assert.Len(t, r.commits, before, "%T", q)
		}
	}
	r, _ := pair(t)
	r.must(PauseChat{By: By{Kind: Unverified}, Chat: All})
	assert.True(t, r.s.stopped)
	assert.Contains(t, r.shows(r.s.chats[0].ID).Why, "an unverified process")
}

// What an unverified caller sends has a header of its own and no address, lies as deep as the
// deepest of the agents, is braked like an agent's message, and waits wherever anybody's words
// wait.
func TestS28_C49_WhatAnUnverifiedCallerSends(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	by := By{Kind: Unverified}
	send := func(to string) message.Receipt {
		return r.must(Send{By: by, To: to, Message: message.Envelope{Body: "psst", From: message.Address{Peer: s[0].ID, Name: "a"}}}).Receipts[0]
	}
	require.Equal(t, message.Queued, send("c").State)
	d := r.out[0]
	assert.Equal(t, "AI[local:unverified] | psst", text(d))
	assert.Equal(t, message.OriginAgent, d.Message.Origin)
	assert.Equal(t, message.TrustUnverified, d.Message.Trust)
	assert.Equal(t, 1, d.Message.Depth)
	_, err := r.ask(Send{By: By{Kind: Agent, Peer: s[2].ID}, To: "unverified", Message: message.Envelope{Body: "who?"}})
	assert.Error(t, err, "nobody is called so")
	_, err = r.ask(Rename{Peer: "c", Name: "Unverified"})
	assert.ErrorIs(t, err, registry.ErrName, "and nobody may be")
	r.submit(d)
	assert.Equal(t, 2, r.s.present(s[2].ID).depth(), "it is no person's word")
	assert.Equal(t, message.Queued, send("d").State)
	assert.Equal(t, 2, r.out[len(r.out)-1].Message.Depth, "any of them may have had it said")

	for _, approve := range []string{message.ApproveAll, "a", "b"} {
		r := newRig(t)
		r.adopt("a", "b", "c")
		r.chat(message.Limits{Approve: approve}, "a", "b")
		got := r.must(Send{By: by, To: "b", Message: message.Envelope{Body: "past it"}}).Receipts[0]
		assert.Equal(t, message.AwaitingApproval, got.Reason, approve)
		assert.Empty(t, r.out)
		got = r.must(Send{By: by, To: "c", Message: message.Envelope{Body: "beside it"}}).Receipts[0]
		assert.Equal(t, message.Queued, got.State)
	}

	r = newRig(t)
	r.adopt("a")
	var last message.Receipt
	for range usual.Minute + 1 {
		last = r.must(Send{By: by, To: "a", Message: message.Envelope{Body: "again"}}).Receipts[0]
	}
	assert.Equal(t, message.AtOwnMinute, last.Reason)
	for range maxHeld {
		last = r.must(Send{By: by, To: "a", Message: message.Envelope{Body: "again"}}).Receipts[0]
	}
	assert.Equal(t, message.Failed, last.State, "no more than a session may keep waiting")
	r.must(ResumeChat{Chat: All, Sure: true})
	assert.Equal(t, message.Queued, r.must(Send{By: by, To: "a", Message: message.Envelope{Body: "anew"}}).Receipts[0].State)
}

// The words of an answer that waits for a yes are not told to an unverified caller before that yes.
func TestS28_AnAnswerThatWaitsIsNotToldBeside(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{Approve: "a"}, "a", "b")
	sent := r.must(Send{By: By{Kind: Unverified}, To: "a", Message: message.Envelope{Body: "how?"}})
	r.must(DecideHeld{Message: sent.Message, Verb: message.VerbDeliver, Who: message.Person{Name: "ada"}})
	r.submit(r.out[len(r.out)-1])
	r.say(s[0], "like this", sent.Receipts[0].Delivery)
	got := r.book.Last[sent.Receipts[0].Delivery]
	assert.Equal(t, message.Answered, got.State)
	assert.Empty(t, got.Words)
}

// silent is a request without optional methods.
type silent struct{ By By }

func (r silent) by() By                             { return r.By }
func (r silent) do(*tx, *Requested) (Answer, error) { return Answer{}, nil }

// A request without optional methods is strict: no unverified caller may make it, it waits for its
// turn, and while nothing can be written it is refused, as if it had never been made.
func TestAsked_strictByDefault(t *testing.T) {
	r := newRig(t)
	_, err := r.ask(silent{By{Kind: Unverified}})
	assert.ErrorIs(t, err, ErrPersonOnly)
	_, err = r.ask(silent{By{Kind: Person}})
	assert.NoError(t, err)

	e := Requested{Request: silent{By{Kind: Person}}, Token: 1}
	assert.False(t, e.hurries())
	back := make(chan outcome, 2)
	assert.True(t, e.unwritten(&loop{waiting: map[Token]chan<- outcome{1: back}}, errFull))
	s := &stuck{err: errFull}
	s.put(posted{e, back})
	assert.Empty(t, s.backlog)
	assert.Empty(t, s.first)
	for range 2 {
		assert.ErrorIs(t, (<-back).err, errFull)
	}
	s.put(posted{UserActive{}, nil})
	assert.Len(t, s.backlog, 1, "an event for which nobody waits happens later")
}
