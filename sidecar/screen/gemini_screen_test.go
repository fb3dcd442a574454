package screen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// geminiDrawn returns a screen of Gemini CLI with these rows in its composer, the first without its glyph, and with
// its hints.
func geminiDrawn(width int, composer []string, hint string) screen.View {
	rows := []string{"✦ an answer", "", "", strings.Repeat(" ", width-17) + "\x1b[38;5;248m" + hint, "\x1b[2m\x1b[38;5;244m" + strings.Repeat("─", width)}
	rows = append(rows, "\x1b[0m \x1b[38;5;248mShift+Tab to accept edits", "\x1b[39m\x1b[48;5;240m")
	for i, row := range composer {
		lead := "   "
		if i == 0 {
			lead = " \x1b[38;5;183m> \x1b[39m"
		}
		rows = append(rows, lead+row)
	}
	rows = append(rows, "", "\x1b[49m \x1b[38;5;248mworkspace (/directory)\x1b[39m     \x1b[38;5;248m/model", "\x1b[39m \x1b[38;5;231m/work                       \x1b[38;5;231mflash\x1b[39m", "")
	return screen.View{
		Screen: screen.Screen{Rows: rows, Width: width, Height: len(rows), CursorY: len(rows) - 1},
		Title:  "◇  Ready (work)",
	}
}

const (
	geminiEmpty = "\x1b[7m \x1b[0m\x1b[38;5;248m\x1b[48;5;240m Type your message or @path/to/file\x1b[39m"
	geminiHint  = "? for shortcuts"
)

// set replaces the row that shows text.
func set(v *screen.View, text, row string) {
	at := slices.IndexFunc(v.Rows, func(s string) bool { return strings.Contains(screen.Plain(s), text) })
	v.Rows[at] = row
}

// After any relevant change, an idle screen of Gemini CLI is not typed into.
func TestJudge_geminiAnyChange(t *testing.T) {
	gemini := profile.Gemini()
	for name, c := range map[string]struct {
		change func(v *screen.View)
		want   message.PaneState
	}{
		"nothing":                    {func(*screen.View) {}, message.Idle},
		"no hint":                    {func(v *screen.View) { set(v, geminiHint, "") }, message.Idle},
		"the title is another's":     {func(v *screen.View) { v.Title = "host" }, message.Idle},
		"no hint, and no such title": {func(v *screen.View) { set(v, geminiHint, ""); v.Title = "host" }, message.Unknown},
		"no foot": {func(v *screen.View) {
			v.Rows = v.Rows[:len(v.Rows)-3]
			v.Height, v.CursorY = len(v.Rows), 0
		}, message.Idle},
		"no cursor is painted": {func(v *screen.View) {
			set(v, "Type your", " \x1b[38;5;183m> \x1b[38;5;248m  Type your message or @path/to/file\x1b[39m")
		}, message.Idle},
		"no cursor, and another title": {func(v *screen.View) {
			set(v, "Type your", " \x1b[38;5;183m> \x1b[38;5;248m  Type your message or @path/to/file\x1b[39m")
			v.Title = "host"
		}, message.Unknown},
		"asks for no leave": {func(v *screen.View) { set(v, "Type your", " \x1b[38;5;183m* \x1b[39m"+geminiEmpty) }, message.Idle},
		"it works":          {func(v *screen.View) { v.Title = "✦  Working… (work)" }, message.Working},
		"silently":          {func(v *screen.View) { v.Title = "⏲  Working… (work)" }, message.Working},
		"it asks":           {func(v *screen.View) { v.Title = "✋  Action Required (work)" }, message.Blocked},
		"a spinner":         {func(v *screen.View) { set(v, geminiHint, " ⠸ Thinking... (esc to cancel, 2s)") }, message.Working},
		"something is said": {func(v *screen.View) { set(v, geminiHint, " Tip: something") }, message.Unknown},
		"prompts wait":      {func(v *screen.View) { v.Rows[1] = "  Queued (press ↑ to edit):" }, message.Working},
		"a choice": {func(v *screen.View) {
			v.Rows[0], v.Rows[1], v.Rows[2] = "╭───╮", "│ ● 1. Allow once │", "╰───╯"
		}, message.Blocked},
		"a shell has the keys": {func(v *screen.View) { v.Rows[1] = "│ shell (PID: 12) (Focused) │" }, message.Blocked},
		"its own copy mode":    {func(v *screen.View) { v.Rows[2] = "In Copy Mode. Use Page Up/Down to scroll." }, message.Blocked},
		"shell mode":           {func(v *screen.View) { set(v, "Type your", " ! \x1b[7m \x1b[0m\x1b[38;5;248m Type your shell command") }, message.Draft},
		"a search":             {func(v *screen.View) { set(v, "Type your", " (r:) "+geminiEmpty) }, message.Unknown},
		"vim keys, NORMAL": {func(v *screen.View) {
			set(v, "Type your", " > \x1b[7m \x1b[0m\x1b[38;5;248m Press 'i' for INSERT mode.")
		}, message.Blocked},
		"vim keys, INSERT": {func(v *screen.View) {
			set(v, "Type your", " > \x1b[7m \x1b[0m\x1b[38;5;248m Press 'Esc' for NORMAL mode.")
		}, message.Idle},
		"the words, as a draft": {func(v *screen.View) { set(v, "Type your", " > \x1b[7m \x1b[0m Type your message or @path/to/file") }, message.Draft},
		"other dim words":       {func(v *screen.View) { set(v, "Type your", " > \x1b[7m \x1b[0m\x1b[38;5;248m Say something") }, message.Draft},
		"blanks":                {func(v *screen.View) { set(v, "Type your", " >  \x1b[7m \x1b[0m\x1b[39m ") }, message.Draft},
		"a list below":          {func(v *screen.View) { set(v, "workspace", " /help  shows help") }, message.Unknown},
		"its foot once more": {func(v *screen.View) {
			v.Rows = append(v.Rows, "", v.Rows[len(v.Rows)-3], v.Rows[len(v.Rows)-2])
			v.Height = len(v.Rows)
		}, message.Idle},
		"its foot as of another width": {func(v *screen.View) {
			v.Rows = append(v.Rows, "", " workspace (/directory)   /model", " /work                     flash")
			v.Height = len(v.Rows)
		}, message.Idle},
		"part of its foot, and a word": {func(v *screen.View) {
			v.Rows = append(v.Rows, "", " workspace (/directory)   /model", " /work                     flash  2")
			v.Height = len(v.Rows)
		}, message.Unknown},
		"another foot": {func(v *screen.View) {
			v.Rows = append(v.Rows, "", v.Rows[len(v.Rows)-3], " /elsewhere                  flash")
			v.Height = len(v.Rows)
		}, message.Unknown},
		"a shell below":       {func(v *screen.View) { v.Rows[len(v.Rows)-1] = "$ " }, message.Unknown},
		"a rule is too short": {func(v *screen.View) { v.Width++ }, message.Unknown},
		"copy mode":           {func(v *screen.View) { v.InMode = true }, message.History},
	} {
		v := geminiDrawn(80, []string{geminiEmpty}, geminiHint)
		c.change(&v)
		got := screen.Judge(v, gemini)
		assert.Equal(t, c.want, got.State, "%s: %s", name, says(got))
		assert.Equal(t, c.want == message.Idle, got.MayType, name)
	}
}

// Our text in a composer of Gemini CLI is no longer Whole after any change in it, around it or over it.
func TestJudgeOwn_geminiAnyChange(t *testing.T) {
	gemini := profile.Gemini()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(60, 120).Draw(t, "width")
		body := rapid.StringOfN(rapid.SampledFrom([]rune("abc  de\\@/x.日漢éß")), 1, 200, -1).Draw(t, "body")
		text := head + strings.TrimSpace("w "+body)
		draw := func(text, cursor string) screen.View {
			rows := wrap(text, width-6)
			rows[len(rows)-1] += cursor
			return geminiDrawn(width, rows, "")
		}
		end := "\x1b[7m\x1b[39m \x1b[0m\x1b[39m\x1b[48;5;240m"
		require.Equal(t, screen.Whole, screen.JudgeOwn(draw(text, end), gemini, text))
		assert.Equal(t, message.Draft, screen.Judge(draw(text, end), gemini).State)
		refused := draw(text, "\x1b[39m")
		at := slices.IndexFunc(refused.Rows, func(s string) bool { return strings.Contains(s, "workspace") })
		refused.Rows = slices.Insert(refused.Rows, at-1, "   \x1b[7m \x1b[0m\x1b[39m\x1b[48;5;240m")
		refused.Height++
		assert.Equal(t, screen.Whole, screen.JudgeOwn(refused, gemini, text), "Enter was taken for a line break")
		assert.Equal(t, 1, screen.Breaks(refused, gemini, text))
		assert.Zero(t, screen.Breaks(draw(text, end), gemini, text))

		runes := []rune(text)
		i := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
		assert.NotEqual(t, screen.Whole, screen.JudgeOwn(draw(string(runes[:i])+"Z"+string(runes[i:]), end), gemini, text))
		for name, change := range map[string]func(v *screen.View){
			"a list":    func(v *screen.View) { set(v, "workspace", " file1.txt") },
			"it works":  func(v *screen.View) { v.Title = "✦  Working…" },
			"it asks":   func(v *screen.View) { v.Title = "✋  Action Required" },
			"a spinner": func(v *screen.View) { v.Rows[3] = " ⠸ Thinking... (esc to cancel, 2s)" },
			"a mode":    func(v *screen.View) { set(v, " > ", " ! "+strings.TrimPrefix(text[:8], "")) },
			"no rule":   func(v *screen.View) { set(v, "────", "") },
			"copy mode": func(v *screen.View) { v.InMode = true },
			"vim keys":  func(v *screen.View) { v.Vim = true },
			"a dialog above": func(v *screen.View) {
				v.Rows[0], v.Rows[1], v.Rows[2] = "╭───╮", "│ ● 1. Allow once │", "╰───╯"
			},
			"a shell focused": func(v *screen.View) { v.Rows[1] = "   (Shift+Tab to unfocus)" },
		} {
			v := draw(text, end)
			change(&v)
			assert.NotEqual(t, screen.Whole, screen.JudgeOwn(v, gemini, text), "%s: %q", name, v.Rows)
		}
		assert.NotEqual(t, screen.Whole, screen.JudgeOwn(draw("\x1b[7m"+text[:1]+"\x1b[0m"+text[1:], ""), gemini, text), "the cursor elsewhere")
	})
}

// Enters that became line breaks after a long paste are counted, too. The line breaks at the end of the paste are
// not shown.
func TestBreaks_behindALongPaste(t *testing.T) {
	gemini := profile.Gemini()
	text, ok := screen.Fitted(geminiDrawn(80, []string{geminiEmpty}, geminiHint), gemini, shortHead+"a family, 👨‍👩‍👧")
	require.True(t, ok)
	require.True(t, strings.HasSuffix(text, "\n"))
	line, end := fmt.Sprintf("[Pasted Text: %d lines]", strings.Count(text, "\n")+1), "\x1b[7m\x1b[39m \x1b[0m\x1b[39m\x1b[48;5;240m"
	for n, rows := range [][]string{{line + end}, {line, end}, {line, "", end}} {
		v := geminiDrawn(80, rows, "")
		assert.Equal(t, screen.Whole, screen.JudgeOwn(v, gemini, text), "%d", n)
		assert.Equal(t, n, screen.Breaks(v, gemini, text))
	}
	v := geminiDrawn(80, []string{line + " mine", end}, "")
	assert.Equal(t, screen.Among, screen.JudgeOwn(v, gemini, text))
	assert.Zero(t, screen.Breaks(v, gemini, text))
	own := head + "its own\n"
	assert.Zero(t, screen.Breaks(geminiDrawn(80, []string{"[claude-2] (2):", "", "its own", end}, ""), gemini, own))
}
