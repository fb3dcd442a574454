package api

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// presence counts the connections of a server.
type presence struct {
	mu    sync.Mutex // guards the fields below
	here  int
	since time.Time // when the last of them closed, or the server began
}

// Idle returns for how long nobody has been connected, 0 while somebody is.
func (s *Server) Idle() time.Duration {
	s.presence.mu.Lock()
	defer s.presence.mu.Unlock()
	if s.presence.here > 0 || s.presence.since.IsZero() {
		return 0
	}
	return time.Since(s.presence.since)
}

func (s *Server) begin() {
	s.presence.mu.Lock()
	defer s.presence.mu.Unlock()
	s.presence.since = time.Now()
}

// count records that a connection was opened or closed.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	s.presence.mu.Lock()
	defer s.presence.mu.Unlock()
	switch state {
	case http.StateNew:
		s.presence.here++
	case http.StateClosed, http.StateHijacked:
		s.presence.here--
		s.presence.since = time.Now()
	}
}
