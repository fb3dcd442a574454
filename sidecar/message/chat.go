package message

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ChatState is the state of a chat.
type ChatState string

// The states of a chat.
const (
	ChatOn     ChatState = "on"
	ChatPaused ChatState = "paused"
	ChatOver   ChatState = "ended"
)

// For returns the state with the reason for it. If the reason begins with the state itself, as in
// "paused by ada", the state is not repeated.
func (s ChatState) For(why string) string {
	if why == string(s) || strings.HasPrefix(why, string(s)+" ") {
		return why
	}
	return strings.TrimSuffix(string(s)+": "+why, ": ")
}

// Chat is a relay among two or more participants: what one says is delivered to all others. A
// session is in one chat at a time, not counting an Aside.
type Chat struct {
	ID           ID            `json:"id"`
	Name         string        `json:"name,omitempty"`
	State        ChatState     `json:"state"`
	Why          string        `json:"why,omitempty"`    // why it is paused or has ended
	Braked       bool          `json:"braked,omitempty"` // it is paused at one of its limits
	Participants []Participant `json:"participants"`
	Limits       Limits        `json:"limits"`
	Turns        int           `json:"turns,omitempty"`   // the chat ends by itself after so many; 0 is no end
	Closes       string        `json:"closes,omitempty"`  // the Why with which it will end, if a person chose Turns while it went on
	Chosen       int           `json:"chosen,omitempty"`  // the value of Turns before that
	OneWay       bool          `json:"one_way,omitempty"` // the others talk to the first participant only, the first talks to nobody
	Aside        bool          `json:"aside,omitempty"`   // a question to or by a session in another chat: the session stays in that chat, which hears nothing of it
	Again        ID            `json:"again,omitempty"`   // the ended chat that this one takes up
	Home         *Home         `json:"home,omitempty"`    // the home of a chat of another computer that is mirrored here; nil: it belongs here
	Spent        Spent         `json:"spent,omitzero"`    // tokens that its turns used
	Floor        []ID          `json:"floor,omitempty"`   // sessions that may speak if MaySpeak lets them; empty: all. Policies set it
	Started      time.Time     `json:"started"`
	Ended        *time.Time    `json:"ended,omitempty"`
}

// Home says where a mirrored chat belongs.
type Home struct {
	Computer string `json:"computer"`
	Chat     ID     `json:"chat"` // the chat's id there
}

// MirrorID returns the id that a chat of another computer has here. It is derived, so that nobody
// there can choose the id of a chat here.
func (h Home) MirrorID() ID { return DerivedID(time.Unix(0, 0), "chat", h.Computer, string(h.Chat)) }

// Asker returns the session that gets all answers in a one-way chat, its first participant, or ""
// for any other chat.
func (c Chat) Asker() ID {
	if !c.OneWay || len(c.Participants) == 0 {
		return ""
	}
	return c.Participants[0].Peer
}

// Lonely reports whether the chat cannot go on with the participants that are there, not counting
// those in without: they are fewer than two, or, in a one-way chat, the one that gets the answers
// is missing.
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

// ApproveAll is the setting with which everything that an agent says waits for a person's yes.
const ApproveAll = "yes"

// NeedsApproval reports whether what a participant says waits for a person's yes.
func (c Chat) NeedsApproval(id ID) bool {
	return c.Limits.Approve == ApproveAll || slices.ContainsFunc(c.Participants, func(p Participant) bool { return p.Peer == id && p.Approve })
}

// HasFloor reports whether the session has the floor. Everybody has it unless a policy gave it to
// some sessions only.
func (c Chat) HasFloor(session ID) bool {
	return len(c.Floor) == 0 || slices.Contains(c.Floor, session)
}

// Participant is a peer in a chat.
type Participant struct {
	Peer     ID     `json:"session"`
	Name     string `json:"name"`
	Number   int    `json:"number"` // from 1, in the order of joining; never used again in its chat
	Role     string `json:"role,omitempty"`
	MaySpeak bool   `json:"may_speak"`         // true unless a person has muted the participant
	Approve  bool   `json:"approve,omitempty"` // what it says waits for a person's yes
	Left     bool   `json:"left,omitempty"`
	Gone     bool   `json:"gone,omitempty"` // it left because its agent had gone, and the chat went on
}

// Limits are the settings of a chat: those that keep it from running away, and those that say how
// its words are shown. The zero value of each field means its default.
type Limits struct {
	Depth     int    `json:"depth,omitempty"`      // agent turns since a person's word, by cause; 20
	Rate      int    `json:"rate,omitempty"`       // deliveries a minute to one pane; 20
	Bytes     int    `json:"bytes,omitempty"`      // bytes an hour to one pane; 4 MiB
	Tokens    int    `json:"tokens,omitempty"`     // used by its agents, see Tokens.Counted; 0 is no limit
	LineBreak string `json:"line_break,omitempty"` // replaces line breaks for line programs; " ⏎ "
	Header    string `json:"header,omitempty"`     // "attribution" (default) or "both"
	Door      string `json:"door,omitempty"`       // DoorType (default) or DoorAuto
	Deliver   string `json:"deliver,omitempty"`    // DeliverIdle (default) or DeliverMidTurn
	Words     string `json:"words,omitempty"`      // "last" (default): what a turn says after its last tool call; "all": also what it says between calls
	Person    bool   `json:"person,omitempty"`     // what a person types into a pane by hand goes to the other participants too
	Stall     string `json:"stall,omitempty"`      // whether the chat pauses once nothing new is said: "agents" (default) if no line program is in it, "on", "off"

	// Approve says whose words wait for a person's yes: those of the named participants, with
	// commas between the names, or with "yes" those of all agents.
	Approve string `json:"approve,omitempty"`

	// Both count only time during which the computer is awake.
	Expire time.Duration `json:"expire_ns,omitempty"` // a delivery that waited so long for a safe moment expires; 1 h
	Away   time.Duration `json:"away_ns,omitempty"`   // the chat pauses if nobody was at any terminal for so long; 0 is off

	Off Off `json:"off,omitzero"`
}

// Off says which settings of a chat were turned off expressly, so that no default applies to them.
type Off struct {
	Person  bool `json:"person,omitempty"`
	Approve bool `json:"approve,omitempty"`
	Away    bool `json:"away,omitempty"`
}

// UnmarshalJSON also reads Stall by its former name, "empty", which older journals and other
// computers use.
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
	Deliveries map[ReceiptState]int `json:"deliveries"`     // by their present states
	Depth      int                  `json:"depth"`          // greatest depth so far
	Spent      Spent                `json:"spent"`          // tokens
	Captures   int                  `json:"captures"`       // looks at its panes taken in this run of the sidecar
	LatencyP50 time.Duration        `json:"latency_p50_ns"` // from the end of a turn to submitted
	LatencyP99 time.Duration        `json:"latency_p99_ns"`
}

// Question reports whether the chat is, or was, one question to one other participant: it ends with
// the answers.
func (c Chat) Question() bool { return c.OneWay && c.Turns > 0 && len(c.Participants) == 2 }

// Noun returns what people call the chat: a question or a chat.
func (c Chat) Noun() string {
	if c.Question() {
		return "question"
	}
	return "chat"
}

// Between joins the names of a chat's participants, in their order, so that people see who hears
// whom.
func (c Chat) Between(names []string) string {
	if c.OneWay && len(names) > 1 {
		return names[0] + " ← " + strings.Join(names[1:], ", ")
	}
	return strings.Join(names, " ↔ ")
}
