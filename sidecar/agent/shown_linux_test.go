package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// codexBehind is a Follower of a Codex that has no rollout open, and a writer of rollouts.
func codexBehind(t *testing.T) (*Follower, func(name string, at time.Time, prompt, words string) string) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "sessions", "2026", "11", "22")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	f := NewFollower(Agent{Kind: Codex, Home: home, Dir: "/work"}, nil, time.Now)
	return f, func(name string, at time.Time, prompt, words string) string {
		path := filepath.Join(dir, "rollout-2026-11-22T20-00-00-"+name+".jsonl")
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		defer file.Close()
		line := func(kind string, payload any) {
			data, err := json.Marshal(map[string]any{"timestamp": at, "type": kind, "payload": payload})
			require.NoError(t, err)
			fmt.Fprintf(file, "%s\n", data)
		}
		item := func(who, kind, text string) {
			line("event_msg", map[string]any{"type": "item_completed", "item": map[string]any{
				"type": who, "content": []any{map[string]any{"type": kind, "text": text}},
			}})
		}
		if info, _ := file.Stat(); info.Size() == 0 {
			line("session_meta", map[string]any{"id": name, "cwd": "/work", "cli_version": "0.169.0", "source": "cli"})
		}
		item("UserMessage", "text", prompt)
		if words != "" {
			item("AgentMessage", "Text", words)
		}
		return path
	}
}

// The screen binds an agent to the only conversation that ends with what is shown, and never to another one.
func TestW14_WhatTheScreenShows(t *testing.T) {
	now := time.Now()
	is := func(want string) func(string) bool { return func(got string) bool { return got == want } }
	for name, c := range map[string]struct {
		shows Shown
		want  string // "": none
	}{
		"a prompt of just now":              {Shown{Took: is("go on"), After: now, At: now}, "now"},
		"one that has no answer yet":        {Shown{Took: is("go on"), At: now}, "now"},
		"a prompt and its words":            {Shown{Took: is("go on"), Said: is("long ago"), At: now}, "old"},
		"words alone":                       {Shown{Said: is("long ago"), At: now}, "old"},
		"a prompt that was taken up again":  {Shown{Took: is("go on"), Said: is("long ago"), After: now, At: now}, ""},
		"words that two have":               {Shown{Took: is("hello"), Said: is("hi"), At: now}, ""},
		"a prompt that is not the last one": {Shown{Took: is("the first"), Said: is("words"), At: now}, ""},
		"a prompt that nobody took":         {Shown{Took: is("something"), After: now, At: now}, ""},
		"what another agent shows too":      {Shown{Took: is("go on"), After: now, At: now, Own: func() bool { return false }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, write := codexBehind(t)
			paths := map[string]string{
				"now": write("now", now, "go on", ""),
				"old": write("old", now.Add(-time.Hour), "go on", "long ago"),
				"two": write("two", now.Add(-time.Hour), "hello", "hi"),
				"too": write("too", now.Add(-time.Hour), "hello", "hi"),
			}
			write("moved", now.Add(-time.Hour), "the first", "words")
			write("moved", now.Add(-time.Minute), "the second", "words")
			found, err := f.showing(&shown{Shown: c.shows})
			if c.want == "" {
				assert.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, paths[c.want], found.Path)
			assert.Equal(t, ByScreen, found.How)
		})
	}
}

// If another rollout took the same prompt in the same second, the agent is not bound, whoever wrote that rollout: a
// second Codex in the directory, one outside tmux, a process that forges it. Words decide if the words shown stand
// in only one of them. Prompts of another project or another pane do not matter.
func TestW14_AnotherThatTookTheSame(t *testing.T) {
	now := time.Now()
	is := func(want string) func(string) bool { return func(got string) bool { return got == want } }
	typed := Shown{Took: is("the same"), After: now.Add(-time.Second), At: now}
	said := typed
	said.Said = is("mine")
	for name, c := range map[string]struct {
		shows Shown
		other string // what the other one contains
		dir   string
		taken bool // it is bound to another pane
		late  bool // it took the prompt a minute ago
		bound bool
	}{
		"alone":                                {typed, "-", "/work", false, false, true},
		"both are still at work":               {typed, "", "/work", false, false, false},
		"forged, with words of its own":        {typed, "forged", "/work", false, false, false},
		"words that are shown, of one":         {said, "theirs", "/work", false, false, true},
		"words that are shown, of both":        {said, "mine", "/work", false, false, false},
		"another project":                      {typed, "", "/other", false, false, true},
		"another project, the same words":      {said, "mine", "/other", false, false, true},
		"another pane is bound to it":          {typed, "", "/work", true, false, true},
		"the same a minute ago":                {typed, "", "/work", false, true, true},
		"a prefix of the directory's own name": {typed, "", "/work2", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, write := codexBehind(t)
			mine := write("mine", now, "the same", map[bool]string{true: "mine"}[c.shows.Said != nil])
			if c.other != "-" {
				at := now
				if c.late {
					at = now.Add(-time.Minute)
				}
				theirs := write("theirs", at, "the same", c.other)
				whole, err := os.ReadFile(theirs)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(theirs, bytes.ReplaceAll(whole, []byte(`"/work"`), []byte(strconv.Quote(c.dir))), 0o600))
				f.Taken = func(path string) bool { return c.taken && path == theirs }
			}
			found, err := f.showing(&shown{Shown: c.shows})
			if !c.bound {
				require.ErrorIs(t, err, ErrAmbiguous)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, mine, found.Path)
		})
	}
}

// A conversation is abandoned only if what is shown stands neither in it nor, for long enough, in any other one. It
// is not abandoned for its own content.
func TestW14_WhatIsFollowedIsLetGo(t *testing.T) {
	now := time.Now()
	is := func(want string) func(string) bool { return func(got string) bool { return got == want } }
	f, write := codexBehind(t)
	mine := write("mine", now.Add(-time.Minute), "go on", "words")
	f.bound = Transcript{Path: mine, Thread: "mine", How: ByTypedText}
	none := fmt.Errorf("none is open: %w", ErrNoTranscript)
	after := func(took func(string) bool) *shown {
		return &shown{Shown: Shown{Took: took, After: now.Add(-time.Second), At: now}}
	}
	f.shown = after(is("another"))
	_, err := f.seen(now.Add(doubtAfter/2), none)
	require.NotErrorIs(t, err, ErrLeft, "it may be written down yet")
	_, err = f.seen(now.Add(doubtAfter), none)
	require.ErrorIs(t, err, ErrLeft)

	f.shown = after(is("go on")) // the screen was cleared, and shows it again
	found, err := f.seen(now.Add(doubtAfter), none)
	require.NoError(t, err)
	assert.Equal(t, mine, found.Path)

	f.shown = after(is("drawn as nobody wrote it"))
	write("mine", now, "drawn `as` *nobody* wrote it", "")
	found, err = f.seen(now.Add(doubtAfter), none)
	require.NoError(t, err)
	assert.Equal(t, mine, found.Path, "a prompt was taken there just then")
}

// A prompt is found even if the turn after it is long, within reason. Otherwise the conversation would be abandoned
// in the middle of that turn.
func TestEndOf_aLongTurn(t *testing.T) {
	f, write := codexBehind(t)
	path := write("mine", time.Now(), "go on", "")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = fmt.Fprintf(file, `{"type":"response_item","payload":{"type":"function_call_output","call_id":"x","output":%q}}`+"\n", bytes.Repeat([]byte("x"), 2*lastWindow))
	require.NoError(t, errors.Join(err, file.Close()))
	x, ok := f.last(path)
	require.True(t, ok)
	assert.Equal(t, "go on", x.prompt.Text)
}
