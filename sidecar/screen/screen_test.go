package screen

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

func TestPlain(t *testing.T) {
	tests := []struct{ row, want string }{
		{"", ""},
		{"  text  ", "  text"},
		{"\x1b[1;31m> \x1b[0mred\x1b[39m   ", "> red"},
		{"a\tb", "a       b"},
		{"12345678\tb", "12345678        b"},
		{"日本\tb", "日本    b"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"a\x00b\x07c", "abc"},
		{"bad \xff byte", "bad \uFFFD byte"},
		{"%begin 1 2 3", "%begin 1 2 3"},
		{"e\u0301 👩‍👩‍👧", "e\u0301 👩‍👩‍👧"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, Plain(tt.row), "%q", tt.row)
	}
}

func TestLearn(t *testing.T) {
	tests := []struct {
		name string
		s    Screen
		want string // or, after "!", a part of the error
	}{
		{"plain", show("> |"), "> "},
		{"below old output", show("hi", "", "bob@persona> |"), "bob@persona> "},
		{"no blank", show("?|"), "?"},
		{"wide", show("日本> |"), "日本> "},
		{"coloured", withRow(show("> |"), 0, "\x1b[32m>\x1b[0m "), "> "},
		{"lambda", show("λ |"), "λ "},
		{"numbered", show("In [3]: |"), "In [3]: "},
		{"empty row", show("text", "|"), "!empty row"},
		{"blank screen", show("|"), "!empty row"},
		{"text below", show("> |", "status"), "!below the cursor"},
		{"text to the right", show("> |hello"), "!right of the cursor"},
		{"a draft", show("> half typed|"), "!may hold a draft"},
		{"a draft that asks", show("> is it?|"), "!may hold a draft"},
		{"far off", show(">          |"), "!columns after"},
		{"one that begins like a label", show("re:> |"), "re:> "},
		{"too long", show(strings.Repeat("long ", 15) + "> |"), "!too long"},
		{"wrapped", joined(show("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "> |"), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa> "), "!wraps"},
		{"hidden cursor", Screen{Rows: []string{"> "}, CursorX: 2}, "!hidden"},
		{"alternate", Screen{Rows: []string{"> "}, CursorX: 2, CursorVisible: true, Alternate: true}, "!full-screen"},
		{"copy mode", Screen{Rows: []string{"> "}, CursorX: 2, CursorVisible: true, InMode: true}, "!mode"},
		{"no rows", Screen{CursorVisible: true}, "!outside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Learn(tt.s)
			if part, bad := strings.CutPrefix(tt.want, "!"); bad {
				require.ErrorContains(t, err, part)
				assert.True(t, p.IsZero())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.String())
			r := Read(tt.s, p)
			assert.True(t, r.MayType, "what was learned is recognised: %+v", r)
			again, err := Literal(p.String())
			require.NoError(t, err)
			assert.True(t, Read(tt.s, again).MayType, "also when it is read again")
		})
	}
}

// A draft that ends like a prompt is not taken for a part of the prompt; a row that was seen twice is believed.
func TestS5_PromptOrDraft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    Screen
		want string // "": refused
	}{
		"fresh":                           {show("oo> |"), "oo> "},
		"a stray Escape":                  {show("oo> ^[|"), ""},
		"Escape, seen before":             {show("oo> ^[", "answer", "oo> ^[|"), ""},
		"a draft with an arrow":           {show("oo> my draft>|"), ""},
		"a draft with a dollar":           {show("oo> rm -rf $|"), ""},
		"a draft with a percentage":       {show("oo> is it 5%|"), ""},
		"a draft with a colon":            {show("oo> yes:|"), ""},
		"a blank behind it":               {show("oo> yes: |"), ""},
		"behind a prompt without a blank": {show("oo>yes:|"), ""},
		"without a prompt":                {show("rm -rf $|"), ""},
		"the prompt stood there before":   {show("oo> hello", "answer", "oo> yes:|"), ""},
		"empty, the prompt before":        {show("oo>", "oo> yes:|"), ""},
		"sent before, and once more":      {show("oo> hello", "answer", "oo> yes:", "answer", "oo> yes:|"), ""},
		"an answer, then the prompt":      {show("oo> hello", "answer", "oo> |"), "oo> "},
		"two words":                       {show("SQL plus> |"), "SQL plus> "},
		"an environment, first":           {show("(venv) ada> |"), ""},
		"an environment, twice":           {show("(venv) ada>", "(venv) ada> |"), "(venv) ada> "},
		"two words and no blank, twice":   {show("SQL plus>1", "SQL plus>|"), "SQL plus>"},
		"numbered":                        {show("In [2]: x", "Out[2]: 3", "In [3]: |"), "In [3]: "},
		"python":                          {show(">>> 1", "1", ">>> |"), ">>> "},
		"a directory":                     {show("ada@host:~/x$ cd ../y", "ada@host:~/y$ |"), "ada@host:~/y$ "},
	} {
		p, err := Learn(c.s)
		if c.want == "" {
			assert.ErrorContains(t, err, "may hold a draft", name)
			continue
		}
		assert.NoError(t, err, name)
		assert.Equal(t, c.want, p.String(), name)
	}
}

func TestPattern(t *testing.T) {
	for _, bad := range []string{"(", ".*", ".+", `\w*`, `[a-z]+`, "", "^$"} {
		_, err := Pattern(bad)
		assert.Error(t, err, bad)
	}
	p, err := Pattern(`^In \[\d+\]: $`)
	require.NoError(t, err)
	assert.Equal(t, `^In \[\d+\]: $`, p.String())
	assert.True(t, Read(show("In [12]: |"), p).MayType)
	assert.False(t, Read(show("In [12]:|"), p).MayType)
	assert.False(t, Read(show("In [12]:  |"), p).MayType, "a blank was typed")
	assert.False(t, Read(show("In [12]: x|"), p).MayType)
	assert.Equal(t, message.Draft, Read(show("In [12]: x|"), p).State)
	assert.Equal(t, "x", Read(show("In [12]: x|"), p).Composer.Text)
	assert.Equal(t, message.Working, Read(show("Out[12]: 3", "|"), p).State)

	_, err = Literal("   ")
	assert.Error(t, err)
}

func TestPrompt_Rest(t *testing.T) {
	literal, err := Literal("> ")
	require.NoError(t, err)
	pattern, err := Pattern(`(\d+)?> `)
	require.NoError(t, err)
	tests := []struct {
		line, rest string
		ok         bool
	}{
		{">", "", true},
		{"> ", "", true},
		{"> x y", "x y", true},
		{">x", "", false},
		{"", "", false},
		{" > x", "", false},
	}
	for _, tt := range tests {
		for _, p := range []Prompt{literal, pattern} {
			rest, ok := p.Rest(tt.line)
			assert.Equal(t, tt.ok, ok, "%q", tt.line)
			assert.Equal(t, tt.rest, rest, "%q", tt.line)
		}
	}
	_, ok := Prompt{}.Rest("")
	assert.False(t, ok)
}

func TestRead(t *testing.T) {
	p, err := Literal("> ")
	require.NoError(t, err)
	wrapped := joined(show("old", "> aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbb|"), "old", "> aaaaaaaaaaaaaaaaaaaaaaaaaaaabbb")
	tests := []struct {
		name  string
		s     Screen
		state message.PaneState
		why   message.Reason
		text  string
	}{
		{"idle", show("old", "> |"), message.Idle, "", ""},
		{"idle in an almost blank pane", show("> |"), message.Idle, "", ""},
		{"idle with history above", above(show("> |"), 3, "older"), message.Idle, "", ""},
		{"draft", show("> hel|"), message.Draft, message.InComposer, "hel"},
		{"draft, cursor in it", show("> h|el"), message.Draft, message.InComposer, "hel"},
		{"draft, cursor at its start", show("> |hel"), message.Draft, message.InComposer, "hel"},
		{"draft of blanks", show(">   |"), message.Draft, message.InComposer, ""},
		{"draft, wrapped", wrapped, message.Draft, message.InComposer, "aaaaaaaaaaaaaaaaaaaaaaaaaaaabbb"},
		{"draft whose last row is like the prompt", joined(show("> aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "> |"), "> aaaaaaaaaaaaaaaaaaaaaaaaaaaa>"), message.Draft, message.InComposer, ""},
		{"the same, the row above ends in typed blanks", joined(show("> aaaaa", "> |"), "> aaaaa                       >"), message.Draft, message.InComposer, ""},
		{"the same, its start has left the screen", above(show("> |"), 3), message.Unknown, message.NotEmpty, ""},
		{"without joined lines", rowsOnly(show("old", "> |")), message.Unknown, message.NotEmpty, ""},
		{"hidden cursor", hidden(show("> |")), message.Unknown, message.UnknownScreen, ""},
		{"cursor before the prompt's end", show("old", ">|"), message.Unknown, message.UnknownScreen, ""},
		{"cursor above", show("o|ld", ">"), message.Unknown, message.UnknownScreen, ""},
		{"cursor below", show("old", ">", "|"), message.Working, message.AgentWorking, ""},
		{"text below", show("> |", "1. yes  2. no"), message.Unknown, message.UnknownScreen, ""},
		{"working", show("> hello", "|"), message.Working, message.AgentWorking, ""},
		{"working, half a line", show("> hello", "on it|"), message.Working, message.AgentWorking, ""},
		{"a question", show("> hello", "Are you sure? [y/N] |"), message.Working, message.AgentWorking, ""},
		{"a prompt that only begins like it", show(">> |"), message.Working, message.AgentWorking, ""},
		{"a prompt further right", show("out> |"), message.Working, message.AgentWorking, ""},
		{"blank", show("|"), message.Working, message.AgentWorking, ""},
		{"copy mode", Screen{InMode: true}, message.History, message.CopyMode, ""},
		{"full-screen", Screen{Alternate: true}, message.Blocked, message.AlternateScreen, ""},
		{"nonsense", Screen{CursorY: 5}, message.Unknown, message.UnknownScreen, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Read(tt.s, p)
			assert.Equal(t, tt.state, r.State, "%+v", r)
			assert.Equal(t, tt.why, r.Why)
			assert.Equal(t, tt.state == message.Idle, r.MayType)
			if tt.text != "" {
				assert.Equal(t, tt.text, r.Composer.Text)
			}
			require.NotEmpty(t, r.Evidence)
			assert.NotEmpty(t, r.Evidence[0].Says)
		})
	}
	assert.Equal(t, message.Unknown, Read(show("> |"), Prompt{}).State)
}

func TestRead_multilineDraft(t *testing.T) {
	p, err := Literal(">>> ")
	require.NoError(t, err)
	s := show("old", ">>> one", "... two|")
	assert.Equal(t, message.Working, Read(s, p).State, "without knowing the continuation")
	r := Read(s, p.With([]string{"... "}))
	assert.Equal(t, message.Draft, r.State)
	assert.Equal(t, "one\ntwo", r.Composer.Text)
	assert.False(t, r.MayType)
}

func TestHolds(t *testing.T) {
	p, err := Literal("> ")
	require.NoError(t, err)
	line, paste := profile.Line(), profile.LinePaste()
	tests := []struct {
		name string
		s    Screen
		text string
		prof profile.Profile
		want bool
	}{
		{"all of it", show("old", "> [Bob] (1): hi|"), "[Bob] (1): hi", line, true},
		{"a prefix is shown", show("> [Bob] (1): h|"), "[Bob] (1): hi", line, false},
		{"more is shown", show("> [Bob] (1): hi there|"), "[Bob] (1): hi", line, false},
		{"something before it", show("> draft [Bob] (1): hi|"), "[Bob] (1): hi", line, false},
		{"the end alone", show("> (1): hi|"), "[Bob] (1): hi", line, false},
		{"nothing", show("> |"), "[Bob] (1): hi", line, false},
		{"nothing to hold", show("> |"), " ", line, false},
		{"the cursor moved into it", show("> [Bob] (1)|: hi"), "[Bob] (1): hi", line, false},
		{"submitted", show("> [Bob] (1): hi", "|"), "[Bob] (1): hi", line, false},
		{"submitted, and answered", show("> [Bob] (1): hi", "ok", "> |"), "[Bob] (1): hi", line, false},
		{"submitted, the output repeats it", show("> [Bob] (1): hi", "[Bob] (1): hi|"), "[Bob] (1): hi", line, false},
		{"a completion list below", show("> [Bob] (1): hi|", "  hint"), "[Bob] (1): hi", line, false},
		{"wrapped by the terminal", joined(show("> aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbb|"), "> aaaaaaaaaaaaaaaaaaaaaaaaaaaabbb"), "aaaaaaaaaaaaaaaaaaaaaaaaaaaabbb", line, true},
		{"wrapped by the program", show("> aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbb|"), "aaaaaaaaaaaaaaaaaaaaaaaaaaaabbb", line, true},
		{"fills its row", show("> " + strings.Repeat("a", 28) + "|"), strings.Repeat("a", 28), line, true},
		{"fills its row, cursor below", show("> "+strings.Repeat("a", 28), "|"), strings.Repeat("a", 28), line, true},
		{"ends in a blank", show("> hi @x |"), "hi @x ", line, true},
		{"a blank too many", show("> hi @x  |"), "hi @x ", line, false},
		{"wide", show("> 日本 ⏎ 語|"), "日本 ⏎ 語", line, true},
		{"several lines", show("> [Bob] (1):", "", "one", "two|"), "[Bob] (1):\n\none\ntwo", paste, true},
		{"several lines, continued", show("> [Bob] (1):", "...", "... one", "... two|"), "[Bob] (1):\n\none\ntwo", paste, true},
		{"several lines, one missing", show("> [Bob] (1):", "", "two|"), "[Bob] (1):\n\none\ntwo", paste, false},
		{"several lines, one more", show("> [Bob] (1):", "", "one", "two", "three|"), "[Bob] (1):\n\none\ntwo", paste, false},
		{"a line like the prompt in it", show("> [Bob] (1):", "", "> quote", "two|"), "[Bob] (1):\n\n> quote\ntwo", paste, true},
		{"its start has left the screen", Screen{Rows: []string{"one", "two"}, Lines: []string{"> [Bob] (1):", "", "one", "two"}, CursorX: 3, CursorY: 1, Width: 30, CursorVisible: true}, "[Bob] (1):\n\none\ntwo", paste, true},
		{"ends in a line break", show("> [Bob] (1):", "... one", "... |"), "[Bob] (1):\none\n", paste, true},
		{"ends in a line break, no continuation", show("> [Bob] (1):", "one", "|"), "[Bob] (1):\none\n", paste, true},
		{"a line break too many", show("> [Bob] (1):", "one", "|"), "[Bob] (1):\none", paste, false},
		{"emoji, as old versions count", emoji(8), "❤️ 👍🏽x", line, true},
		{"emoji, as new versions count", emoji(7), "❤️ 👍🏽x", line, true},
		{"emoji, cursor before their end", emoji(5), "❤️ 👍🏽x", line, false},
		{"emoji, cursor far behind", emoji(12), "❤️ 👍🏽x", line, false},
		{"copy mode", inMode(show("> hi|")), "hi", line, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Holds(tt.s, p, tt.text, tt.prof))
		})
	}
}

// emoji is a row whose width differs between any two versions of tmux, from 7 cells to 10.
func emoji(cursor int) Screen {
	return Screen{Rows: []string{"> ❤️ 👍🏽x"}, Lines: []string{"> ❤️ 👍🏽x"}, CursorX: cursor, Width: 30, Height: 1, CursorVisible: true}
}

func TestTail(t *testing.T) {
	tests := []struct {
		s    Screen
		want string
	}{
		{show("> [Bob] (1): hello there|"), "hello there"},
		{show("> a * b|"), "b"},
		{show("> what [x]?|"), "what"},
		{show("> this is a rather long line|"), "is a rather long line"},
		{show("> **[]{}#,|"), ""},
		{show("|"), ""},
		{show("> left| right"), "left"},
		{Screen{CursorY: 1}, ""},
	}
	for _, tt := range tests {
		got := Tail(tt.s)
		assert.LessOrEqual(t, ansi.StringWidth(got), tailCells)
		if len(tt.want) > 20 {
			assert.Contains(t, "> this is a rather long line", got)
			assert.Greater(t, len(got), 15)
			continue
		}
		assert.Equal(t, tt.want, got)
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", "> \x1b[1mx", "a\tb\xff", "\x1b]0;t\x07", "\x1b", "\u009b1m", "日本\t\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, row string) {
		got := Plain(row)
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x1b")
		require.Equal(t, got, trim(got))
		require.Equal(t, got, Plain(got), "idempotent")
	})
}

// On any screen there is no panic, and typing is allowed only with the prompt alone in the last row and the cursor
// behind it.
func FuzzRead(f *testing.F) {
	f.Add("old\n> ", "old\n>", 2, 1, uint8(0))
	f.Add("> aaa\n> ", "> aaa>", 2, 1, uint8(0))
	f.Add("\x1b[31m>\x1b[0m x", "> x", 3, 0, uint8(1))
	f.Add("In [1]: ", "In [1]:", 8, 0, uint8(2))
	literal, err := Literal("> ")
	require.NoError(f, err)
	pattern, err := Pattern(`In \[\d+\]: `)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, rows, lines string, x, y int, kind uint8) {
		s := Screen{Rows: strings.Split(rows, "\n"), Lines: strings.Split(lines, "\n"), CursorX: x, CursorY: y, Width: 20, Height: 5, CursorVisible: kind&4 == 0, HistorySize: int(kind & 8)}
		p := []Prompt{literal, pattern}[kind&1]
		if learned, err := Learn(s); err == nil {
			require.True(t, Read(s, learned).State == message.Idle || Read(s, learned).State == message.Unknown, "what was learned")
			if kind&2 != 0 {
				p = learned
			}
		}
		Tail(s)
		Holds(s, p, rows, profile.LinePaste())
		r := Read(s, p)
		if !r.MayType {
			require.NotEmpty(t, r.Why)
			return
		}
		require.Equal(t, message.Idle, r.State)
		row := Plain(s.Rows[y])
		rest, ok := p.Rest(row)
		require.True(t, ok)
		require.Empty(t, rest)
		require.GreaterOrEqual(t, x, min(ansi.StringWidth(row), ansi.StringWidthWc(row)))
		for _, below := range s.Rows[y+1:] {
			require.Empty(t, Plain(below))
		}
		require.Equal(t, row, trim(s.Lines[lastText(s.Lines)]))
		require.True(t, s.CursorVisible)
	})
}

// show makes a screen of 30 columns from its rows; "|" is the cursor.
func show(rows ...string) Screen {
	s := Screen{Width: 30, Height: 10, CursorVisible: true}
	for y, row := range rows {
		if before, after, ok := strings.Cut(row, "|"); ok {
			s.CursorX, s.CursorY = ansi.StringWidth(before), y
			row = before + after
		}
		s.Rows = append(s.Rows, trim(row))
		s.Lines = append(s.Lines, trim(row))
	}
	for len(s.Rows) < s.Height {
		s.Rows, s.Lines = append(s.Rows, ""), append(s.Lines, "")
	}
	return s
}

func joined(s Screen, lines ...string) Screen {
	s.Lines = lines
	return s
}

func withRow(s Screen, y int, row string) Screen {
	s.Rows[y] = row
	return s
}

func rowsOnly(s Screen) Screen {
	s.Lines = nil
	return s
}

func hidden(s Screen) Screen {
	s.CursorVisible = false
	return s
}

func inMode(s Screen) Screen {
	s.InMode = true
	return s
}

// above puts history above the screen.
func above(s Screen, rows int, lines ...string) Screen {
	s.HistorySize = rows
	s.Lines = append(lines, s.Lines...)
	return s
}
