package service

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// agentsPane is a tmux server, in this process, whose only pane runs an agent.
type agentsPane struct {
	onePane
	agent message.Process
}

func (p *agentsPane) Adopt(context.Context, pane.Request) (message.Peer, error) {
	return message.Peer{PaneOf: message.PaneOf{Pane: "%1", Profile: "claude", PaneProc: p.agent, Foreground: p.agent}}, nil
}

func (p *agentsPane) Info() tmux.Info { return tmux.Info{PID: os.Getpid()} }

func (p *agentsPane) Panes(context.Context) ([]tmux.Pane, error) {
	return []tmux.Pane{{ID: "%1", PID: p.agent.PID}}, nil
}

func (p *agentsPane) Clients(context.Context) ([]tmux.Attached, error) { return nil, nil }

func (p *agentsPane) AgentIn(tmux.Pane, ...process.Relative) string { return "claude" }

func (p *agentsPane) InThread(context.Context, string, int) (message.ID, error) { return "", nil }

// An agent whose pane a person has released is not adopted by its next call, neither in this life of the sidecar
// nor in the next one, whatever was wanted of the pane in between. A pane that was adopted for one request, and
// given back, was not released.
func TestIntroduce_aReleaseLasts(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	started, err := process.Start(cmd.Process.Pid)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	panes := &agentsPane{agent: message.Process{PID: cmd.Process.Pid, Start: started}}
	person := api.Caller{PID: os.Getpid()}
	agent := api.Caller{PID: cmd.Process.Pid, Agent: &api.AgentCall{Client: "claude"}}
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	begins := func() (s *Sessions, ends func()) {
		r := &relay.Relay{Journal: j, Sink: nowhere{}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		callers := &Callers{Person: "ada", Relay: r, Tmux: panes, Panes: panes, Log: log}
		s = &Sessions{Callers: callers, Names: &Names{Relay: r}, Relay: r, Journal: j, Panes: panes, Tmux: panes, Log: log}
		return s, func() { stop(); require.NoError(t, <-done) }
	}
	calls := func(s *Sessions) api.Introduced {
		t.Helper()
		who, err := s.Introduce(t.Context(), agent, api.None{})
		require.NoError(t, err)
		return who
	}

	s, ends := begins()
	who := calls(s)
	require.True(t, who.Adopted, who.Why)
	s.giveBack(t.Context(), person, []message.Peer{who.Session})
	who = calls(s)
	require.True(t, who.Adopted, who.Why)
	_, err = s.Release(t.Context(), person, api.ReleaseRequest{Pane: "%1"})
	require.NoError(t, err)
	assert.Contains(t, calls(s).Why, "your user has released pane %1")
	ends()

	s, ends = begins()
	assert.Contains(t, calls(s).Why, "your user has released pane %1")
	session, err := s.adopt(t.Context(), api.AdoptRequest{Pane: "%1"})
	require.NoError(t, err)
	s.giveBack(t.Context(), person, []message.Peer{session})
	assert.Contains(t, calls(s).Why, "your user has released pane %1")
	ends()
}
