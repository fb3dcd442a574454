package relay

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
)

// The asker never answers: not the lead its own request to end, not a teammate its own plan. A
// handshake whose asker is its answerer is refused at once.
func TestH40_WhoAsksDoesNotAnswer(t *testing.T) {
	r := newRig(t)
	s := r.adopt("chief", "alice")
	chief, alice := s[0], s[1]
	r.must(TakeSeat{By: agent(chief), Seat: Seat{Dir: project, Name: "alice"}, Peer: alice.ID})
	r.must(AskShutdown{By: agent(chief), ID: "0000000a", Dir: project, Name: "alice"})
	r.must(AskPlan{By: agent(alice), ID: "0000000b", Plan: "all of it"})
	before := len(r.commits)
	for _, own := range []struct {
		by   By
		kind handshake.Kind
		id   string
	}{{agent(chief), handshake.Shutdown, "0000000a"}, {agent(alice), handshake.Plan, "0000000b"}} {
		for _, approve := range []bool{true, false} {
			_, err := r.ask(AnswerHandshake{By: own.by, Answer: handshake.Answer{Kind: own.kind, ID: own.id, Approve: approve}})
			assert.IsType(t, new(handshake.NotYoursError), err)
			assert.Equal(t, handshake.Pending, r.stands(own.id))
		}
	}
	assert.Len(t, r.commits, before)

	// A session that leads the team and also has a place in it.
	r = newRig(t)
	chief = r.adopt("chief")[0]
	r.must(TakeSeat{By: agent(chief), Seat: Seat{Dir: project, Name: "self"}, Peer: chief.ID})
	for _, ask := range []Request{AskShutdown{By: agent(chief), ID: "0000000a", Dir: project, Name: "self"}, AskPlan{By: agent(chief), ID: "0000000a", Plan: "mine"}} {
		_, err := r.ask(ask)
		_, is := errors.AsType[*handshake.InvalidError](err)
		assert.True(t, is, "%v", err)
	}
	assert.Empty(t, r.s.protocols().Affairs)
}

// The first answer stands, whatever comes after it, in this run or the next: from somebody else,
// late, repeated, or contrary.
func TestH41_TheFirstAnswerStays(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, first := range []string{"approved", "rejected", "expired"} {
			r, alice, bob, carol := newTeam(t)
			r.must(AskShutdown{By: ada, ID: "0000000a", Dir: project, Name: "alice", Patience: time.Minute})
			_, err := r.ask(AnswerHandshake{By: agent(bob), Answer: yes(handshake.Shutdown, "0000000a")})
			assert.IsType(t, new(handshake.NotYoursError), err)
			require.Equal(t, handshake.Pending, r.stands("0000000a"))
			switch first {
			case "expired":
				r.pass(2 * time.Minute)
			default:
				r.must(AnswerHandshake{By: agent(alice), Answer: handshake.Answer{Kind: handshake.Shutdown, ID: "0000000a", Approve: first == "approved", Note: "first"}})
			}
			if restart {
				r.restart(0)
			}
			for _, by := range []By{agent(alice), agent(bob), agent(carol), ada} {
				for _, approve := range []bool{true, false} {
					_, err := r.ask(AnswerHandshake{By: by, Answer: handshake.Answer{Kind: handshake.Shutdown, ID: "0000000a", Approve: approve, Note: "second"}})
					require.Error(t, err, "%v after %s", approve, first)
				}
			}
			if h := r.s.book.Lookup("0000000a"); h.ID != "" { // else only the journal has it
				assert.EqualValues(t, first, h.State)
				assert.NotEqual(t, "second", h.Note)
			}
			end := map[string]SeatEnd{"approved": EndApproved}[first]
			assert.Equal(t, end, r.s.seats[seatID(project, "alice")].End)
		}
	}
}

// A request_id is eight random hex digits, never used again, and gives no right to anybody who was
// not asked; anything else is no request_id.
func TestH42_ARequestIDIsNoKey(t *testing.T) {
	r, alice, bob, _ := newTeam(t)
	r.shutdown("0000000a", "alice")
	before := len(r.commits)
	for _, ask := range []Request{
		AskShutdown{By: ada, ID: "0000000a", Dir: project, Name: "bob"},
		AskPlan{By: agent(bob), ID: "0000000a", Plan: "p"},
	} {
		_, err := r.ask(ask)
		assert.IsType(t, new(handshake.TakenError), err, "used again, by another asker or for another kind")
	}
	for _, id := range []string{"", "0", "0000000A", "0000000g", "0000000a ", " 0000000a", "0000000a0", "../../..", "\x00\x00\x00\x00\x00\x00\x00\x00", strings.Repeat("0", 10<<10)} {
		_, err := r.ask(AskShutdown{By: ada, ID: id, Dir: project, Name: "alice"})
		require.Error(t, err, "%.20q", id)
		assert.Less(t, len(err.Error()), 300)
		_, err = r.ask(AnswerHandshake{By: agent(alice), Answer: yes(handshake.Shutdown, id)})
		assert.IsType(t, new(handshake.UnknownError), err, "%.20q", id)
		assert.Less(t, len(err.Error()), 300)
	}
	_, err := r.ask(AnswerHandshake{By: agent(bob), Answer: yes(handshake.Shutdown, "0000000a")}) // the id was guessed, or read in an inbox
	assert.IsType(t, new(handshake.NotYoursError), err)
	assert.Len(t, r.commits, before)
	assert.Equal(t, handshake.Pending, r.stands("0000000a"))

	r.must(AnswerHandshake{By: agent(alice), Answer: no(handshake.Shutdown, "0000000a")})
	_, err = r.ask(AskShutdown{By: ada, ID: "0000000a", Dir: project, Name: "alice"})
	assert.IsType(t, new(handshake.TakenError), err, "used again after its answer")
	seen := map[string]bool{}
	for range 1000 {
		id := handshake.NewID()
		assert.True(t, handshake.ValidID(id))
		seen[id] = true
	}
	assert.Greater(t, len(seen), 990, "random")
}
