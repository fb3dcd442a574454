package api

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// StartChat begins a chat.
var StartChat = Op[StartChatRequest, message.Chat]{Name: "chats/start", Door: proven("start a chat", Own, "an agent with one other, at the default limits"), Check: checkStart, Whole: wholeChat}

// Chats lists the open chats, or the ended ones, oldest first.
var Chats = Op[ChatsQuery, []message.Chat]{Name: "chats", Door: everybody("list the chats", ""), Reads: true, Whole: wholeChats}

// StopChat ends, PauseChat pauses and ResumeChat resumes one chat or all of them. Each returns the chats that
// it changed.
var (
	StopChat   = Op[ChatRef, []message.Chat]{Name: "chats/stop", Door: proven("stop a chat", Own, ""), Check: checkRef, Whole: wholeChats}
	PauseChat  = Op[ChatRef, []message.Chat]{Name: "chats/pause", Door: Door{Does: "pause chats", Terminal: Yes, Person: Yes, Agent: Own, Stranger: Yes, Note: "a key that tmux runs has to stop everything"}, Check: checkRef, Whole: wholeChats}
	ResumeChat = Op[ChatRef, []message.Chat]{Name: "chats/resume", Door: persons("resume a chat", "at a limit: a person at a terminal alone"), Check: checkRef, Whole: wholeChats}
)

// ShowChat describes one chat, open or ended.
var ShowChat = Op[ChatQuery, ChatDetail]{Name: "chats/show", Door: everybody("see a chat", ""), Reads: true, Whole: func(d ChatDetail) ChatDetail {
	d.Chat, d.Sessions, d.Waiting = wholeChat(d.Chat), list(d.Sessions), list(d.Waiting)
	if d.Stats.Deliveries == nil {
		d.Stats.Deliveries = map[message.ReceiptState]int{}
	}
	return d
}}

// Stats counts what passed through a chat, open or ended.
var Stats = Op[ChatQuery, message.Stats]{Name: "chats/stats", Door: everybody("see the figures of a chat", ""), Reads: true}

// Say puts a person's words into a chat.
var Say = Op[SayRequest, Said]{Name: "chats/say", Door: persons("say something as a person", "")}

// StartChatRequest begins a chat among two or more sessions. Each is given by pane, name or id; they are
// numbered in this order from 1.
type StartChatRequest struct {
	Panes []string `json:"panes,omitempty"`
	Name  string   `json:"name,omitempty"`
	Say   string   `json:"say,omitempty"`   // the first words of the caller, to all but the first pane
	Turns int      `json:"turns,omitempty"` // the chat ends after this many turns; 0 is no end
	// IncludeLast sends what the first pane said last to all others, before Say.
	IncludeLast bool `json:"include_last,omitempty"`
	// OneWay passes what the others say to the first pane alone, and what the first pane says to nobody. Turns
	// then counts what the others say.
	OneWay bool `json:"one_way,omitempty"`

	Set   map[string]string `json:"set,omitempty"`   // see Settings
	Roles map[string]string `json:"roles,omitempty"` // keyed as in Panes
	// Again names an earlier chat, by id, its short form or name, and takes over its participants, roles, name
	// and settings. Panes, if given, are the panes of its participants in their order. Without Panes, each
	// participant is the session of that id, the agent of the same kind that came back into its pane, or the
	// session of that name. Other fields that are set here override the old ones. Messages held for an agent
	// that is gone go to the one that takes its place. An open chat takes back the agents that are in their
	// panes again; no other field may be set then.
	Again string `json:"again,omitempty"`
}

// ChatsQuery chooses among all chats.
type ChatsQuery struct {
	Ended bool `json:"ended,omitempty"` // the ended chats instead of the open ones
	Most  int  `json:"most,omitempty"`  // with Ended: at most this many, those started last; 0 is all
}

// ChatQuery names one chat, by id, its short form or name.
type ChatQuery struct {
	Chat string `json:"chat"`
}

// ChatRef names one chat, by id, its short form or name, or all open chats.
type ChatRef struct {
	Chat string `json:"chat,omitempty"`
	All  bool   `json:"all,omitempty"`
	Sure bool   `json:"sure,omitempty"` // for ResumeChat: a person has said yes to the chats that are at a limit
	// After, for StopChat, delays the end until what is being said now has been passed on.
	After bool `json:"after,omitempty"`
}

// ChatDetail is everything that is known of a chat.
type ChatDetail struct {
	message.Chat
	Sessions []message.Peer `json:"sessions"` // the participants that are present
	Stats    message.Stats  `json:"stats"`
	Waiting  []Waiting      `json:"waiting"` // not typed yet, or typed and not yet submitted, oldest first
}

// Waiting is an open delivery.
type Waiting struct {
	Delivery message.ID           `json:"delivery"`
	Message  message.ID           `json:"message"`
	From     string               `json:"from"`
	To       string               `json:"to"` // name of the session
	State    message.ReceiptState `json:"state"`
	Reason   message.Reason       `json:"reason,omitempty"`
	Hold     message.Hold         `json:"hold,omitempty"` // as in a receipt
	Since    time.Time            `json:"since"`          // when it reached that state
	Door     string               `json:"door,omitempty"` // as in a receipt
}

// SayRequest is a person's words into a chat.
type SayRequest struct {
	Chat string `json:"chat"`
	Text string `json:"text"`
}

// Said says what became of a SayRequest.
type Said struct {
	Message    message.ID   `json:"message"`
	Deliveries []message.ID `json:"deliveries"`
	// Held is the reason why some deliveries are not on their way yet: the chat is paused, or everything is
	// stopped.
	Held message.Reason `json:"held,omitempty"`
	// Awaits is set if one of the waiting deliveries needs a person's decision.
	Awaits bool `json:"awaits,omitempty"`
	// Failed is the reason why nobody gets the message: every delivery failed at once.
	Failed message.Reason `json:"failed,omitempty"`
	// Braked is set if the chat is at a limit and resumes only when a person says yes.
	Braked bool `json:"braked,omitempty"`
}

func checkStart(req StartChatRequest) error {
	if err := checkTurns(req.Turns, "no end"); err != nil {
		return err
	}
	if req.Again == "" && len(req.Panes) < 2 {
		return Errorf(CodeUsage, "a chat needs at least two panes, not %d", len(req.Panes))
	}
	for _, role := range req.Roles {
		if err := CheckRole(role); err != nil {
			return err
		}
	}
	return nil
}

func checkTurns(turns int, none string) error {
	switch {
	case turns < 0:
		return Errorf(CodeUsage, "turns %d: must not be negative", turns).WithHint("0 is %s", none)
	case turns > MaxCount:
		return Errorf(CodeUsage, "turns %d: the limit is %d", turns, MaxCount)
	}
	return nil
}

func checkRef(which ChatRef) error {
	if (which.Chat == "") == !which.All {
		return Errorf(CodeUsage, "name one chat, or all of them")
	}
	return nil
}

func wholeChat(c message.Chat) message.Chat {
	c.Participants = list(c.Participants)
	return c
}

func wholeChats(chats []message.Chat) []message.Chat {
	whole := make([]message.Chat, len(chats))
	for i, c := range chats {
		whole[i] = wholeChat(c)
	}
	return whole
}
