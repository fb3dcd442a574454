package service

import (
	"context"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// mostRefusals is how many refusals of tools are logged per minute: an agent may cause them without end.
const mostRefusals = 30

// refusals counts the refusals of a minute.
type refusals struct {
	mu    sync.Mutex // guards the rest
	since time.Time
	n     int
}

// another reports whether one more refusal may be logged, and how many were not logged in the minute before.
func (r *refusals) another(now time.Time) (may bool, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Minute {
		left = max(0, r.n-mostRefusals)
		r.since, r.n = now, 0
	}
	r.n++
	return r.n <= mostRefusals, left
}

// Refused logs a refusal by a tool that works on files.
func (s *Sessions) Refused(ctx context.Context, from api.Caller, req api.RefusedRequest) (api.None, error) {
	may, left := s.refusals.another(now())
	if left > 0 {
		s.Log.Warn("more was refused by tools than is logged", "times", left)
	}
	if may {
		s.Log.Warn("a tool refused", "what", req.What, "why", req.Why, "caller", s.Callers.caller(ctx, from).place, "pid", from.PID)
	}
	return api.None{}, nil
}
