package pane

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// slowServer is a tmux server that takes its time to show a pane. The pane writes a line before every look, or rests.
type slowServer struct {
	Server
	takes  time.Duration
	writes bool
	looks  int
}

func (s *slowServer) Look(ctx context.Context, _ string, _ int) (tmux.Look, error) {
	s.looks++
	select {
	case <-ctx.Done():
		return tmux.Look{}, ctx.Err()
	case <-time.After(s.takes):
	}
	row := "$ "
	if s.writes {
		row = fmt.Sprint("line ", s.looks)
	}
	return tmux.Look{Rows: []string{row}}, nil
}

// A program that rests is not said to write because tmux is slow.
func TestAdopt_slowTmux(t *testing.T) {
	for _, one := range []struct {
		server slowServer
		why    string
	}{
		{slowServer{takes: time.Millisecond}, ""},
		{slowServer{takes: 2500 * time.Millisecond}, ""},
		{slowServer{takes: 5 * time.Second}, "tmux takes too long to show whether its program rests"},
		{slowServer{takes: time.Millisecond, writes: true}, "its program keeps writing"},
		{slowServer{takes: 2 * time.Second, writes: true}, "its program keeps writing"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := (&Panes{Client: &one.server}).rest(t.Context(), "%1", profile.Profile{Quiet: 40 * time.Millisecond})
			if one.why == "" {
				assert.NoError(t, err, "%v", one.server.takes)
				return
			}
			var refusal *Refusal
			if assert.ErrorAs(t, err, &refusal) {
				assert.Equal(t, one.why, refusal.Why, "%v", one.server.takes)
			}
		})
	}
}
