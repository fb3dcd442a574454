package daemon_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// listing is the list of waits, each time that it changed.
type listing struct {
	mu    sync.Mutex
	begun time.Time
	said  []listed
}

type listed struct {
	at    time.Time
	waits string // "claude: dialog, codex: your draft"
}

// lists writes down the list of waits until the test ends.
func (l *labRig) lists() *listing {
	l.Helper()
	b := &listing{begun: time.Now()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	l.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			waits, err := api.Call(ctx, l.client.Client, api.ListWaits, api.None{})
			var words []string
			for _, w := range waits {
				words = append(words, fmt.Sprintf("%s: %s", w.Name, w.Kind))
			}
			b.mu.Lock()
			if text := strings.Join(words, ", "); err == nil && (len(b.said) == 0 || b.said[len(b.said)-1].waits != text) {
				b.said = append(b.said, listed{time.Now(), text})
			}
			b.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return b
}

// is reports since when a wait is on the list, or is not on it; ok is false while that is not so.
func (b *listing) is(wait string, there bool) (since time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.said) - 1; i >= 0 && strings.Contains(b.said[i].waits, wait) == there; i-- {
		since, ok = b.said[i].at, true
	}
	return since, ok
}

func (b *listing) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	for _, one := range b.said {
		fmt.Fprintf(&text, "\n%7.2fs  %s", one.at.Sub(b.begun).Seconds(), one.waits)
	}
	return text.String()
}

// Four agents at once: one shows a dialog, the second has a draft, the third asks a question, and the fourth is asked
// and answers. The list has what a person must do, until they have done it, and never what the fourth does. It never
// calls one thing by two words, and only the person answers anything.
func TestLab_U20_fourAgentsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, labtest.Kinds)
	agents := map[labtest.Kind]*labAgent{}
	for _, kind := range labtest.Kinds {
		agents[kind] = l.launch(kind)
	}
	for _, a := range agents {
		a.WaitForIdle()
		_, err := l.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.Pane, Name: string(a.Kind)})
		require.NoError(t, err)
	}
	claude, codex, opencode, gemini := agents[labtest.Claude], agents[labtest.Codex], agents[labtest.Opencode], agents[labtest.Gemini]
	board := l.lists()
	t.Cleanup(func() { t.Log(board) })
	within := func(wait string, there bool, from time.Time) {
		t.Helper()
		var since time.Time
		l.until(fmt.Sprintf("%s %v", wait, there), func() bool {
			at, ok := board.is(wait, there)
			since = at
			return ok
		}, func() any { return board.String() })
		// The time is logged, not asserted: TestU20_ListedWithinASecondAndGoneWithinOne asserts the part that we add
		// to it.
		t.Logf("%s listed %v after %v", wait, there, since.Sub(from).Round(time.Millisecond))
	}

	proof := filepath.Join(claude.Work, "proof")
	claude.Prompt("please [[bash touch proof]]")
	claude.WaitForDialog()
	within("claude: dialog", true, time.Now())
	opencode.Prompt("please [[ask Which colour? | red | blue]]")
	opencode.WaitForDialog()
	within("opencode: question", true, time.Now())
	codex.Keys("-l", "half a line")
	codex.WaitForText("half a line")
	draft := l.mail(codex, "hello [[say hello]]")
	l.waitTold(draft, codex, "held")
	within("codex: draft", true, time.Now())
	asked := l.mail(gemini, "what is it? [[say it is nothing]]")
	l.waitTold(asked, gemini, "answered")
	// The status line is written after the list, through a tmux that may be busy.
	says := func(want string) {
		t.Helper()
		line := ""
		l.until(fmt.Sprintf("the status line to say %q", want), func() bool { line = l.statusLine(); return line == want },
			func() any { return line }, func() any { return board.String() })
	}
	says("claude: dialog, opencode: question, codex: your draft")

	assert.NoFileExists(t, proof)
	shown := claude.screen()
	behind := l.mail(claude, "never mind [[say as you like]]")
	l.waitTold(behind, claude, "held")
	claude.keeps(shown)

	answer := func(a *labAgent, wait string, keys ...string) {
		t.Helper()
		a.WaitForStill(labtest.Stillness)
		a.Keys(keys...)
		within(wait, false, time.Now())
	}
	answer(claude, "claude: dialog", "Enter")
	answer(opencode, "opencode: question", "Enter")
	answer(codex, "codex: draft", "C-u")
	l.waitTold(behind, claude, "answered")
	l.waitTold(draft, codex, "submitted")
	assert.FileExists(t, proof)
	assert.NotContains(t, board.String(), "opencode: dialog")
	assert.NotContains(t, board.String(), "gemini")
	says("")

	// A healthy chat adds nothing to the list, for a minute in a long run.
	before := board.String()
	chat := l.begin("count, both of you", []string{codex.Pane, gemini.Pane}, "stall=off")
	says("1 chat")
	for end := time.Now().Add(time.Duration(long(15, 60)) * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		require.Equal(t, "1 chat", l.statusLine())
	}
	assert.Equal(t, before, board.String())
	assert.Equal(t, message.ChatOn, l.current(chat).State)
}
