package naivetest_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/naivetest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A reference that delivered nothing would be easy to beat.
func TestRelay_delivers(t *testing.T) {
	t.Parallel()
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	alice := startProgram(t, server, "Alice", "none")
	bob := startProgram(t, server, "Bob", "numbered")
	carol := startProgram(t, server, "Carol", "none")

	watching, ended := make(chan struct{}), make(chan error, 1)
	relay := naivetest.Relay{
		Bin: server.Version.Bin, Socket: server.Socket, Watching: func() { close(watching) },
		Panes: []naivetest.Pane{{ID: alice.pane, Name: "Alice"}, {ID: bob.pane, Name: "Bob"}, {ID: carol.pane, Name: "Carol"}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- relay.Run(ctx) }()
	<-watching

	require.NoError(t, persona.Control(alice.control, ":say the first words"))
	tmuxtest.WaitFor(t, "Bob's answer at Alice and at Carol", func() bool {
		return len(alice.texts(t, persona.EventReceived)) > 0 && len(carol.texts(t, persona.EventReceived)) > 1
	})
	cancel()
	require.NoError(t, <-ended)

	said := bob.texts(t, persona.EventSaid)
	require.Len(t, said, 1)
	assert.Equal(t, []string{"[Alice] (1): the first words"}, bob.texts(t, persona.EventReceived))
	assert.Equal(t, []string{"[Bob] (2): " + said[0]}, alice.texts(t, persona.EventReceived))
	assert.Equal(t, []string{"[Alice] (1): the first words", "[Bob] (2): " + said[0]}, carol.texts(t, persona.EventReceived))
}

func TestRelay_endsWithItsServer(t *testing.T) {
	t.Parallel()
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	watching, ended := make(chan struct{}), make(chan error, 1)
	relay := naivetest.Relay{
		Bin: server.Version.Bin, Socket: server.Socket, Panes: []naivetest.Pane{{ID: server.Base, Name: "base"}},
		Watching: func() { close(watching) },
	}
	go func() { ended <- relay.Run(t.Context()) }()
	<-watching
	server.Kill()
	assert.ErrorContains(t, <-ended, "capture-pane")
}

// Helpers.

// program is a persona in a pane.
type program struct{ pane, log, control string }

func startProgram(t *testing.T, server *tmuxtest.Server, name, reply string) program {
	t.Helper()
	p := program{log: filepath.Join(server.Dir, name+".jsonl"), control: filepath.Join(server.Dir, name+".ctl")}
	p.pane = server.NewPane(personatest.Program(t), "line", "--name", name, "--prompt", strings.ToLower(name)+"> ",
		"--log", p.log, "--control", p.control, "--reply", reply)
	tmuxtest.WaitFor(t, name+" reads keys", func() bool { return len(p.texts(t, persona.EventReady)) > 0 })
	return p
}

// texts are the texts of the program's records of one kind, in order.
func (p program) texts(t *testing.T, event string) (all []string) {
	records, err := persona.ReadLog(p.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Logf("log %s: %v", p.log, err)
	}
	for _, r := range records {
		if r.Event == event {
			all = append(all, r.Text)
		}
	}
	return all
}
