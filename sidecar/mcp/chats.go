package mcp

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The tools for chats, in which each session hears what the others say.

type chatStartArguments struct {
	SessionID string `json:"session_id" jsonschema:"with whom; a name or pane will do"`
	Message   string `json:"message,omitempty" jsonschema:"your first words to it"`
	Name      string `json:"name,omitempty" jsonschema:"what the chat is called"`
	Turns     int    `json:"turns,omitempty" jsonschema:"it ends after so many turns; without, when one of you stops it"`
}

var chatStart = Func(Tool{
	Name: "chat_start",
	Description: `Begin a chat with another session: from then on what you say at the end of each turn is passed to it, and what it says to you. For one question, send_message is enough.
Limits stop a chat that goes round in circles; then only your user lets it go on.`,
}, func(ctx context.Context, call *Call, in chatStartArguments) (any, error) {
	self, err := call.Session(ctx)
	if err != nil {
		return nil, err
	}
	chat, err := Ask(ctx, call, api.StartChat, api.StartChatRequest{Panes: []string{self, in.SessionID}, Name: in.Name, Say: in.Message, Turns: in.Turns})
	return shownChat(chat), err
})

type chatStopArguments struct {
	Chat string `json:"chat" jsonschema:"its id or name, as list_chats has it"`
}

var chatStop = From(Tool{
	Name:        "chat_stop",
	Description: `End a chat that you are in. Nothing more is passed on; the sessions go on.`,
	Ends:        true,
}, api.StopChat, func(in chatStopArguments) (api.ChatRef, error) { return api.ChatRef{Chat: in.Chat}, nil }, tellChats)

var listChats = From(Tool{
	Name:        "list_chats",
	Description: `List the chats that go on, and who is in them.`,
	Reads:       true,
}, api.Chats, func(struct{}) (api.ChatsQuery, error) { return api.ChatsQuery{}, nil }, tellChats)

// chat is what an agent is told about a chat.
type chat struct {
	ID           message.ID        `json:"chat"`
	Name         string            `json:"name,omitempty"`
	State        message.ChatState `json:"state"`
	Why          string            `json:"why,omitempty"`
	Participants []participant     `json:"participants"`
}

type participant struct {
	SessionID message.ID `json:"session_id"`
	Name      string     `json:"name"`
	Number    int        `json:"number"`
}

func shownChat(c message.Chat) chat {
	shown := chat{ID: c.ID, Name: c.Name, State: c.State, Why: c.Why, Participants: []participant{}}
	for _, p := range c.Participants {
		if !p.Left {
			shown.Participants = append(shown.Participants, participant{p.Peer, p.Name, p.Number})
		}
	}
	return shown
}

func tellChats(all []message.Chat) (any, error) {
	shown := make([]chat, len(all))
	for i, c := range all {
		shown[i] = shownChat(c)
	}
	return shown, nil
}
