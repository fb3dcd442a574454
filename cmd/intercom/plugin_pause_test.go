package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A chat that pauses at a limit says which key to press, in at most 76 columns. A person's line to it asks whether to resume it,
// and y sends that line and those held before.
func TestB9_PauseSaysWhatToPress(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coder("claude"), st.coder("codex")
		st.load()
		me := st.sit("base")
		out, code := st.intercom("chat", "start", claude.pane, codex.pane, "--set", "depth=2", "--set", "stall=off")
		require.Zero(t, code, out)
		st.Run("select-window", "-t", claude.pane)
		claude.do(":say what I found") // from here on they answer each other

		me.sees("claude ↔ codex paused after 2 turns: prefix + B, r")
		for line := range strings.SplitSeq(me.screen(), "\n") {
			if strings.Contains(line, "paused after") {
				assert.LessOrEqual(t, len([]rune(strings.TrimSpace(line))), 76)
			}
		}
		tmuxtest.WaitFor(t, "the status says so", func() bool {
			return strings.Contains(st.Run("show-options", "-sqv", "@intercom-status"), "1 paused")
		})
		say := func(line, key string) {
			me.menu("s")
			me.sees("to claude (1) ↔ codex (2)")
			me.types(line)
			me.press("Enter")
			me.sees("resume? y")
			me.sees("y yes")
			me.press(key)
		}
		say("not yet", "n")
		me.sees("held: depth limit reached → prefix + B, r resumes")
		assert.Equal(t, message.ChatPaused, st.status().Chats[0].State)
		say("go on, both", "y")
		for _, a := range []*coder{claude, codex} {
			tmuxtest.WaitFor(t, a.kind+" hears both", func() bool {
				heard := strings.Join(a.received(), "\n")
				return strings.Contains(heard, "not yet") && strings.Contains(heard, "go on, both")
			})
		}
		assert.Empty(t, claude.records(persona.EventApproved))
	})
}
