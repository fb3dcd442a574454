package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// An answer that a line program gave while no sidecar ran is relayed afterwards, once. Nothing else of that time is:
// neither the answer to a person's own line, nor what another program said by itself.
func TestV13_C44_ALineProgramAnsweredWhileNoSidecarRan(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"raw": nil, "cooked": {"--cooked"}, "bracketed": {"--bracketed"},
	} {
		for _, then := range []string{"at rest", "used by hand", "at work"} {
			if !longTest() && name+" "+then != "raw at work" && name+" "+then != "cooked used by hand" {
				continue // all kinds tell alike whether the program was used since: package delta has the tables
			}
			t.Run(name+"/"+then, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				require.NoError(t, r.end())
				c := r.child()
				a, b := r.line("A", silent...), r.line("B", append([]string{"--think", "1s"}, flags...)...)
				a.adopt("line")
				b.adopt(map[bool]string{true: "line-paste", false: "line"}[name == "bracketed"])
				r.chat([]*agent{a, b}, unlimited...)
				a.do(":say question")
				b.hears(map[bool]string{true: "[A] (1):\n\nquestion", false: "[A] (1): question"}[name == "bracketed"])
				waitSubmitted(r, 1)
				kill(t, c)
				a.do(":say while nobody listens")
				if then != "at work" {
					r.waitFor("answers", func() bool {
						return len(b.said()) == len(b.received()) && b.count(persona.EventReady) == len(b.received())+1
					})
				}
				answers := len(b.received())
				if then == "used by hand" {
					b.types("by hand", "Enter")
					r.waitFor("answers", func() bool { return len(b.said()) == answers+1 })
				}
				r.start()
				r.waitFor("the last answer", func() bool {
					return len(b.said()) >= answers && slices.Contains(a.received(), "[B] (2): "+b.said()[answers-1])
				})
				again := func() {
					for i, words := range b.said()[:answers] {
						assert.Equal(t, 1, count(a.received(), "[B] (2): "+words), "answer %d of %q", i, a.received())
					}
					assert.Len(t, a.received(), answers)
					assert.NotContains(t, strings.Join(b.received(), " "), "while nobody listens")
				}
				again()
				r.waitFor("answered", func() bool { return r.last(r.idOf("question")) == "submitted (answered)" })
				assert.Equal(t, r.messageOf("question").Depth+1, r.messageOf(b.said()[answers-1]).Depth)
				require.NoError(t, r.end())
				r.start()
				a.do(":say and now")
				b.hears(map[bool]string{true: "[A] (1):\n\nand now", false: "[A] (1): and now"}[name == "bracketed"])
				r.waitFor("the chat goes on", func() bool { return len(a.received()) == answers+1 })
				for _, words := range b.said()[:answers] {
					assert.Equal(t, 1, count(a.received(), "[B] (2): "+words), "%q", a.received())
				}
			})
		}
	}
}

// The same holds for agents, by their transcripts: for a turn that was under way, that ended, that was followed by a
// person's own turn, or that was interrupted.
func TestV13_C44_AnAgentAnsweredWhileNoSidecarRan(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		for _, then := range []string{"ended", "used by hand", "under way", "interrupted"} {
			t.Run(kind+"/"+then, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				require.NoError(t, r.end())
				c := r.child()
				a, ben := r.coder(kind, "Ada", silent...), r.adopted("Ben", bracketed...)
				a.adopt("")
				chat := r.chat([]*agent{a, ben}, unlimited...)
				a.do(":turn say of before")
				ben.do(":say begin")
				ben.gets("[Ada] (1):\n\nof before")
				a.do(":turn hold | say the answer")
				ben.do(":say question")
				a.gets("[Ben] (2):\n\nquestion")
				id := r.idOf("question")
				r.told(id, "submitted")
				kill(t, c)
				ben.do(":say while nobody listens")
				switch then {
				case "ended", "used by hand":
					a.do(":go")
					r.waitFor("its answer", func() bool { return slices.Contains(a.said(), "the answer") })
				case "interrupted":
					a.types("", "Escape")
					r.waitFor("it has stopped", func() bool { return strings.Contains(strings.ToLower(a.screen()), "interrupted") })
				}
				if then == "used by hand" {
					a.do(":turn say a secret")
					a.types("by hand", "Enter")
					r.waitFor("its answer", func() bool { return slices.Contains(a.said(), "a secret") })
					a.do(":stuck off") // the agent takes this when the turn has ended
				}
				r.start()
				if then == "under way" {
					r.waitFor("it still works", func() bool { return r.state(a) == message.Working })
					a.do(":go")
				}
				want := []string{"[Ada] (1):\n\nof before", "[Ada] (1):\n\nthe answer"}
				if then == "interrupted" {
					want = want[:1]
					r.told(id, "failed: "+string(message.Interrupted))
				} else {
					ben.gets(want[1])
					r.told(id, "submitted (answered)")
					assert.Equal(t, r.messageOf("question").Depth+1, r.messageOf("the answer").Depth)
				}
				require.NoError(t, r.end())
				r.start()
				a.do(":turn say of after")
				ben.do(":say and now")
				ben.gets("[Ada] (1):\n\nof after")
				if then == "interrupted" {
					assert.NotContains(t, strings.Join(partsOf(ben), " "), "the answer")
				} else {
					assert.Equal(t, append(want, "[Ada] (1):\n\nof after"), partsOf(ben))
				}
				assert.Equal(t, message.ChatOn, r.current(chat).State)
			})
		}
	}
}

// A client that waits for an answer over the end of a sidecar gets it, although the answer came while none ran, and
// the message belongs to no chat.
func TestV13_WhoWaitsForAnAnswerGetsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	c := r.child()
	a := r.coder("claude", "Ada", silent...)
	a.adopt("")
	a.do(":turn hold | say it is blue")
	req := api.SendRequest{ID: message.NewID(), To: a.pane, Text: "which colour?", Wait: api.WaitSubmitted, Timeout: patience}
	sent, err := r.client.Send(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, message.Submitted, sent.Receipt.State)
	kill(t, c)
	a.do(":go")
	r.waitFor("its answer", func() bool { return slices.Contains(a.said(), "it is blue") })
	r.start()
	req.Wait = api.WaitAnswered
	sent, err = r.client.Send(t.Context(), req) // as the client does by itself
	require.NoError(t, err)
	assert.Equal(t, message.Answered, sent.Receipt.State)
	assert.Equal(t, "it is blue", sent.Receipt.Words)
	assert.Len(t, a.received(), 1)
}

// A pause, a mute or the end of the chat holds back a late answer, as it would have held it back in time.
func TestV13_WhatHoldsAnAnswerHoldsALateOne(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"paused", "muted", "ended"} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, r.end())
			c := r.child()
			a, ben := r.coder("codex", "Ada", silent...), r.adopted("Ben", bracketed...)
			a.adopt("")
			chat := r.chat([]*agent{a, ben}, unlimited...)
			a.do(":turn hold | say the answer")
			ben.do(":say question")
			a.gets("[Ben] (2):\n\nquestion")
			id := r.idOf("question")
			r.told(id, "submitted")
			var err error
			switch ref := string(chat.ID); why {
			case "paused":
				_, err = r.client.PauseChat(t.Context(), api.ChatRef{Chat: ref})
			case "ended":
				_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: ref})
			case "muted":
				_, err = r.client.MuteMember(t.Context(), api.MemberRequest{Chat: ref, Pane: a.pane})
			}
			require.NoError(t, err)
			kill(t, c)
			a.do(":go")
			r.waitFor("its answer", func() bool { return slices.Contains(a.said(), "the answer") })
			r.start()
			r.told(id, "submitted (answered)")
			r.stays(func() bool { return len(ben.received()) == 0 })
			if why == "paused" {
				_, err = r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
				require.NoError(t, err)
				ben.gets("[Ada] (1):\n\nthe answer")
			}
		})
	}
}

// Two that talk without a pause go on by themselves, whenever the sidecar is killed: no turn is lost, and none comes
// twice.
func TestV13_KilledAtRandomBeneathTwoWhoTalk(t *testing.T) {
	t.Parallel()
	kills := long(2, 50)
	for _, kind := range append([]string{"line"}, inTurn(t)...) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, r.end())
			c := r.child()
			var pair []*agent
			for _, name := range []string{"Ada", "Ben"} {
				var a *agent
				if kind == "line" {
					a = r.line(name, "--think", "60ms")
					a.adopt("line")
				} else {
					a = r.coder(kind, name, "--think", "60ms")
					a.adopt("")
				}
				pair = append(pair, a)
			}
			r.chat(pair, unlimited...)
			pair[0].do(":say hello")
			turns := func() int { return len(pair[0].said()) + len(pair[1].said()) }
			r.waitFor("they talk", func() bool { return turns() > 2 })
			defer r.tellIfFailed()
			for range kills {
				time.Sleep(time.Duration(rand.IntN(700)) * time.Millisecond) // any moment
				kill(t, c)
				time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond) // they go on for a while
				before := turns()
				c = r.child()
				if rand.IntN(2) == 0 {
					r.waitFor("they go on by themselves", func() bool { return turns() > before+2 })
				}
			}
			before := turns()
			r.waitFor("they go on by themselves", func() bool { return turns() > before+4 })
			require.NoError(t, r.client.Down(t.Context()))
			require.NoError(t, c.Wait())
			r.start()
			r.waitFor("they go on by themselves", func() bool { return turns() > before+8 })
			for i, one := range pair {
				said, heard := pair[1-i].said(), partsOf(one)
				if i == 1 {
					heard = heard[1:] // hello
				}
				n := min(len(said), len(heard))
				require.InDelta(t, len(said), len(heard), 1, "on their way")
				for k := range n {
					require.Equal(t, strings.Join(strings.Fields(said[k]), " "), told1(heard[k]), "turn %d of %s", k, pair[1-i].name)
				}
			}
			t.Logf("%d turns over %d kills", turns(), kills)
		})
	}
}

// told1 are the words of a received message, without their attribution.
func told1(received string) string {
	_, words, _ := strings.Cut(received, "):")
	return strings.Join(strings.Fields(strings.ReplaceAll(words, " ⏎ ", " ")), " ")
}

// Words that nothing proves to be an answer are not relayed, and a notice says so.
func TestV13_C44_WhatNothingProvesStaysOld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	c := r.child()
	a, b := r.line("A", silent...), r.line("B", "--think", "1s")
	a.adopt("line")
	b.adopt("line")
	chat := r.chat([]*agent{a, b}, unlimited...)
	a.do(":say question")
	b.hears("[A] (1): question")
	r.told(r.idOf("question"), "submitted")
	kill(t, c)
	r.waitFor("its answer", func() bool { return len(b.said()) == 1 && b.count(persona.EventReady) == 2 })
	b.do(":clear3")
	r.Run("clear-history", "-t", b.pane)
	before := len(a.bytes())
	r.start()
	r.waitFor("it is told", func() bool {
		events, err := r.client.Log(t.Context(), api.LogQuery{Chat: string(chat.ID), Limit: 1000})
		require.NoError(t, err)
		return slices.ContainsFunc(events, func(e message.Event) bool { return strings.Contains(e.Notice, "while no sidecar ran") })
	})
	r.stays(func() bool { return len(a.bytes()) == before })
	a.do(":say and now")
	r.waitFor("the chat goes on", func() bool { return len(a.received()) == 1 })
	assert.Equal(t, []string{"[B] (2): " + b.said()[1]}, a.received(), fmt.Sprint(b.said()))
}

// messageOf is the newest message with that body.
func (r *rig) messageOf(body string) (m message.Envelope) {
	r.t.Helper()
	for _, one := range r.messages() {
		if one.Body == body {
			m = one
		}
	}
	require.NotEmpty(r.t, m.ID, "a message %q", body)
	return m
}
