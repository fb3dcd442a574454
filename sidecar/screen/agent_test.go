package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// painted returns a screen of Claude Code of 40 columns, with these rows in its composer and below it.
func painted(composer, foot string) screen.View {
	rule := "\x1b[38;5;244m" + strings.Repeat("─", 40)
	return screen.View{Screen: screen.Screen{
		Rows:  []string{"", rule, "\x1b[39m❯\u00a0" + composer + "\x1b[0m", rule, "\x1b[39m  " + foot},
		Width: 40, Height: 5, CursorX: 2, CursorY: 2,
	}}
}

const manual = "⏸ manual mode on · ? for shortcuts"

// Words typed by a person are distinguished from suggested words.
func TestJudge_draftsAndSuggestions(t *testing.T) {
	for _, c := range []struct {
		name, composer string
		want           message.PaneState
	}{
		{"empty", "\x1b[7m \x1b[0m", message.Idle},
		{"nothing is painted", "", message.Idle},
		{"a suggestion", "\x1b[7mR\x1b[0;2mesend your message", message.Idle},
		{"a grey suggestion", "\x1b[7mR\x1b[0;38;5;246mesend your message", message.Idle},
		{"a grey suggestion in true colour", "\x1b[7mR\x1b[0;38;2;153;153;153mesend your message", message.Idle},
		{"a draft", "\x1b[7mh\x1b[0mello", message.Draft},
		{"one letter", "\x1b[7mh\x1b[0m", message.Draft},
		{"a draft before a suggestion", "\x1b[7mh\x1b[0mel\x1b[2mlo there", message.Draft},
		{"a 2 in a colour is not dim", "\x1b[7mh\x1b[0;38;5;2mello", message.Draft},
		{"nor in a true colour", "\x1b[7mh\x1b[0;38;2;2;2;2mello", message.Draft},
		{"nor is a red", "\x1b[7mh\x1b[0;31mello", message.Draft},
		{"dim and normal again", "\x1b[7mh\x1b[0;2;22mello", message.Draft},
	} {
		v := screen.Judge(painted(c.composer, manual), profile.Claude())
		assert.Equal(t, c.want, v.State, "%s: %s", c.name, says(v))
		assert.Equal(t, c.want == message.Idle, v.MayType, c.name)
	}
}

// Vim keys: if NORMAL mode looks like no vim keys, other knowledge decides.
func TestJudge_vimKeys(t *testing.T) {
	empty := "\x1b[7m \x1b[0m"
	insert := screen.Judge(painted(empty, "-- INSERT -- ⏸ manual mode on"), profile.Claude())
	assert.True(t, insert.MayType)
	assert.True(t, insert.Vim, "to be told to the next view")

	view := painted(empty, manual)
	assert.True(t, screen.Judge(view, profile.Claude()).MayType)
	view.Vim = true
	normal := screen.Judge(view, profile.Claude())
	assert.Equal(t, message.Blocked, normal.State)
	assert.Equal(t, screen.VimNormal, normal.Why)
}

// A screen that is incomplete, unfamiliar or not the agent's is unknown, and is not typed into.
func TestJudge_unknown(t *testing.T) {
	good := painted("", manual)
	require.True(t, screen.Judge(good, profile.Claude()).MayType)
	for name, change := range map[string]func(v *screen.View){
		"no rows":             func(v *screen.View) { v.Rows = nil },
		"a row is missing":    func(v *screen.View) { v.Rows = v.Rows[1:] },
		"cursor outside":      func(v *screen.View) { v.CursorY = 9 },
		"cursor beyond":       func(v *screen.View) { v.CursorX = 41 },
		"a rule is too short": func(v *screen.View) { v.Width = 41 },
		"a plain blank":       func(v *screen.View) { v.Rows[2] = strings.Replace(v.Rows[2], "\u00a0", " ", 1) },
		"no hints":            func(v *screen.View) { v.Rows[4] = "  something else" },
	} {
		v := painted("", manual)
		change(&v)
		verdict := screen.Judge(v, profile.Claude())
		assert.False(t, verdict.MayType, name)
		assert.NotEqual(t, message.Idle, verdict.State, name)
	}
	assert.False(t, screen.Judge(good, profile.Codex()).MayType)
	assert.Equal(t, message.Unknown, screen.Judge(good, profile.Agent{}).State)
}

// A dialog is recognised by the place of its cursor, whatever its words are.
func TestJudge_theCursorOnAChoice(t *testing.T) {
	for _, indent := range []string{"", " ", "  ", "   ", "    "} {
		v := screen.View{Screen: screen.Screen{
			Rows: []string{"", indent + "❯ Qui", indent + "  Non", ""}, Width: 40, Height: 4, CursorX: len(indent), CursorY: 1,
		}}
		assert.Equal(t, message.Blocked, screen.Judge(v, profile.Claude()).State, "%q", indent)
	}
}
