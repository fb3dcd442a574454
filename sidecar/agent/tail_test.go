package agent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// prompt is a record of a prompt, as Claude Code writes it.
const promptRecord = `{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-11-22T19:00:00.000Z","message":{"role":"user","content":"hello"}}` + "\n"

// drained reads a source to its end, in bounded time.
func drained(t *testing.T, s source) (all []Event) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		require.True(t, time.Now().Before(end), "it does not end")
		events, more := s.next()
		if all = append(all, events...); !more {
			return all
		}
	}
}

// allocated returns how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// If something else replaces a transcript, it is not read, at little cost. Once the transcript is back, reading
// continues.
func TestS24_TranscriptIsReplaced(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"zero":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(promptRecord), 0o600))
			s := &tail{kind: Claude, path: path, thread: "s"}
			defer s.close()
			require.Len(t, drained(t, s), 1)
			require.NoError(t, s.missed())
			require.NoError(t, os.Rename(path, path+"-"))
			require.NoError(t, put(path))
			assert.Less(t, allocated(func() { assert.Empty(t, drained(t, s)) }), uint64(1<<20))
			assert.ErrorContains(t, s.missed(), "not a regular file")
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Rename(path+"-", path))
			drained(t, s)
			assert.NoError(t, s.missed())
		})
	}
}

// A file that was rewritten and has grown beyond the reading position is read from its beginning, too.
func TestTail_writtenAnewAndLonger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	record := func(at, text string) string {
		return `{"type":"user","timestamp":"2026-11-22T` + at + `Z","message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(record("19:00:00", "the first")+record("19:00:01", "the second")), 0o600))
	s := &tail{kind: Claude, path: path, thread: "s"}
	defer s.close()
	require.Len(t, drained(t, s), 2)
	require.NoError(t, os.WriteFile(path, []byte(record("19:00:00", "the first")+record("19:00:02", strings.Repeat("news ", 100))), 0o600))
	var news []string
	for _, e := range drained(t, s) {
		if !e.Past {
			news = append(news, strings.TrimSpace(e.Text)[:4])
		}
	}
	assert.Equal(t, []string{"news"}, news)
	assert.Empty(t, drained(t, s))
}

// Holes cost little and are reported, wherever they are, and what is written after them is read.
func TestS24_TranscriptWithHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(promptRecord), 0o600))
	s := &tail{kind: Claude, path: path, thread: "s"}
	defer s.close()
	require.Len(t, drained(t, s), 1)

	require.NoError(t, os.Truncate(path, 100<<20))
	assert.Less(t, allocated(func() { assert.Empty(t, drained(t, s)) }), uint64(2<<20))
	assert.ErrorContains(t, s.missed(), "is not a record of an agent")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString("\n" + promptRecord)
	require.NoError(t, errors.Join(err, f.Close()))
	assert.Len(t, drained(t, s), 1)
	assert.NoError(t, s.missed())

	require.NoError(t, os.Truncate(path, 50<<30))
	assert.Less(t, allocated(func() { assert.Empty(t, drained(t, s)) }), uint64(2<<20))
	assert.ErrorContains(t, s.missed(), "has grown by")

	fresh := &tail{place: place{pastTo: toEnd}, kind: Claude, path: path, thread: "s"}
	defer fresh.close()
	assert.Less(t, allocated(func() { assert.Empty(t, drained(t, fresh)) }), uint64(2<<20), "its end alone is read")
	assert.Error(t, fresh.missed())
	for name, read := range map[string]func(){
		"head":   func() { _, _ = firstLine(path) },
		"search": func() { _, _ = Agent{Kind: Claude}.tookPrompt(path, "hello", time.Time{}) },
	} {
		assert.Less(t, allocated(read), uint64(4<<20), name)
	}
}

// A file that grows without ever becoming a record takes no memory.
func TestS24_LineWithoutEnd(t *testing.T) {
	r := NewReader(Claude, 0)
	piece := bytes.Repeat([]byte("x"), pieceOfFile)
	assert.Less(t, allocated(func() {
		for range 1000 {
			r.Feed(piece)
		}
	}), uint64(8<<20))
	assert.Error(t, r.torso())
	assert.Len(t, r.Feed([]byte("\n"+promptRecord)), 1)
	assert.NoError(t, r.torso())
}

// endless is a source that always has more and never returns an event.
type endless struct{ source }

func (endless) next() ([]Event, bool) { return nil, true }

// A Follower that reads without end observes its context, and its look is never complete.
func TestS25_ReadingWithoutEndEnds(t *testing.T) {
	f := NewFollower(Agent{Kind: Claude}, nil, time.Now)
	f.tail = endless{}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := f.read(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, f.Sight().At.IsZero())
}

func TestS25_Sight(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return noon.Add(d) }
	for _, c := range []struct {
		name string
		s    Sight
		now  time.Duration
		lost bool
	}{
		{"just begun", Sight{Began: noon}, time.Second, false},
		{"begun long ago, and hangs", Sight{Began: noon}, 6 * time.Second, true},
		{"never saw all", Sight{Began: noon, Why: os.ErrInvalid}, time.Second, true},
		{"saw", Sight{Began: noon, At: after(time.Hour)}, time.Hour + 5*time.Second, false},
		{"saw, and hangs", Sight{Began: noon, At: after(time.Hour)}, time.Hour + 6*time.Second, true},
		{"saw, and missed something once", Sight{Began: noon, At: after(time.Hour), Why: os.ErrInvalid}, time.Hour + 2*time.Second, false},
	} {
		assert.Equal(t, c.lost, c.s.Lost(after(c.now), 5*time.Second), c.name)
	}
}

// Whether an event is past depends on the place where the past ended and on its date. Neither is enough alone:
// agents write a little later than the date they give, and clocks are adjusted.
func TestV13_C44_WhatIsPast(t *testing.T) {
	began := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return began.Add(d) }
	said := func(end int64, at time.Time) Event { return Event{End: end, At: at} }
	for _, c := range []struct {
		name   string
		p      place
		events []Event
		past   []bool
	}{
		{"it stood there", place{pastTo: 20, since: began}, []Event{said(10, at(-time.Hour)), said(20, at(-time.Second)), said(30, at(time.Second))}, []bool{true, true, false}},
		{"it stood there, said of a clock that was ahead", place{pastTo: 20, since: began}, []Event{said(20, at(time.Hour))}, []bool{true}},
		{"said a moment before, and written behind", place{pastTo: 20, since: began}, []Event{said(30, at(-time.Millisecond)), said(40, at(time.Millisecond))}, []bool{true, false}},
		{"said long before, and written behind", place{pastTo: 20, since: began}, []Event{said(30, at(-time.Minute))}, []bool{true}},
		{"without a date it goes by its place", place{pastTo: 20, since: began}, []Event{said(20, time.Time{}), said(30, time.Time{})}, []bool{true, false}},
		{"without either it is like the one before", place{since: began}, []Event{said(10, at(-time.Minute)), said(20, time.Time{}), said(30, at(time.Minute)), said(40, time.Time{})}, []bool{true, true, false, false}},
		{"all of it is news", place{}, []Event{said(10, at(-time.Hour)), said(20, time.Time{})}, []bool{false, false}},
	} {
		c.p.now = func() time.Time { return at(time.Minute) }
		c.p.date(c.events, "s")
		var past []bool
		for _, e := range c.events {
			past = append(past, e.Past)
		}
		assert.Equal(t, c.past, past, c.name)
	}

	assert.Equal(t, began, dated(began, at(time.Hour), time.Hour), "a clock that runs")
	assert.Equal(t, began, dated(began, at(9*time.Hour), time.Hour), "set forward, or a computer that has slept")
	assert.Equal(t, at(-2*time.Hour), dated(began, at(-time.Hour), time.Hour), "set back: what is said now is no older than the beginning")
}
