package api

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// StopNotices ends what a session is told about another one: no notice of the end of its turns, nor
// of its own end, and no check of its health. That other session is left alone, and a message that
// is sent to it later begins again. CodeNotFound says that nothing was to be told.
var StopNotices = Op[StopNoticesRequest, StoppedNotices]{
	Name: "notices/stop", Door: proven("stop being told of a session", Own, "").power("send"),
	Check: func(req StopNoticesRequest) error {
		if strings.TrimSpace(req.Session) == "" {
			return Errorf(CodeUsage, "name a session").WithHint("intercom session list")
		}
		return nil
	},
}

// StopNoticesRequest names the session of which no more is to be told.
type StopNoticesRequest struct {
	Computer string `json:"computer,omitempty"` // where it is; "", "local" and the name of this computer are the same
	Session  string `json:"session"`            // by pane, name or id
	// Caller is who is told no more, by pane, name or id; "" is the caller. Only a person names another.
	Caller string `json:"caller,omitempty"`
}

// StoppedNotices says who is told no more about whom.
type StoppedNotices struct {
	Status  string       `json:"status"` // NoticesStopped
	Session message.Peer `json:"session"`
	Caller  message.ID   `json:"caller"`
}

// NoticesStopped is the status of StoppedNotices.
const NoticesStopped = "stopped"
