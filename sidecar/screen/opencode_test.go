package screen_test

import (
	"regexp"
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

// blue is the colour of an agent of opencode, and red that of an error.
const (
	blue = "\x1b[38;5;75m"
	red  = "\x1b[38;5;167m"
	off  = "\x1b[0m"
)

// session returns a screen of opencode with a conversation above its composer and the text in it.
func session(width int, conversation []string, text string) screen.View {
	rows := append([]string{""}, conversation...)
	rows = append(rows, "", "  "+blue+"┃"+off)
	x, y := 0, 0
	for _, line := range wrap(text, width-9) {
		rows = append(rows, "  "+blue+"┃"+off+"  "+line)
		x, y = 5+cells(line), len(rows)-1
	}
	rows = append(rows,
		"  "+blue+"┃"+off, "  "+blue+"┃"+off+"  Build · Mock Lab",
		"  "+blue+"╹"+off+strings.Repeat("▀", width-5), "   /work"+strings.Repeat(" ", width-25)+"ctrl+p commands", "")
	return screen.View{Screen: screen.Screen{
		Rows: rows, Width: width, Height: len(rows), CursorX: x, CursorY: y, CursorVisible: true, Alternate: true,
	}}
}

// opencodeTop returns the blank row with which the composer with the cursor begins.
func (r recording) opencodeTop() int {
	y := r.CursorY
	for y > 0 && (strings.TrimSpace(screen.Plain(r.Rows[y])) != "┃" || strings.TrimSpace(screen.Plain(r.Rows[y-1])) == "┃") {
		y--
	}
	return y
}

// tidy returns a row without what differs between two labs.
func tidy(row string) string {
	return strings.Join(strings.Fields(labDirectory.ReplaceAllString(row, "/tmp/il")), " ")
}

// opencodeHomeFoot is the bottom of the home screen.
const opencodeHomeFoot = "/tmp/il/opencode/work 1.18.33"

var labDirectory = regexp.MustCompile(`/tmp/il[0-9]+`)

func TestJudge_opencode(t *testing.T) {
	asked := []string{"  " + blue + "┃" + off, "  " + blue + "┃" + off + "  hello", "  " + blue + "┃" + off}
	answered := append(slices.Clone(asked), "", "     an answer", "", "     "+blue+"▣"+off+"  Build · Mock · 2.1s")
	failed := append(slices.Clone(asked), "", "  "+red+"┃"+off, "  "+red+"┃"+off+"  no such model", "  "+red+"┃"+off)
	edge := func(v *screen.View) int { return v.Height - 3 }
	for name, c := range map[string]struct {
		conversation []string
		text         string
		change       func(v *screen.View)
		want         message.PaneState
	}{
		"empty":             {answered, "", nil, message.Idle},
		"after an error":    {failed, "", nil, message.Idle},
		"nothing said yet":  {nil, "", nil, message.Idle},
		"no answer yet":     {asked, "", nil, message.Working},
		"a draft":           {answered, "words", nil, message.Draft},
		"two lines":         {answered, "words\n", nil, message.Draft},
		"the cursor behind": {answered, "", func(v *screen.View) { v.CursorX++ }, message.Draft},
		"the cursor hidden": {answered, "", func(v *screen.View) { v.CursorVisible = false }, message.Unknown},
		"in the rows above": {answered, "", func(v *screen.View) { v.CursorY-- }, message.Unknown},
		"in the names":      {answered, "", func(v *screen.View) { v.CursorY += 2 }, message.Unknown},
		"shell mode": {answered, "", func(v *screen.View) {
			v.Rows[edge(v)-1] = strings.Replace(v.Rows[edge(v)-1], "Build · Mock Lab", "Shell", 1)
		}, message.Draft},
		"a turn": {answered, "", func(v *screen.View) {
			v.Rows[edge(v)+1] = "   ⬝⬝■■  esc interrupt     tab agents  ctrl+p commands"
		}, message.Working},
		"nothing below":         {answered, "", func(v *screen.View) { v.Rows[edge(v)+1] = "" }, message.Unknown},
		"cut behind the edge":   {answered, "", func(v *screen.View) { v.Rows = v.Rows[:edge(v)+1]; v.Height = len(v.Rows) }, message.Unknown},
		"no lower edge":         {answered, "", func(v *screen.View) { v.Rows[edge(v)] = "" }, message.Unknown},
		"half of a lower edge":  {answered, "", func(v *screen.View) { v.Rows[edge(v)] = strings.TrimSuffix(v.Rows[edge(v)], "▀▀▀") }, message.Unknown},
		"something over a part": {answered, "", func(v *screen.View) { v.Rows[edge(v)-2] += "   a toast" }, message.Unknown},
		"a panel":               {answered, "", func(v *screen.View) { v.CursorVisible, v.Rows[1] = false, "      Commands                 esc" }, message.Blocked},
		"a list": {answered, "", func(v *screen.View) {
			v.Rows[edge(v)-5] = "  ┃ /models" + strings.Repeat(" ", v.Width-14) + "┃"
		}, message.Blocked},
	} {
		v := session(80, c.conversation, c.text)
		if c.change != nil {
			c.change(&v)
		}
		got := screen.Judge(v, profile.Opencode())
		assert.Equal(t, c.want, got.State, "%s: %s\n%s", name, says(got), strings.Join(v.Rows, "\n"))
		assert.Equal(t, c.want == message.Idle, got.MayType, name)
	}
}

// Our text in a composer of opencode drawn by this test is no longer Whole after any change in it, around it or
// over it.
func TestJudgeOwn_anyChangeInOpencode(t *testing.T) {
	opencode := profile.Opencode()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(50, 110).Draw(t, "width")
		body := rapid.StringOfN(rapid.SampledFrom([]rune("abc  de\\@/x.日漢éß")), 1, 90, -1).Draw(t, "body")
		text, shown := shortHead+strings.TrimSpace("w "+body), ""
		if shown = text; rapid.Bool().Draw(t, "long") {
			text = head + body + "x\n" + strings.Repeat("another line\n", rapid.IntRange(0, 9).Draw(t, "lines")) + "end"
			shown = "[Pasted ~" + itoa(1+strings.Count(text, "\n")) + " lines] "
		}
		draw := func(text string) screen.View { return session(width, []string{"     words"}, text) }
		v := draw(shown)
		require.Equal(t, screen.Whole, screen.JudgeOwn(v, opencode, text), "%q", v.Rows)
		assert.Equal(t, message.Draft, screen.Judge(v, opencode).State)

		runes := []rune(shown)
		at := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
		changed := draw(string(runes[:at]) + "Z" + string(runes[at:]))
		assert.NotEqual(t, screen.Whole, screen.JudgeOwn(changed, opencode, text), "%q", changed.Rows)
		foot := v.Height - 2
		for name, change := range map[string]func(v *screen.View){
			"another's": func(v *screen.View) { *v = draw("[Pasted ~99 lines] ") },
			"twice":     func(v *screen.View) { *v = draw(shown + shown) },
			"a list": func(v *screen.View) {
				v.Rows[2] = "  ┃ file1.txt" + strings.Repeat(" ", v.Width-16) + "┃"
			},
			"a turn":        func(v *screen.View) { v.Rows[foot] = "   ■■  esc interrupt   ctrl+p commands" },
			"nothing below": func(v *screen.View) { v.Rows[foot] = "" },
			"no lower edge": func(v *screen.View) { v.Rows[foot-1] = "" },
			"shell mode":    func(v *screen.View) { v.Rows[foot-2] = "  " + blue + "┃" + off + "  Shell" },
			"a grey bar": func(v *screen.View) {
				v.Rows = strings.Split(strings.ReplaceAll(strings.Join(v.Rows, "\n"), blue, "\x1b[38;5;238m"), "\n")
			},
			"the cursor before": func(v *screen.View) { v.CursorX -= 2 },
			"the cursor behind": func(v *screen.View) { v.CursorX += 2 },
			"the cursor above":  func(v *screen.View) { v.CursorY-- },
			"the cursor hidden": func(v *screen.View) { v.CursorVisible = false },
			"copy mode":         func(v *screen.View) { v.InMode = true },
			"half of a capture": func(v *screen.View) { v.Rows = v.Rows[1:] },
		} {
			other := v
			other.Rows = slices.Clone(v.Rows)
			change(&other)
			assert.NotEqual(t, screen.Whole, screen.JudgeOwn(other, opencode, text), "%s: %q", name, other.Rows)
		}
	})
}

func TestConverse_opencode(t *testing.T) {
	bar := "  " + blue + "┃" + off
	for name, c := range map[string]struct {
		rows []string
		want screen.Talk
	}{
		"words":    {[]string{bar, bar + "  hello", bar, "", "     some words", "", "     more", "", "     " + blue + "▣" + off + "  Build · Mock · 2.1s"}, screen.Talk{Prompt: "hello", Words: "some words\n\nmore", Whole: true}},
		"a call":   {[]string{bar, bar + "  hello", bar, "", "     I look", "", "  " + red + "┃" + off + "  $ ls", "", "     done", "", "     " + blue + "▣" + off + "  Build · Mock · 2.1s"}, screen.Talk{Prompt: "hello", Words: "done", Whole: true}},
		"cut":      {[]string{bar, bar + "  hello", bar, "", "     five six", "", "     " + blue + "▣" + off + "  Build · Mock · interrupted"}, screen.Talk{Prompt: "hello", Words: "five six", Whole: true, Cut: true}},
		"no start": {[]string{"     some words", "", "     " + blue + "▣" + off + "  Build · Mock · 2.1s"}, screen.Talk{Words: "some words"}},
	} {
		got, ok := screen.Converse(session(80, c.rows, ""), profile.Opencode())
		require.True(t, ok, name)
		assert.Equal(t, c.want, got, name)
	}
}
