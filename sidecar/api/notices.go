package api

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// StopNotices ends the notices that a session gets about another one: of the end of its turns, of its own end,
// and of its health. The other session is left alone, and a later message to it starts the notices again.
// CodeNotFound says that there was nothing to stop.
var StopNotices = Op[StopNoticesRequest, StoppedNotices]{
	Name: "notices/stop", Door: proven("stop being told of a session", Own, "").power("send"),
	Check: func(req StopNoticesRequest) error {
		if strings.TrimSpace(req.Session) == "" {
			return Errorf(CodeUsage, "name a session").WithHint("intercom session list")
		}
		return nil
	},
}

// StopNoticesRequest names the session about which no more notices are wanted.
type StopNoticesRequest struct {
	Computer string `json:"computer,omitempty"` // where it is; "", "local" and the name of this computer are the same
	Session  string `json:"session"`            // by pane, name or id
	// Caller is the session that gets no more notices, by pane, name or id; "" is the caller. Only a person may
	// name another.
	Caller string `json:"caller,omitempty"`
}

// StoppedNotices says which session gets no more notices about which other one.
type StoppedNotices struct {
	Status  string       `json:"status"` // NoticesStopped
	Session message.Peer `json:"session"`
	Caller  message.ID   `json:"caller"`
}

// NoticesStopped is the status of StoppedNotices.
const NoticesStopped = "stopped"
