package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func explanation() message.Explanation {
	return message.Explanation{
		Pane: "%7", Session: "claude-2", Agent: "claude", Version: "2.2.1", Verified: "2.1.329",
		State: message.Blocked, Why: message.NotInFront, WordsFrom: "transcript",
		Transcript: "/home/me/.claude/projects/-src/1.jsonl", Found: "its status file names it",
		Evidence: []message.Ground{
			{Source: "transcript", Says: "a turn is open", Weight: "exact", AgeMS: 1534},
			{Source: "screen", Says: "a dialog", Weight: "approximate", AgeMS: 12},
			{Source: "process", Says: "claude, process 7", Weight: "exact", AgeMS: 3_723_400},
		},
	}
}

func TestExplain_forPeople(t *testing.T) {
	b := &fakeBackend{recorded: api.Recording{Explanation: explanation()}}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("explain", "claude-2")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, api.ExplainRequest{Pane: "claude-2"}, b.took())
	assert.Empty(t, r.err)
	assert.Equal(t, strings.TrimLeft(`
pane      %7, claude-2
agent     claude 2.2.1; last tested with 2.1.329
state     blocked
screen    no composer to type into
typing    no: `+string(message.NotInFront)+`
words     from its transcript, /home/me/.claude/projects/-src/1.jsonl (its status file names it)
composer  none is live

SOURCE      WEIGHT       AGE     SAYS
transcript  exact        1.5 s   a turn is open
screen      approximate  12 ms   a dialog
process     exact        1h2m3s  claude, process 7
`, "\n"), r.out)

	// A pane that nobody adopted.
	b.recorded.Explanation = message.Explanation{
		Pane: "%9", Agent: "codex", Version: "0.169.0", Verified: "0.169.0", State: message.Idle, MayType: true, WouldType: true,
		WordsFrom: "screen", Trouble: "rollout of a version that cannot be read", Composer: message.ComposerNow{Live: true, Empty: true},
	}
	r = w.run("explain", "%9", "--agent", "codex")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, api.ExplainRequest{Pane: "%9", Agent: "codex"}, b.took())
	assert.Equal(t, strings.TrimLeft(`
pane      %9, not adopted; intercom adopt %9 adopts it
agent     codex 0.169.0
state     idle
screen    a live, empty composer with nothing over it
typing    yes
words     from the screen
trouble   rollout of a version that cannot be read
composer  live, empty
`, "\n"), r.out)

	// A waiting message with a reason of its own is listed with it. A reason that holds everything is shown only once.
	id := message.NewID()
	b.recorded.Explanation.Held = &message.Holding{Message: id, Reason: message.PaneTooNarrow, Says: "84 columns are enough"}
	assert.Contains(t, w.run("explain", "%9").out, "\ntyping    yes\nheld      message "+id.Short()+", waiting: "+string(message.PaneTooNarrow)+": 84 columns are enough\n")
	b.recorded.Explanation.Held = &message.Holding{Message: id, Reason: message.AwaitingApproval, Says: "a policy"}
	assert.Contains(t, w.run("explain", "%9").out, "\nheld      message "+id.Short()+", waiting for approval\n")
	b.recorded.Explanation.WouldType, b.recorded.Explanation.Why = false, message.AwaitingApproval
	assert.NotContains(t, w.run("explain", "%9").out, "\nheld")

	b.recorded.Explanation = message.Explanation{Pane: "%9", Composer: message.ComposerNow{Live: true, Text: "rm -rf"}}
	r = w.run("explain", "%9")
	for _, want := range []string{"none known", "unknown", "no: no reason given", "are not read", "a live composer with a draft", "live: rm -rf"} {
		assert.Contains(t, r.out, want)
	}
}

// The names of the fields are a contract.
func TestExplain_json(t *testing.T) {
	b := &fakeBackend{recorded: api.Recording{Explanation: explanation()}}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("explain", "%7", "--json")
	require.Zero(t, r.code, r.err)
	var got message.Explanation
	oneValue(t, r.out, &got)
	assert.Equal(t, explanation(), got)
	var names map[string]any
	oneValue(t, r.out, &names)
	for _, name := range []string{"pane", "agent", "state", "may_type", "would_type", "why", "words_from", "evidence", "composer"} {
		assert.Contains(t, names, name)
	}
	for _, name := range []string{"source", "says", "weight", "age_ms"} {
		assert.Contains(t, names["evidence"].([]any)[0], name)
	}
	for _, name := range []string{"live", "empty", "text"} {
		assert.Contains(t, names["composer"], name)
	}

	b.recorded.Explanation = message.Explanation{}
	assert.Contains(t, w.run("explain", "%7", "--json").out, `"evidence":[]`, "null is no list")
}

func TestExplain_errors(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	for _, args := range [][]string{{"explain"}, {"explain", "%1", "%2"}, {"explain", "%1", "--agent", "vim"}, {"explain", "%1", "--agent", ""}} {
		r := w.run(args...)
		assert.Equal(t, 2, r.code, args)
		assert.Empty(t, r.out, args)
	}
	assert.Nil(t, b.took())
	b.err = api.Errorf(api.CodeNotFound, `no session "bob"`)
	r := w.run("explain", "bob")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "intercom: hint: intercom status")
}

// A recording can be put among those of sidecar/screen unchanged.
func TestRecord_formOfTheCorpus(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("..", "..", "sidecar", "screen", "testdata", "codex-0.169.0", "idle-after-turn.json"))
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var r api.Recording // it has the same field names
	require.NoError(t, json.Unmarshal(text, &r))
	require.NotEmpty(t, r.Rows)
	r.At, r.Tmux, r.Synchronised = time.Now(), "3.3a", true
	transcript := filepath.Join(t.TempDir(), "rollout.jsonl")
	require.NoError(t, os.WriteFile(transcript, []byte("{\"a\":1}\n{\"torn"), 0o600))
	r.Explanation = message.Explanation{Pane: "%7", Agent: "codex", Version: "0.169.0", State: message.Working, Transcript: transcript}

	b := &fakeBackend{recorded: r}
	w := newWorld(t)
	w.serve(t, b)
	dir := filepath.Join(t.TempDir(), "new", "recordings")
	done := w.run("record", "%7", dir, "--label", "idle", "--what", "After  turn")
	require.Zero(t, done.code, done.err)
	assert.Equal(t, api.ExplainRequest{Pane: "%7"}, b.took())
	base := filepath.Join(dir, "idle-after-turn")
	assert.Equal(t, base+".json\n"+base+".explain.json\n"+base+".jsonl\n", done.out)
	assert.Contains(t, done.err, "look at them before you share them")

	var want, got map[string]any
	require.NoError(t, json.Unmarshal(text, &want))
	kept, err := os.ReadFile(base + ".json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(kept, &got))
	for name, value := range want {
		assert.Equal(t, value, got[name], name)
	}
	assert.Equal(t, "3.3a", got["tmux"])
	assert.Equal(t, true, got["synchronised"])

	var explained message.Explanation
	kept, err = os.ReadFile(base + ".explain.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(kept, &explained))
	assert.Equal(t, message.Working, explained.State, "what it was taken for, whatever its label")
	kept, err = os.ReadFile(base + ".jsonl")
	require.NoError(t, err)
	assert.Equal(t, "{\"a\":1}\n{\"torn", string(kept))
	for path, mode := range map[string]os.FileMode{dir: 0o700, base + ".json": 0o600, base + ".explain.json": 0o600, base + ".jsonl": 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), path)
	}

	// No file is overwritten, even if only some of them exist.
	require.NoError(t, os.Remove(base+".json"))
	again := w.run("record", "%7", dir, "--label", "idle", "--what", "after turn")
	assert.Equal(t, 1, again.code)
	assert.Contains(t, again.err, "already exists: nothing was written")
	assert.NoFileExists(t, base+".json")
}

func TestRecord_withoutWords(t *testing.T) {
	at := time.Date(2026, 11, 21, 18, 54, 45, 123e6, time.UTC)
	b := &fakeBackend{recorded: api.Recording{At: at, Command: "vim", Explanation: message.Explanation{State: message.Blocked, Transcript: "/nowhere/at-all"}}}
	w := newWorld(t)
	w.serve(t, b)
	dir := t.TempDir()
	r := w.run("record", "bob", dir, "--json")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, r.err)
	var got recorded
	oneValue(t, r.out, &got)
	assert.Equal(t, "blocked", got.Label, "the state that was judged")
	assert.Equal(t, "vim", got.Agent, "no agent that is known: its program")
	assert.Equal(t, filepath.Join(dir, "blocked-20261121-185445.123.json"), got.Recording)
	assert.Empty(t, got.Transcript)
	assert.Contains(t, got.Trouble, "/nowhere/at-all")
	assert.FileExists(t, got.Recording)
	assert.FileExists(t, got.Explanation)

	b.recorded.Explanation = message.Explanation{}
	r = w.run("record", "bob", dir, "--what", "x")
	require.Zero(t, r.code, r.err)
	assert.FileExists(t, filepath.Join(dir, "unknown-x.json"))
}

func TestRecord_errors(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	dir := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{
		{"%1"},
		{"%1", dir, "x"},
		{"%1", dir, "--label", "busy"},
		{"%1", dir, "--label", ""},
		{"%1", dir, "--what", " "},
		{"%1", dir, "--what", "../x"},
		{"%1", dir, "--what", "é"},
		{"%1", dir, "--what", strings.Repeat("x", 101)},
	} {
		r := w.run(append([]string{"record"}, args...)...)
		assert.Equal(t, 2, r.code, args)
		assert.Empty(t, r.out, args)
	}
	assert.Nil(t, b.took())
	b.err = api.Errorf(api.CodeNotFound, "no pane %%9").About(api.NoPane, "%9")
	assert.Equal(t, 1, w.run("record", "%9", dir).code)
	assert.NoDirExists(t, dir, "nothing is made for nothing")
}
