package tmux_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestC43_C47_transportByVersion(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		info := c.Info()
		assert.Equal(t, s.Version.Name, info.Version)
		assert.Equal(t, s.PID, info.PID)
		assert.Equal(t, s.Socket, info.Socket)
		assert.NotZero(t, info.Start)
		assert.Contains(t, info.Why, s.Version.Name)
		want := "process"
		if s.Version.AtLeast(3, 8) {
			want = "control"
		}
		assert.Equal(t, want, info.Transport)
		clients, err := c.Clients(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want == "control", len(clients) == 1, "no client of ours in a server that one can crash")

		// Each transport that is asked for by name is used on each version, and sees the same
		// through the same interface.
		r := s.NewRecorder(false)
		s.Run("send-keys", "-t", r.Pane, "seen")
		r.WaitForBytes(len("seen"))
		var first tmux.Look
		for i, transport := range []string{"process", "native", "control"} {
			asked := open(t, s, tmux.Options{Transport: transport})
			assert.Equal(t, transport, asked.Info().Transport)
			assert.Contains(t, asked.Info().Why, "asked for")
			l, err := asked.Look(t.Context(), r.Pane, 100)
			require.NoError(t, err, transport)
			before := len(r.Bytes())
			out, err := asked.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: l.Facts, Text: []byte(transport)})
			require.NoError(t, err, transport)
			assert.Equal(t, tmux.Typed, out, transport)
			assert.Equal(t, transport, string(r.WaitForBytes(before + len(transport))[before:]))
			l.At, l.Keys = time.Time{}, tmux.Keys{} // a control client that attaches counts as activity of its session
			if i == 0 {
				first = l
			}
			assert.Equal(t, first, l, transport)
		}
		_, err = tmux.Open(t.Context(), tmux.Options{Bin: s.Version.Bin, Socket: s.Socket, Transport: "telepathy"})
		assert.Error(t, err)
	})
}

func TestOpen_startsNoServer(t *testing.T) {
	for _, v := range tmuxtest.Versions(t) {
		socket := filepath.Join(t.TempDir(), "s")
		_, err := tmux.Open(t.Context(), tmux.Options{Bin: v.Bin, Socket: socket})
		assert.ErrorIs(t, err, tmux.ErrNoServer)
		assert.NoFileExists(t, socket)
	}
}

// S23: events that crash servers, while a default client works beside them.

func TestS23_currentWindowChangesAndSessionDies(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		busy(t, s, c)
		for range 3 {
			s.Run("new-session", "-d", "-s", "q", "exec cat", ";", "new-window", "-d", "-t", "q:", "exec cat")
			s.Run("select-window", "-t", "q:1", ";", "kill-session", "-t", "q")
			s.Run("new-session", "-d", "-s", "q", "exec cat", ";", "new-window", "-d", "-t", "q:", "exec cat")
			s.Run("kill-window", "-t", "q:0", ";", "kill-session", "-t", "q")
			require.True(t, s.Alive())
		}
	})
}

func TestS23_sixWindowsKilledTogether(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		busy(t, s, c)
		for range 6 {
			s.Run("new-session", "-d", "-s", "q", "exec cat")
			for range 5 {
				s.Run("new-window", "-t", "q:", "exec cat")
			}
			for pid := range strings.FieldsSeq(s.Run("list-panes", "-s", "-t", "q", "-F", "#{pane_pid}")) {
				n, err := strconv.Atoi(pid)
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(n, syscall.SIGTERM))
			}
			tmuxtest.WaitFor(t, "end of the session", func() bool {
				out, err := s.Try("list-sessions", "-F", "#{session_name}")
				require.NoError(t, err, "the server is gone")
				return !strings.Contains(out, "q")
			})
			require.True(t, s.Alive())
		}
	})
}

func TestS23_floodAndRespawnWhileWatched(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		busy(t, s, c)
		pane := s.NewPane("yes", "0123456789")
		s.Run("set-option", "-w", "-t", pane, "remain-on-exit", "on")
		for i := range 10 {
			facts := look(t, c, pane).Facts
			_ = c.Watch(pane, facts.TTY) // fails if the pane was replaced a moment ago
			if i%3 == 2 {
				require.NoError(t, syscall.Kill(facts.PID, syscall.SIGKILL))
				s.WaitForFact(pane, "#{pane_dead}", "1")
			}
			out, err := c.Type(t.Context(), tmux.Typing{Pane: pane, Facts: facts, Text: []byte("x"), Tail: "no such text"})
			assert.NoError(t, err)
			assert.Equal(t, tmux.Refused, out)
			s.Run("respawn-pane", "-k", "-t", pane)
			require.True(t, s.Alive())
		}
		s.Run("kill-pane", "-t", pane)
		require.True(t, s.Alive())
	})
}

func TestS23_helpersKilledAndStopped(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		c := open(t, s, tmux.Options{Deadline: 2 * time.Second}) // the wait for each stopped process
		busy(t, s, c)
		killed, stopped, late := 0, 0, time.Now().Add(2*tmuxtest.Patience)
		for i := 0; killed < 20 || stopped < 4; i++ {
			require.True(t, time.Now().Before(late), "%d killed, %d stopped", killed, stopped)
			for _, pid := range helpers(t, s) {
				if i%5 == 4 {
					stopped++
					_ = syscall.Kill(pid, syscall.SIGSTOP)
				} else {
					killed++
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			require.True(t, s.Alive())
		}
		tmuxtest.WaitFor(t, "a look", func() bool {
			_, err := c.Look(t.Context(), s.Base, 10)
			return err == nil
		})
		select {
		case <-c.Gone():
			t.Error("the server is not gone")
		default:
		}
	})
}

func TestS23_memoryStaysFlat(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		round := func() {
			for range 50 {
				typeText(t, c, r.Pane, "x")
			}
		}
		round()
		before := tmuxtest.Resident(t, s.PID)
		round()
		assert.Less(t, tmuxtest.Resident(t, s.PID)-before, 1<<10, "KiB")
	})
}

func TestGone_serverEnds(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		for name, end := range map[string]func(s *tmuxtest.Server){
			"killed":  func(s *tmuxtest.Server) { s.Kill() },
			"ended":   func(s *tmuxtest.Server) { s.Run("kill-server") },
			"emptied": func(s *tmuxtest.Server) { s.Run("kill-pane", "-t", s.Base) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := tmuxtest.NewServer(t, v)
				c := open(t, s, tmux.Options{})
				select {
				case <-c.Gone():
					t.Fatal("too early")
				default:
				}
				end(s)
				select {
				case <-c.Gone():
				case <-time.After(tmuxtest.Patience):
					t.Fatal("not told")
				}
				_, err := c.Look(t.Context(), s.Base, 0)
				assert.ErrorIs(t, err, tmux.ErrNoServer)
				out, err := c.Type(t.Context(), tmux.Typing{Pane: s.Base})
				assert.Error(t, err)
				assert.Equal(t, tmux.Refused, out)
			})
		}
	})
}

func TestS14_thePersonsViewIsLeftAlone(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		s.Run("set-option", "-g", "status", "off", ";", "set-hook", "-g", "pane-exited", "display-message hooked")
		r := s.NewRecorder(false) // in another window than the person's
		me := attachSized(t, s, "base:0", pty.Winsize{Rows: 31, Cols: 101})
		state := func() string {
			return s.Run("display-message", "-p", "-t", "base:0", "#{window_width}x#{window_height} #{window_id} #{pane_id}", ";",
				"show-environment", "-t", "base", ";", "show-environment", "-g", ";", "show-hooks", "-g", ";", "list-buffers", ";",
				"list-windows", "-a", "-F", "#{window_id} #{window_active} #{window_width} #{window_name}")
		}
		s.WaitForFact(s.Base, "#{window_width}x#{window_height}", "101x31")
		// The window's name follows its program within half a second; that is not ours.
		s.WaitForFact(r.Pane, "#{window_name}", "cat")
		// When this is drawn, tmux has asked the terminal and it has answered. The next letters are
		// read and drawn after the effects of the answers.
		me.press(t, "v")
		me.press(t, "w")
		one := me.press(t, "y")
		before := state()
		require.NoError(t, c.Watch(r.Pane, look(t, c, r.Pane).Facts.TTY))
		for range 100 {
			require.Equal(t, tmux.Typed, typeText(t, c, r.Pane, "x"))
		}
		_, err := c.Panes(t.Context())
		require.NoError(t, err)
		assert.Equal(t, before, state())
		assert.Equal(t, one, me.press(t, "z"), "what the person's terminal received: no more than for the key before")
		if clients, err := c.Clients(t.Context()); assert.NoError(t, err) {
			assert.Equal(t, c.Info().Transport == "control", len(clients) == 2, "the attached count: the person, and our control client")
		}
	})
}

func TestStartServer_ownServerOnly(t *testing.T) {
	t.Parallel()
	for _, v := range tmuxtest.Versions(t) {
		t.Run(v.Name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "ic")
			require.NoError(t, err)
			defer func() { _ = os.RemoveAll(dir) }()
			o := tmux.Options{Bin: v.Bin, Socket: filepath.Join(dir, "s")}
			out := filepath.Join(dir, "it's $HOME")
			c, first, err := tmux.StartServer(t.Context(), o, tmux.Window{Session: "demo", Command: []string{"cat"}, Env: []string{"A=b c"}})
			require.NoError(t, err)
			defer func() { require.NoError(t, c.Close()) }()
			second, err := c.NewWindow(t.Context(), tmux.Window{Session: "demo", Name: "two", Command: []string{"sh", "-c", `echo "$A;$1;" > "$1"; exec cat`, "sh", out}, Env: []string{"A=b;"}})
			require.NoError(t, err)
			assert.NotEqual(t, first, second)
			tmuxtest.WaitFor(t, "program", func() bool { data, _ := os.ReadFile(out); return string(data) == "b;;"+out+";\n" })
			panes, err := c.Panes(t.Context())
			require.NoError(t, err)
			require.Len(t, panes, 2)
			assert.Equal(t, "two", panes[1].WindowName)
			assert.False(t, panes[1].Current, "in the background")

			_, _, err = tmux.StartServer(t.Context(), o, tmux.Window{Session: "demo", Command: []string{"cat"}})
			assert.Error(t, err, "one runs there")
			guest, err := tmux.Open(t.Context(), o)
			require.NoError(t, err)
			assert.Error(t, guest.KillServer(t.Context()), "not its own")
			require.NoError(t, guest.Close())
			assert.NoError(t, c.KillServer(t.Context()))
		})
	}
}

// busy looks at all panes of a server repeatedly until the test ends.
func busy(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			panes, _ := c.Panes(ctx)
			for _, p := range panes {
				_, _ = c.Look(ctx, p.ID, 100)
			}
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-c.Edges():
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// helpers returns the tmux processes that this test program has started for a client of s.
func helpers(t *testing.T, s *tmuxtest.Server) []int {
	t.Helper()
	children, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	var pids []int
	for _, file := range children {
		data, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(data)) {
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			// Skip the processes of the test itself, which do not pass -N first.
			if bytes.Contains(line, []byte("\x00-u\x00-N\x00")) && bytes.Contains(line, []byte(s.Socket)) {
				pid, err := strconv.Atoi(field)
				require.NoError(t, err)
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// A pane is closed only if it is the intended one: its process is the intended one, or has ended.
func TestKillPane_onlyThePaneThatWasMeant(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		c := open(t, s, tmux.Options{Transport: "process"})
		s.Run("set-option", "-g", "remain-on-exit", "on")
		lives, dead := s.NewPane("cat"), s.NewPane("cat")
		pid := look(t, c, dead).Facts.PID
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		s.WaitForFact(dead, "#{pane_dead}", "1")
		assert.ErrorIs(t, c.KillPane(t.Context(), lives, pid), tmux.ErrNoPane, "another process")
		assert.NoError(t, c.KillPane(t.Context(), dead, pid))
		assert.ErrorIs(t, c.KillPane(t.Context(), dead, pid), tmux.ErrNoPane)
		assert.Equal(t, s.Base+"\n"+lives, s.Run("list-panes", "-a", "-F", "#{pane_id}"))
		assert.NoError(t, c.KillPane(t.Context(), lives, look(t, c, lives).Facts.PID))
		assert.Equal(t, s.Base, s.Run("list-panes", "-a", "-F", "#{pane_id}"))
	})
}

// A pane is listed once, with all sessions that have its window.
func TestPanes_sessionsThatShareAWindow(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		alone := s.Run("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "linked", "exec cat")
		s.Run("new-session", "-d", "-t", "base", "-s", "grouped")
		s.Run("link-window", "-d", "-s", "base:0", "-t", "linked:5", ";", "link-window", "-d", "-s", "base:0", "-t", "linked:6")
		ids := map[string]string{}
		for line := range strings.Lines(s.Run("list-sessions", "-F", "#{session_name} #{session_id}")) {
			name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
			ids[name] = id
		}
		panes, err := tmux.ListPanes(t.Context(), tmux.Options{Bin: v.Bin, Socket: s.Socket})
		require.NoError(t, err)
		got := map[string][]string{}
		for _, p := range panes {
			got[p.ID] = append([]string{p.SessionID}, p.Elsewhere...)
		}
		require.Len(t, panes, 2)
		assert.ElementsMatch(t, []string{ids["base"], ids["grouped"], ids["linked"]}, got[s.Base])
		assert.Equal(t, []string{ids["linked"]}, got[alone])
	})
}
