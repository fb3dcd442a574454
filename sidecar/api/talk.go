package api

import (
	"path/filepath"
	"time"
)

// LookAtPorts makes the sidecar check at once which ai-talk ports are wanted. It returns when the sidecar
// serves those that nobody else serves, with the ports that it cannot serve; whatever listens by then can be
// addressed. A program that has written down a wish for a port calls it; by itself the sidecar would check
// within a second.
var LookAtPorts = Op[PortsRequest, []PortRefused]{
	Name: "talk/look", Door: everybody("have talk ports looked at", "which are wanted stands in ~/.ai-talk"),
	Check: func(req PortsRequest) error {
		if !filepath.IsAbs(req.Home) {
			return Errorf(CodeUsage, "directory %q: the path must be absolute", req.Home)
		}
		return nil
	},
	Again: func(req PortsRequest, _ time.Duration) PortsRequest { return req },
	Whole: list[PortRefused],
}

// PortsRequest names the directory in which the caller finds the ports, ~/.ai-talk. A sidecar that was started
// with another HOME refuses.
type PortsRequest struct {
	Home string `json:"home"`
}

// PortRefused is a wanted port that cannot be served, with ai-talk's error code for the reason.
type PortRefused struct {
	Port int    `json:"port"`
	Code string `json:"error_code"`
	Text string `json:"error_message"`
}
