package screen_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

func TestConverse(t *testing.T) {
	for _, c := range []struct {
		file string
		want screen.Talk
	}{
		{"claude-2.1.329/idle-after-turn", screen.Talk{Prompt: "[[hold]] [[say one two three four]]", Words: "one two three four", Whole: true}},
		{"codex-0.169.0/idle-after-turn", screen.Talk{Prompt: "[[hold]] [[say one two three four]]", Words: "one two three four", Whole: true}},
		{"opencode-1.18.33/idle-after-turn", screen.Talk{Prompt: "[[hold]] [[say one two three four]]", Words: "one two three four", Whole: true}},
		{"opencode-1.18.33/idle-interrupted", screen.Talk{Prompt: "[[hold]] [[say five six seven eight]]", Words: "five six", Whole: true, Cut: true}},
		{"opencode-1.18.33/idle-after-refusal", screen.Talk{Prompt: "please [[bash touch proof]]", Whole: true}},
		{"claude-2.1.329/idle-interrupted", screen.Talk{Prompt: "[[hold]] [[say five six seven eight]]", Whole: true, Cut: true}},
		{"codex-0.169.0/idle-interrupted", screen.Talk{Prompt: "[[hold]] [[say five six seven eight]]", Words: "five six", Whole: true, Cut: true}},
	} {
		v := recorded(t, c.file).view()
		a, ok := profile.AgentByName(recorded(t, c.file).Agent)
		require.True(t, ok)
		got, ok := screen.Converse(v, a)
		assert.True(t, ok, c.file)
		assert.Equal(t, c.want, got, c.file)
	}
}

// The drawings of real agents, with words of every width and more than a screen holds, are read back word by word.
func TestW3_W4_WordsFromTheScreens(t *testing.T) {
	bare := func(text string) string { return strings.Join(strings.Fields(text), "") } // also if a row
	for _, dir := range []string{"claude-2.1.329", "codex-0.169.0", "opencode-1.18.33"} {
		r := recorded(t, dir+"/idle-wide-characters")
		got, ok := screen.Converse(r.view(), agentNamed(t, r.Agent))
		require.True(t, ok, dir)
		assert.True(t, got.Whole, dir)
		asked := strings.TrimSuffix(strings.TrimPrefix(got.Prompt, "[[say "), "]]")
		assert.Equal(t, []string{"日本語の答え", "🚀", "👨‍👩‍👧", "❤️"}, strings.Fields(got.Words)[:4], dir)
		assert.Equal(t, bare(strings.ReplaceAll(asked, "**", "")), bare(got.Words), dir)

		r = recorded(t, dir+"/idle-long-answer")
		got, ok = screen.Converse(r.view(), agentNamed(t, r.Agent))
		require.True(t, ok, dir)
		assert.False(t, got.Whole, dir)
		var want []string
		for n := 61 - strings.Count(got.Words, "Line "); n <= 60; n++ {
			want = append(want, fmt.Sprintf("Line %d of 60, which the mock has counted.", n))
		}
		assert.Greater(t, len(want), 10, dir)
		assert.Equal(t, strings.Fields(strings.Join(want, " ")), strings.Fields(got.Words), dir)
	}
}

func recorded(t *testing.T, file string) (r recording) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join("testdata", file+".json"))), &r))
	return r
}

// Codex shows a reminder of a prompt whose row has left the screen, cut at the end of the reminder's single row. It
// still matches the prompt that was given, and no other.
func TestW14_PromptThatIsCutAtTheTop(t *testing.T) {
	v := recorded(t, "codex-0.169.0/idle-after-turn").view()
	a, _ := profile.AgentByName("codex")
	v.Rows = slices.Clone(v.Rows)
	for y := range v.Rows {
		if strings.Contains(v.Rows[y], "[[hold]]") {
			v.Rows[y] = ""
		}
	}
	v.Rows[0] = "› [Ada] (1): a question that is longer than its ro…"
	got, ok := screen.Converse(v, a)
	require.True(t, ok)
	assert.True(t, got.Short)
	assert.True(t, got.Told("[Ada] (1):\n\na question that is longer than its row"))
	assert.False(t, got.Told("[Ada] (2):\n\na question that is longer than its row"))
	assert.False(t, got.Told("[Ada] (1):\n\na question"))
	v.Rows[0] = "› [Ada] (1): a question…"
	v.Rows = append([]string{""}, v.Rows[:len(v.Rows)-1]...) // it stands where it was typed
	v.CursorY++
	if got, ok = screen.Converse(v, a); ok {
		assert.False(t, got.Told("[Ada] (1): a question that goes on"))
	}
}
