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

// A person decides about what a headless sidecar holds from within a pane, and may name another tmux server
// than that of the pane. Only the sidecar of a pane's own tmux server knows who runs in the pane. So that
// sidecar is asked, at its socket, and believed if it runs the very program that asks.

// WhoIs says who a process of this sidecar's tmux server is. Anybody may ask.
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

// vouched returns who a caller is according to the sidecar of the caller's own tmux server, if there is one.
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

// ourProgram refuses a listener that runs another program than this one.
func ourProgram(listens api.Caller) error {
	if !process.Runs(listens.PID, "/proc/self/exe") {
		return fmt.Errorf("process %d runs another program than this sidecar", listens.PID)
	}
	return nil
}
