package link_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// N3: what waits for a forgotten computer waits no more. An unsent message has failed; for one that the server
// has, nobody can tell.
func TestLink_ForgottenWithMail(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	cable := newLine(t, hostOf(t, s))
	a, b := newComputer(t, "a", cable.url(), link.RetryEvery(50*time.Millisecond)), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.end()
	sent, err := a.send(inA.ID, inB.ID, "sent")
	require.NoError(t, err)
	box, err := newMallory(t, s).js.Stream(t.Context(), link.StreamOf("b"))
	require.NoError(t, err)
	waitFor(t, "the server has it", func() bool {
		info, err := box.Info(t.Context())
		return err == nil && info.State.Msgs > 0
	})
	cable.set(true)
	waitFor(t, "the line is cut", func() bool { return !a.link.State().Connected })
	var kept []message.ID
	for i := range 2 {
		answer, err := a.send(inA.ID, inB.ID, fmt.Sprint("kept ", i))
		require.NoError(t, err)
		kept = append(kept, answer.Message)
	}
	waitFor(t, "all of it waits", func() bool { return a.link.Computers()[0].Waiting == 3 })
	were, known, err := a.link.ForgetComputer(t.Context(), "b")
	require.NoError(t, err)
	assert.True(t, known)
	assert.Equal(t, link.Forgotten{Failed: 2, Uncertain: 1}, were)
	waitFor(t, "its end", func() bool { return a.last(kept[1]).State == message.Failed })
	for _, id := range kept {
		r := a.last(id)
		assert.Equal(t, message.Failed, r.State)
		assert.Equal(t, message.ComputerForgotten, r.Reason)
	}
	assert.Equal(t, message.Uncertain, a.last(sent.Message).State)
	assert.Equal(t, message.ComputerForgotten, a.last(sent.Message).Reason)
	cable.set(false)
	b.start()
	waitFor(t, "what the server has", func() bool { return b.has("sent") })
	a.knows("b", inB)
	_, err = a.send(inA.ID, inB.ID, "anew")
	require.NoError(t, err)
	waitFor(t, "what is sent afterwards", func() bool { return b.has("anew") })
	assert.Equal(t, []string{"sent", "anew"}, b.bodies())
}

// N3: a computer can be forgotten without a link, and by a caller that does not wait; and it stays forgotten.
func TestLink_ForgottenWithoutALink(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), nil)
	inA := a.session("inA")
	var inB []message.Peer
	for i := range 8 {
		inB = append(inB, b.session(fmt.Sprint("inB", i)))
		a.knows("b", inB[i])
	}
	a.end()
	b.end()
	a.config.NATS = ""
	a.start()
	answer, err := a.send(inA.ID, inB[7].ID, "waits")
	require.NoError(t, err)
	waitFor(t, "it waits", func() bool { return a.last(answer.Message).State == message.Held })
	gone, leave := context.WithCancel(t.Context())
	leave()
	were, known, err := a.link.ForgetComputer(gone, "b")
	require.NoError(t, err)
	assert.True(t, known)
	assert.Equal(t, link.Forgotten{Failed: 1}, were)
	waitFor(t, "its end", func() bool { return a.last(answer.Message).State == message.Failed })
	waitFor(t, "the end of its sessions", func() bool {
		for _, p := range a.relay.Snapshot().Peers() {
			if p.Kind == message.PeerRemote && p.Ended == nil {
				return false
			}
		}
		return true
	})
	_, known, err = a.link.ForgetComputer(t.Context(), "b")
	require.NoError(t, err)
	assert.False(t, known)
	text, err := os.ReadFile(filepath.Join(a.dir, "link", "computers.json"))
	require.NoError(t, err)
	assert.NotContains(t, string(text), `"b"`, "nor by the next life")
}

// A message that is held on the other computer says why.
func TestLink_HeldThereSaysWhy(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a, b := newComputer(t, "a", s.ClientURL(), link.AskEvery(100*time.Millisecond)), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	goOn := make(chan struct{})
	b.held = func(d message.Delivery) {
		assert.NoError(t, b.relay.Report(t.Context(), message.Receipt{Delivery: d.ID, State: message.Held, Reason: message.AgentWorking}))
		<-goOn
	}
	answer, err := a.send(inA.ID, inB.ID, "when you can")
	require.NoError(t, err)
	waitFor(t, "it is held", func() bool { return a.last(answer.Message).Reason == message.HeldThere+": "+message.AgentWorking })
	close(goOn)
	waitFor(t, "it is taken", func() bool { return a.last(answer.Message).State == message.Submitted })
}
