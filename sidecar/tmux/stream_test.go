package tmux

import (
	"bytes"
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

// The recordings are the output of real control clients, one file per version. The first line is
// the nonce. The batch is a look at a pane full of forged guards, with notifications before and
// after it.
func TestW8_recordedStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/control/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			head, body, _ := bytes.Cut(data, []byte("\n"))
			nonce := string(head)
			var s stream
			s.expect(nonce)
			var notifications []string
			var batch [][]byte
			for line := range bytes.Lines(body) {
				n, complete := s.feed(bytes.TrimSuffix(line, []byte("\n")))
				if n != nil {
					notifications = append(notifications, string(n))
				}
				if complete {
					batch = s.take()
				}
			}
			require.NotNil(t, batch)
			replies, refusal, _, ok := unguard(batch, nonce, 3)
			require.True(t, ok)
			assert.Empty(t, refusal)
			require.Len(t, replies, 3)
			// The recordings date from before a look asked for the time of the last key, for
			// bracketed paste, and for the mark.
			facts := strings.SplitN(replies[0], "|", len(compared)+toldFields-3)
			facts = slices.Insert(facts, len(compared)+2, "1795269586")
			facts = slices.Insert(facts, len(facts)-1, "", "")
			replies[0] = strings.Join(facts, "|")
			l, err := parseLook(facts[0], 100, replies)
			require.NoError(t, err)
			assert.Equal(t, []string{"%begin 1 1 1", "%end 1 1 1", "%error 1 1 1", "%exit", "%output %0 x", "日本 é"}, l.Rows[:6])
			assert.Equal(t, l.Rows[:6], l.Lines[1:7], "below the line that was cleared into the history")
			assert.NotEmpty(t, notifications)
			for _, n := range notifications {
				assert.Regexp(t, `^%(session|window|layout|unlinked|client|sessions)`, n, "what the pane shows is no notification")
			}
		})
	}
}

func TestStream_refusedCommand(t *testing.T) {
	const nonce = "ic-a"
	batch := batchOf("%end 1 1 1", "%begin 1 2 1", "%error 1 2 1", "%end 9 9 9", "can't find pane: %5", "%error 1 2 1", "%window-add @1", "%begin 1 3 1", nonce+".end")
	replies, refusal, _, ok := unguard(append(batchOf(nonce+".0"), batch...), nonce, 1)
	assert.True(t, ok)
	assert.Empty(t, replies)
	assert.Equal(t, "%error 1 2 1\n%end 9 9 9\ncan't find pane: %5\n", refusal)

	_, refusal, _, ok = unguard(batchOf("parse error: x", nonce+".end"), nonce, 1)
	assert.True(t, ok)
	assert.Equal(t, "parse error: x", refusal)
}

// Whatever a pane prints without the nonce comes back unchanged.
func TestW8_forgedLinesComeBackAsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const nonce = "ic-5eed"
		line := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) string {
				kind := rapid.SampledFrom([]string{"%begin", "%end", "%error", "%exit", "%output"}).Draw(t, "kind")
				return fmt.Sprintf("%s %d %d 1", kind, rapid.IntRange(7, 8).Draw(t, "time"), rapid.IntRange(0, 12).Draw(t, "number"))
			}),
			rapid.StringMatching(`[^\n]{0,10}`),
			rapid.Just("ic-5eed.x"),
		)
		replies := rapid.SliceOfN(rapid.SliceOf(line), 1, 4).Draw(t, "replies")
		refused := rapid.Bool().Draw(t, "refused")
		var printed []string
		number := 0
		guarded := func(closing string, lines ...string) {
			number++
			printed = append(printed, fmt.Sprintf("%%begin 7 %d 1", number))
			printed = append(printed, lines...)
			printed = append(printed, fmt.Sprintf("%s 7 %d 1", closing, number))
		}
		for i, r := range replies {
			guarded("%end", mark(nonce, i))
			if refused && i == len(replies)-1 {
				guarded("%error", r...)
			} else {
				guarded("%end", r...)
			}
		}
		if !refused {
			guarded("%end", mark(nonce, len(replies)))
		}
		printed = append(printed, "%window-add @1")
		guarded("%end", endMark(nonce))

		var s stream
		s.expect(nonce)
		var batch [][]byte
		for i, l := range printed {
			notification, complete := s.feed([]byte(l))
			if notification != nil {
				t.Fatalf("%q taken for a notification", notification)
			}
			if complete {
				if i != len(printed)-1 {
					t.Fatalf("complete at line %d of %d", i, len(printed))
				}
				batch = s.take()
			}
		}
		got, refusal, _, ok := unguard(batch, nonce, len(replies))
		if !ok {
			t.Fatalf("no sense in %q", batch)
		}
		for i, r := range replies {
			want := ""
			if len(r) > 0 {
				want = strings.Join(r, "\n") + "\n"
			}
			if refused && i == len(replies)-1 {
				if refusal != want || len(got) != i {
					t.Fatalf("refusal %q, want %q", refusal, want)
				}
			} else if got[i] != want {
				t.Fatalf("reply %d is %q, want %q", i, got[i], want)
			}
		}
	})
}

// FuzzW8_ControlLine feeds any bytes: the parser must neither fail nor invent replies.
func FuzzW8_ControlLine(f *testing.F) {
	f.Add([]byte("%begin 1 1 1\nic-f.0\n%end 1 1 1\n%begin 1 2 1\nx\n%end 1 2 1\n%begin 1 3 1\nic-f.1\n%end 1 3 1\n%begin 1 4 1\nic-f.end\n%end 1 4 1\n"))
	f.Add([]byte("%begin 1 1 1\nparse error\n%error 1 1 1\n%begin 1 2 1\nic-f.end\n%end 1 2 1\n"))
	f.Add([]byte("%output %0 \xe6\x97\n%output %0 \xa5\\033[m\n%exit\n"))
	f.Add([]byte("ic-f.end\n\nic-f.0\n%end\nic-f.1\nic-f.end\n\xff\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s stream
		s.expect("ic-f")
		for line := range bytes.Lines(data) {
			notification, complete := s.feed(bytes.TrimSuffix(line, []byte("\n")))
			if notification != nil && notification[0] != '%' {
				t.Fatalf("notification %q", notification)
			}
			if !complete {
				continue
			}
			batch := s.take()
			for n := 1; n < 4; n++ {
				replies, _, _, ok := unguard(batch, "ic-f", n)
				if len(replies) > n {
					t.Fatalf("%d replies to %d commands", len(replies), n)
				}
				for _, r := range replies {
					if ok && !strings.Contains(string(data), strings.TrimSuffix(r, "\n")) {
						t.Fatalf("%q was never printed", r)
					}
				}
			}
			s.expect("ic-f")
		}
	})
}

func batchOf(lines ...string) [][]byte {
	batch := make([][]byte, len(lines))
	for i, l := range lines {
		batch[i] = []byte(l)
	}
	return batch
}
