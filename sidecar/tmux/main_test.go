package tmux_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for other processes much more than they compute.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// eachTransport runs test on a version and over a transport, which take turns; in a long run on
// every version over every transport. Only here is control mode used on an old version.
func eachTransport(t *testing.T, test func(t *testing.T, s *tmuxtest.Server, c *tmux.Client)) {
	t.Helper()
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		for _, transport := range tmuxtest.Turn(t, "process", "control", "native") {
			t.Run(transport, func(t *testing.T) {
				t.Parallel()
				s := tmuxtest.NewServer(t, v)
				test(t, s, open(t, s, tmux.Options{Transport: transport}))
			})
		}
	})
}

// eachVersion runs test on the version whose turn it is, or on all in a long run, with a default
// client.
func eachVersion(t *testing.T, test func(t *testing.T, s *tmuxtest.Server, c *tmux.Client)) {
	t.Helper()
	eachOver(t, []string{"auto"}, test)
}

// eachSafe is eachVersion with a default client or one that uses tmux's own protocol; in a long run
// with both. These clients are tried with everything that crashes old servers beside a control
// client.
func eachSafe(t *testing.T, test func(t *testing.T, s *tmuxtest.Server, c *tmux.Client)) {
	t.Helper()
	eachOver(t, tmuxtest.Turn(t, "auto", "native"), test)
}

func eachOver(t *testing.T, transports []string, test func(t *testing.T, s *tmuxtest.Server, c *tmux.Client)) {
	t.Helper()
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		for _, transport := range transports {
			t.Run(transport, func(t *testing.T) {
				t.Parallel()
				s := tmuxtest.NewServer(t, v)
				test(t, s, open(t, s, tmux.Options{Transport: transport}))
			})
		}
	})
}

// open opens a client that is closed before its server ends. If the options insist on control mode,
// open waits until the client is attached.
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
	clients, _ := c.Clients(t.Context()) // an error means "not yet"
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

// typeText types into a pane in its present state.
func typeText(t *testing.T, c *tmux.Client, pane, text string) tmux.Outcome {
	t.Helper()
	out, err := c.Type(t.Context(), tmux.Typing{Pane: pane, Facts: look(t, c, pane).Facts, Text: []byte(text)})
	require.NoError(t, err)
	return out
}
