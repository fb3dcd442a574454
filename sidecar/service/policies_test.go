package service

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/policyset"
)

// Files that anybody may have written are asked about what was said for a person alone.
func TestDiff_whoseFiles(t *testing.T) {
	s := &Policies{Callers: &Callers{Log: slog.New(slog.DiscardHandler)}, Set: &policyset.Live{Options: policyset.Options{Config: "/home/ada/.config/intercom"}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a set that does not exist yet is waited for no longer
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
