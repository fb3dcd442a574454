package api

import (
	"path/filepath"
	"time"
)

// LookAtPorts has the sidecar look at once which ai-talk ports are wanted, and returns when it serves those
// that nobody else serves, with those that it cannot; what listens then can be addressed. Whoever
// wrote a wish down asks for it; the sidecar would look within a second by itself.
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

// PortsRequest names the directory in which the caller finds the ports: ~/.ai-talk. A sidecar that
// was started with another home refuses.
type PortsRequest struct {
	Home string `json:"home"`
}

// PortRefused is a port that is wanted and cannot be served, with the code that ai-talk has for that.
type PortRefused struct {
	Port int    `json:"port"`
	Code string `json:"error_code"`
	Text string `json:"error_message"`
}
