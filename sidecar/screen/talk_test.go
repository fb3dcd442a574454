package screen_test

import (
	"encoding/json"
	"path/filepath"
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

func recorded(t *testing.T, file string) (r recording) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join("testdata", file+".json"))), &r))
	return r
}
