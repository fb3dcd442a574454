package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// person is a person at a terminal of their own.
type person struct {
	rig      *rig
	tty      *os.File
	mu       sync.Mutex
	received []byte
}

// person attaches a second real client, which looks at the pane's window.
func (r *rig) person(pane string) *person {
	r.t.Helper()
	like := r.Command("attach-session", "-t", r.Fact(pane, "#{session_id}"))
	cmd := exec.Command(like.Path, like.Args[1:]...) // runs until the test ends
	cmd.Env = append(like.Env, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	require.NoError(r.t, err)
	p := &person{rig: r, tty: tty}
	var reader sync.WaitGroup
	reader.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			p.mu.Lock()
			p.received = append(p.received, buf[:n]...)
			for _, asked := range tmuxtest.Queries { // if nothing answers, tmux redraws everything after some seconds
				if strings.Contains(string(buf[:n]), asked.Query) {
					_, _ = tty.WriteString(asked.Answer)
				}
			}
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = tty.Close()
		reader.Wait()
	})
	r.waitFor("the person's client", func() bool {
		return strings.Contains(r.Run("list-clients", "-F", "#{client_pid}"), fmt.Sprint(cmd.Process.Pid))
	})
	r.Run("select-window", "-t", pane)
	return p
}

// keys types at the person's terminal.
func (p *person) keys(text string) {
	p.rig.t.Helper()
	_, err := p.tty.WriteString(text)
	require.NoError(p.rig.t, err)
}

// drawn waits until the person's terminal is quiet, and returns how many bytes it has received.
func (p *person) drawn() int {
	p.rig.t.Helper()
	last, since := -1, time.Now()
	p.rig.waitFor("a quiet terminal", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.received) != last {
			last, since = len(p.received), time.Now()
		}
		return last > 0 && time.Since(since) > time.Second
	})
	return last
}

// last returns the end of what the person's terminal has received.
func (p *person) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.received[max(0, len(p.received)-500):])
}
