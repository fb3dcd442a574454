package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// If a release or an uninstall would lose something, a person at a terminal is told what, and asked; an agent at its own terminal
// is refused without a question. Afterwards the command says what was lost. If nothing would be lost, nobody is asked.
func TestRelease_asksWhereSomethingIsLost(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	id := st.askedAbout(claude, "the plan").Message.Short()
	chat := askOf(st, api.ShowStatus).Chats[0].ID.Short()
	lost := "1 message that waits would not be delivered: " + id + "; chat pair " + chat + " would end. "

	printed := filepath.Join(st.home, "printed")
	claude.do(":exec script -qfc '" + thisProgram() + " release codex --server=" + st.Socket + "; echo exit $?' " + printed + " </dev/null")
	var refused string
	tmuxtest.WaitFor(t, "the agent's command ends", func() bool {
		data, _ := os.ReadFile(printed)
		refused = string(data)
		return strings.Contains(refused, "exit 0") || strings.Contains(refused, "exit 1") // its first line is the command itself
	})
	assert.Contains(t, refused, "exit 1")
	assert.Contains(t, refused, "release a pane: only a person may")
	assert.NotContains(t, refused, "[y/N]")

	for command, asks := range map[string]string{
		"release codex": "Release " + codex.pane + " (codex)?",
		"uninstall":     "Uninstall?",
	} {
		shell := st.shell()
		st.types(shell, command)
		st.WaitForText(shell, lost+asks+" [y/N]")
		require.Len(t, st.held(), 1, "nothing is done before the answer")
		st.Run("send-keys", "-t", shell, "n")
		st.WaitForText(shell, "nothing was done")
		require.Len(t, st.held(), 1)
	}
	shell := st.shell()
	st.types(shell, "release codex")
	st.WaitForText(shell, "[y/N]")
	st.Run("send-keys", "-t", shell, "y")
	st.WaitForText(shell, "exit 0")
	shown := st.Run("capture-pane", "-pJ", "-t", shell)
	assert.Contains(t, shown, "note: chat pair "+chat+" ended; intercom chat show "+chat+" shows it")
	assert.Contains(t, shown, "not delivered: 1 message that waited: "+id+"; intercom log "+id)
	assert.Empty(t, st.held())
	assert.Empty(t, askOf(st, api.ShowStatus).Chats)
	assert.Contains(t, st.runs("log", id), "the plan", "the journal keeps it")

	shell = st.shell()
	st.types(shell, "release claude")
	st.WaitForText(shell, "exit 0")
}

// types has a shell run intercom.
func (st *stage) types(shell, command string) {
	st.t.Helper()
	st.Run("send-keys", "-t", shell, "-l", thisProgram()+" "+command+" --server="+st.Socket+"; echo exit $?")
	st.Run("send-keys", "-t", shell, "Enter")
}

// An older sidecar cannot say what a release would drop, so the pane is released without a question.
func TestRelease_ofAnOlderSidecar(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{})
	r := w.run("release", "%7")
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "released %7")
}

// A release names the chats that end by it, not others that end at the same moment, and the messages that it drops, even those
// that arrived just before.
func TestRelease_namesWhatItLost(t *testing.T) {
	codex := message.Peer{ID: message.NewID(), Name: "codex", PaneOf: message.PaneOf{Pane: "%7"}}
	of := func(one message.ID) message.Chat {
		return message.Chat{ID: message.NewID(), State: message.ChatOn, Participants: []message.Participant{{Peer: one}, {Peer: message.NewID()}}}
	}
	ours, theirs := of(codex.ID), of(message.NewID())
	failed := func(seq int64, target message.ID, chat message.Chat) message.Event {
		return message.Event{Seq: seq, Kind: "receipt", Chat: chat.ID, Receipt: &message.Receipt{
			Message: message.NewID(), Delivery: message.NewID(), Target: target, State: message.Failed, Reason: message.ChatEnded,
		}}
	}
	before, dropped, inChat, elsewhere := failed(1, codex.ID, ours), failed(2, codex.ID, message.Chat{}), failed(3, message.NewID(), ours), failed(4, message.NewID(), theirs)
	b := &fakeBackend{chats: []message.Chat{ours, theirs}, log: []message.Event{before}}
	b.release = func() message.Peer {
		b.chats, b.log = nil, append(b.log, dropped, inChat, elsewhere)
		return codex
	}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("release", "%7")
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "note: chat "+ours.ID.Short()+" ended; ")
	assert.NotContains(t, r.err, theirs.ID.Short())
	assert.Contains(t, r.err, "not delivered: 2 messages that waited: "+dropped.Receipt.Message.Short()+", "+inChat.Receipt.Message.Short()+"; ")
}

func TestLossOf(t *testing.T) {
	one, two := message.NewID(), message.NewID()
	question := message.Chat{ID: one, OneWay: true, Turns: 1, Participants: make([]message.Participant, 2)}
	for want, would := range map[string]api.Losses{
		"": {},
		"2 messages that wait would not be delivered: " + one.Short() + ", " + two.Short(): {Messages: []message.ID{one, two}},
		"question " + one.Short() + " would end":                                           {Chats: []message.Chat{question}},
	} {
		assert.Equal(t, want, lossOf(would))
	}
}
