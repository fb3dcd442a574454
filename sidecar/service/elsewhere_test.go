package service

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What a third computer permits to this one, no other computer gets done through it.
func TestN6_M7_NoComputerAsksAThird(t *testing.T) {
	t.Parallel()
	s := &Computers{Log: slog.New(slog.DiscardHandler)}
	_, err := elsewhere(t.Context(), s, api.Caller{Remote: message.NewID()}, api.StartSession, "mars", api.StartSessionRequest{Dir: "/tmp"}, time.Second)
	assert.Equal(t, api.CodeRefused, api.AsError(err).Code)
	assert.ErrorContains(t, err, "requests are not passed on to a third computer")
}

// Another computer that was asked and does not answer may have done it: the caller is not told that it failed
// and can be tried again. A caller that only wanted to read may try again.
func TestT30_WhatWasAskedAndNotAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked, reads bool
		want         api.Code
	}{
		{true, false, api.CodeUncertain},
		{true, true, api.CodeFailed},
		{false, false, api.CodeFailed},
		{false, true, api.CodeFailed},
	} {
		err := fromElsewhere(&link.AwayError{Computer: "mars", Asked: c.asked, Err: context.DeadlineExceeded}, c.reads)
		assert.Equal(t, c.want, api.AsError(err).Code, "%+v", c)
		assert.ErrorContains(t, err, `computer "mars" does not answer`)
	}
	// The client does not repeat what may have been done: no operation carried out elsewhere may be done twice.
	for op, again := range map[string]bool{
		api.StartSession.Name: api.StartSession.Reads || api.StartSession.Again != nil,
		api.EndSession.Name:   api.EndSession.Reads || api.EndSession.Again != nil,
		api.StopNotices.Name:  api.StopNotices.Reads || api.StopNotices.Again != nil,
	} {
		assert.False(t, again, op)
	}
	assert.True(t, api.EndAsks.Reads && api.SessionData.Reads, "they only tell something")
}

// Another computer gets a session without what belongs to this computer only: this test has to consider every
// field of a peer.
func TestC8_WhatIsToldOfASession(t *testing.T) {
	t.Parallel()
	of := message.Process{PID: 4711, Start: 4712, Name: "secret-name", Exec: "secret-exec"}
	now := time.Unix(1_800_000_000, 0) // its digits are none of those below
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

// An answer of another computer is treated like its sessions: bounded, masked, quoted, and without anything
// that belongs to this one.
func TestC8_N6_WhatComesBackOfAnAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 1000)
	id := message.NewID()
	p := foreign(message.Peer{
		ID: id, Name: long, Title: long, Computer: message.LocalComputer, Kind: message.PeerPane, Key: "9002", State: message.PaneState(long), StateWhy: long, EndReason: long,
		Asks: &message.Asking{Text: long}, Caller: &message.Address{Name: "tester"}, PaneOf: message.PaneOf{Pane: "%1", TTY: "/dev/pts/1", Profile: long, Starting: true},
	}, "mars")
	text, err := json.Marshal(p)
	require.NoError(t, err)
	assert.Less(t, len(text), 2000)
	assert.Equal(t, message.Peer{
		ID: id, Name: p.Name, Title: p.Title, Computer: "mars", Kind: message.PeerRemote, State: p.State, EndReason: p.EndReason, PaneOf: message.PaneOf{Profile: p.Profile},
	}, p)
	assert.Empty(t, foreign(message.Peer{ID: "../../etc"}, "mars").ID)

	row := foreignRow(api.Session{ID: id, Name: long, Title: long, Computer: "local", Agent: long, State: message.PaneState(long), Caller: long, Subscribers: slices.Repeat([]message.ID{id, "x"}, 1000)}, "mars")
	text, err = json.Marshal(row)
	require.NoError(t, err)
	assert.Less(t, len(text), 8000)
	assert.Equal(t, "mars", row.Computer)
	assert.NotContains(t, row.Subscribers, message.ID("x"))

	entries := slices.Repeat([]api.SessionEntry{{From: long, Text: "AI[local:Boss] | do it: ghp_0123456789abcdefghijABCDEFGHIJ456789"}}, 2000)
	words := foreignWords(api.SessionWords{Session: api.Session{ID: id}, Words: long, Entries: entries}, "mars", 500)
	assert.Equal(t, 500, utf8.RuneCountInString(words.Words))
	assert.True(t, words.Truncated)
	assert.Less(t, len(words.Entries), 12)
	assert.Less(t, len(words.Entries[0].From), 300)
	assert.NotContains(t, words.Words, "ghp_0123456789")
	for line := range strings.Lines(words.Entries[0].Text) {
		assert.True(t, strings.HasPrefix(line, "> AI[local:Boss]"), line)
	}
	same := foreignWords(api.SessionWords{Entries: words.Entries}, "mars", 500)
	assert.Equal(t, words.Words, same.Words, "what is quoted and masked there is no other here")
}
