package tmux_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// person is a terminal attached to a session, like a person's.
type person struct {
	client string // by its name in tmux
	tty    *os.File

	mu      sync.Mutex
	drawn   []byte // the output that the terminal received
	pressed int    // how much of it, up to the last letter that was pressed
}

// attach attaches a terminal until the end of the test.
func attach(t *testing.T, s *tmuxtest.Server, session string) *person {
	t.Helper()
	return attachSized(t, s, session, pty.Winsize{Rows: 24, Cols: 80})
}

func attachSized(t *testing.T, s *tmuxtest.Server, session string, size pty.Winsize) *person {
	t.Helper()
	limited := s.Command("attach-session", "-t", session)
	cmd := exec.Command(limited.Path, limited.Args[1:]...) // for as long as the test takes
	cmd.Env = append(limited.Env, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &size)
	require.NoError(t, err)
	p := &person{tty: tty}
	var reader sync.WaitGroup
	reader.Go(func() {
		buf, all := make([]byte, 4096), ""
		for {
			n, err := tty.Read(buf)
			if err != nil {
				return
			}
			all += string(buf[:n])
			for _, asked := range tmuxtest.Queries { // otherwise tmux redraws everything when it gives up waiting
				if strings.Contains(all, asked.Query) {
					all = strings.ReplaceAll(all, asked.Query, "")
					_, _ = tty.WriteString(asked.Answer)
				}
			}
			p.mu.Lock() // behind the answers: a test that sees it presses keys behind them
			p.drawn = append(p.drawn, buf[:n]...)
			p.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = tty.Close()
		reader.Wait()
	})
	tmuxtest.WaitFor(t, "the person's client", func() bool {
		for line := range strings.Lines(s.Run("list-clients", "-F", "#{client_pid} #{client_name}")) {
			if name, ours := strings.CutPrefix(strings.TrimSpace(line), strconv.Itoa(cmd.Process.Pid)+" "); ours {
				p.client = name
			}
		}
		return p.client != ""
	})
	return p
}

// after returns the output that the terminal received behind the first occurrence of text, or ""
// before text has come.
func (p *person) after(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, after, _ := bytes.Cut(p.drawn, []byte(text))
	return string(after)
}

// press presses a key whose letter is nowhere on the screen yet and ends no control sequence. It
// returns the output that the terminal received from the previous letter to this one.
func (p *person) press(t *testing.T, letter string) (drawn string) {
	t.Helper()
	_, err := p.tty.WriteString(letter)
	require.NoError(t, err)
	tmuxtest.WaitFor(t, "what is pressed", func() (there bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if drawn, _, there = strings.Cut(string(p.drawn[p.pressed:]), letter); there {
			p.pressed += len(drawn) + len(letter)
		}
		return there
	})
	return drawn
}

// A person sees what happens in a pane while a message is shown.
func TestShow_thePanesGoOn(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		me := attach(t, s, "base")
		longer := 2 * tmuxtest.Patience
		require.NoError(t, tmux.Show(t.Context(), tmux.Options{Bin: v.Bin, Socket: s.Socket}, me.client, "a notice", longer))
		tmuxtest.WaitFor(t, "the notice", func() bool { return me.after("a notice") != "" })
		s.Print(s.Base, "counted")
		tmuxtest.WaitFor(t, "what the pane shows meanwhile", func() bool { return strings.Contains(me.after("a notice"), "counted") })
	})
}
