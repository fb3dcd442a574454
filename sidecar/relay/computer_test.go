package relay

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// far takes in a session of the computer "mallory".
func (r *rig) far(name string) message.Peer {
	r.tokens++
	id := message.DerivedID(start, "far", name)
	a, err := r.step(Joined{Token: r.tokens, Peer: message.Peer{Kind: message.PeerRemote, Key: "mallory/" + name, Name: name, Computer: "mallory", ID: id}})
	require.NoError(r.t, err)
	return a.Peer
}

// lastReason returns the reason why the latest delivery waits, or "".
func (r *rig) lastReason() message.Reason {
	receipts := r.commits[len(r.commits)-1].Receipts
	return receipts[len(receipts)-1].Reason
}

// A notice of another computer about its own sessions is no word of this sidecar: if the words of
// its session wait for a yes, so does the notice. A notice that this sidecar sends in the name of
// one of them goes.
func TestApprove_aNoticeOfAnotherComputerWaits(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a")
	far := r.far("codex")
	c := r.chat(message.Limits{Approve: message.ApproveAll}, "a", far.Name)
	_, err := r.hears(far, message.Envelope{Type: message.KindNotice, Body: "run it", To: []message.Address{{Peer: s[0].ID}}})
	require.NoError(t, err)
	got := r.book.Received[len(r.book.Received)-1]
	require.Equal(t, message.OriginSystem, got.Origin, "it is a notice")
	assert.Equal(t, message.AwaitingApproval, r.lastReason())
	assert.Empty(t, r.out)

	r.async = true
	r.say(s[0], "may I?")
	verdict := func(verb message.Verb) {
		_, err := r.step(Decided{message.Verdict{Message: r.pending[len(r.pending)-1], Decision: message.Decision{Verb: verb}}})
		require.NoError(t, err)
	}
	verdict(message.VerbBounce)
	verdict(message.VerbDeliver)
	require.Len(t, r.out, 1, "what this sidecar says of it")
	assert.True(t, r.out[0].Message.OfSidecar())
	assert.Equal(t, s[0].ID, r.out[0].Target)
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
}

// A computer chooses the id under which a session of its own speaks. Another id than that of its
// participant evades none of the limits of that participant.
func TestMirror_aComputersOtherSessionsAreBound(t *testing.T) {
	for name, beside := range map[string]bool{"in the chat": false, "beside it": true} {
		for _, one := range []struct {
			approve string
			waits   bool
		}{{"", false}, {"codex", true}, {message.ApproveAll, true}} {
			r := newRig(t)
			s := r.adopt("a", "b")
			codex, other := r.far("codex"), r.far("other")
			c := r.chat(message.Limits{Approve: one.approve}, "a", codex.Name)
			says := message.Envelope{Chat: c.ID, Body: "run it", To: []message.Address{{Peer: s[0].ID}}}
			if beside {
				says.Chat = ""
			}
			_, err := r.hears(other, says)
			require.NoError(t, err, name)
			assert.Equal(t, one.waits, r.lastReason() == message.AwaitingApproval, "%s, approve %q", name, one.approve)
			assert.Equal(t, one.waits, len(r.out) == 0, "%s, approve %q", name, one.approve)

			out := len(r.out)
			_, err = r.hears(other, message.Envelope{Body: "hello", To: []message.Address{{Peer: s[1].ID}}})
			require.NoError(t, err)
			assert.Len(t, r.out, out+1, "who is in no chat with it hears it")
		}
	}

	r := newRig(t)
	s := r.adopt("a")
	codex, second, other := r.far("codex"), r.far("second"), r.far("other")
	c := r.chat(message.Limits{}, "a", codex.Name, second.Name)
	says := func(from message.Peer) error {
		_, err := r.hears(from, message.Envelope{Chat: c.ID, Body: "x", To: []message.Address{{Peer: s[0].ID}}})
		return err
	}
	r.must(MuteMember{Chat: string(c.ID), Peer: codex.Name})
	require.ErrorIs(t, says(codex), ErrRequest)
	require.NoError(t, says(other), "another session of that computer may speak there")
	r.must(MuteMember{Chat: string(c.ID), Peer: second.Name})
	require.ErrorContains(t, says(other), "may not speak", "none may")
	r.must(MuteMember{Chat: string(c.ID), Peer: codex.Name, Off: true})
	require.NoError(t, says(codex))
}

// No two open chats have one name, also if capitals differ: then the chat of another computer has
// none here.
func TestMirror_takesNoNameThatAnOpenChatHas(t *testing.T) {
	for name, want := range map[string]string{"plans": "", "Plans": "", "notes": "notes", "a b": "", "": ""} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		far := r.far("codex")
		r.must(StartChat{Peers: []string{"a", "b"}, Name: "plans"})
		r.tokens++
		a, err := r.step(Mirrored{Token: r.tokens, Consent: true, Chat: message.Chat{
			Home: &message.Home{Computer: "mallory", Chat: r.id()}, Name: name,
			Participants: []message.Participant{{Peer: far.ID, Number: 1, MaySpeak: true}, {Peer: s[2].ID, Number: 2, MaySpeak: true}},
		}})
		require.NoError(t, err, name)
		assert.Equal(t, want, a.Chats[0].Name, name)
	}
}

// A turn on another computer comes once for each session that hears it here. It is one turn of the
// chat, and its copies are no repetitions; also in the next run. If a computer does not say which
// turn a copy belongs to, each copy is a turn.
func TestMirror_aTurnOfAnotherComputerCountsOnce(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for name, one := range map[string]struct {
		said  func(copy int) message.ID
		turns int
		state message.ChatState
	}{
		"one turn":             {func(int) message.ID { return message.DerivedID(start, "said") }, 1, message.ChatOn},
		"six turns":            {func(copy int) message.ID { return message.DerivedID(start, "said", names[copy]) }, 6, message.ChatPaused},
		"an earlier computer":  {func(int) message.ID { return "" }, 6, message.ChatPaused},
		"what one had counted": {func(copy int) message.ID { return message.DerivedID(start, "said", names[copy/3]) }, 2, message.ChatOn},
	} {
		r := newRig(t)
		s := r.adoptAs("claude", names...)
		far := r.far("codex")
		c := r.chat(message.Limits{}, append(slices.Clone(names), far.Name)...)
		says := func(copy int, said message.ID) {
			_, err := r.hears(far, message.Envelope{
				Chat: c.ID, Body: "Thank you, that is a great idea!", CopyOf: said, To: []message.Address{{Peer: s[copy].ID}},
			})
			require.NoError(t, err, name)
		}
		for copy := range names {
			says(copy, one.said(copy))
		}
		assert.Equal(t, one.turns, r.s.chat(c.ID).taken, name)
		assert.Equal(t, one.state, r.shows(c.ID).State, name)
		r.restart(0)
		assert.Equal(t, one.turns, r.s.chat(c.ID).taken, "%s: as the next run counts", name)
	}

	// If a computer sends a turn under the same id again, to a session that had it, it is another
	// turn.
	r := newRig(t)
	s := r.adoptAs("claude", "a", "b")
	far := r.far("codex")
	c := r.chat(message.Limits{}, "a", "b", far.Name)
	for range 200 {
		for _, to := range s {
			_, err := r.hears(far, message.Envelope{Chat: c.ID, Body: "x", CopyOf: message.DerivedID(start, "said"), To: []message.Address{{Peer: to.ID}}})
			require.NoError(t, err)
		}
	}
	assert.Equal(t, 200, r.s.chat(c.ID).taken)
	assert.Len(t, r.s.chat(c.ID).far, mostFar)
}

// A message of a person on another computer is answered, and their next one lies no deeper for
// that. A session there that is answered speaks because of the answer, whatever depth its computer
// claims.
func TestReceive_aPersonOfAnotherComputer(t *testing.T) {
	for name, one := range map[string]struct {
		born time.Time
		want message.Reason
	}{
		"a person": {time.Unix(0, 0), ""},
		"an agent": {start, message.AtDepthLimit},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a := r.adopt("a")[0]
			r.tokens++
			joined, err := r.step(Joined{Token: r.tokens, Peer: message.Peer{
				Kind: message.PeerRemote, Key: "raspi/ada", Name: "ada", Computer: "raspi", ID: message.DerivedID(one.born, "ada"),
			}})
			require.NoError(t, err)
			ada := joined.Peer
			for range 12 {
				r.now = r.now.Add(10 * time.Minute)
				_, err := r.hears(ada, message.Envelope{Body: "and then?", To: []message.Address{{Peer: a.ID}}})
				require.NoError(t, err)
				asked := r.out[len(r.out)-1]
				if reason := r.lastReason(); reason != "" {
					require.Equal(t, one.want, reason)
					return
				}
				require.Equal(t, a.ID, asked.Target)
				r.submit(asked)
				r.say(a, "this", asked.ID)
				answer := r.out[len(r.out)-1]
				require.Equal(t, ada.ID, answer.Target)
				r.submit(answer)
			}
			assert.Empty(t, one.want, "none was held")
		})
	}
}
