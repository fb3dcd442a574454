package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// Words that an agent itself puts into its composer are not a draft: Codex always shows some, Claude Code suggests
// what to say next, the home screen of opencode suggests questions. The same words typed by a person are a draft.
func TestS6_ghostTextIsNotADraft(t *testing.T) {
	seen := map[string]int{}
	for _, r := range corpus(t) {
		words := strings.TrimLeft(screen.Plain(r.Rows[r.CursorY]), "❯›┃\u00a0 ")
		switch {
		case r.Label == "idle" && words != "":
			v := r.judge(t)
			if !v.MayType && missedIdle[r.String()] {
				continue
			}
			assert.Equal(t, message.Idle, v.State, "%s: %s", r, says(v))
			assert.True(t, v.MayType, r)
			assert.True(t, v.Composer.Empty, r)
			assert.Empty(t, v.Composer.Text, r)
			seen[r.Agent]++
			r.Rows = typed(r.Rows, r.CursorY)
			assert.False(t, r.judge(t).MayType, "%s, typed", r)
		case r.What == "words-of-the-ghost":
			assert.Equal(t, message.Draft, r.judge(t).State, r)
			seen["typed"]++
		}
	}
	t.Log(seen)
	assert.NotZero(t, seen["claude"])
	assert.Greater(t, seen["codex"], 20)
	assert.NotZero(t, seen["typed"])
}

// missedIdle lists idle screens that are not recognised: parts cover one another, or no colour distinguishes a
// suggestion from words.
var missedIdle = map[string]bool{
	"opencode-1.18.33/idle-fresh-40": true, "opencode-1.18.33/idle-after-turn-40": true, "opencode-1.18.33/idle-sidebar-toggled": true,
	"gemini-0.61.0/idle-fresh-no-colour": true, "gemini-0.61.0/idle-after-turn-no-colour": true, "gemini-0.61.0/idle-clean-screen": true,
}

// typed returns the same rows with the words of one row as bright as a person's.
func typed(rows []string, y int) []string {
	rows = self(rows)
	rows[y] = "\x1b[0;1m" + screen.Plain(rows[y]) + "\x1b[0m"
	return rows
}

// People's setups, and what else is on their screens: with all of it, the judge still sees an idle composer, our
// own text in it, a dialog, and a turn.
func TestU17_realSetUpsDoNotBlind(t *testing.T) {
	recorded := map[string]recording{}
	for _, r := range corpus(t) {
		recorded[r.Agent+"/"+r.Label+"-"+r.What] = r
	}
	for set, names := range map[string][]string{
		"a custom status line":   {"claude/idle-status-line", "claude/draft-status-line", "claude/blocked-status-line-permission", "claude/idle-status-line-after-refusal", "claude/draft-own-line-status-line", "codex/idle-status-line", "codex/idle-status-line-after-turn", "codex/blocked-status-line-permission"},
		"vim keys, INSERT":       {"claude/idle-vim-insert", "claude/draft-vim-insert", "claude/draft-vim-own-insert", "claude/blocked-vim-permission", "codex/idle-vim-insert", "codex/draft-vim-insert", "codex/draft-vim-own-insert"},
		"vim keys, NORMAL":       {"claude/blocked-vim-normal-empty", "claude/draft-vim-normal", "claude/draft-vim-own-normal", "codex/blocked-vim-normal-empty", "codex/draft-vim-normal", "codex/draft-vim-own-normal"},
		"a todo list":            {"claude/idle-todo-list", "claude/draft-todo-list-own-line", "claude/working-todo-list", "claude/blocked-todo-list-permission", "codex/idle-todo-list"},
		"background tasks":       {"claude/idle-background-task", "claude/draft-background-task-own-line", "claude/blocked-background-task-list", "codex/idle-background-terminal", "codex/draft-background-terminal-own-line"},
		"little context left":    {"claude/idle-context-left", "claude/draft-context-left-own-line", "codex/idle-context-left", "codex/draft-context-left-own-line"},
		"an update is announced": {"claude/idle-update-notice", "claude/draft-update-notice-own-line", "codex/idle-update-notice", "codex/draft-update-notice-own-line"},
		"tools of an MCP server": {"claude/idle-mcp-server", "claude/blocked-mcp-tool", "claude/idle-after-mcp-tool-refused", "codex/idle-mcp-server", "codex/blocked-mcp-tool", "codex/idle-after-mcp-tool-refused"},
		"before the first turn":  {"claude/blocked-trust", "claude/blocked-project-servers", "claude/blocked-custom-key", "claude/blocked-auto-mode", "claude/blocked-tour", "codex/blocked-trust", "codex/blocked-sign-in"},
	} {
		for _, name := range names {
			r, ok := recorded[name]
			require.True(t, ok, name)
			v := r.judge(t)
			assert.Equal(t, r.Label, string(v.State), "%s: %s: %s", set, r, says(v))
			assert.Equal(t, r.Label == "idle", v.MayType, "%s: %s", set, r)
			if text, ours := r.own(t); ours {
				assert.Equal(t, r.shown(), r.judgeOwn(t, text), "%s: %s", set, r)
			}
		}
	}
	for name, row := range map[string]string{
		"claude/idle-context-left": "auto-compact", "claude/idle-update-notice": "Update installed", "codex/idle-update-notice": "Update available",
		"claude/idle-todo-list": "first thing", "codex/idle-context-left": "Context",
	} {
		assert.Contains(t, strings.Join(plainRows(recorded[name].Rows), "\n"), row, name)
	}
}
