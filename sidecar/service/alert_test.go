package service

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// teller is a relay that records notices.
type teller struct {
	oneChat
	told chan string
}

func (t teller) Notify(_ context.Context, _ message.ID, text string) error {
	t.told <- text
	return nil
}

// A failing notice command is reported once, and again only after it has succeeded in between.
func TestAlert_aCommandThatDoesNotRun(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	s := NewFace(Face{Relay: teller{told: told}, Log: slog.New(slog.DiscardHandler)})
	missing := []string{filepath.Join(t.TempDir(), "nosuch")}
	ran := func(argv ...string) {
		s.command(t.Context(), argv, "a notice")
		tmuxtest.WaitFor(t, "it has ended", func() bool { return len(s.running) == 0 })
	}
	ran(missing...)
	require.Len(t, told, 1)
	assert.Contains(t, <-told, "notices.command in init.lua")
	ran(missing...)
	assert.Empty(t, told, "of that notice it cannot tell either")
	ran("true")
	assert.Empty(t, told)
	ran(missing...)
	assert.Len(t, told, 1)
}

// A notice, in a terminal or in the list of waits, contains nothing that acts on a terminal or changes how it
// is read.
func TestAlert_plain(t *testing.T) {
	t.Parallel()
	const text = "rm \x1b]0;x\a\u202efdp\u2066.\u200bsh\u009b \U000e0041👩\u200d💻"
	assert.Equal(t, "rm ]0;xfdp.sh 👩\u200d💻", printable(text))
	assert.Equal(t, "rm  ]0;x fdp.sh  👩\u200d💻", oneLine("\n"+text+"\nmore"))
}
