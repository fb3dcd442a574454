package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Old events are past; new ones are reported as they are written, in whole records only.
func TestFollower_tellsWhatIsWrittenFromNowOn(t *testing.T) {
	t.Parallel()
	for _, bell := range []bool{true, false} {
		t.Run(fmt.Sprintf("bell %v", bell), func(t *testing.T) {
			l := newLife(t, Claude)
			l.status("s1", StatusIdle)
			l.write("s1", l.turn("old", "old words"))
			l.follow(t, bell)
			l.until(t, "bound s1", "status idle")
			assert.Equal(t, []string{"past prompt old", "past words old words", "past turn ended", "bound s1", "status idle"}, l.seen)

			l.seen = nil
			all := l.turn("new", "new words")
			l.write("s1", all[:40])
			l.write("s1", all[40:])
			l.until(t, "turn ended")
			assert.Equal(t, []string{"prompt new", "words new words", "turn ended"}, l.seen)
			require.Len(t, l.ended, 1)
			assert.Equal(t, "new words", l.ended[0].Words)
			assert.Equal(t, "s1", l.ended[0].Thread)
		})
	}
}

// Words from before the Follower began are past, even if the agent writes them down later. Later words are not,
// whichever are written first.
func TestV13_C44_WhatIsWrittenLateIsAsOldAsItsDate(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Claude, Codex} {
		for _, at := range []string{"in a transcript", "in its first one", "in another"} {
			t.Run(string(kind)+" "+at, func(t *testing.T) {
				l := newLife(t, kind)
				where := "s1"
				begin := func() { // a transcript without any words
					l.status(where, StatusIdle)
					if kind == Codex {
						l.open(t, where, "")
						return
					}
					l.write(where, "")
				}
				if at != "in its first one" {
					begin()
				}
				late := l.turn("by hand", "a secret")
				tick()
				l.follow(t, true)
				switch at {
				case "in its first one":
					if kind == Codex {
						l.until(t, "error no rollout open")
					}
					begin()
				case "in another":
					l.until(t, "bound s1")
					where = "s2"
					begin()
				}
				l.until(t, "bound "+where)
				l.write(where, late)
				l.write(where, l.turn("asked", "the answer"))
				l.until(t, "turn ended")
				require.Len(t, l.ended, 1)
				assert.Equal(t, "the answer", l.ended[0].Words)
				assert.Contains(t, l.seen, "past words a secret")
			})
		}
	}
}

// An agent may be adopted while it works: the turn is open, and its end is reported.
func TestFollower_aTurnThatIsOpenAtTheBeginning(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusBusy)
	l.write("s1", l.prompt("begun before"))
	l.follow(t, true)
	l.until(t, "bound s1", "status busy")
	turn, open := l.machine.Turn()
	require.True(t, open)
	assert.True(t, turn.Past)
	l.write("s1", l.words("said now")+l.end())
	l.until(t, "turn ended")
	require.Len(t, l.ended, 1)
	assert.Equal(t, "said now", l.ended[0].Words)
}

// A turn that was open when its process died is not open for the next process.
func TestFollower_aTurnOfADeadProcessIsNotOpen(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusIdle)
	l.now, l.fixed = time.Now().Add(-48*time.Hour), true
	l.write("s1", l.prompt("and then it was killed"))
	l.follow(t, true)
	l.until(t, "bound s1")
	assert.Contains(t, l.seen, "past fresh")
	_, open := l.machine.Turn()
	assert.False(t, open)
}

// After /clear, /new and /resume, old words of the other conversation are not reported.
func TestFollower_theFileChangesInMidChat(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusIdle)
	l.follow(t, true)
	l.until(t, "bound s1")
	l.write("s1", l.turn("one", "first"))
	l.until(t, "turn ended")

	l.status("s2", StatusIdle) // /clear: the file is there at once, or a little later
	l.write("s2", l.turn("two", "second"))
	l.until(t, "bound s2", "turn ended")

	l.fixed, l.now = true, time.Now().Add(-time.Hour)
	l.write("s3", l.turn("of another day", "old"))
	l.fixed = false
	l.status("s3", StatusIdle) // /resume
	l.until(t, "bound s3")
	assert.Contains(t, l.seen, "past words old")
	l.write("s3", l.turn("three", "third"))
	l.until(t, "turn ended")

	l.seen = nil
	l.status("s1", StatusIdle) // and back: nothing is reported again
	l.until(t, "bound s1")
	l.write("s1", l.turn("four", "fourth"))
	l.until(t, "turn ended")
	l.seen = slices.DeleteFunc(l.seen, func(line string) bool { return strings.HasPrefix(line, "status") }) // its time is not determined
	assert.Equal(t, []string{"left", "past fresh", "bound s1", "prompt four", "words fourth", "turn ended"}, l.seen)

	var words []string
	for _, turn := range l.ended {
		words = append(words, turn.Words)
	}
	assert.Equal(t, []string{"first", "second", "third", "fourth"}, words)
}

// A fork of Codex begins with a copy of the original, in which each record bears the time of the copying, after the
// heads of the new and the old thread (openai/codex#35003, #21025). All of that is past.
func TestFollower_aForkOfCodexRepeatsWhatWasSaid(t *testing.T) {
	lines := strings.SplitAfter(string(recording(t, codex+"resumed/transcript.jsonl")), "\n")
	dated := regexp.MustCompile(`^\{"timestamp":"[^"]*"`)
	stamped := func(line string, at time.Time) string {
		return dated.ReplaceAllString(line, `{"timestamp":"`+at.UTC().Format(time.RFC3339Nano)+`"`)
	}
	v7 := func(at time.Time) string { // the id of a thread or a turn made at that time
		return fmt.Sprintf("%012x", at.UnixMilli())[:8] + "-" + fmt.Sprintf("%012x", at.UnixMilli())[8:] + "-7af2-80aa-4d434a70ce49"
	}
	for name, ids := range map[string]bool{"ids that tell the time": true, "ids of an older version": false} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, Codex)
			l.open(t, "one", "")
			l.follow(t, true)
			l.until(t, "bound one")

			forked := time.Now()
			old, parent, own := lines[:14], v7(forked.Add(-time.Hour)), v7(forked)
			turn := regexp.MustCompile(`"(turn_id|root_turn_id)":"[^"]*"`)
			begun := regexp.MustCompile(`"started_at":\d+`)
			said := func(line, id string, at time.Time) string {
				if !ids {
					id = "c9a646d3-9c61-4cb7-bfcd-ee2522c8f633"
				}
				return begun.ReplaceAllString(turn.ReplaceAllString(line, `"$1":"`+id+`"`), fmt.Sprintf(`"started_at":%d`, at.Unix()))
			}
			thread := regexp.MustCompile(`"id":"[^"]*"`)
			head := thread.ReplaceAllString(lines[0], `"id":"`+own+`","forked_from_id":"`+parent+`"`)
			text := stamped(head, forked) + stamped(thread.ReplaceAllString(lines[0], `"id":"`+parent+`"`), forked)
			for _, line := range old[1:] {
				text += stamped(said(line, v7(forked.Add(-30*time.Minute)), forked.Add(-30*time.Minute)), forked)
			}
			tick()
			require.NoError(t, os.WriteFile(l.path(own), []byte(text), 0o600))
			l.open(t, own, "")
			l.until(t, "bound "+own)
			assert.Empty(t, l.ended, "all of it was said before: %q", l.seen)
			assert.Contains(t, l.seen, "past turn ended")

			now := time.Now().Add(time.Millisecond) // the new turn is that of the same recording
			text = ""
			for _, line := range lines[27:36] {
				text += stamped(said(line, v7(now), now.Add(time.Second)), now)
			}
			l.write(own, text)
			l.until(t, "turn ended")
			require.Len(t, l.ended, 1)
			assert.NotEmpty(t, l.ended[0].Words)
			assert.Equal(t, own, l.ended[0].Thread)
			assert.WithinDuration(t, now, l.ended[0].Ended, time.Minute)
		})
	}
}

// Words from the time in which the agent had left a conversation came from others that had resumed it.
func TestFollower_whatOthersSaidInAConversationThatWasLeft(t *testing.T) {
	l := newLife(t, Claude)
	l.now, l.fixed = time.Now(), true
	l.follower = NewFollower(l.agent, nil, func() time.Time { return l.now })
	defer func() { l.follower.leave() }()
	turn := func(to string) {
		l.write(to, "")
		l.status(to, StatusIdle)
		_, err := l.follower.look(t.Context(), true)
		require.NoError(t, err)
		l.until(t, "bound "+to)
	}
	turn("s1")
	turn("s2")
	l.now = l.now.Add(time.Minute)
	l.write("s1", l.turn("of another", "theirs"))
	l.now = l.now.Add(time.Minute)
	turn("s2b")
	turn("s1")
	l.write("s1", l.turn("ours", "mine"))
	_, err := l.follower.look(t.Context(), true)
	require.NoError(t, err)
	l.until(t, "words mine", "turn ended")
	assert.Contains(t, l.seen, "past words theirs")
	require.Len(t, l.ended, 1)
}

// A turn that the agent leaves open will never end.
func TestFollower_aConversationLeftInTheMiddleOfATurn(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusIdle)
	l.follow(t, true)
	l.until(t, "bound s1")
	l.machine.Expect("ours")
	l.write("s1", l.prompt("ours"))
	l.until(t, "prompt ours")
	l.status("s2", StatusIdle)
	l.until(t, "bound s2")
	require.Len(t, l.ended, 1)
	assert.True(t, l.ended[0].Interrupted)
	assert.True(t, l.ended[0].Prompts[0].Ours)
}

// The status comes after everything that was written before it. It ends a turn that was taken back without a trace.
func TestFollower_theStatusFileEndsATurnThatLeftNoTrace(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusIdle)
	l.follow(t, true)
	l.until(t, "bound s1")
	l.write("s1", l.prompt("and then Esc"))
	l.status("s1", StatusBusy)
	l.until(t, "prompt and then Esc", "status busy")
	time.Sleep(2 * time.Millisecond) // the file counts milliseconds
	l.status("s1", StatusIdle)
	l.until(t, "status idle")
	due, ok := l.machine.Due()
	require.True(t, ok)
	assert.Empty(t, l.machine.Tick(due).Ended)
	ended := l.machine.Tick(due.Add(againGrace)).Ended
	require.Len(t, ended, 1)
	assert.True(t, ended[0].Interrupted)
}

func TestFollower_codexMakesItsFileAtTheFirstPrompt(t *testing.T) {
	t.Parallel()
	l := newLife(t, Codex)
	l.follow(t, true)
	l.until(t, "error "+ErrNoTranscript.Error())
	l.open(t, "t1", l.turn("one", "first"))
	l.until(t, "bound t1", "turn ended")
	l.open(t, "t2", l.turn("two", "second")) // /new: both stay open
	l.until(t, "bound t2", "turn ended")
	tick()
	l.write("t1", l.turn("three", "third")) // /resume
	l.until(t, "bound t1", "turn ended")
	var words []string
	for _, turn := range l.ended {
		words = append(words, turn.Words)
	}
	assert.Equal(t, []string{"first", "second", "third"}, words)
}

// With a background daemon, no process of the pane has the file open: the typed text identifies it.
func TestFollower_followsTheFileInWhichTheTypedTextStands(t *testing.T) {
	l := newLife(t, Codex)
	l.agent = recognised(t, Codex, "CODEX_HOME="+l.home)
	l.agent.Dir = "/home/ada/work"
	l.write("t1", l.turn("of another agent", "no"))
	l.follow(t, true)
	l.until(t, "error "+ErrNoTranscript.Error())
	l.machine.Expect("ours")
	typed := time.Now()
	l.follower.Seek("ours", typed)
	l.write("t2", l.turn("ours", "the answer"))
	l.until(t, "turn ended", "bound t2")
	require.Len(t, l.ended, 1)
	assert.True(t, l.ended[0].Prompts[0].Ours)
	assert.Equal(t, "the answer", l.ended[0].Words)
	assert.Equal(t, ByTypedText, l.bound.How)

	l.follower.Seek("ours too", time.Now()) // the same text in two of them binds neither
	l.write("t3", l.turn("ours too", "?"))
	l.write("t4", l.turn("ours too", "?"))
	l.until(t, "error "+ErrAmbiguous.Error())
	assert.Len(t, l.ended, 1)
}

// The same text may be typed into two agents at once, and one of them may write it down sooner. So the only
// transcript found must still be the only one a moment later.
func TestFollower_waitsForAnotherFileWithTheSameText(t *testing.T) {
	l := newLife(t, Codex)
	f := NewFollower(l.agent, nil, time.Now)
	now := time.Now()
	look := func(after time.Duration) error {
		if f.seeking == nil {
			f.seeking = &seek{text: "to both", at: now}
		}
		_, err := f.sought(now.Add(after), ErrNoTranscript)
		return err
	}
	require.ErrorIs(t, look(0), ErrNoTranscript)
	l.write("t1", l.turn("to both", "?"))
	require.ErrorIs(t, look(100*time.Millisecond), ErrNoTranscript)
	require.ErrorIs(t, look(100*time.Millisecond+seekAgain-1), ErrNoTranscript)
	l.write("t2", l.turn("to both", "?"))
	require.ErrorIs(t, look(100*time.Millisecond+seekAgain), ErrAmbiguous)
	require.NoError(t, os.Remove(l.path("t2")))
	require.ErrorIs(t, look(time.Second), ErrNoTranscript, "the wait begins anew")
	require.NoError(t, look(time.Second+seekAgain))
	assert.Nil(t, f.seeking)
	require.ErrorIs(t, look(seekFor+1), ErrNoTranscript)
	assert.Nil(t, f.seeking, "given up")

	f.bound = Transcript{Path: l.path("t1")}
	l.write("t2", l.turn("to both", "?"))
	require.NoError(t, look(time.Second), "of two, it is the one that is bound already")
	assert.Nil(t, f.seeking)
}

func TestFollower_survivesTruncationRotationAndRemoval(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusIdle)
	l.write("s1", l.turn("old", "old"))
	l.follow(t, true)
	l.until(t, "bound s1")
	path := l.path("s1")
	l.write("s1", l.turn("one", "first"))
	l.until(t, "turn ended")

	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	tick()
	next := l.turn("two", "second")
	require.NoError(t, os.WriteFile(path, []byte(next), 0o600)) // shorter than it was
	l.until(t, "words second", "turn ended")

	tick()
	fresh := append(whole, []byte(next+l.turn("three", "third"))...)
	require.NoError(t, os.WriteFile(path+".new", fresh, 0o600))
	require.NoError(t, os.Rename(path+".new", path)) // replaced, with the same content
	l.until(t, "words third", "turn ended")

	require.NoError(t, os.Remove(path))
	tick()
	l.write("s1", l.turn("four", "fourth"))
	l.until(t, "words fourth", "turn ended")

	var words []string
	for _, turn := range l.ended {
		words = append(words, turn.Words)
	}
	assert.Equal(t, []string{"first", "second", "third", "fourth"}, words)
}

// An unreadable format is reported once, with the agent and its version.
func TestFollower_saysThatAVersionCannotBeRead(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusIdle)
	l.follow(t, true)
	l.until(t, "bound s1")
	l.write("s1", strings.Repeat(`{"kind":"said","text":"x","version":"9.0.0"}`+"\n", 10))
	l.until(t, "error")
	var unreadable *UnreadableError
	require.ErrorAs(t, l.err, &unreadable)
	assert.Equal(t, Claude, unreadable.Kind)
	assert.Equal(t, "9.0.0", unreadable.Version)
	assert.Contains(t, unreadable.Error(), "claude 9.0.0 cannot be read")
	assert.Contains(t, unreadable.Error(), "2.1.329")
}

// When the process ends, everything that it wrote is reported, and then its end.
func TestFollower_theProcessEnds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := recognised(t, Claude, "CLAUDE_CONFIG_DIR="+home)
	writeStatus(t, a, "s1", StatusIdle, time.Now())
	l := newLife(t, Claude)
	l.agent, l.home = a, home
	l.follow(t, true)
	l.until(t, "bound s1")
	l.write("s1", l.turn("last", "last words"))
	p, err := os.FindProcess(a.Process.PID)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
	l.until(t, "turn ended")
	select {
	case err := <-l.served:
		assert.ErrorIs(t, err, ErrGone)
	case <-time.After(time.Minute):
		t.Fatal("it still follows")
	}
}

// However the file grows and whenever it is read, the turns are the same, each once.
func TestFollower_anyWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := newLife(t, Claude)
		l.status("s1", StatusIdle)
		l.write("s1", "")
		stop := l.follow(t, true)
		l.until(t, "bound s1")
		var want []string
		var all strings.Builder
		for i := range rapid.IntRange(1, 6).Draw(r, "turns") {
			text := fmt.Sprintf("answer %d %s", i, strings.Repeat("é", rapid.IntRange(0, 3000).Draw(r, "length")))
			want = append(want, text)
			all.WriteString(l.turn(fmt.Sprint("question ", i), text))
		}
		for rest := all.String(); rest != ""; {
			n := min(len(rest), rapid.IntRange(1, 4000).Draw(r, "n"))
			l.write("s1", rest[:n])
			rest = rest[n:]
		}
		for range want {
			l.until(t, "turn ended")
		}
		stop()
		var got []string
		for _, turn := range l.ended {
			got = append(got, turn.Words)
		}
		assert.Equal(r, want, got)
	})
}

func TestBell_withoutDirectoryOrBell(t *testing.T) {
	var none *Bell
	ear := make(chan struct{}, 1)
	assert.False(t, none.listen(t.TempDir(), ear))
	none.forget(ear)
	b := newBell(t)
	assert.False(t, b.listen(filepath.Join(t.TempDir(), "missing"), ear))
	b.ring("") // nobody
	dir := t.TempDir()
	assert.True(t, b.listen(dir, ear))
	b.ring("")
	b.ring("")
	<-ear
	b.forget(ear)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600))
	select {
	case <-ear:
		t.Error("it was forgotten")
	case <-time.After(20 * time.Millisecond):
	}
}

// life is an agent played by this test: it writes what an agent would write.
type life struct {
	kind     Kind
	agent    Agent
	home     string
	now      time.Time
	fixed    bool // now does not follow the real time
	follower *Follower
	machine  Machine
	bound    Transcript
	seen     []string
	ended    []Turn
	err      error
	served   chan error
	files    map[string]string
}

func newLife(t *testing.T, kind Kind) *life {
	t.Helper()
	l := &life{kind: kind, home: t.TempDir(), now: time.Now(), served: make(chan error, 1), files: map[string]string{}}
	start, err := started(os.Getpid())
	require.NoError(t, err)
	l.agent = Agent{
		Kind: kind, Home: l.home, Dir: "/home/ada/work", Tried: []int{os.Getpid()},
		Process: message.Process{PID: os.Getpid(), Start: start},
	}
	require.NoError(t, os.MkdirAll(filepath.Join(l.home, "sessions", "2026", "11", "21"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(l.home, "projects", projectName(l.agent.Dir)), 0o700))
	return l
}

func (l *life) follow(t *testing.T, bell bool) (stop func()) {
	t.Helper()
	b, silence := (*Bell)(nil), func() {}
	if bell {
		b, silence = ringing(t)
	}
	l.follower = NewFollower(l.agent, b, time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.served <- l.follower.Serve(ctx)
	}()
	stop = func() { cancel(); <-done; silence() }
	t.Cleanup(stop)
	return stop
}

func newBell(t *testing.T) *Bell {
	t.Helper()
	b, _ := ringing(t)
	return b
}

// ringing returns a Bell and a function that ends it; the test ends it at the latest. A user has only 128 inotify
// instances, and a test may run a hundred times.
func ringing(t *testing.T) (b *Bell, silence func()) {
	t.Helper()
	b, err := NewBell()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Serve(ctx)
	}()
	silence = func() { cancel(); <-done }
	t.Cleanup(silence)
	return b, silence
}

// until takes updates until each of these has been reported.
func (l *life) until(t *testing.T, want ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, w := range want {
		missing[w] = true
	}
	deadline := time.After(time.Minute)
	for len(missing) > 0 {
		select {
		case u := <-l.follower.Updates():
			line := l.take(u)
			l.seen = append(l.seen, line)
			delete(missing, line)
			for w := range missing {
				if strings.HasPrefix(w, "error") && strings.HasPrefix(line, "error") && strings.Contains(line, strings.TrimSpace(strings.TrimPrefix(w, "error"))) {
					delete(missing, w)
				}
			}
		case <-deadline:
			require.FailNow(t, "not told", "%v after\n%s", missing, strings.Join(l.seen, "\n"))
		}
	}
}

func (l *life) take(u Update) string {
	switch {
	case u.Event != nil:
		l.ended = append(l.ended, l.machine.Feed(*u.Event).Ended...)
		line := strings.TrimSpace(string(u.Event.Kind) + " " + u.Event.Text)
		if u.Event.Kind == Interrupted || u.Event.Kind == TurnEnded {
			line = string(u.Event.Kind)
		}
		if u.Event.Past {
			line = "past " + line
		}
		return line
	case u.Bound != nil:
		l.bound = *u.Bound
		return "bound " + u.Bound.Thread
	case u.Status != nil:
		l.ended = append(l.ended, l.machine.Status(*u.Status, time.Time{}).Ended...)
		return "status " + u.Status.State
	}
	l.err = u.Err
	return "error " + u.Err.Error()
}

func (l *life) path(thread string) string {
	if l.kind == Codex {
		return filepath.Join(l.home, "sessions", "2026", "11", "21", "rollout-2026-11-21T16-00-00-"+thread+".jsonl")
	}
	return filepath.Join(l.home, "projects", projectName(l.agent.Dir), thread+".jsonl")
}

// write adds to the transcript of a conversation.
func (l *life) write(thread, text string) {
	path := l.path(thread)
	if _, err := os.Stat(path); err != nil && l.kind == Codex {
		text = fmt.Sprintf(`{"type":"session_meta","payload":{"id":%q,"cwd":%q,"cli_version":"0.169.0","source":"cli","thread_source":"user"}}`+"\n", thread, l.agent.Dir) + text
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		panic(err)
	}
}

// open writes to a transcript and keeps it open, as Codex does.
func (l *life) open(t *testing.T, thread, text string) {
	t.Helper()
	tick() // the other file is older, also by the clock of the file system
	l.write(thread, text)
	f, err := os.OpenFile(l.path(thread), os.O_RDWR|os.O_APPEND, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
}

func (l *life) status(thread, state string) {
	path := filepath.Join(l.home, "sessions", fmt.Sprintf("%d.json", os.Getpid()))
	text := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":%q,"procStart":"%d","version":"2.1.329","status":%q,"statusUpdatedAt":%d}`,
		os.Getpid(), thread, l.agent.Dir, l.agent.Process.Start, state, time.Now().UnixMilli())
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
}

func (l *life) turn(prompt, words string) string { return l.prompt(prompt) + l.words(words) + l.end() }

// stamp advances with every record, like a clock.
func (l *life) stamp() string {
	l.now = l.now.Add(time.Microsecond)
	if now := time.Now(); !l.fixed && now.After(l.now) {
		l.now = now
	}
	return l.now.UTC().Format(time.RFC3339Nano)
}

func (l *life) prompt(text string) string {
	if l.kind == Codex {
		return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"task_started","turn_id":"x"}}`+"\n", l.stamp()) +
			fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"item_completed","turn_id":"x","item":{"type":"UserMessage","content":[{"type":"text","text":%q}]}}}`+"\n", l.stamp(), text)
	}
	return fmt.Sprintf(`{"type":"user","timestamp":%q,"origin":{"kind":"human"},"promptSource":"typed","message":{"content":%q}}`+"\n", l.stamp(), text)
}

func (l *life) words(text string) string {
	if l.kind == Codex {
		return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"item_completed","turn_id":"x","item":{"type":"AgentMessage","content":[{"type":"Text","text":%q}]}}}`+"\n", l.stamp(), text)
	}
	return fmt.Sprintf(`{"type":"assistant","timestamp":%q,"message":{"content":[{"type":"text","text":%q}]}}`+"\n", l.stamp(), text)
}

func (l *life) end() string {
	if l.kind == Codex {
		return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"task_complete","turn_id":"x"}}`+"\n", l.stamp())
	}
	return fmt.Sprintf(`{"type":"system","subtype":"turn_duration","timestamp":%q}`+"\n", l.stamp())
}

// tick waits until the clock of the file system advances, which is coarser than that of the program.
func tick() {
	for before := time.Now(); time.Since(before) < 15*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
}
