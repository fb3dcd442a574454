package pane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// recorded is a look at a screen of the corpus.
func recorded(t *testing.T, name string) tmux.Look {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "screen", "testdata", name+".json"))
	require.NoError(t, err)
	var r struct {
		Rows          []string
		Width, Height int
		CursorX       int  `json:"cursor_x"`
		CursorY       int  `json:"cursor_y"`
		CursorVisible bool `json:"cursor_visible"`
		Alternate     bool
		Title         string
	}
	require.NoError(t, json.Unmarshal(data, &r))
	return tmux.Look{Rows: r.Rows, Facts: tmux.Facts{
		Width: r.Width, Height: r.Height, CursorX: r.CursorX, CursorY: r.CursorY, CursorVisible: r.CursorVisible, Alternate: r.Alternate, Title: r.Title,
	}}
}

// An open turn of opencode ends, cut short, when all looks of fifteen seconds have shown no work;
// one look that shows some begins these anew. A turn of an agent that always records how a turn
// ends stays open.
func TestAccount_restEndsATurnThatWasAbandoned(t *testing.T) {
	for _, tt := range []struct {
		kind  agent.Kind
		dir   string
		works string
		ends  bool
	}{{agent.OpenCode, "opencode-1.18.33", "working-retrying", true}, {agent.Claude, "claude-2.1.329", "working-spinner", false}} {
		t.Run(tt.dir, func(t *testing.T) {
			prof, ok := profile.AgentByName(string(tt.kind))
			require.True(t, ok)
			a := &account{prof: prof, who: agent.Agent{Kind: tt.kind}}
			idle, working := recorded(t, tt.dir+"/idle-after-error"), recorded(t, tt.dir+"/"+tt.works)
			a.machine.Feed(agent.Event{Kind: agent.Prompted, Text: "ours", By: agent.ByKeys, At: noon})
			a.machine.Feed(agent.Event{Kind: agent.Spoke, Text: "words", At: noon.Add(time.Second)})
			now := noon.Add(time.Second)
			looks := func(look tmux.Look, lasting time.Duration) {
				for end := now.Add(lasting); now.Before(end); now = now.Add(time.Second) {
					a.rest(look, now)
				}
			}
			looks(idle, 14*time.Second)
			looks(working, time.Second)
			looks(idle, 14*time.Second)
			_, _, open := a.machine.Open()
			require.True(t, open, "it worked in between")
			looks(idle, 5*time.Second)
			_, _, open = a.machine.Open()
			assert.Equal(t, tt.ends, !open)
			if tt.ends {
				require.Len(t, a.rested, 1)
				assert.True(t, a.rested[0].Abandoned)
				assert.False(t, a.rested[0].Whole())
			} else {
				assert.Empty(t, a.rested)
			}
		})
	}
}

// What a person types into a turn that was under way before we came is theirs; what was typed before is nobody's.
func TestAccount_aPersonTypesIntoATurnOfBefore(t *testing.T) {
	p, l := again(profile.Claude(), message.Delivery{})
	p.inherited = nil
	p.account.told, p.account.bound = true, &agent.Transcript{Path: "/t", Thread: thread}
	for _, e := range []agent.Event{
		{Kind: agent.Prompted, Text: "of before", By: agent.ByKeys, Past: true},
		{Kind: agent.ToolBegan, Tool: agent.Tool{ID: "1"}, Past: true},
		{Kind: agent.Prompted, Text: "and this", By: agent.BySteer},
		{Kind: agent.Spoke, Text: "words"},
		{Kind: agent.TurnEnded},
	} {
		e.At = noon
		p.hear(t.Context(), agent.Update{Event: &e})
	}
	require.Len(t, l.turns, 1)
	assert.True(t, l.turns[0].Person)
	assert.Equal(t, "and this", l.turns[0].Prompt)
}
