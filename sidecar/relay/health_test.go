package relay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// atWork sets up a master whose message a worker has taken.
func atWork(t *testing.T) (r *rig, s []message.Peer, d message.Delivery) {
	r = newRig(t)
	s = r.adopt("master", "worker")
	d = r.sends(s[0], s[1], "/next-work")
	r.submit(d)
	_, _ = r.step(StateChanged{Peer: s[1].ID, State: message.Working})
	return r, s, d
}

// checksOf returns the checks and the notices that were handed out.
func (r *rig) checksOf(list []message.Delivery) (checks, told []string) {
	for _, d := range list {
		switch d.Message.Type {
		case message.KindCheck:
			checks = append(checks, text(d))
		case message.KindNotice:
			told = append(told, text(d))
		}
	}
	return checks, told
}

func TestT18_T19_OneCheckAnInterval(t *testing.T) {
	r, s, d := atWork(t)
	assert.Equal(t, 10*time.Minute, r.s.health)
	r.pass(9*time.Minute + 59*time.Second)
	assert.Len(t, r.out, 1, "not before")
	r.pass(5 * time.Second)
	checks, told := r.checksOf(r.out)
	assert.Equal(t, []string{"AI[local:" + string(s[0].ID) + "] | Status check: Are you still working on worker?"}, checks)
	assert.Len(t, told, 1)
	r.pass(9 * time.Minute)
	checks, told = r.checksOf(r.out)
	assert.Len(t, checks, 1, "the next one not before another interval")
	assert.Len(t, told, 1)
	r.pass(2 * time.Minute)
	checks, told = r.checksOf(r.out)
	assert.Len(t, checks, 1, "the first one is on its way still")
	assert.Len(t, told, 2, "and the master hears again")
	check := r.out[1].ID
	if r.out[1].Message.Type != message.KindCheck {
		check = r.out[2].ID
	}
	assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], "turn ended")}, r.stops(s[1], "", d))
	assert.Equal(t, []string{"queued", "expired: turn ended"}, r.states(check), "it asks about what is over")
	assert.Contains(t, r.cancel[len(r.cancel)-1].IDs, check)
	before := len(r.out)
	r.pass(time.Hour)
	assert.Len(t, r.out, before)
	assert.Zero(t, r.s.notices.armed, "and time need not pass for it")
}

func TestT18_WhatHealthIsSetTo(t *testing.T) {
	r, _, _ := atWork(t)
	_, _ = r.step(HealthChanged{After: 2 * time.Second})
	r.pass(4 * time.Second)
	checks, _ := r.checksOf(r.out)
	assert.Len(t, checks, 1)
	r, _, _ = atWork(t)
	_, _ = r.step(HealthChanged{})
	r.pass(2 * time.Hour)
	assert.Len(t, r.out, 1)
	// Time that the computer sleeps does not count, nor do deliveries that wait to be taken.
	r = newRig(t)
	s := r.adopt("master", "worker")
	r.sends(s[0], s[1], "x")
	r.pass(30 * time.Minute)
	assert.Len(t, r.out, 1)
}

// C38: the master of a worker that cannot be asked now is answered in the same step, from what was
// observed, whoever asks: its own check waits, and is delivered at the turn's end.
func TestC38_TheMasterIsAnsweredAtOnce(t *testing.T) {
	r, s, d := atWork(t)
	since := r.now.Format(time.TimeOnly)
	check := r.sends(s[0], s[1], "Status check: Are you still working on X?")
	_, told := r.checksOf(r.out)
	assert.Equal(t, []string{"AI[local:" + string(s[1].ID) + `] | [notice] "worker" is working since ` + since + ": nothing said yet"}, told)
	require.NoError(t, r.report(check.ID, message.Held, message.AgentWorking))
	r.stops(s[1], "", d)
	assert.Equal(t, "held: agent working", r.states(check.ID)[len(r.states(check.ID))-1], "it is the master's own word, and goes when that is possible")
	_, _ = r.step(StateChanged{Peer: s[1].ID, State: message.Idle})
	_, before := r.checksOf(r.out)
	r.sends(s[0], s[1], "Status check: and now?")
	_, told = r.checksOf(r.out)
	assert.Len(t, told, len(before), "one that rests is asked, and answers itself")
	_, _ = r.step(StateChanged{Peer: s[1].ID, State: message.Working})
	r.sends(s[0], s[1], "no check")
	_, told = r.checksOf(r.out)
	assert.Len(t, told, len(before))
	r.must(Send{To: "worker", Message: message.Envelope{Body: "Status check: a person's"}})
	r.must(Send{By: By{Kind: Unverified}, To: "worker", Message: message.Envelope{Body: "Status check: whose?"}})
	_, told = r.checksOf(r.out)
	assert.Len(t, told, len(before))
	r.sends(s[0], s[1], "Status check: again")
	_, told = r.checksOf(r.out)
	assert.True(t, strings.HasSuffix(told[len(told)-1], ": last words done"), told[len(told)-1])
}

func TestTail(t *testing.T) {
	assert.Equal(t, "a b", tail("a\n\n b"))
	long := tail(strings.Repeat("é", mostLastWords))
	assert.True(t, strings.HasPrefix(long, "… é"))
	assert.LessOrEqual(t, len(long), mostLastWords+len("… "))
	assert.Empty(t, tail(" \n"))
	const key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for after := range mostLastWords + len(key) { // wherever it is cut
		assert.NotContains(t, tail(strings.Repeat("a ", mostLastWords)+key+" "+strings.Repeat("x", after)), key[len(key)-8:], after)
	}
}

// A check belongs to its caller: it goes when the caller stops notices, and when the caller ends.
func TestCheck_goesWithItsSubscription(t *testing.T) {
	for name, quiet := range map[string]func(r *rig, s []message.Peer){
		"quiet": func(r *rig, s []message.Peer) { require.NoError(t, r.mutes(s[0], s[1])) },
		"gone":  func(r *rig, s []message.Peer) { _, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone}) },
	} {
		r, s, _ := atWork(t)
		r.pass(11 * time.Minute)
		require.Len(t, r.s.checks(s[0].ID, s[1].ID), 1, name)
		quiet(r, s)
		assert.Empty(t, r.s.checks(s[0].ID, s[1].ID), name)
		before := len(r.out)
		r.pass(time.Hour)
		assert.Len(t, r.out, before, name)
	}
}

// A turn that is reported again ends no check about the turn that goes on since.
func TestCheck_outlivesATurnReportedTwice(t *testing.T) {
	r, s, d := atWork(t)
	turn := Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Words: "done", Answers: handedIDs([]message.Delivery{d}), Ended: r.now}}
	_, _ = r.step(turn)
	r.submit(r.sends(s[0], s[1], "/next-work"))
	r.pass(11 * time.Minute)
	require.Len(t, r.s.checks(s[0].ID, s[1].ID), 1)
	_, _ = r.step(turn)
	assert.Len(t, r.s.checks(s[0].ID, s[1].ID), 1)
}

// An idle agent is not asked whether it is still at work: the caller that waits for the end of its
// turn is told, once.
func TestCheck_whoRestsHasStopped(t *testing.T) {
	r, s, d := atWork(t)
	other := r.adopt("other")[0]
	r.s.byID[s[1].ID].Profile = "claude"
	_, _ = r.step(StateChanged{Peer: s[1].ID, State: message.Idle})
	r.pass(9 * time.Minute)
	late := r.sends(other, s[1], "and this")
	r.submit(late)
	got := r.noticed(func() { r.pass(2 * time.Minute) })
	assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], "turn ended")}, got, "the other one's was just taken")
	checks, _ := r.checksOf(r.out)
	assert.Empty(t, checks)
	assert.Equal(t, "submitted", r.states(d.ID)[len(r.states(d.ID))-1], "what it said is not known")
	assert.Empty(t, r.stops(s[1], "", d), "once")
	got = r.noticed(func() { r.pass(time.Hour) })
	assert.Equal(t, map[message.ID]string{other.ID: notice(s[1], "turn ended")}, got)
	r2, s2, _ := atWork(t)
	_, _ = r2.step(StateChanged{Peer: s2[1].ID, State: message.Idle})
	r2.pass(11 * time.Minute)
	checks, _ = r2.checksOf(r2.out)
	assert.Len(t, checks, 1, "of a line program a prompt alone says nothing")
	assert.Zero(t, r.s.notices.armed, "and time need not pass for it")
}
