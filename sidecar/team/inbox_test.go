package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What one side writes, the other reads, both ways, to the byte.
func TestP30_P31_TheLessonsPrograms(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	for _, content := range []string{"hello", "two\nlines", "é🙂\u2028\u0085\x1b[0m\x00 \"q\" \\"} {
		require.NoError(t, d.Send("alice", say(content)))
	}
	var got []map[string]any
	require.NoError(t, json.Unmarshal([]byte(python(t, d, "", "read", "alice")), &got))
	require.Len(t, got, 3)
	assert.Equal(t, map[string]any{"type": "message", "from": "lead", "content": "two\nlines", "timestamp": 1772625600.123456}, got[1])
	assert.Equal(t, "é🙂\u2028\u0085\x1b[0m\x00 \"q\" \\", got[2]["content"])
	assert.Empty(t, drained(t, d, "alice"), "it has taken them")

	python(t, d, "", "send", "alice", "lead", "shutdown_response", "done é", `{"request_id": "1a2b3c4d", "approve": true, "of_later": [1]}`)
	require.NoError(t, d.Send(Lead, Message{Type: TypeMessage, From: "bob", Content: "and I", At: noon}))
	all, _, err := d.Peek(Lead)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []any{"shutdown_response", "alice", "done é", "1a2b3c4d", true}, []any{all[0].Type, all[0].From, all[0].Content, all[0].RequestID, *all[0].Approve})
	assert.WithinDuration(t, time.Now(), all[0].At, time.Minute)
	assert.Contains(t, string(all[0].Line), `"of_later": [1]`)
	assert.Equal(t, []string{"done é", "and I"}, drained(t, d, Lead))
	assert.Empty(t, drained(t, d, Lead))
	python(t, d, "", "send", "alice", "lead", "message", "once more")
	assert.Equal(t, []string{"once more"}, drained(t, d, Lead))
	assertClean(t, d)
}

// Ten thousand messages, by programs that lock and by programs that do not, while several drain: each is read
// once, those of one author in order.
func TestP30_C28_NothingIsLostWhileItIsRead(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	const ours, theirs, few, many = 2, 4, 500, 2250 // ours wait for the disk each time
	var writers, readers sync.WaitGroup
	for i := range ours {
		writers.Go(func() {
			for n := range few {
				if err := d.Send("alice", say(fmt.Sprintf("ours-%d %d", i, n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range theirs {
		writers.Go(func() { python(t, d, "", "flood", "alice", fmt.Sprintf("theirs-%d", i), strconv.Itoa(many)) })
	}
	done := make(chan struct{})
	read := make([][]string, 3)
	for i := range read {
		readers.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				aside, err := d.Drain("alice", func(all []Message) error {
					read[i] = append(read[i], bodies(all)...)
					return nil
				})
				if err != nil || aside > 0 {
					t.Error(aside, err)
				}
				if _, _, err := d.Peek("alice"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	var all []string
	for _, contents := range append(read, drained(t, d, "alice")) {
		all = append(all, contents...)
		next := map[string]int{}
		for _, content := range contents { // what one reader got
			author, number, _ := strings.Cut(content, " ")
			n, err := strconv.Atoi(number)
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, next[author], content)
			next[author] = n + 1
		}
	}
	slices.Sort(all)
	assert.Len(t, all, ours*few+theirs*many)
	assert.Len(t, slices.Compact(all), ours*few+theirs*many, "each once")
	assertClean(t, d)
}

// A reader that cannot use what it drained leaves it to the next one, ahead of what came since.
func TestDrain_unused(t *testing.T) {
	d := newTeam(t)
	failed := errors.New("stdout is closed")
	for _, content := range []string{"one", "two"} {
		require.NoError(t, d.Send("alice", say(content)))
		_, err := d.Drain("alice", func([]Message) error { return failed })
		require.ErrorIs(t, err, failed)
	}
	require.NoError(t, d.Send("alice", say("three")))
	all, _, err := d.Peek("alice")
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two", "three"}, bodies(all))

	// While one uses them, another gets none of them, and nobody has to wait.
	_, err = d.Drain("alice", func(all []Message) error {
		assert.Equal(t, []string{"one", "two", "three"}, bodies(all))
		assert.Empty(t, drained(t, d, "alice"))
		require.NoError(t, d.Send("alice", say("four")))
		assert.Equal(t, []string{"four"}, drained(t, d, "alice"))
		return nil
	})
	require.NoError(t, err)
	assert.Empty(t, drained(t, d, "alice"))
	assertClean(t, d)
}

// Drain waits for a program that locks nothing and opened the inbox before it was drained.
func TestDrain_waitsForWhoWrites(t *testing.T) {
	d := newTeam(t)
	require.NoError(t, d.Send("alice", say("one")))
	f, err := os.OpenFile(d.inbox("alice"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	got := make(chan []string)
	go func() { got <- drained(t, d, "alice") }()
	for { // until it has been taken
		if _, err := os.Lstat(d.inbox("alice")); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	line, err := say("two").encode()
	require.NoError(t, err)
	_, err = f.Write(line[:10])
	require.NoError(t, err)
	_, err = f.Write(line[10:])
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, []string{"one", "two"}, <-got)
	assertClean(t, d)
}

// Half a line, left by a killed program, spoils none of the others, and is kept.
func TestDrain_brokenLines(t *testing.T) {
	d := newTeam(t)
	require.NoError(t, d.Send("alice", say("one")))
	spoil := func(text string) {
		f, err := os.OpenFile(d.inbox("alice"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, errors.Join(err, f.Close()))
	}
	spoil(`{"type": "message", "from": "lead", "cont`)
	require.NoError(t, d.Send("alice", say("two")))
	spoil("\n\r\n[1]\nno JSON\n{\"content\":\"three\"}") // whole, except for its end
	require.NoError(t, d.Send("alice", say("four")))
	spoil("\xff\x00")
	all, _, err := d.Peek("alice")
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two", "three", "four"}, bodies(all))
	aside, err := d.Drain("alice", func(all []Message) error {
		assert.Equal(t, []string{"one", "two", "three", "four"}, bodies(all))
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 4, aside)
	text, err := os.ReadFile(d.Aside("alice"))
	require.NoError(t, err)
	assert.Equal(t, "{\"type\": \"message\", \"from\": \"lead\", \"cont\n[1]\nno JSON\n\xff\x00\n", string(text))
	assert.Empty(t, drained(t, d, "alice"))
}

// A line that is longer than a message may be is not a message, and is put aside, however long it is.
func TestDrain_longLines(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	most, over := strings.Repeat("\x01", message.MaxBody), strings.Repeat("x", message.MaxBody+1)
	plan := most
	require.NoError(t, d.Send("alice", Message{Type: handshake.TypePlan, From: "bob", Content: most, Plan: &plan, At: noon}), "as long as one may be")
	require.NoError(t, d.Send("alice", say("one")))
	for _, line := range []string{`{"content":"` + over + `"}`, `{"plan":"` + over + `"}`, `{"feedback":"` + over + `"}`, `{"x":"` + strings.Repeat("x", 14<<20) + `"}`} {
		f, err := os.OpenFile(d.inbox("alice"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(line + "\n")
		require.NoError(t, errors.Join(err, f.Close()))
	}
	require.NoError(t, d.Send("alice", say("two")))
	all, wrong, err := d.Peek("alice")
	require.NoError(t, err)
	assert.Equal(t, 4, wrong)
	assert.Equal(t, []string{"one", "two"}, bodies(all)[1:])
	assert.Len(t, all[0].Content, message.MaxBody)
	aside, err := d.Drain("alice", func([]Message) error { return nil })
	require.NoError(t, err)
	assert.Equal(t, 4, aside)
	assert.Empty(t, drained(t, d, "alice"))
}

// A drain that fails leaves the inbox under its own name, where programs find it that know no other.
func TestDrain_putsBack(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	failed := errors.New("stdout is full")
	require.NoError(t, d.Send("alice", say("one")))
	_, err := d.Drain("alice", func([]Message) error { return failed })
	require.ErrorIs(t, err, failed)
	assertClean(t, d)
	_, err = d.Drain("alice", func([]Message) error {
		require.NoError(t, d.Send("alice", say("two"))) // a new inbox has begun by then
		return failed
	})
	require.ErrorIs(t, err, failed)
	assertClean(t, d)
	var read []map[string]any
	require.NoError(t, json.Unmarshal([]byte(python(t, d, "", "read", "alice")), &read))
	require.Len(t, read, 2)
	assert.Equal(t, []any{"one", "two"}, []any{read[0]["content"], read[1]["content"]})
}

// What a killed process had taken goes back into the inbox as soon as somebody sends there.
func TestDrain_ofOneWhoWasKilled(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"send", "drain", "remove"} {
		d := newTeam(t)
		for _, content := range []string{"one", "two"} {
			require.NoError(t, d.Send("alice", say(content)))
			require.NoError(t, os.Rename(d.inbox("alice"), d.at(inboxes, ".alice.jsonl."+string(message.NewID()))))
		}
		switch by {
		case "send":
			require.NoError(t, d.Send("alice", say("three")))
		case "drain":
			_, err := d.Drain("alice", func([]Message) error { return os.ErrClosed })
			require.ErrorIs(t, err, os.ErrClosed)
		default:
			require.NoError(t, d.Remove("alice", func(m Message) bool { return m.Content == "one" }))
		}
		assertClean(t, d)
		want := map[string][]string{"send": {"one", "two", "three"}, "drain": {"one", "two"}, "remove": {"two"}}[by]
		assert.Equal(t, want, drained(t, d, "alice"), by)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	require.NoError(t, d.Send("alice", say("one")))
	f, err := os.OpenFile(d.inbox("alice"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	for _, open := range []func(string) (*os.File, error){foreign.OpenOurs, func(path string) (*os.File, error) { return foreign.AppendOurs(path, 0o600) }} {
		_, err := locked(d.inbox("alice"), time.Now(), open)
		assert.ErrorAs(t, err, new(*BusyError))
	}
	all, _, err := d.Peek("alice")
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, bodies(all))
}

// In whatever order messages come, are read, used or left unused, each is used once, in order.
func TestModel(t *testing.T) {
	t.Parallel()
	shared := newTeam(t)
	rapid.Check(t, func(t *rapid.T) {
		d := Dir{shared.Path}
		names := []string{"alice", "bob", Lead}
		for _, name := range names {
			_, err := d.Drain(name, func([]Message) error { return nil })
			require.NoError(t, err)
		}
		model := map[string][]string{}
		for n := range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			switch rapid.IntRange(0, 4).Draw(t, "does") {
			case 0, 1:
				content := fmt.Sprint(n, rapid.SampledFrom([]string{"", "\n", "\u2028", `"`}).Draw(t, "content"))
				require.NoError(t, d.Send(name, say(content)))
				model[name] = append(model[name], content)
			case 2:
				all, _, err := d.Peek(name)
				require.NoError(t, err)
				require.Equal(t, model[name], bodies(all))
			case 3:
				failed := errors.New("no")
				_, err := d.Drain(name, func(all []Message) error {
					require.Equal(t, model[name], bodies(all))
					return failed
				})
				require.ErrorIs(t, err, failed)
			default:
				_, err := d.Drain(name, func(all []Message) error {
					require.Equal(t, model[name], bodies(all))
					return nil
				})
				require.NoError(t, err)
				model[name] = nil
			}
		}
	})
}

// assertClean checks that nothing of a drain is left.
func assertClean(t testing.TB, d Dir) {
	t.Helper()
	entries, err := os.ReadDir(d.at(inboxes))
	require.NoError(t, err)
	for _, e := range entries {
		assert.True(t, strings.HasSuffix(e.Name(), ".jsonl") && e.Name()[0] != '.', "%s is left", e.Name())
	}
}
