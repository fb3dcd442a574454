package brakes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// empties says from which message on each dialogue of testdata/dialogues says nothing more.
var empties = map[string]int{
	"empty-acks": 3, "empty-agreement": 3, "empty-chinese": 3, "empty-echo": 2, "empty-echo-summary": 2, "empty-emoji": 3, "empty-german": 2,
	"empty-goodbye-loop": 3, "empty-mutual-praise": 2, "empty-offers-of-help": 3, "empty-paraphrased-satisfaction": 2, "empty-spanish": 2,
	"empty-standing-by": 2, "empty-thanks-loop": 3, "empty-wordy-politeness": 2,
}

// Those of which nothing is said any more stop after four to eight such messages, the
// others never do.
func TestB3_Dialogues(t *testing.T) {
	files := dialogues(t, filepath.Join("..", "..", "testdata", "dialogues"))
	require.Len(t, files, 30)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		at, why := stop(bodiesOf(t, file))
		from := empties[name]
		if from == 0 {
			t.Logf("%-32s goes on", name)
			assert.True(t, strings.HasPrefix(name, "work-"), "%s has a label", name)
			assert.Zero(t, at, "%s: %s", name, why)
			continue
		}
		t.Logf("%-32s stops at message %d, the %dth empty one: %s", name, at, at-from+1, why)
		assert.GreaterOrEqual(t, at-from+1, 4, name)
		assert.LessOrEqual(t, at-from+1, 8, name)
		assert.NotEmpty(t, why, name)
	}
}

// More of both kinds, which were written to see how the judge does on what it was not made
// with.
func TestB3_MoreDialogues(t *testing.T) {
	files := dialogues(t, filepath.Join("testdata", "more"))
	require.Len(t, files, 63)
	for _, file := range files {
		name := filepath.Base(file)
		at, why := stop(bodiesOf(t, file))
		assert.Equal(t, strings.HasPrefix(name, "empty-"), at > 0, "%s: stopped at %d: %s", name, at, why)
	}
}

// What only ends with thanks goes on, and one word that says something clears what was
// counted.
func TestJudge_severalInARow(t *testing.T) {
	thanks := []string{"Thank you!", "You're welcome!", "Thanks again, great work.", "My pleasure!"}
	var j Judge
	for range 3 {
		for _, body := range thanks {
			assert.False(t, j.Hear(body).Empty, body)
		}
		assert.False(t, j.Hear(fmt.Sprintf("Wait, `flush%d` still leaks in pool.go.", len(j.past))).Empty)
	}
	for _, body := range thanks {
		j.Hear(body)
	}
	v := j.Hear("Goodbye!")
	assert.True(t, v.Empty)
	assert.Contains(t, v.Why, "5 messages said nothing new: ")
	assert.True(t, j.Hear("Bye!").Empty, "it stays so")
	j.Reset()
	for range 4 {
		assert.False(t, j.Hear("Bye!").Empty, "it begins anew")
	}
	assert.True(t, j.Hear("Bye!").Empty)
}

// The same message again and again is empty, whatever it says and in whatever language.
func TestJudge_repetition(t *testing.T) {
	for _, body := range []string{
		"The build of `parser.go` failed at line 42.", "Das Modul wartet auf Freigabe.", "構成ファイルを読み込みました。", "Xyzzy plugh frobozz.", "✓", "👍",
	} {
		var j Judge
		at := 0
		for i := range 12 {
			if at == 0 && j.Hear(body).Empty {
				at = i + 1
			}
		}
		assert.NotZero(t, at, body)
		assert.LessOrEqual(t, at, 6, body)
	}
}

func TestRead(t *testing.T) {
	for body, want := range map[string]struct{ artefacts, numbers, words int }{
		"Run `go test` in sidecar/relay/x.go":                    {2, 0, 1},
		"see https://example.org/a?b=c, --json and -race":        {3, 0, 0},
		"fmt.Println() writes WriteString, not write_string":     {3, 0, 1},
		"commit 4f1c9d2 of main.go":                              {2, 0, 1},
		"It took 40 ms; 3 of 7 failed at 10:02:11 on 2026-11-22": {0, 3, 2},
		"I am 100% sure, 24/7.":                                  {0, 0, 0},
		"and/or, e.g. this":                                      {0, 0, 0},
		"Thanks.You too!":                                        {0, 0, 0},
		"```\nx := 1\ny := 2\n```\nThank you":                    {2, 0, 0},
		"He said “until it breaks”.":                             {1, 0, 0},
	} {
		r := read(body)
		assert.Equal(t, want.artefacts, len(r.artefacts), "artefacts of %q", body)
		assert.Equal(t, want.numbers, len(r.numbers), "numbers of %q", body)
		assert.Equal(t, want.words, len(r.words), "words of %q: %v", body, r.roles)
	}
	assert.Equal(t, "uber strasse oeuvre aaa", fold("Über Straße Œuvre ÅÄÀ"))
}

// Whatever is said: no panic, the same verdict every time, and bounded memory.
func TestJudge_anything(t *testing.T) {
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"thanks", "`", "\"", "谢谢", "x.go", "```\n", "12", "👍", strings.Repeat("long ", 9000)}))
	rapid.Check(t, func(t *rapid.T) {
		var a, b Judge
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			body := strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " ")
			require.Equal(t, a.Hear(body), b.Hear(body))
		}
		require.LessOrEqual(t, len(a.past), window)
		for _, r := range a.past {
			require.LessOrEqual(t, max(len(r.words), len(r.artefacts), len(r.numbers), len(r.pieces)), mostKeys)
		}
	})
}

// Helpers.

func dialogues(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	require.NoError(t, err)
	return files
}

func bodiesOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var bodies []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m struct{ From, Body string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m), file)
		require.NotEmpty(t, m.From, file)
		bodies = append(bodies, m.Body)
	}
	return bodies
}

// stop is the message at which a dialogue stops, from 1, or 0.
func stop(bodies []string) (int, string) {
	var j Judge
	for i, body := range bodies {
		if v := j.Hear(body); v.Empty {
			return i + 1, v.Why
		}
	}
	return 0, ""
}
