package tmux_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// eachTrigger runs test with every trigger that may be used on a version.
func eachTrigger(t *testing.T, test func(t *testing.T, s *tmuxtest.Server, c *tmux.Client)) {
	t.Helper()
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		triggers := []string{"inotify", "polling"}
		if v.AtLeast(3, 8) {
			triggers = append(triggers, "output")
		}
		for _, trigger := range tmuxtest.Turn(t, triggers...) {
			t.Run(trigger, func(t *testing.T) {
				t.Parallel()
				s := tmuxtest.NewServer(t, v)
				c := open(t, s, tmux.Options{Trigger: trigger})
				require.Equal(t, trigger, c.Trigger())
				test(t, s, c)
			})
		}
	})
}

func TestEdges_writeIsTold(t *testing.T) {
	eachTrigger(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		watched, other := s.NewRecorder(false), s.NewRecorder(false)
		watch(t, s, c, watched.Pane)
		quiet(t, c)
		s.Print(other.Pane, "not watched")
		for i := range 3 {
			s.Print(watched.Pane, fmt.Sprintf("\r\nline %d", i))
			waitEdge(t, c, tmux.Edge{Pane: watched.Pane, Kind: tmux.Wrote})
			assert.Contains(t, look(t, c, watched.Pane).Lines, fmt.Sprintf("line %d", i), "a look shows what was told")
		}
		s.Print(watched.Pane, "more")
		c.Forget(watched.Pane)
		quiet(t, c) // an edge on its way may still come
		s.Print(watched.Pane, "forgotten")
		s.WaitForText(watched.Pane, "forgotten")
		assert.Empty(t, quiet(t, c))
	})
}

func TestEdges_endIsTold(t *testing.T) {
	eachTrigger(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		for name, end := range map[string]func(pane string){
			"respawn": func(pane string) { s.Run("respawn-pane", "-k", "-t", pane) },
			"kill":    func(pane string) { s.Run("kill-pane", "-t", pane) },
			"exit": func(pane string) {
				s.Run("set-option", "-w", "-t", pane, "remain-on-exit", "on")
				require.NoError(t, syscall.Kill(look(t, c, pane).Facts.PID, syscall.SIGKILL))
			},
		} {
			pane := s.NewPane("cat")
			watch(t, s, c, pane)
			end(pane)
			waitEdge(t, c, tmux.Edge{Pane: pane, Kind: tmux.Gone})
			if name == "respawn" { // the terminal may have the same name: watched anew, it reports edges again
				watch(t, s, c, pane)
				quiet(t, c)
				s.Print(pane, "again")
				waitEdge(t, c, tmux.Edge{Pane: pane, Kind: tmux.Wrote})
			}
			c.Forget(pane)
		}
	})
}

func TestEdges_floodNeitherBlocksNorFills(t *testing.T) {
	eachTrigger(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		pane := s.NewPane("sh", "-c", "seq 1 20000; echo done; exec cat")
		watch(t, s, c, pane)
		s.WaitForText(pane, "done")
		_, err := c.Look(t.Context(), pane, 10) // nobody reads the edges, and everything goes on
		require.NoError(t, err)
		assert.Less(t, len(quiet(t, c)), 50, "thousands of writes, few edges")
		s.Print(pane, "still told")
		waitEdge(t, c, tmux.Edge{Pane: pane, Kind: tmux.Wrote})
	})
}

func TestWatch_refusesAnotherTerminal(t *testing.T) {
	eachTrigger(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		other := s.NewPane("cat")
		assert.ErrorIs(t, c.Watch(s.Base, s.Fact(other, "#{pane_tty}")), process.ErrOtherTerminal)
		assert.ErrorIs(t, c.Watch("%999", "/dev/pts/0"), tmux.ErrNoPane)
		assert.Error(t, c.Watch("base", "/dev/pts/0"))
	})
}

func TestOpen_triggers(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		s := tmuxtest.NewServer(t, v)
		for _, o := range []tmux.Options{{Trigger: "smoke"}, {Trigger: "output", Transport: "process"}} {
			o.Bin, o.Socket = v.Bin, s.Socket
			_, err := tmux.Open(t.Context(), o)
			assert.ErrorContains(t, err, o.Trigger)
		}
	})
}

// watch watches a pane whose program has begun to run.
func watch(t *testing.T, s *tmuxtest.Server, c *tmux.Client, pane string) {
	t.Helper()
	require.NoError(t, c.Watch(pane, s.Fact(pane, "#{pane_tty}")))
}

// waitEdge reads edges until want comes. A Lost counts as Wrote: look at all.
func waitEdge(t *testing.T, c *tmux.Client, want tmux.Edge) {
	t.Helper()
	deadline := time.After(tmuxtest.Patience)
	var seen []string
	for {
		select {
		case edge := <-c.Edges():
			if edge == want {
				return
			}
			seen = append(seen, edge.Pane+" "+edge.Kind.String())
		case <-deadline:
			require.Failf(t, "edge", "%v did not come, but %s", want, strings.Join(seen, ", "))
		}
	}
}

// quiet reads edges until none has come for longer than any trigger takes.
func quiet(t *testing.T, c *tmux.Client) []tmux.Edge {
	t.Helper()
	var seen []tmux.Edge
	for {
		select {
		case edge := <-c.Edges():
			seen = append(seen, edge)
		case <-time.After(400 * time.Millisecond):
			return seen
		}
	}
}
