package daemon_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// repl shows the prompt "ada> " and writes the lines that it is given to DIR/NAME, until one says "leave".
// At "hire" it starts another one of its kind, called clerk, on the same terminal and in its own process
// group, and waits for it; one that is called boss does so at once.
func repl(name, dir string) int {
	hire := func() {
		clerk := exec.Command(os.Args[0], "clerk", dir)
		clerk.Stdin, clerk.Stdout, clerk.Stderr = os.Stdin, os.Stdout, os.Stderr
		_ = clerk.Run()
	}
	got, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return 1
	}
	if name == "boss" {
		hire()
	}
	fmt.Print("ada> ")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Print("ada> ") {
		switch lines.Text() {
		case "hire":
			hire()
		case "leave":
			return 0
		default:
			fmt.Fprintln(got, lines.Text())
		}
	}
	return 0
}

// mute shows a composer or a prompt, and does not read. On a signal it writes the bytes that wait to be read to
// DIR/got, and ends.
func mute(look, dir string) int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	if look == "framed" {
		raw := exec.Command("stty", "-icanon", "-echo")
		raw.Stdin = os.Stdin
		if raw.Run() != nil {
			return 1
		}
		fmt.Print("\x1b[?1049h\x1b[?2004h\x1b[2J\x1b[H● ready\n\n╭" + strings.Repeat("─", 40) + "╮\r\n│ ❯ " + strings.Repeat(" ", 37) + "│\r\n╰" + strings.Repeat("─", 40) + "╯\x1b[4;5H")
	} else {
		fmt.Print("ada> ")
	}
	<-told
	if unix.SetNonblock(0, true) != nil {
		return 1
	}
	got := make([]byte, 4096)
	n, _ := unix.Read(0, got)
	if os.WriteFile(filepath.Join(dir, "got"), fmt.Appendf(nil, "%q", got[:max(0, n)]), 0o600) != nil {
		return 1
	}
	return 0
}

// role starts this test program in a pane of its own, as repl or as mute.
func (r *rig) role(mode string, words ...string) *agent {
	r.t.Helper()
	self, err := os.Executable()
	require.NoError(r.t, err)
	a := r.agentOf("Ada")
	a.pane = r.NewPane("env", append([]string{"INTERCOM_TEST_PROGRAM=" + mode, self}, words...)...)
	return a
}

// got is what one of these programs wrote to its file.
func (r *rig) got(name string) string {
	data, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(data)
}

// A program that the agent has started, in the agent's process group and under an unknown name, shows the agent's
// prompt and reads the keys. Nothing is typed until the agent is back.
func TestS19_ChildInTheAgentsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.role("repl", "own", r.dir)
	r.WaitForText(a.pane, "ada>")
	a.adopt("line")
	assert.Equal(t, message.Submitted, r.send(a, "first", "", tmuxtest.Patience).State)
	r.Run("send-keys", "-t", a.pane, "hire", "Enter")
	tmuxtest.WaitFor(t, "another program", func() bool { _, err := os.Stat(filepath.Join(r.dir, "clerk")); return err == nil })
	r.WaitForText(a.pane, "hire\nada>")
	id := r.post(a, "second")
	r.told(id, "held: another program is in front")
	r.stays(func() bool { return r.last(id) == "held: another program is in front" })
	assert.True(t, slices.ContainsFunc(a.explain().Evidence, func(g message.Ground) bool { return strings.Contains(g.Says, "adopt it again") }))
	assert.Empty(t, r.got("clerk"))
	r.Run("send-keys", "-t", a.pane, "leave", "Enter")
	r.waitFor("delivered when the agent is back", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
	assert.Empty(t, r.got("clerk"))
	assert.Equal(t, "[tester] (0): first\n[tester] (0): second\n", r.got("own"))
}

// A program that works through another one, which was there when a person adopted it, gets messages through that one.
func TestS19_ChildThatReadsForTheAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.role("repl", "boss", r.dir)
	r.WaitForText(a.pane, "ada>")
	a.adopt("line")
	assert.Equal(t, message.Submitted, r.send(a, "first", "", tmuxtest.Patience).State)
	assert.Equal(t, "[tester] (0): first\n", r.got("clerk"))
	assert.Empty(t, r.got("boss"))
}

// A full-screen program shows an empty composer, but reads no keys: they would go to the shell below it. Nothing is
// typed.
func TestS4_ComposerThatNobodyReads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.role("mute", "framed", r.dir)
	r.WaitForText(a.pane, "❯")
	a.adopt("tui")
	id := r.post(a, a.touch())
	r.told(id, "held: agent working")
	r.stays(func() bool { return r.last(id) == "held: agent working" })
	require.NoError(t, syscall.Kill(a.session.Foreground.PID, syscall.SIGUSR1))
	r.waitFor("its end", func() bool { return r.got("got") != "" })
	assert.Equal(t, `""`, r.got("got"))
}
