package tmux_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestFront_whoReadsAndHow(t *testing.T) {
	v := tmuxtest.Versions(t)[0]
	s := tmuxtest.NewServer(t, v)
	c := open(t, s, tmux.Options{})
	front := func(pane string) process.FrontGroup {
		facts := look(t, c, pane).Facts
		f, err := process.Front(facts.TTY, facts.PID)
		require.NoError(t, err)
		return f
	}

	leads := func(pane, name string) bool { // a pane's process has no terminal at first
		facts := look(t, c, pane).Facts
		f, err := process.Front(facts.TTY, facts.PID)
		return err == nil && f.Leader.Name == name
	}

	raw := s.NewRecorder(false)
	f := front(raw.Pane)
	assert.Equal(t, look(t, c, raw.Pane).Facts.PID, f.Leader.PID)
	assert.False(t, f.Canonical || f.Echo)
	start, err := process.Start(f.Leader.PID)
	require.NoError(t, err)
	assert.Equal(t, start, f.Leader.Start)
	assert.NotZero(t, start)
	tmuxtest.WaitFor(t, "cat", func() bool { return leads(raw.Pane, "cat") })

	lines := s.NewPane("cat")
	tmuxtest.WaitFor(t, "cat", func() bool { return leads(lines, "cat") })
	assert.True(t, front(lines).Canonical)
	assert.True(t, front(lines).Echo)

	secret := s.NewPane("sh", "-c", "stty -echo; printf 'Password: '; read -r x")
	s.WaitForText(secret, "Password:")
	assert.True(t, front(secret).Canonical)
	assert.False(t, front(secret).Echo)

	// Unread input waits and is counted; a program that does not read may be asleep, or busy.
	deaf := s.NewPane("sh", "-c", "stty raw -echo; echo deaf; exec sleep 1000")
	s.WaitForText(deaf, "deaf")
	tmuxtest.WaitFor(t, "sleep", func() bool { return front(deaf).Leader.Name == "sleep" })
	assert.Zero(t, front(deaf).Unread)
	require.Equal(t, tmux.Typed, typeText(t, c, deaf, "abc\n"))
	tmuxtest.WaitFor(t, "four bytes that wait", func() bool { return front(deaf).Unread == 4 })
	tmuxtest.WaitFor(t, "sleep", func() bool { return front(deaf).Asleep })
	busy := s.NewPane("sh", "-c", "stty raw -echo; echo busy; while :; do :; done")
	s.WaitForText(busy, "busy")
	assert.False(t, front(busy).Asleep)
	s.Run("kill-pane", "-t", busy)

	// A shell with job control puts each command in front, in a process group of its own.
	shell := s.NewPane("sh", "-i")
	s.WaitForText(shell, "$")
	assert.Equal(t, "sh", front(shell).Leader.Name)
	require.Equal(t, tmux.Typed, typeText(t, c, shell, "sleep 1000 | cat\n"))
	tmuxtest.WaitFor(t, "the pipeline", func() bool {
		f := front(shell)
		return len(f.Members) == 2 && f.Leader.Name == "sleep" && f.Members[1].Name == "cat"
	})
	f = front(shell)
	assert.NotEqual(t, look(t, c, shell).Facts.PID, f.Leader.PID)
	ancestors, err := process.Ancestors(f.Leader.PID)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(ancestors), 2)
	assert.Equal(t, look(t, c, shell).Facts.PID, ancestors[0].PID)
	assert.Equal(t, s.PID, ancestors[1].PID)

	_, err = process.Front(look(t, c, lines).Facts.TTY, look(t, c, raw.Pane).Facts.PID)
	assert.ErrorIs(t, err, process.ErrOtherTerminal)
	_, err = process.Front("/dev/null", look(t, c, raw.Pane).Facts.PID)
	assert.ErrorIs(t, err, process.ErrOtherTerminal)
	_, err = process.Start(1 << 29)
	assert.ErrorIs(t, err, process.ErrNoProcess)
	_, err = process.Ancestors(os.Getpid())
	assert.NoError(t, err)
}
