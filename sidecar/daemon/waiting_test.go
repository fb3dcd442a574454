package daemon_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/clocktest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// If five messages come while the agent works, a program that takes pastes gets them in one paste, each under its
// own attribution, and answers once. A program that reads lines gets one line for each.
func TestV11_WhatWaitsGoesInOnePaste(t *testing.T) {
	t.Parallel()
	for _, bracketed := range []bool{true, false} {
		t.Run(fmt.Sprintf("bracketed %t", bracketed), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			flags := []string{"--think", "1ms"}
			if bracketed {
				flags = append(flags, "--bracketed")
			}
			b := r.adopted("Ben", flags...)
			others := []*agent{r.adopted("Ada", silent...), r.adopted("Cyd", silent...)}
			r.chat([]*agent{b, others[0], others[1]}, unlimited...)
			b.do(":hold")
			var ids []message.ID
			var want []string
			for i := range 4 {
				from := others[i%2]
				from.do(":say word %d", i)
				r.waitFor("it waits", func() bool { return len(r.messages()) == i+1 })
				head := fmt.Sprintf("[%s] (%d):", from.name, i%2+2)
				if bracketed {
					want = append(want, fmt.Sprintf("%s\n\nword %d", head, i))
				} else {
					want = append(want, fmt.Sprintf("%s word %d", head, i))
				}
				ids = append(ids, r.messages()[i].ID)
			}
			ids = append(ids, r.post(b, "and one by itself"))
			if bracketed {
				want = append(want, "[tester] (0):\n\nand one by itself")
			} else {
				want = append(want, "[tester] (0): and one by itself")
			}
			b.do(":go")
			if bracketed {
				b.hears(strings.Join(want, "\n\n"))
				assert.Len(t, b.received(), 1, "one prompt")
			} else {
				b.hears(want[4])
				assert.Equal(t, want, b.received(), "a line each, in order")
			}
			said := map[string]bool{}
			for _, id := range ids {
				r.waitFor("each is answered", func() bool {
					for _, receipt := range r.receiptsOf(id) {
						if receipt.Target == b.session.ID && receipt.State == message.Answered {
							said[receipt.Words] = true
							return true
						}
					}
					return false
				})
			}
			if bracketed {
				assert.Len(t, said, 1, "by one turn")
				assert.Equal(t, 1, b.count(persona.EventSaid))
			}
		})
	}
}

// A message that waits for a busy agent or behind a draft expires after its time. Its author and a person are told,
// and it is not typed later. A message in a paused chat does not expire.
func TestV10_Expiry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agents := r.silent(6)
	a, b, c, d, e, f := agents[0], agents[1], agents[2], agents[3], agents[4], agents[5]
	set := append([]string{"expire=2s"}, unlimited...)
	r.chat([]*agent{a, b}, set...)
	r.chat([]*agent{c, d}, set...)
	paused := r.chat([]*agent{e, f}, set...)
	b.drafts("mine")
	d.do(":hold")
	_, err := r.client.PauseChat(t.Context(), api.ChatRef{Chat: string(paused.ID)})
	require.NoError(t, err)
	for _, from := range []*agent{a, c, e} {
		from.do(":say in time")
	}
	ended := func(to *agent) string {
		last := ""
		for _, receipt := range r.receipts() {
			if receipt.Target == to.session.ID {
				last = told(receipt)
			}
		}
		return last
	}
	r.waitFor("they expire", func() bool {
		return strings.HasPrefix(ended(b), "expired") && strings.HasPrefix(ended(d), "expired")
	})
	assert.Equal(t, "expired: draft in the composer", ended(b))
	assert.Equal(t, "expired: agent working", ended(d))
	var notices []string
	events, err := r.client.Log(t.Context(), api.LogQuery{Limit: 1000})
	require.NoError(t, err)
	for _, event := range events {
		if strings.Contains(event.Notice, "expired") {
			notices = append(notices, event.Notice)
		}
	}
	require.Len(t, notices, 2, "a person is told")
	notGot := func(by *agent, why string) string {
		return fmt.Sprintf("AI[local:%s] | [notice] %q did not get your message: %s", by.session.ID, by.name, why)
	}
	a.hears(notGot(b, "draft in the composer"))
	c.hears(notGot(d, "agent working"))
	r.Run("send-keys", "-t", b.pane, "C-u")
	d.do(":go")
	r.waitFor("they are free again", func() bool { return r.state(b) == message.Idle && r.state(d) == message.Idle })
	a.do(":say another")
	b.hears("[A] (1): another")
	assert.Len(t, b.received(), 1)

	assert.Equal(t, "held: chat paused", ended(f))
	_, err = r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(paused.ID)})
	require.NoError(t, err)
	f.hears("[E] (1): in time")
	assert.Empty(t, d.received())
	assert.Len(t, a.received(), 1)
	assert.Len(t, c.received(), 1)
	assert.Empty(t, e.received(), "nothing of it has expired")
}

// With `away` set, a chat pauses when nobody has been at a terminal for that time, and goes on when a person
// resumes it. While somebody types at a terminal, it does not pause.
func TestB7_NobodyIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// A few words a second are enough; without time to think, the two would keep a processor busy for ten seconds.
	a, b := r.adopted("Ada", "--think", "200ms"), r.adopted("Ben", "--think", "200ms")
	other := r.line("Off", silent...)
	p := r.person(other.pane)
	chat := r.chat([]*agent{a, b}, append([]string{"away=3s"}, unlimited...)...)
	a.do(":say hello")
	began := time.Now()
	r.waitFor("they talk while somebody types", func() bool {
		p.keys("x")
		return time.Since(began) > 5*time.Second
	})
	require.Equal(t, message.ChatOn, r.current(chat).State)
	r.Run("detach-client", "-s", r.Fact(other.pane, "#{session_id}"))
	r.waitFor("it pauses", func() bool { return r.current(chat).State == message.ChatPaused })
	assert.Contains(t, r.current(chat).Why, "nobody")
	before, since := 0, time.Now()
	r.waitFor("what was on its way to arrive", func() bool {
		if n := len(a.bytes()) + len(b.bytes()); n != before {
			before, since = n, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
	r.stays(func() bool { return len(a.bytes())+len(b.bytes()) == before })
	_, err := r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	r.waitFor("they talk again", func() bool { return len(a.bytes())+len(b.bytes()) > before })
}

// While a computer is suspended, no time counts, whatever the wall clock says afterwards: `away` does not pause a
// chat, and no message expires. Only the time that the computer is awake counts.
func TestB7_ASuspendedComputer(t *testing.T) {
	t.Parallel()
	var awake, asleep, looks atomic.Int64
	r := newRig(t, func(c *daemon.Config) {
		c.Now = func() time.Time { return clocktest.Ahead(time.Now(), asleep.Load()) }
		c.Awake = func() time.Duration { looks.Add(1); return time.Duration(awake.Load()) }
	})
	agents := r.silent(3)
	chat := r.chat(agents[:2], append([]string{"away=30m"}, unlimited...)...)
	agents[2].drafts("mine")
	held := r.post(agents[2], "later") // it expires after an hour
	r.waitFor("held", func() bool { return r.last(held) == draftHeld })
	ticks := func() {
		before := looks.Load()
		r.waitFor("time to pass", func() bool { return looks.Load() >= before+2 })
	}
	ticks() // from now on the sidecar counts for both
	asleep.Store(int64((8 * time.Hour).Seconds()))
	awake.Add(int64(29 * time.Minute))
	ticks()
	assert.Equal(t, message.ChatOn, r.current(chat).State)
	assert.Equal(t, draftHeld, r.last(held))
	awake.Add(int64(2 * time.Minute))
	r.waitFor("it pauses", func() bool { return r.current(chat).State == message.ChatPaused })
	assert.Contains(t, r.current(chat).Why, "nobody")
	assert.Equal(t, draftHeld, r.last(held))
	awake.Add(int64(30 * time.Minute))
	r.waitFor("it expires", func() bool { return r.last(held) == "expired: draft in the composer" })
}

// A participant can be added, muted, unmuted and removed while the chat goes on. A chat of one is over.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	inTheTable(t, "relay/members_test.go: TestMembers_add", "relay/members_test.go: TestMembers_mute", "relay/members_test.go: TestMembers_remove", "relay/members_test.go: TestMembers_heardSinceTheirBaseline")
	r := newRig(t)
	agents := r.silent(3)
	a, b, c := agents[0], agents[1], agents[2]
	chat := r.chat(agents[:2], unlimited...)
	c.do(":say before")
	now, err := r.client.AddMember(t.Context(), api.MemberRequest{Chat: string(chat.ID), Pane: c.pane, Role: "reviewer"})
	require.NoError(t, err)
	assert.Equal(t, message.Participant{Peer: c.session.ID, Name: "C", Number: 3, Role: "reviewer", MaySpeak: true}, now.Participants[2])
	c.do(":say after")
	a.hears("[C] (3): after")
	b.hears("[C] (3): after")
	assert.Len(t, a.received(), 1, "nothing of before")
	member := api.MemberRequest{Chat: string(chat.ID), Pane: b.pane}
	_, err = r.client.MuteMember(t.Context(), member)
	require.NoError(t, err)
	b.do(":say unheard")
	r.stays(func() bool { return len(a.received()) == 1 })
	a.do(":say and you?")
	b.hears("[A] (1): and you?")
	member.Off = true
	_, err = r.client.MuteMember(t.Context(), member)
	require.NoError(t, err)
	b.do(":say heard")
	a.hears("[B] (2): heard")
	assert.NotContains(t, strings.Join(a.received(), "|"), "unheard")
	detail, err := r.client.ShowChat(t.Context(), string(chat.ID))
	require.NoError(t, err)
	assert.Len(t, detail.Sessions, 3)
	assert.Equal(t, 3, detail.Stats.Turns)
	_, err = r.client.RemoveMember(t.Context(), api.MemberRequest{Chat: string(chat.ID), Pane: c.pane})
	require.NoError(t, err)
	before := len(c.bytes())
	a.do(":say the two of us")
	b.hears("[A] (1): the two of us")
	assert.Len(t, c.bytes(), before)
	_, err = r.client.RemoveMember(t.Context(), api.MemberRequest{Chat: string(chat.ID), Pane: b.pane})
	require.NoError(t, err)
	assert.Equal(t, message.ChatOver, r.current(chat).State, "one is no chat")
}

// Helpers.

// state returns an agent's state as the sidecar sees it.
func (r *rig) state(a *agent) message.PaneState {
	r.t.Helper()
	sessions, err := r.client.Sessions(r.t.Context())
	require.NoError(r.t, err)
	for _, s := range sessions {
		if s.ID == a.session.ID {
			return s.State
		}
	}
	return ""
}
