package api

// WhoIs asks a sidecar who a process of its tmux server is. Another sidecar of the same person asks,
// which was called by that process and knows nothing of that server's panes.
var WhoIs = Op[WhoIsRequest, Identified]{
	Name: "caller/whois", Door: everybody("ask who a process is", "as between two sidecars of one person"),
	Check: func(req WhoIsRequest) error {
		if req.PID <= 0 || req.Start == 0 {
			return Errorf(CodeUsage, "process %d, started at %d: there is none", req.PID, req.Start)
		}
		return nil
	},
	Reads: true,
}

// WhoIsRequest names a process beyond the reuse of its number.
type WhoIsRequest struct {
	PID    int    `json:"pid"`
	Start  uint64 `json:"start"`            // clock ticks since boot
	Client string `json:"client,omitempty"` // of tmux, as the process says: see Caller.Client
}

// Identified is who a process is. With neither Person nor Agent it is not verified.
type Identified struct {
	Known  bool   `json:"known"` // the process comes from this sidecar's tmux server; nothing else counts without
	Person bool   `json:"person,omitempty"`
	Agent  bool   `json:"agent,omitempty"`
	Place  string `json:"place,omitempty"` // what it runs inside, or why it is not verified, for a person
}
