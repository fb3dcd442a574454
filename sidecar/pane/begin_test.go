package pane

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/thejerf/suture/v4"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// blockedServer is a tmux server that shows a pane only once it is let.
type blockedServer struct {
	Server
	let     chan struct{}
	watched map[string]int
}

func (s *blockedServer) Look(ctx context.Context, _ string, _ int) (tmux.Look, error) {
	select {
	case <-ctx.Done():
		return tmux.Look{}, ctx.Err()
	case <-s.let:
	}
	return tmux.Look{Rows: []string{"$ "}}, nil
}

func (s *blockedServer) Watch(pane, _ string) error { s.watched[pane]++; return nil }

func (s *blockedServer) Forget(pane string) { delete(s.watched, pane) }

func (*blockedServer) Edges() <-chan tmux.Edge { return nil }

func (*blockedServer) Trigger() string { return "polling" }

// A session that ends while its pane is taken up is not served, neither by that attempt nor by the
// next, and the pane is free for another session. Of two that begin there, the second waits.
func TestPanes_Start_forgottenMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &blockedServer{let: make(chan struct{}), watched: map[string]int{}}
		ps := &Panes{Client: server, Relay: &noticing{}, Log: slog.New(slog.DiscardHandler)}
		ps.once.Do(func() { ps.calls, ps.done = make(chan func(*set)), make(chan struct{}) }) // without a bell
		s := &set{
			byID: map[message.ID]*entry{}, byPane: map[string]*entry{}, early: map[message.ID][]toDeliver{}, awaited: map[message.ID]bool{},
			beginning: map[string]chan struct{}{}, panes: suture.New("panes", suture.Spec{}), // which does not run
		}
		go func() {
			for {
				select {
				case call := <-ps.calls:
					call(s)
				case <-ps.done:
					return
				}
			}
		}()
		defer close(ps.done)
		ofPane := func(id message.ID) message.Peer {
			peer := message.Peer{ID: id}
			peer.Pane, peer.Profile, peer.Prompt = "%1", "line", "$ "
			return peer
		}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- ps.Start(t.Context(), ofPane("a"), Past{}) }()
		synctest.Wait()
		require.NoError(t, ps.Forget(t.Context(), "a"))
		go func() { second <- ps.Start(t.Context(), ofPane("b"), Past{}) }()
		synctest.Wait()
		close(server.let)
		require.ErrorIs(t, <-first, ErrEnded)
		require.NoError(t, <-second)
		synctest.Wait()
		require.NoError(t, ps.do(t.Context(), func(s *set) {
			assert.NotContains(t, s.byID, message.ID("a"))
			assert.Equal(t, message.ID("b"), s.byPane["%1"].session.ID)
			assert.Empty(t, s.beginning)
		}))
		assert.Contains(t, server.watched, "%1", "the end of the first did not take it along")
		require.ErrorIs(t, ps.Start(t.Context(), ofPane("a"), Past{}), ErrEnded, "tried again")
	})
}
