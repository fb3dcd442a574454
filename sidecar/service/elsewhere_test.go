package service

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What a third computer lets this one do, no other gets done through it.
func TestN6_M7_NoComputerAsksAThird(t *testing.T) {
	t.Parallel()
	s := &Computers{Log: slog.New(slog.DiscardHandler)}
	_, err := elsewhere(t.Context(), s, api.Caller{Remote: message.NewID()}, api.StartSession, "mars", api.StartSessionRequest{Dir: "/tmp"}, time.Second)
	assert.Equal(t, api.CodeRefused, api.AsError(err).Code)
	assert.ErrorContains(t, err, "no computer asks another for a third one")
}

// A session is told of without what is this computer's own: every other field of a peer has to be weighed here first.
func TestC8_WhatIsToldOfASession(t *testing.T) {
	t.Parallel()
	of := message.Process{PID: 4711, Start: 4712, Name: "secret-name", Exec: "secret-exec"}
	now := time.Now()
	whole := message.Peer{
		ID: "id", Name: "Ada", Title: "Work", Computer: message.LocalComputer, Kind: message.PeerPane, Key: "/secret/key", State: message.Idle, StateWhy: "secret why",
		Asks: &message.Asking{}, Adopted: now, Ended: &now, EndReason: "agent gone", Caller: &message.Address{Name: "secret-caller"},
		PaneOf: message.PaneOf{
			Pane: "%4711", TTY: "/dev/pts/4711", Profile: "claude", Prompt: "secret-prompt>", PromptIsRE: true, PaneProc: of, Foreground: of, Since: 4713, Reader: of, Server: of,
			Closed: "secret closed", Lost: "lost", Draft: &message.Place{Row: 4714}, Starting: true,
		},
	}
	text, err := json.Marshal(abroad(whole))
	require.NoError(t, err)
	for _, ours := range []string{"secret", "471", "lost", "pts", `"row"`, "asks"} {
		assert.NotContains(t, string(text), ours)
	}
	var got message.Peer
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, []string{"id", "Ada", "Work", "claude", "agent gone"}, []string{string(got.ID), got.Name, got.Title, got.Profile, got.EndReason})
}
