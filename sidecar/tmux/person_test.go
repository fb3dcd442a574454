package tmux_test

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// person is a terminal that is attached to a session, as a person's is.
type person struct {
	client string // as tmux calls it

	mu    sync.Mutex
	drawn []byte // what the terminal received
}

// attach attaches a terminal until the end of the test.
func attach(t *testing.T, s *tmuxtest.Server, session string) *person {
	t.Helper()
	cmd := s.Command("attach-session", "-t", session)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	require.NoError(t, err)
	p := &person{}
	var reader sync.WaitGroup
	reader.Go(func() {
		buf, all := make([]byte, 4096), ""
		for {
			n, err := tty.Read(buf)
			p.mu.Lock()
			p.drawn = append(p.drawn, buf[:n]...)
			p.mu.Unlock()
			if err != nil {
				return
			}
			all += string(buf[:n])
			for _, asked := range tmuxtest.Queries { // or tmux draws all anew when it is tired of waiting
				if strings.Contains(all, asked.Query) {
					all = strings.ReplaceAll(all, asked.Query, "")
					_, _ = tty.WriteString(asked.Answer)
				}
			}
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

// after is what the terminal received behind the first place of text; "" before that has come.
func (p *person) after(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, after, _ := bytes.Cut(p.drawn, []byte(text))
	return string(after)
}

// A person sees what goes on in a pane while a message is shown.
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
