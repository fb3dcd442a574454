package api

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// StartChat begins a chat.
var StartChat = Op[StartChatRequest, message.Chat]{Name: "chats/start", Door: proven("start a chat", Own, "an agent with one other, at the default limits"), Check: checkStart, Whole: wholeChat}

// Chats lists the chats that go on, or those that have ended, oldest first.
var Chats = Op[ChatsQuery, []message.Chat]{Name: "chats", Door: everybody("list the chats", ""), Reads: true, Whole: wholeChats}

// StopChat, PauseChat and ResumeChat end one chat or all of them, hold them, or let them go on,
// and return those that they changed.
var (
	StopChat   = Op[ChatRef, []message.Chat]{Name: "chats/stop", Door: proven("stop a chat", Own, ""), Check: checkRef, Whole: wholeChats}
	PauseChat  = Op[ChatRef, []message.Chat]{Name: "chats/pause", Door: Door{Does: "pause chats", Terminal: Yes, Person: Yes, Agent: Own, Stranger: Yes, Note: "a key that tmux runs has to stop everything"}, Check: checkRef, Whole: wholeChats}
	ResumeChat = Op[ChatRef, []message.Chat]{Name: "chats/resume", Door: persons("resume a chat", "at a limit: a person at a terminal alone"), Check: checkRef, Whole: wholeChats}
)

// ShowChat describes one chat, on or ended.
var ShowChat = Op[ChatQuery, ChatDetail]{Name: "chats/show", Door: everybody("see a chat", ""), Reads: true, Whole: func(d ChatDetail) ChatDetail {
	d.Chat, d.Sessions, d.Waiting = wholeChat(d.Chat), list(d.Sessions), list(d.Waiting)
	if d.Stats.Deliveries == nil {
		d.Stats.Deliveries = map[message.ReceiptState]int{}
	}
	return d
}}

// Stats counts what passed through a chat, on or ended.
var Stats = Op[ChatQuery, message.Stats]{Name: "chats/stats", Door: everybody("see the figures of a chat", ""), Reads: true}

// Say puts a person's words into a chat.
var Say = Op[SayRequest, Said]{Name: "chats/say", Door: persons("say something as a person", "")}

// StartChatRequest begins a chat among two or more sessions, each given by pane, name or
// id, which are numbered in this order from 1.
type StartChatRequest struct {
	Panes []string `json:"panes,omitempty"`
	Name  string   `json:"name,omitempty"`
	Say   string   `json:"say,omitempty"`   // the first words of who asks for it, to all but the first
	Turns int      `json:"turns,omitempty"` // the chat ends after so many turns; 0 is no end
	// IncludeLast has what the first pane said last go to all others, before Say.
	IncludeLast bool `json:"include_last,omitempty"`
	// OneWay has what the others say go to the first pane alone, and what that says to nobody.
	// Turns then counts what the others say.
	OneWay bool `json:"one_way,omitempty"`

	Set   map[string]string `json:"set,omitempty"`   // see Settings
	Roles map[string]string `json:"roles,omitempty"` // by the words of Panes
	// Again names an ended chat, by id, its short form or name, whose participants, roles,
	// name and settings are taken; Panes, if given, are the panes of its participants in
	// their order, else each is the session of that id, the agent of its kind that came back
	// into its pane, or the session of that name. What else is set here holds. What was held
	// for an agent that had gone goes to the one that takes its place. A chat that goes on takes
	// in those agents again that are back in their panes; nothing else may be set then.
	Again string `json:"again,omitempty"`
}

// ChatsQuery chooses among all chats.
type ChatsQuery struct {
	Ended bool `json:"ended,omitempty"` // those that have ended, in the place of those that go on
	Most  int  `json:"most,omitempty"`  // with Ended: only so many, those that were started last; 0 is all
}

// ChatQuery names one chat, by id, its short form or name.
type ChatQuery struct {
	Chat string `json:"chat"`
}

// ChatRef names one chat, by id, its short form or name, or all that go on.
type ChatRef struct {
	Chat string `json:"chat,omitempty"`
	All  bool   `json:"all,omitempty"`
	Sure bool   `json:"sure,omitempty"` // of ResumeChat: a person has said yes to what stands at a limit
	// After, of StopChat: not before what is being said now has been passed on.
	After bool `json:"after,omitempty"`
}

// ChatDetail is all that there is to know of a chat.
type ChatDetail struct {
	message.Chat
	Sessions []message.Peer `json:"sessions"` // of its participants that are present
	Stats    message.Stats  `json:"stats"`
	Waiting  []Waiting      `json:"waiting"` // not typed yet, or typed and not taken yet, oldest first
}

// Waiting is a delivery that is under way.
type Waiting struct {
	Delivery message.ID           `json:"delivery"`
	Message  message.ID           `json:"message"`
	From     string               `json:"from"`
	To       string               `json:"to"` // name of the session
	State    message.ReceiptState `json:"state"`
	Reason   message.Reason       `json:"reason,omitempty"`
	Hold     message.Hold         `json:"hold,omitempty"` // as that of a receipt
	Since    time.Time            `json:"since"`          // of that state
	Door     string               `json:"door,omitempty"` // as that of a receipt
}

// SayRequest is a person's words into a chat.
type SayRequest struct {
	Chat string `json:"chat"`
	Text string `json:"text"`
}

// Said is what became of a SayRequest.
type Said struct {
	Message    message.ID   `json:"message"`
	Deliveries []message.ID `json:"deliveries"`
	// Held is why those wait that are not on their way yet: the chat is paused, or everything
	// is stopped.
	Held message.Reason `json:"held,omitempty"`
	// Awaits says that one of those that wait needs a person's decision.
	Awaits bool `json:"awaits,omitempty"`
	// Failed is why nobody gets it: every delivery has failed at once.
	Failed message.Reason `json:"failed,omitempty"`
	// Braked says that the chat stands at a limit, and goes on at a person's yes alone.
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
