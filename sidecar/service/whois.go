package service

import (
	"context"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// whoIsWithin is how long another sidecar may take to say who a caller is.
const whoIsWithin = 2 * time.Second

// What a headless sidecar holds is decided about in a pane, and a person may name another tmux
// server than that of his pane. Who runs in a pane only the sidecar of its tmux server knows. That
// one is asked, at its socket, and believed if it runs the very program that asks.

// WhoIs says who a process is that comes from this sidecar's tmux server. Anybody may ask.
func (s *Callers) WhoIs(ctx context.Context, from api.Caller, req api.WhoIsRequest) (none api.Identified, _ error) {
	line, err := process.Lineage(req.PID, 0)
	if s.Tmux == nil || err != nil || len(line) == 0 || line[0].Start != req.Start {
		return none, nil
	}
	server, above := s.serverProcess()
	if o := newOrigin(line, server, above); len(o.line) == 0 || !o.here() {
		return none, nil
	}
	c := s.caller(ctx, api.Caller{PID: req.PID, UID: from.UID, Client: req.Client})
	return api.Identified{Person: c.kind == relay.Person, Agent: c.kind == relay.Agent, Known: true, Place: c.place}, nil
}

// vouched is who a caller is by the word of the sidecar of its own tmux server, if there is one.
func (s *Callers) vouched(ctx context.Context, from api.Caller, who process.Process) (c caller, ok bool) {
	if s.Others == nil {
		return c, false
	}
	ctx, cancel := context.WithTimeout(ctx, whoIsWithin)
	defer cancel()
	for _, socket := range s.Others() {
		client := &api.Client{Socket: socket, Believes: ourProgram}
		v, err := api.Call(ctx, client, api.WhoIs, api.WhoIsRequest{PID: who.PID, Start: who.Start, Client: from.Client})
		switch {
		case err != nil || !v.Known:
			continue
		case v.Person:
			return caller{kind: relay.Person}, true
		case v.Agent:
			return caller{kind: relay.Agent, place: v.Place}, true
		}
		return caller{kind: relay.Unverified, place: v.Place}, true
	}
	return c, false
}

// ourProgram refuses who listens if it is another program than this one.
func ourProgram(listens api.Caller) error {
	if !process.Runs(listens.PID, "/proc/self/exe") {
		return fmt.Errorf("process %d runs another program than this sidecar", listens.PID)
	}
	return nil
}
