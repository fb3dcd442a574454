package api

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// CheckRole refuses a role as message.CheckRole does.
func CheckRole(role string) error {
	if err := message.CheckRole(role); err != nil {
		return Errorf(CodeUsage, "%w", err)
	}
	return nil
}

func checkTurns(turns int, none string) error {
	switch {
	case turns < 0:
		return Errorf(CodeUsage, "turns %d: less than none", turns).WithHint("0 is %s", none)
	case turns > MaxCount:
		return Errorf(CodeUsage, "turns %d: the most is %d", turns, MaxCount)
	}
	return nil
}

func checkAsk(req AskRequest) error {
	if strings.TrimSpace(req.To) == "" && !req.Check {
		return Errorf(CodeUsage, "name the pane that is to answer")
	}
	return checkTurns(req.Turns, "one")
}

func checkStart(req StartChatRequest) error {
	if err := checkTurns(req.Turns, "no end"); err != nil {
		return err
	}
	switch {
	case req.Again == "" && len(req.Panes) < 2:
		return Errorf(CodeUsage, "a chat needs two panes or more, and this one has %d", len(req.Panes))
	}
	for _, role := range req.Roles {
		if err := CheckRole(role); err != nil {
			return err
		}
	}
	return nil
}

func checkMember(req MemberRequest) error {
	if strings.TrimSpace(req.Chat) == "" || strings.TrimSpace(req.Pane) == "" {
		return Errorf(CodeUsage, "name a chat and a pane")
	}
	return CheckRole(req.Role)
}

// What goes out has empty lists where there is nothing: null is no list to those who read
// JSON.

func list[T any](items []T, err error) ([]T, error) {
	if items == nil {
		items = []T{}
	}
	return items, err
}

func wholeChat(c message.Chat, err error) (message.Chat, error) {
	c.Participants, err = list(c.Participants, err)
	return c, err
}

func wholeChats(chats []message.Chat, err error) ([]message.Chat, error) {
	whole := make([]message.Chat, len(chats))
	for i, c := range chats {
		whole[i], _ = wholeChat(c, nil)
	}
	return whole, err
}

func wholeStatus(s Status, err error) (Status, error) {
	s.Sessions, err = list(s.Sessions, err)
	s.Chats, err = wholeChats(s.Chats, err)
	return s, err
}

func wholeAsked(a Asked, err error) (Asked, error) {
	a.Chat, err = wholeChat(a.Chat, err)
	a.Answers, err = list(a.Answers, err)
	return a, err
}

func wholePeers(peers []Peer, err error) ([]Peer, error) {
	whole := make([]Peer, len(peers))
	for i, p := range peers {
		p.Aliases, _ = list(p.Aliases, nil)
		p.Evidence, _ = list(p.Evidence, nil)
		whole[i] = p
	}
	return whole, err
}

func wholeDetail(d ChatDetail, err error) (ChatDetail, error) {
	d.Chat, err = wholeChat(d.Chat, err)
	d.Sessions, err = list(d.Sessions, err)
	d.Waiting, err = list(d.Waiting, err)
	if d.Stats.Deliveries == nil {
		d.Stats.Deliveries = map[message.ReceiptState]int{}
	}
	return d, err
}
