package tmux_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for other processes far more than they work.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// eachTransport runs test on every version, the oldest over short processes, the next in control
// mode, the next in tmux's own protocol and so on; in a long run on each over all. Control mode on
// an old version is only ever used here.
func eachTransport(t *testing.T, test func(t *testing.T, s *tmuxtest.Server, c *tmux.Client)) {
	t.Helper()
	t.Parallel()
	all := tmuxtest.Versions(t)
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		for i, transport := range []string{"process", "control", "native"} {
			if os.Getenv("INTERCOM_LONG") == "" && slices.Index(all, v)%3 != i {
				continue
			}
			t.Run(transport, func(t *testing.T) {
				t.Parallel()
				s := tmuxtest.NewServer(t, v)
				test(t, s, open(t, s, tmux.Options{Transport: transport}))
			})
		}
	})
}

// eachVersion runs test on every version with a client as it is by default.
func eachVersion(t *testing.T, test func(t *testing.T, s *tmuxtest.Server, c *tmux.Client)) {
	t.Helper()
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		test(t, s, open(t, s, tmux.Options{}))
	})
}

// open opens a client that is closed before its server ends. One that insists on control
// mode is returned when it is attached.
func open(t *testing.T, s *tmuxtest.Server, o tmux.Options) *tmux.Client {
	t.Helper()
	o.Bin, o.Socket = s.Version.Bin, s.Socket
	c, err := tmux.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	if o.Transport == "native" {
		require.Equal(t, "native", c.Info().Transport, c.Info().Why)
	}
	if c.Info().Transport == "control" {
		tmuxtest.WaitFor(t, "control client", func() bool { return attached(t, c) })
	}
	return c
}

func attached(t *testing.T, c *tmux.Client) bool {
	t.Helper()
	clients, _ := c.Clients(t.Context()) // an error is "not yet"
	for _, a := range clients {
		if a.Ours {
			return true
		}
	}
	return false
}

func look(t *testing.T, c *tmux.Client, pane string) tmux.Look {
	t.Helper()
	l, err := c.Look(t.Context(), pane, 1000)
	require.NoError(t, err)
	return l
}

// typeText types into a pane as it is now.
func typeText(t *testing.T, c *tmux.Client, pane, text string) tmux.Outcome {
	t.Helper()
	out, err := c.Type(t.Context(), tmux.Typing{Pane: pane, Facts: look(t, c, pane).Facts, Text: []byte(text)})
	require.NoError(t, err)
	return out
}
