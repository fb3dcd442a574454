package api

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// AddMember brings a session into a chat, RemoveMember takes it out, and MuteMember keeps what it says from the
// others, or lets it pass again. Each returns the changed chat.
var (
	AddMember    = Op[MemberRequest, message.Chat]{Name: "chats/add", Door: persons("add somebody to a chat", ""), Check: checkMember, Whole: wholeChat}
	RemoveMember = Op[MemberRequest, message.Chat]{Name: "chats/remove", Door: proven("take somebody out of a chat", Own, ""), Check: checkMember, Whole: wholeChat}
	MuteMember   = Op[MemberRequest, message.Chat]{Name: "chats/mute", Door: persons("mute somebody in a chat", ""), Check: checkMember, Whole: wholeChat}
)

// MemberRequest is about one participant of a chat.
type MemberRequest struct {
	Chat string `json:"chat"`           // by id, its short form or name
	Pane string `json:"pane"`           // a session, by pane, name or id
	Role string `json:"role,omitempty"` // for AddMember
	Off  bool   `json:"off,omitempty"`  // for MuteMember: it may speak again
}

// CheckRole refuses a role as message.CheckRole does.
func CheckRole(role string) error {
	if err := message.CheckRole(role); err != nil {
		return Errorf(CodeUsage, "%w", err)
	}
	return nil
}

func checkMember(req MemberRequest) error {
	if strings.TrimSpace(req.Chat) == "" || strings.TrimSpace(req.Pane) == "" {
		return Errorf(CodeUsage, "name a chat and a pane")
	}
	return CheckRole(req.Role)
}
