package api

// WhoIs asks a sidecar who a process of its tmux server is. Another sidecar of the same person asks this when
// such a process has called it, since it does not know that server's panes.
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

// WhoIsRequest names a process by pid and start time, since pids are reused.
type WhoIsRequest struct {
	PID    int    `json:"pid"`
	Start  uint64 `json:"start"`            // clock ticks since boot
	Client string `json:"client,omitempty"` // tmux client, as the process says: see Caller.Client
}

// Identified says who a process is. With neither Person nor Agent it is not verified.
type Identified struct {
	Known  bool   `json:"known"` // the process comes from this sidecar's tmux server; without it, nothing else counts
	Person bool   `json:"person,omitempty"`
	Agent  bool   `json:"agent,omitempty"`
	Place  string `json:"place,omitempty"` // for a person: what it runs inside, or why it is not verified
}
