package relay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// sends makes an agent send a message of its own accord, and returns its delivery.
func (r *rig) sends(from, to message.Peer, body string) message.Delivery {
	r.now = r.now.Add(time.Minute) // rates are not what is tried
	before := len(r.out)
	r.must(Send{By: By{Kind: Agent, Peer: from.ID}, To: string(to.ID), Message: message.Envelope{Body: body}})
	for _, d := range r.out[before:] {
		if d.Target == to.ID && d.Message.From.Peer == from.ID {
			return d
		}
	}
	require.Fail(r.t, "it was not handed out")
	return message.Delivery{}
}

// stops ends a turn that answers deliveries, and returns its notices by recipient.
func (r *rig) stops(s message.Peer, cut message.Reason, answers ...message.Delivery) map[message.ID]string {
	return r.noticed(func() {
		_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Words: "done", Cut: cut, Answers: handedIDs(answers), Ended: r.now}})
	})
}

// noticed returns the notices that are handed out meanwhile, by recipient.
func (r *rig) noticed(do func()) map[message.ID]string {
	before := len(r.out)
	do()
	got := map[message.ID]string{}
	for _, d := range r.out[before:] {
		if d.Message.Type != message.KindNotice {
			continue
		}
		assert.Empty(r.t, got[d.Target], "one notice of one stop")
		got[d.Target] = text(d)
	}
	return got
}

func (r *rig) mutes(caller, about message.Peer) error {
	_, err := r.ask(StopNotices{By: By{Kind: Agent, Peer: caller.ID}, Peer: string(about.ID)})
	return err
}

func notice(of message.Peer, why string) string {
	return fmt.Sprintf("AI[local:%s] | [notice] %q stopped: %s", of.ID, of.Name, why)
}

func TestT13_T15_TheEndOfATurnIsToldOnce(t *testing.T) {
	r := newRig(t)
	s := r.adopt("master", "worker")
	d := r.sends(s[0], s[1], "/next-work")
	assert.Empty(t, r.noticed(func() { r.submit(d) }), "it is at work")
	turn := message.Turn{ID: r.id(), Peer: s[1].ID, Words: "done", Answers: []message.ID{d.ID}, Ended: r.now}
	tell := func() { _, _ = r.step(Spoke{Turn: turn}) }
	assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], "turn ended")}, r.noticed(tell))
	told := r.out[len(r.out)-1]
	assert.Equal(t, d.Message.ID, told.Message.InReplyTo)
	assert.Equal(t, 2, told.Message.Depth, "as deep as the worker's words")
	assert.Empty(t, told.Chat)
	assert.Empty(t, r.noticed(tell), "T16: the hook came twice")
	r.submit(told)
	assert.Empty(t, r.stops(s[0], "", told), "a notice arms nothing: the master's own turn is told to nobody")
	assert.Empty(t, r.stops(s[1], ""), "nor is a turn of the worker's own")
}

func TestT14_AnErrorAndTheEndAreTold(t *testing.T) {
	for reason, want := range map[message.Reason]string{
		message.AgentGone: "session ended: agent gone", message.PaneMissing: "session ended: pane is gone", message.PaneDead: "session ended: pane is dead",
		message.ReleasedPane: "session ended: pane was released",
	} {
		r := newRig(t)
		s := r.adopt("master", "worker")
		d := r.sends(s[0], s[1], "do it")
		r.submit(d)
		gone := func() { _, _ = r.step(Gone{Peer: s[1].ID, Reason: reason}) }
		assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], want)}, r.noticed(gone), "once, though its turn was awaited too")
		assert.Empty(t, r.noticed(gone))
		assert.Empty(t, r.s.notices.about)
		assert.Empty(t, r.s.notices.of)
	}
	r := newRig(t)
	s := r.adopt("master", "worker")
	d := r.sends(s[0], s[1], "do it")
	r.submit(d)
	assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], "the service of its model failed; your message was not answered")}, r.stops(s[1], message.ServiceFailed, d))
	assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], "session ended: agent gone")},
		r.noticed(func() { _, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone}) }), "its end is another stop")
}

func TestT16_T23_EachCallerOfATurnGetsOne(t *testing.T) {
	r := newRig(t)
	s := r.adopt("worker", "a", "b", "c", "d")
	var taken []message.Delivery
	for _, caller := range []message.Peer{s[1], s[2], s[3], s[1]} { // a twice
		taken = append(taken, r.sends(caller, s[0], "do it"))
	}
	later := r.sends(s[4], s[0], "and this")
	r.submit(taken...)
	require.NoError(t, r.mutes(s[2], s[0]))
	assert.Equal(t, []message.ID{s[1].ID, s[3].ID, s[4].ID}, r.s.Snapshot().Subscribers(s[0].ID))
	want := notice(s[0], "turn ended")
	assert.Equal(t, map[message.ID]string{s[1].ID: want, s[3].ID: want}, r.stops(s[0], "", taken...), "b wants none, and d's message is not of this turn")
	r.submit(later)
	assert.Equal(t, map[message.ID]string{s[4].ID: want}, r.stops(s[0], "", later))
	ended := notice(s[0], "session ended: agent gone")
	assert.Equal(t, map[message.ID]string{s[1].ID: ended, s[3].ID: ended, s[4].ID: ended}, r.noticed(func() { _, _ = r.step(Gone{Peer: s[0].ID, Reason: message.AgentGone}) }))
	assert.Empty(t, r.s.Snapshot().Subscribers(s[0].ID))
}

func TestT17_ACallersEndEndsItsSubscriptions(t *testing.T) {
	r := newRig(t)
	s := r.adopt("master", "worker")
	d := r.sends(s[0], s[1], "do it")
	r.submit(d)
	_, _ = r.step(Gone{Peer: s[0].ID, Reason: message.AgentGone})
	before := len(r.book.Received)
	assert.Empty(t, r.stops(s[1], "", d))
	_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone})
	assert.Len(t, r.book.Received, before, "nothing is even tried")
	for _, one := range r.book.Records {
		assert.False(t, one.Open)
	}
}

func TestT21_T22_StopNotices(t *testing.T) {
	r := newRig(t)
	s := r.adopt("master", "worker", "other")
	assert.ErrorIs(t, r.mutes(s[0], s[1]), ErrNoNotices, "nothing was sent yet")
	d := r.sends(s[0], s[1], "do it")
	r.submit(d)
	_, err := r.ask(StopNotices{By: By{Kind: Agent, Peer: s[2].ID}, Peer: "worker", Caller: "master"})
	assert.ErrorIs(t, err, ErrPersonOnly, "nobody else may")
	_, err = r.ask(StopNotices{By: By{Kind: Unverified}, Peer: "worker"})
	assert.ErrorIs(t, err, ErrPersonOnly)
	_, err = r.ask(StopNotices{Peer: "worker"})
	assert.ErrorIs(t, err, ErrNoNotices, "a person gets none")
	require.NoError(t, r.mutes(s[0], s[1]))
	assert.ErrorIs(t, r.mutes(s[0], s[1]), ErrNoNotices)
	assert.Empty(t, r.stops(s[1], message.Interrupted, d), "however it ends")
	assert.Empty(t, r.noticed(func() { _, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone}) }))

	s = append(s, r.adopt("worker-2")...)
	r.sends(s[0], s[3], "you do it")
	a := r.must(StopNotices{Peer: "worker-2", Caller: "master"})
	assert.Equal(t, s[0].ID, a.Caller)
	d = r.sends(s[0], s[3], "and tell me")
	r.submit(d)
	assert.Len(t, r.stops(s[3], "", d), 1, "a new message begins again")
}

// An unproven caller gets no notices, nor does a person; and a message that nobody took belongs to
// no turn.
func TestNotices_whoGetsNone(t *testing.T) {
	r := newRig(t)
	s := r.adopt("master", "worker")
	r.must(Send{By: By{Kind: Unverified}, To: "worker", Message: message.Envelope{Body: "x"}})
	r.must(Send{To: "worker", Message: message.Envelope{Body: "a person's"}})
	r.submit(r.out...)
	assert.Empty(t, r.stops(s[1], "", r.out...))
	assert.Empty(t, r.s.notices.about)

	d := r.sends(s[0], s[1], "x")
	require.NoError(t, r.report(d.ID, message.Failed, message.LineTooLong))
	assert.Empty(t, r.stops(s[1], ""), "it was never taken")
	d = r.sends(s[0], s[1], "y")
	require.NoError(t, r.report(d.ID, message.Typed, ""))
	require.NoError(t, r.report(d.ID, message.Uncertain, message.NotTaken))
	assert.Len(t, r.stops(s[1], ""), 1, "this one may have been")
}

// R20: a session in a chat with the other hears what that says, and needs no notice of its turns.
func TestR20_LinkedPeersGetNoFinishedNotices(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	d, other := r.sends(s[0], s[1], "x"), r.sends(s[2], s[1], "y")
	r.submit(d, other)
	c := r.chat(message.Limits{}, "a", "b")
	assert.Equal(t, map[message.ID]string{s[2].ID: notice(s[1], "turn ended")}, r.stops(s[1], "", d, other))
	for range 5 {
		given := r.say(s[0], "words")
		r.submit(given...)
		assert.Empty(t, r.stops(s[1], "", given...))
	}
	r.must(StopChat{Chat: string(c.ID)})
	d = r.sends(s[0], s[1], "x")
	r.submit(d)
	assert.Len(t, r.stops(s[1], "", d), 1, "and after it as before")
}

// Two agents that answer each message and each notice with a message of their own meet the limits
// of what an agent sends, as they do without notices: a notice adds nothing of its own.
func TestNotices_noEndlessPingPong(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.sends(s[0], s[1], "begin")
	turns := 0
	for i := 0; i < len(r.out) && i < 2000; i++ {
		d := r.out[i]
		r.now = r.now.Add(30 * time.Second)
		r.submit(d)
		from, to := s[0], s[1]
		if d.Target == s[1].ID {
			from, to = to, from
		}
		_, _ = r.ask(Send{By: By{Kind: Agent, Peer: from.ID}, To: string(to.ID), Message: message.Envelope{Body: "again"}})
		r.stops(from, "", d)
		turns++
	}
	for _, d := range r.out {
		require.LessOrEqual(t, d.Message.Depth, 20)
	}
	assert.LessOrEqual(t, turns, 4*usual.Hour, "each message of the two is a turn, and its stop another")
	// And a turn that does not answer ends it at once.
	r = newRig(t)
	s = r.adopt("a", "b")
	d := r.sends(s[0], s[1], "begin")
	r.submit(d)
	r.stops(s[1], "", d)
	told := r.out[len(r.out)-1]
	r.submit(told)
	before := len(r.out)
	r.stops(s[0], "", told)
	assert.Len(t, r.out, before)
}

// A turn that ended while no sidecar ran is reported by the next run, from its transcript, or
// because its program is idle; a reported stop is not reported again.
func TestNotices_overTheEnd(t *testing.T) {
	for name, end := range map[string]func(r *rig, s message.Peer, d message.Delivery){
		"late": func(r *rig, s message.Peer, d message.Delivery) {
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Words: "done", Answers: []message.ID{d.ID}, Late: true, Ended: r.now}})
		},
		"rest": func(r *rig, s message.Peer, _ message.Delivery) {
			_, _ = r.step(StateChanged{Peer: s.ID, State: message.Idle})
		},
		"new turn": func(r *rig, s message.Peer, d message.Delivery) {
			_, _ = r.step(StateChanged{Peer: s.ID, State: message.Working})
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Words: "done", Answers: []message.ID{d.ID}, Ended: r.now}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("master", "worker")
			d := r.sends(s[0], s[1], "do it")
			r.submit(d)
			r.restart(0)
			assert.Equal(t, []message.ID{s[0].ID}, r.s.Snapshot().Subscribers(s[1].ID))
			assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], "turn ended")}, r.noticed(func() { end(r, s[1], d) }))
			assert.Empty(t, r.noticed(func() { end(r, s[1], d); end(r, s[1], d) }))
			r.restart(0)
			r.out = nil
			assert.Empty(t, r.noticed(func() { end(r, s[1], d) }))
			assert.Len(t, r.noticed(func() { _, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone}) }), 1)
			r.restart(0)
			assert.Empty(t, r.s.notices.about)
		})
	}
}

// Any order of messages, turns, ends, stopped notices and restarts: each stop is told once to each
// caller that awaits it, and to nobody else.
func TestNotices_model(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t)
		r.s.limits.Depth, r.s.limits.Rate, r.s.limits.Bytes = 1<<30, 1<<30, 1<<40
		peers := r.adopt("a", "b", "c")
		type pair struct{ caller, about message.ID }
		await := map[pair][]message.ID{} // deliveries
		told := map[pair]bool{}          // pairs told about the end of the peer
		there := func() []message.Peer {
			return slices.DeleteFunc(slices.Clone(peers), func(p message.Peer) bool { return r.s.present(p.ID) == nil })
		}
		pick := func(label string) message.Peer {
			if len(there()) == 0 {
				t.Skip()
			}
			return rapid.SampledFrom(there()).Draw(t, label)
		}
		open := map[message.ID]message.Delivery{}      // handed out, not taken
		submitted := map[message.ID]message.Delivery{} // taken, not answered
		expect := func(got map[message.ID]string, want []message.ID) {
			var have []message.ID
			for id := range got {
				have = append(have, id)
			}
			require.ElementsMatch(t, want, have)
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				from, to := pick("from"), pick("to")
				if from.ID == to.ID {
					t.Skip()
				}
				r.s.byID[from.ID].byPerson() // this test is not about brakes
				d := r.sends(from, to, "x")
				open[d.ID] = d
				await[pair{from.ID, to.ID}] = append(await[pair{from.ID, to.ID}], d.ID)
				told[pair{from.ID, to.ID}] = true
			},
			"take": func(t *rapid.T) {
				id, ok := some(t, open)
				if !ok {
					t.Skip()
				}
				d := open[id]
				delete(open, id)
				switch rapid.IntRange(0, 3).Draw(t, "how") {
				case 0:
					_ = r.report(id, message.Failed, message.LineTooLong)
					p := pair{d.Message.From.Peer, d.Target}
					await[p] = slices.DeleteFunc(await[p], func(one message.ID) bool { return one == id })
				case 1:
					require.NoError(t, r.report(id, message.Typed, ""))
					require.NoError(t, r.report(id, message.Uncertain, message.NotTaken))
				default:
					r.submit(d)
					submitted[id] = d
				}
			},
			"end": func(t *rapid.T) {
				s := pick("session")
				var answers []message.Delivery
				for _, d := range submitted {
					if d.Target == s.ID {
						answers = append(answers, d)
					}
				}
				slices.SortFunc(answers, func(a, b message.Delivery) int { return strings.Compare(string(a.ID), string(b.ID)) })
				var want []message.ID
				for p, ids := range await {
					if p.about != s.ID {
						continue
					}
					left := slices.DeleteFunc(slices.Clone(ids), func(id message.ID) bool { return open[id].ID == "" })
					if len(left) < len(ids) {
						want = append(want, p.caller)
					}
					await[p] = left
				}
				for _, d := range answers {
					delete(submitted, d.ID)
				}
				cut := rapid.SampledFrom([]message.Reason{"", "", message.Interrupted}).Draw(t, "cut")
				expect(r.stops(s, cut, answers...), want)
			},
			"quiet": func(t *rapid.T) {
				caller, about := pick("caller"), pick("about")
				p := pair{caller.ID, about.ID}
				err := r.mutes(caller, about)
				require.Equal(t, told[p], err == nil)
				delete(await, p)
				delete(told, p)
			},
			"gone": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
					t.Skip()
				}
				s := pick("session")
				var want []message.ID
				for p := range told {
					if p.about == s.ID {
						want = append(want, p.caller)
					}
					if p.about == s.ID || p.caller == s.ID {
						delete(told, p)
						delete(await, p)
					}
				}
				for _, all := range []map[message.ID]message.Delivery{open, submitted} {
					for id, d := range all {
						if d.Target == s.ID {
							delete(all, id)
						}
					}
				}
				expect(r.noticed(func() { _, _ = r.step(Gone{Peer: s.ID, Reason: message.AgentGone}) }), want)
			},
			"come": func(t *rapid.T) {
				if len(there()) < 4 {
					peers = append(peers, r.adopt("x")...)
				}
			},
			"restart": func(t *rapid.T) {
				r.restart(0)
				r.s.limits.Depth, r.s.limits.Rate, r.s.limits.Bytes = 1<<30, 1<<30, 1<<40
			},
			"": func(t *rapid.T) {
				armed := 0
				for _, ids := range await {
					if len(ids) > 0 {
						armed++
					}
				}
				for p := range told {
					require.Contains(t, r.s.Snapshot().Subscribers(p.about), p.caller)
				}
				require.Equal(t, armed, r.s.notices.armed)
			},
		})
	})
}

// some returns one of them, in an order that does not depend on the run.
func some(t *rapid.T, all map[message.ID]message.Delivery) (message.ID, bool) {
	var ids []message.ID
	for id := range all {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return "", false
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "delivery"), true
}

// The sender of a message that cannot be delivered is told, once nobody waits for its receipts any
// more: an agent whose turn has gone on, and a person whose first message the program could not
// take.
func TestT14_T31_WhatIsNotDeliveredIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		starting bool
		after    time.Duration
		expires  bool
		told     bool
	}{
		"its sender waits":       {},
		"a first message":        {starting: true, told: true},
		"later":                  {after: sendersWait + time.Second, told: true},
		"it waited for too long": {expires: true, told: true},
	} {
		r := newRig(t)
		s := r.adopt("master", "worker")
		r.s.present(s[1].ID).Starting = c.starting
		d := r.sends(s[0], s[1], "do it")
		want, fail := "line too long", func() { require.NoError(t, r.report(d.ID, message.Failed, "line too long")) }
		if c.expires {
			want, fail = "expired", func() {
				_, _ = r.step(Tick{Awake: time.Second})
				r.now = r.now.Add(48 * time.Hour)
				_, _ = r.step(Tick{Awake: 48 * time.Hour})
			}
		}
		r.now = r.now.Add(c.after)
		told := map[message.ID]string{}
		if c.told {
			told[s[0].ID] = fmt.Sprintf("AI[local:%s] | [notice] %q did not get your message: %s", s[1].ID, "worker", want)
		}
		assert.Equal(t, told, r.noticed(fail), name)
		assert.Empty(t, r.noticed(func() { _, _ = r.step(Tick{Awake: time.Hour}) }), name)
		assert.Empty(t, r.stops(s[1], "", d), "%s: no turn of it ends", name)
	}
	r := newRig(t)
	worker := r.adopt("worker")[0]
	r.s.present(worker.ID).Starting = true
	a := r.must(Send{To: "worker", Message: message.Envelope{Body: "do it"}})
	require.NoError(t, r.report(a.Receipts[0].Delivery, message.Failed, "line too long"))
	require.NotEmpty(t, r.notices)
	assert.Contains(t, r.notices[len(r.notices)-1], "did not reach worker: line too long")
}
