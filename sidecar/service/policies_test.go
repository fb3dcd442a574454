package service

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/policyset"
)

// Only a person may try files that anybody may have written on what was said.
func TestDiff_whoseFiles(t *testing.T) {
	s := &Policies{Callers: &Callers{Log: slog.New(slog.DiscardHandler)}, Set: &policyset.Live{Options: policyset.Options{Config: "/home/ada/.config/intercom"}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // do not wait for a set that does not exist
	for dir, refused := range map[string]bool{
		"/home/ada/.config/intercom":     false,
		"/home/ada/.config/intercom/":    false,
		"/home/ada/.config/intercom/lib": true,
		"/tmp/x":                         true,
	} {
		_, err := s.Diff(ctx, api.Caller{PID: api.Gone}, api.DiffPolicyRequest{Dir: dir})
		assert.Equal(t, refused, api.AsError(err).Code == api.CodeRefused, "%s: %v", dir, err)
	}
}
