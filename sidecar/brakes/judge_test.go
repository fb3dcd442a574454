package brakes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// missed lists the empty dialogues that the judge does not find: five of the checklist's fifteen,
// and of the others those below. They are fluent ones, or in languages that it does not know, and
// end at the depth limit.
var missed = []string{
	"empty-chinese", "empty-german", "empty-mutual-praise", "empty-paraphrased-satisfaction", "empty-spanish",

	"empty-acknowledge-long", "empty-arabic", "empty-celebration", "empty-finnish-unknown", "empty-flowery", "empty-french",
	"empty-gratitude-topic", "empty-italian", "empty-japanese", "empty-korean", "empty-polish", "empty-portuguese", "empty-retry",
	"empty-russian", "empty-swedish", "empty-turkish",
}

// Work is never stopped. Most empty dialogues are, between four and ten messages after the last one
// that said something.
func TestB3_Dialogues(t *testing.T) {
	files := slices.Concat(dialogues(t, filepath.Join("..", "..", "testdata", "dialogues")), dialogues(t, filepath.Join("testdata", "more")))
	require.Len(t, files, 93)
	var left []string
	stops := map[bool]int{} // of the checklist's thirty, by whether they should stop
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		at, why := stop(said(t, file))
		t.Logf("%-32s %3d %s", name, at, why)
		empty := strings.HasPrefix(name, "empty-")
		if !strings.Contains(file, "more") {
			stops[empty]++
		}
		switch {
		case !empty:
			assert.Zero(t, at, "%s is work: %s", name, why)
		case at == 0:
			left = append(left, name)
		default:
			assert.GreaterOrEqual(t, at, fewest, name)
			assert.NotEmpty(t, why, name)
		}
	}
	assert.Equal(t, map[bool]int{true: 15, false: 15}, stops)
	assert.Equal(t, missed, left)
}

// A turn that called a tool is work, whatever its words: the same dialogues with a tool call in
// every fourth turn all go on.
func TestB3_WhoeverActsIsAtWork(t *testing.T) {
	for _, file := range dialogues(t, filepath.Join("..", "..", "testdata", "dialogues")) {
		messages := said(t, file)
		for i := range messages {
			messages[i].Acted = i%4 == 3
		}
		at, why := stop(messages)
		assert.Zero(t, at, "%s: %s", file, why)
	}
}

// One word that says something restarts the judgement.
func TestJudge_severalInARow(t *testing.T) {
	hear := func(j *Judge, body string) Verdict { return j.Hear(Said{Body: body}) }
	thanks := []string{"Thank you!", "You're welcome!", "Thanks again, great work.", "My pleasure!"}
	var j Judge
	for range 3 {
		for _, body := range thanks {
			assert.False(t, hear(&j, body).Empty, body)
		}
		assert.False(t, hear(&j, fmt.Sprintf("Wait, `flush%d` still leaks in pool.go.", len(j.past))).Empty)
	}
	for _, body := range thanks {
		hear(&j, body)
	}
	v := hear(&j, "Goodbye!")
	assert.True(t, v.Empty)
	assert.Contains(t, v.Why, "5 messages said nothing new")
	assert.True(t, hear(&j, "Bye!").Empty, "it stays so")
	j.Reset()
	for range 4 {
		assert.False(t, hear(&j, "Bye!").Empty, "it begins again")
	}
	assert.True(t, hear(&j, "Bye!").Empty)
}

// The same message again and again is empty, whatever it says and in any language.
func TestJudge_repetition(t *testing.T) {
	for _, body := range []string{
		"The build of `parser.go` failed at line 42.", "Das Modul wartet auf Freigabe.", "構成ファイルを読み込みました。", "Xyzzy plugh frobozz.", "✓", "👍",
	} {
		var j Judge
		at := 0
		for i := range 12 {
			if at == 0 && j.Hear(Said{Body: body}).Empty {
				at = i + 1
			}
		}
		assert.NotZero(t, at, body)
		assert.LessOrEqual(t, at, 6, body)
	}
}

func TestRead(t *testing.T) {
	for body, want := range map[string]struct{ artefacts, content int }{
		"Run `go test` in sidecar/relay/x.go":                    {2, 1},
		"see https://example.org/a?b=c, --json and -race":        {3, 1},
		"fmt.Println() writes WriteString, not write_string":     {3, 1},
		"commit 4f1c9d2 of main.go":                              {2, 1},
		"It took 40 ms; 3 of 7 failed at 10:02:11 on 2026-11-22": {3, 3},
		"I am 100% sure, 24/7.":                                  {0, 0},
		"and/or, e.g. this":                                      {0, 2},
		"Thanks.You too!":                                        {0, 0},
		"```\nx := 1\ny := 2\n```\nThank you":                    {2, 0},
		"He said “until it breaks”.":                             {1, 1},
		"the PDF renderer":                                       {1, 1},
	} {
		r := read(body)
		assert.Len(t, r.artefacts, want.artefacts, "artefacts of %q", body)
		assert.Len(t, r.content, want.content, "words of %q", body)
	}
}

// Whatever is said: no panic, the same verdict every time, and bounded memory.
func TestJudge_anything(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"thanks", "`", "\"", "谢谢", "x.go", "```\n", "12", "👍", strings.Repeat("long ", 9000)}))
	rapid.Check(t, func(t *rapid.T) {
		var a, b Judge
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			body := strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " ")
			acted := rapid.Bool().Draw(t, "acted")
			require.Equal(t, a.Hear(Said{body, acted}), b.Hear(Said{body, acted}))
		}
		require.LessOrEqual(t, len(a.past), window)
		for _, r := range a.past {
			require.LessOrEqual(t, max(len(r.content), len(r.artefacts), len(r.pieces)), mostKeys)
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

func said(t *testing.T, file string) []Said {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var all []Said
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m struct{ From, Body string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m), file)
		require.NotEmpty(t, m.From, file)
		all = append(all, Said{Body: m.Body})
	}
	return all
}

// stop returns the number of the message at which a dialogue stops, from 1, or 0.
func stop(messages []Said) (int, string) {
	var j Judge
	for i, m := range messages {
		if v := j.Hear(m); v.Empty {
			return i + 1, v.Why
		}
	}
	return 0, ""
}
