package message

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ChatState is where a chat stands.
type ChatState string

// The states of a chat.
const (
	ChatOn     ChatState = "on"
	ChatPaused ChatState = "paused"
	ChatOver   ChatState = "ended"
)

// For is a state with why it is so, which is said once where the reason begins with the state itself: "paused by ada".
func (s ChatState) For(why string) string {
	if why == string(s) || strings.HasPrefix(why, string(s)+" ") {
		return why
	}
	return strings.TrimSuffix(string(s)+": "+why, ": ")
}

// Chat is a relay among two or more participants: what one says is delivered to all
// others. A session is in one chat at a time; an Aside counts for none.
type Chat struct {
	ID           ID            `json:"id"`
	Name         string        `json:"name,omitempty"`
	State        ChatState     `json:"state"`
	Why          string        `json:"why,omitempty"`    // of paused and ended
	Braked       bool          `json:"braked,omitempty"` // it is paused at one of its limits
	Participants []Participant `json:"participants"`
	Limits       Limits        `json:"limits"`
	Turns        int           `json:"turns,omitempty"`   // the chat ends by itself after so many; 0 is no end
	Closes       string        `json:"closes,omitempty"`  // why it will have ended, where a person chose Turns in its middle
	Chosen       int           `json:"chosen,omitempty"`  // what Turns was before that
	OneWay       bool          `json:"one_way,omitempty"` // what the others say goes to the first alone, what the first says to nobody
	Aside        bool          `json:"aside,omitempty"`   // one question to somebody, or by somebody, in another chat: it holds nobody, and that chat hears nothing of it
	Again        ID            `json:"again,omitempty"`   // the ended chat that this one takes up
	Home         *Home         `json:"home,omitempty"`    // of one that belongs to another computer, and is mirrored here; nil: it is this one's
	Spent        Spent         `json:"spent,omitzero"`    // tokens that its turns used
	Floor        []ID          `json:"floor,omitempty"`   // sessions that may speak, as far as MaySpeak lets them; empty: all. Policies set it
	Started      time.Time     `json:"started"`
	Ended        *time.Time    `json:"ended,omitempty"`
}

// Home is where a chat belongs that is mirrored here.
type Home struct {
	Computer string `json:"computer"`
	Chat     ID     `json:"chat"` // its id there
}

// MirrorID is the id that a chat of another computer has here: nobody there can choose one of ours.
func (h Home) MirrorID() ID { return DerivedID(time.Unix(0, 0), "chat", h.Computer, string(h.Chat)) }

// Asker is the session to which all answers in a one-way chat go: its first participant.
// It is "" for any other chat.
func (c Chat) Asker() ID {
	if !c.OneWay || len(c.Participants) == 0 {
		return ""
	}
	return c.Participants[0].Peer
}

// Lonely reports whether the chat cannot go on with those who are there but without some: fewer than two, or, in a one-way chat,
// nobody to whom the answers go.
func (c Chat) Lonely(without ...ID) bool {
	there, asker := 0, false
	for _, p := range c.Participants {
		if !p.Left && !slices.Contains(without, p.Peer) {
			there++
			asker = asker || p.Peer == c.Asker()
		}
	}
	return there < 2 || c.OneWay && !asker
}

// ApproveAll is the setting by which whatever an agent says waits for a person.
const ApproveAll = "yes"

// NeedsApproval reports whether what a participant says waits for a person's yes.
func (c Chat) NeedsApproval(id ID) bool {
	return c.Limits.Approve == ApproveAll || slices.ContainsFunc(c.Participants, func(p Participant) bool { return p.Peer == id && p.Approve })
}

// HasFloor reports whether the session has the floor, as everybody has where nobody was given
// it alone.
func (c Chat) HasFloor(session ID) bool {
	return len(c.Floor) == 0 || slices.Contains(c.Floor, session)
}

// Participant is a peer in a chat.
type Participant struct {
	Peer     ID     `json:"session"`
	Name     string `json:"name"`
	Number   int    `json:"number"` // from 1, in the order of joining; never used again in its chat
	Role     string `json:"role,omitempty"`
	MaySpeak bool   `json:"may_speak"`         // true by default; a person mutes it
	Approve  bool   `json:"approve,omitempty"` // what it says waits for a person's yes
	Left     bool   `json:"left,omitempty"`
	Gone     bool   `json:"gone,omitempty"` // left since its agent had gone, and the chat went on
}

// Limits are the settings of a chat that keep it from running away, and how its words
// are shown. The zero value of each field means its default.
type Limits struct {
	Depth     int    `json:"depth,omitempty"`      // agent turns by cause; 20
	Rate      int    `json:"rate,omitempty"`       // deliveries a minute to one pane; 20
	Bytes     int    `json:"bytes,omitempty"`      // bytes an hour to one pane; 4 MiB
	Tokens    int    `json:"tokens,omitempty"`     // that its agents use, see Tokens.Counted; 0 is no limit
	LineBreak string `json:"line_break,omitempty"` // for readers of lines; " ⏎ "
	Header    string `json:"header,omitempty"`     // "attribution" (default) or "both"
	Door      string `json:"door,omitempty"`       // DoorType (default) or DoorAuto
	Deliver   string `json:"deliver,omitempty"`    // DeliverIdle (default) or DeliverMidTurn
	Words     string `json:"words,omitempty"`      // "last" (default): what is said after a turn's last call of a tool; "all": also between them
	Person    bool   `json:"person,omitempty"`     // what a person types into a pane by hand goes to the others too
	Stall     string `json:"stall,omitempty"`      // which chats pause once nothing is said any more: "agents" (default) those without a line program, "on" this one, "off" not this one

	// Approve says whose words wait for a person's yes: those of participants, by name with
	// commas between, or "yes" for those of all agents.
	Approve string `json:"approve,omitempty"`

	// Both are times during which the computer was awake.
	Expire time.Duration `json:"expire_ns,omitempty"` // what waited so long for a safe moment expires; 1 h
	Away   time.Duration `json:"away_ns,omitempty"`   // nobody at any terminal for so long pauses the chat; 0 is off
}

// UnmarshalJSON reads Stall by its former name, empty, too: so it stands in journals and comes from other computers.
func (l *Limits) UnmarshalJSON(text []byte) error {
	type limits Limits
	read := struct {
		*limits
		Empty string `json:"empty"`
	}{limits: (*limits)(l)}
	err := json.Unmarshal(text, &read)
	l.Stall = cmp.Or(l.Stall, read.Empty)
	return err
}

// Stats counts what passed through a chat since it started.
type Stats struct {
	Chat       ID                   `json:"chat"`
	Turns      int                  `json:"turns"`
	Deliveries map[ReceiptState]int `json:"deliveries"`     // by the state that each is in now
	Depth      int                  `json:"depth"`          // greatest depth so far
	Spent      Spent                `json:"spent"`          // tokens
	Captures   int                  `json:"captures"`       // looks taken at its panes by this run of the sidecar
	LatencyP50 time.Duration        `json:"latency_p50_ns"` // from the end of a turn to submitted
	LatencyP99 time.Duration        `json:"latency_p99_ns"`
}

// Question reports whether the chat is, or was, one question to one other: it ends with the answers.
func (c Chat) Question() bool { return c.OneWay && c.Turns > 0 && len(c.Participants) == 2 }

// Noun is what people are told that the chat is.
func (c Chat) Noun() string {
	if c.Question() {
		return "question"
	}
	return "chat"
}

// Between tells people, by the names of those in a chat in their order, who hears whom.
func (c Chat) Between(names []string) string {
	if c.OneWay && len(names) > 1 {
		return names[0] + " ← " + strings.Join(names[1:], ", ")
	}
	return strings.Join(names, " ↔ ")
}
