package screen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// framed returns a screen of a program with a composer in a box; ▏ is its cursor.
func framed(rows ...string) screen.Screen {
	s := screen.Screen{CursorVisible: true, Alternate: true, Width: 40, Height: len(rows)}
	for y, row := range rows {
		if left, _, cursor := strings.Cut(row, "▏"); cursor {
			s.CursorX, s.CursorY = len([]rune(left)), y
		}
		s.Rows = append(s.Rows, strings.Replace(row, "▏", "", 1))
	}
	return s
}

var boxed = []string{
	"● ready",
	"",
	"",
	"",
	"",
	"╭──────────────────────────────────────╮",
	"│ ❯ ▏                                   │",
	"╰──────────────────────────────────────╯",
	"  ? for shortcuts · 0 tokens",
}

// with returns a screen with some rows replaced, counted from below.
func with(rows []string, from int, others ...string) []string {
	at := len(rows) - from
	return slices.Concat(rows[:at], others, rows[min(at+len(others), len(rows)):])
}

// Only the screen that a person adopted is idle, at any width and with any number in its rows.
func TestFrame_View(t *testing.T) {
	f, err := screen.LearnFrame(framed(boxed...))
	require.NoError(t, err)
	again, err := screen.ParseFrame(f.String())
	require.NoError(t, err)
	require.Equal(t, f, again)

	narrow := []string{"● ready", "╭────────────────╮", "│ ❯ ▏             │", "╰────────────────╯", "  ? for shortcuts · 417 tokens"}
	for _, c := range []struct {
		name   string
		screen screen.Screen
		state  message.PaneState
		text   string
	}{
		{"as it was", framed(boxed...), message.Idle, ""},
		{"narrower, with other numbers", framed(narrow...), message.Idle, ""},
		{"a draft", framed(with(boxed, 3, "│ ❯ half a thought▏                     │")...), message.Draft, "half a thought"},
		{"its cursor at its beginning", framed(with(boxed, 3, "│ ❯ ▏half a thought                     │")...), message.Draft, "half a thought"},
		{"blanks", framed(with(boxed, 3, "│ ❯   ▏                                 │")...), message.Draft, ""},
		{"two rows", framed(with(boxed, 4, "╭──────────────────────────────────────╮", "│ ❯ one                                │", "│   two▏                                │", "╰──────────────────────────────────────╯", "  ? for shortcuts · 0 tokens")...), message.Draft, "one two"},
		{"its cursor elsewhere", framed(with(boxed, 3, "│ ▏❯                                    │")...), message.Draft, ""},
		{"another glyph", framed(with(boxed, 3, "│ ! ▏                                   │")...), message.Unknown, ""},
		{"a list below", framed(with(boxed, 1, "  /agents  manage agents")...), message.Unknown, ""},
		{"its foot has gone", framed(with(boxed, 1, "")...), message.Draft, ""},
		{"no box", framed("● ready", "❯ ▏"), message.Unknown, ""},
		{"a choice in its place", framed(with(boxed, 4, "╭──────────────────────────────────────╮", "│ Run this command?                    │", "│ ▏❯ 1. Yes                             │", "╰──────────────────────────────────────╯")...), message.Unknown, ""},
		{"a question in its place", framed(with(boxed, 3, "│ Do you want to run this? ▏            │")...), message.Unknown, ""},
		{"a question above", framed(with(boxed, 7, "Run rm -rf? [y/N]")...), message.Blocked, ""},
		{"an open question above", framed(with(boxed, 7, "Do you want to proceed?")...), message.Blocked, ""},
		{"a question far above", framed(append([]string{"Delete all? (Y)es/(N)o", "", "", ""}, boxed...)...), message.Blocked, ""},
		{"work", framed(with(boxed, 5, "✢ Working… (3s · esc to interrupt)")...), message.Working, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := f.View(c.screen)
			state := v.Reading.State
			assert.Equal(t, c.state, state, "%+v", v.Reading)
			assert.Equal(t, c.state == message.Idle, v.Reading.MayType)
			assert.Equal(t, c.text, v.Reading.Composer.Text)
			for _, e := range v.Reading.Evidence {
				assert.Equal(t, "approximate", e.Weight)
			}
		})
	}
	hidden := framed(boxed...)
	hidden.CursorVisible = false
	assert.False(t, f.View(hidden).Reading.MayType)
	for plain, painted := range map[string]string{"❯": "\x1b[2m❯\x1b[0m", "│ ❯": "\x1b[31m│\x1b[0m ❯"} {
		other := framed(boxed...)
		other.Rows[6] = strings.Replace(other.Rows[6], plain, painted, 1)
		assert.False(t, f.View(other).Reading.MayType, "painted otherwise: %q", painted)
	}
	main := framed(boxed...)
	main.Alternate = false
	assert.False(t, f.View(main).Reading.MayType)
}

// The text in the composer is read as that of a line program, over all of its rows; the rows above it are the
// words.
func TestFrame_Line(t *testing.T) {
	f, err := screen.LearnFrame(framed(boxed...))
	require.NoError(t, err)
	prompt, err := f.Prompt()
	require.NoError(t, err)
	text := "[Ada] (1): what was said, over more than one row "
	v := f.View(framed(
		"● ready", "", "",
		"╭──────────────────────────────────────╮",
		"│ ❯ [Ada] (1): what was said, over     │",
		"│   more than one row ▏                 │",
		"╰──────────────────────────────────────╯",
		"  ? for shortcuts · 0 tokens",
	))
	prof := profile.TUI()
	assert.True(t, screen.Holds(v.Line, prompt, text, prof))
	assert.False(t, screen.Holds(v.Line, prompt, text+"more", prof))
	assert.False(t, screen.Holds(v.Line, prompt, strings.TrimSuffix(text, " "), prof), "the cursor stands a blank further")
	assert.Equal(t, []string{"● ready", "", "", "❯ [Ada] (1): what was said, over more than one row"}, v.Line.Lines)
}

// Anything that cannot be the frame of an empty composer is refused.
func TestLearnFrame_refuses(t *testing.T) {
	hidden := framed(boxed...)
	hidden.CursorVisible = false
	for name, s := range map[string]screen.Screen{
		"a draft":                      framed(with(boxed, 3, "│ ❯ half a thought▏                     │")...),
		"a draft, the cursor before":   framed(with(boxed, 3, "│ ❯ ▏half a thought                     │")...),
		"nothing left of the cursor":   framed(with(boxed, 3, "▏                                        ")...),
		"a hidden cursor":              hidden,
		"a choice":                     framed(with(boxed, 3, "│ ❯ 1. Yes▏                             │")...),
		"a question":                   framed(with(boxed, 1, "  ↑/↓ to select · Enter to confirm")...),
		"a question above":             framed(with(boxed, 6, "Do you want to run it?")...),
		"work":                         framed(with(boxed, 5, "✢ (3s · esc to interrupt)")...),
		"the end of a line of letters": framed("some words▏"),
	} {
		_, err := screen.LearnFrame(s)
		assert.Error(t, err, name)
	}
}

// A person may adopt any idle screen of a real agent as that of an unknown program. None of the agent's other
// screens is then taken for it, except those that one look cannot distinguish. Streaming text moves, and is not
// quiet. A question in the conversation above a composer that takes any text cannot be seen without knowledge of
// Codex.
func TestFrames_overTheCorpus(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	frames := map[string]bool{}
	idle, recognised, alike := 0, 0, 0
	for _, adopted := range all {
		f, err := screen.LearnFrame(adopted.view().Screen)
		if adopted.Label != "idle" || err != nil || frames[adopted.Agent+f.String()] {
			continue
		}
		frames[adopted.Agent+f.String()] = true
		for _, r := range all {
			if r.Agent != adopted.Agent {
				continue
			}
			v := f.View(r.view().Screen)
			switch {
			case r.Label == "idle":
				if idle++; v.Reading.MayType {
					recognised++
				}
			case strings.HasPrefix(r.What, "streaming") || r.What == "question-beside-composer":
				alike++
			default:
				assert.False(t, v.Reading.MayType, "adopted as %s: %s", adopted, r)
			}
		}
	}
	t.Logf("%d frames; of %d idle screens %d are recognised; %d cannot be told from one", len(frames), idle, recognised, alike)
	assert.NotEmpty(t, frames)
}
