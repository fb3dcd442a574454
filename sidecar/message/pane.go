package message

import "time"

// PaneState says what the program in a pane is doing, as far as the sidecar can tell.
type PaneState string

// The states. Only Idle is ever typed into.
const (
	Idle    PaneState = "idle"    // composer live and empty
	Working PaneState = "working" // no composer: the agent works
	Blocked PaneState = "blocked" // a dialog, or another program in front
	Draft   PaneState = "draft"   // a person's text is in the composer
	History PaneState = "history" // copy mode and similar modes
	Shell   PaneState = "shell"   // the agent has gone, a shell is there
	Dead    PaneState = "dead"    // nothing runs
	Unknown PaneState = "unknown" // not recognised
)

// Process identifies a process by pid and start time, so that neither a reused pid nor an exec
// confuses it.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, from /proc/PID/stat; 0 if the system does not tell
	Name  string `json:"name,omitempty"`
	Exec  string `json:"exec,omitempty"` // changes with each exec; "" if the system, or an older version of ours, does not tell
}

// PeerKind is the kind of a peer: it decides which sink the peer has, and how far its word is
// trusted.
type PeerKind string

// The kinds of peers.
const (
	PeerPane       PeerKind = "" // an agent in a pane
	PeerPort       PeerKind = "port"
	PeerRepository PeerKind = "repository"
	PeerMember     PeerKind = "member"
	PeerRemote     PeerKind = "remote"
)

// Files reports whether peers of this kind keep what is delivered to them in files, so that nothing
// is typed: their own protocol limits how much that is.
func (k PeerKind) Files() bool { return k == PeerRepository || k == PeerPort }

// Heeds reports whether a message may be the cause of what a peer of that kind says after it got
// it. A file that acknowledges another is no agent's turn, and perhaps nobody ever reacts to it.
// What results from an unverified file has that file's depth anyway; if a repository heeded such
// files, a process that drops many of them would have everybody else's messages held.
func (k PeerKind) Heeds(m Envelope) bool {
	return (m.Origin != OriginSystem || !k.Files()) && (m.Trust != TrustUnverified || k != PeerRepository)
}

// Peer is anything that can say something and be told something. A peer in a pane is one agent's
// stay there, a session: it lives from its adoption until the pane or the program ends, or a person
// releases it.
type Peer struct {
	ID        ID         `json:"id"`
	Name      string     `json:"name"` // unique among those present, [A-Za-z0-9._-]{1,64}
	Title     string     `json:"title,omitempty"`
	Computer  string     `json:"computer"`
	Kind      PeerKind   `json:"kind,omitempty"`
	Key       string     `json:"key,omitempty"` // its name in its own protocol, unique in its kind; "" for a pane
	State     PaneState  `json:"state,omitempty"`
	StateWhy  string     `json:"state_why,omitempty"`
	Asks      *Asking    `json:"asks,omitempty"` // what it asks its person now; nil: nothing, as far as is known
	Adopted   time.Time  `json:"adopted"`
	Ended     *time.Time `json:"ended,omitempty"`
	EndReason string     `json:"end_reason,omitempty"`
	Caller    *Address   `json:"caller,omitempty"` // who had it started here; nil: it existed before it was adopted
	PaneOf
}

// PaneOf is what only a peer in a pane has: where its program runs, and how it is recognised again.
type PaneOf struct {
	Pane       string  `json:"pane"` // tmux pane id, %7
	TTY        string  `json:"tty,omitempty"`
	Profile    string  `json:"profile"`
	Prompt     string  `json:"prompt,omitempty"`       // what the composer of a line program shows when it is empty
	PromptIsRE bool    `json:"prompt_is_re,omitempty"` // Prompt is a regular expression (RE2) that a person gave
	PaneProc   Process `json:"pane_process"`           // the process that tmux started in the pane
	Foreground Process `json:"foreground"`             // the agent; for a line program, the leader of the terminal's foreground group at adoption
	Since      uint64  `json:"since,omitempty"`        // when it was adopted, by the clock of its processes' start times; 0: not known
	Reader     Process `json:"reader,omitzero"`        // of an agent that starts a second process of itself: the one that reads the keys
	Server     Process `json:"server"`                 // the tmux server: a pane's id means nothing to another one
	Closed     Reason  `json:"closed,omitempty"`       // why nothing more is typed here until the pane, or a person, ends that
	Lost       ID      `json:"lost,omitempty"`         // with Closed: the delivery whose text was typed and never seen; with Draft: whose text was seen, given up, and is there
	Draft      *Place  `json:"draft,omitempty"`        // with Closed: where a line is, or was, that was not sent
	Starting   bool    `json:"starting,omitempty"`     // the program started in it is not recognised yet: its deliveries wait
}

// Shut reports whether only a person's look at the pane opens it again. A line in its composer, a
// person's or ours, does not shut it: that ends when the line is sent or cleared.
func (p PaneOf) Shut() bool {
	switch p.Closed {
	case "", InComposer:
		return false
	case OursInComposer:
		return p.Draft == nil
	}
	return true
}

// Place is a position in a pane, even after it has scrolled away.
type Place struct {
	Row     int  `json:"row"`             // counted from the top of the history
	History int  `json:"history"`         // rows of history at that time; if there are fewer later, Row no longer counts
	Ahead   bool `json:"ahead,omitempty"` // it was typed while the program worked; its prompt will not show it
}

// Same reports whether two places are the same as far as others must be told: a line that only
// moves is the same.
func (p *Place) Same(q *Place) bool {
	return (p != nil && p.Ahead) == (q != nil && q.Ahead)
}

// Turn is one uninterrupted stretch of an agent's own work, as its source of words tells it.
type Turn struct {
	ID        ID        `json:"id"`
	Peer      ID        `json:"session"`
	Words     string    `json:"words"`               // what it said to its reader
	Answers   []ID      `json:"answers,omitempty"`   // the deliveries that were submitted since the last turn
	Person    bool      `json:"person,omitempty"`    // a person typed into the pane since the last turn
	Source    string    `json:"source"`              // screen, transcript, hook
	All       string    `json:"all,omitempty"`       // what it said before its last tool call, and Words, if that is more than Words
	Acted     bool      `json:"acted,omitempty"`     // it called a tool, according to its source
	Prompt    string    `json:"prompt,omitempty"`    // what a person typed by hand to begin it, according to its source
	Cut       Reason    `json:"cut,omitempty"`       // Interrupted, ServiceFailed or EndUnknown: its words are incomplete, and go to nobody
	Skipped   bool      `json:"skipped,omitempty"`   // lines are missing; the words say where
	Truncated bool      `json:"truncated,omitempty"` // words beyond MaxBody were cut
	Late      bool      `json:"late,omitempty"`      // it ended while no sidecar ran: it counts as an answer only
	Tokens    *Tokens   `json:"tokens,omitempty"`    // used by it; nil: its agent does not record that
	Ended     time.Time `json:"ended"`
}
