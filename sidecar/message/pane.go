package message

import "time"

// PaneState is what the program in a pane is doing, as far as we can tell.
type PaneState string

// The states. Only Idle is ever typed into.
const (
	Idle    PaneState = "idle"    // composer live and empty
	Working PaneState = "working" // no composer: the agent works
	Blocked PaneState = "blocked" // a dialog, or another program in front
	Draft   PaneState = "draft"   // a person's text stands in the composer
	History PaneState = "history" // copy mode and its like
	Shell   PaneState = "shell"   // the agent has gone, a shell is there
	Dead    PaneState = "dead"    // nothing runs
	Unknown PaneState = "unknown" // not recognised
)

// Process names a process beyond the reuse of its number, by pid and start time, and beyond
// what it becomes when it runs another program in its own place.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, from /proc/PID/stat; 0 where the system does not tell
	Name  string `json:"name,omitempty"`
	Exec  string `json:"exec,omitempty"` // another one after each exec; "" where the system, or an older version of ours, does not tell
}

// PeerKind is what kind of peer it is: which sink it has, and how far its word is trusted.
type PeerKind string

// The kinds of peers.
const (
	PeerPane       PeerKind = "" // an agent in a pane
	PeerPort       PeerKind = "port"
	PeerRepository PeerKind = "repository"
	PeerMember     PeerKind = "member"
	PeerRemote     PeerKind = "remote"
)

// Files reports whether what is delivered to such a peer is kept by it, in files, and not typed: its
// own protocol bounds how much that is.
func (k PeerKind) Files() bool { return k == PeerRepository || k == PeerPort }

// Heeds reports whether what a peer of that kind says next may have a message for its cause, once it was given it. A
// file that acknowledges another is no agent's turn, and nobody may ever react to it. What is made of an unverified file
// has its depth anyway; whoever drops many would have all others held.
func (k PeerKind) Heeds(m Envelope) bool {
	return (m.Origin != OriginSystem || !k.Files()) && (m.Trust != TrustUnverified || k != PeerRepository)
}

// Peer is whoever can say something and be told something. One of a pane is one agent's stay in it, a session: it lives
// from its adoption until the pane or the program ends, or a person releases it.
type Peer struct {
	ID        ID         `json:"id"`
	Name      string     `json:"name"` // unique among those present, [A-Za-z0-9._-]{1,64}
	Title     string     `json:"title,omitempty"`
	Computer  string     `json:"computer"`
	Kind      PeerKind   `json:"kind,omitempty"`
	Key       string     `json:"key,omitempty"` // what it goes by in its own protocol, unique in its kind; of a pane ""
	State     PaneState  `json:"state,omitempty"`
	StateWhy  string     `json:"state_why,omitempty"`
	Asks      *Asking    `json:"asks,omitempty"` // what it asks its person now; nil: nothing that is known
	Adopted   time.Time  `json:"adopted"`
	Ended     *time.Time `json:"ended,omitempty"`
	EndReason string     `json:"end_reason,omitempty"`
	Caller    *Address   `json:"caller,omitempty"` // who had it started here; nil: it was there before it was adopted
	PaneOf
}

// PaneOf is what only a peer in a pane has: where its program runs, and how that is known again.
type PaneOf struct {
	Pane       string  `json:"pane"` // tmux pane id, %7
	TTY        string  `json:"tty,omitempty"`
	Profile    string  `json:"profile"`
	Prompt     string  `json:"prompt,omitempty"`       // what the composer of a line program shows when it is empty
	PromptIsRE bool    `json:"prompt_is_re,omitempty"` // Prompt is a regular expression (RE2) that a person gave
	PaneProc   Process `json:"pane_process"`           // what tmux started in the pane
	Foreground Process `json:"foreground"`             // the agent: of a line program, the leader of the terminal's foreground group when adopted
	Since      uint64  `json:"since,omitempty"`        // when it was adopted, on the clock by which its processes start; 0: not known
	Reader     Process `json:"reader,omitzero"`        // of an agent that starts itself once more: the one that reads the keys
	Server     Process `json:"server"`                 // the tmux server: a pane's id means nothing to another
	Closed     Reason  `json:"closed,omitempty"`       // why nothing more is typed here until the pane, or a person, shows otherwise
	Lost       ID      `json:"lost,omitempty"`         // with Closed: the delivery whose text was typed and never seen; with Draft: was seen, given up, and stands there
	Draft      *Place  `json:"draft,omitempty"`        // with Closed: where a line stands or stood that was not sent
	Starting   bool    `json:"starting,omitempty"`     // what was started in it has not been recognised yet: what goes there waits
}

// Shut reports whether only a person's look at the pane opens it again. A line in its composer, a person's or
// ours, ends by being sent or cleared.
func (p PaneOf) Shut() bool {
	switch p.Closed {
	case "", InComposer:
		return false
	case OursInComposer:
		return p.Draft == nil
	}
	return true
}

// Place is where something stands in a pane, also when it has scrolled away.
type Place struct {
	Row     int  `json:"row"`             // counted from the top of the history
	History int  `json:"history"`         // rows of history by then: where they get fewer, rows cannot be counted any more
	Ahead   bool `json:"ahead,omitempty"` // it was typed while the program worked, whose prompt will not show it
}

// Same reports whether two places are of one line, as far as must be told: that it moves is not.
func (p *Place) Same(q *Place) bool {
	return (p != nil && p.Ahead) == (q != nil && q.Ahead)
}

// Turn is one uninterrupted stretch of an agent's own work, from its source of words.
type Turn struct {
	ID        ID        `json:"id"`
	Peer      ID        `json:"session"`
	Words     string    `json:"words"`               // what it said to its reader
	Answers   []ID      `json:"answers,omitempty"`   // the deliveries that were submitted since the last turn
	Person    bool      `json:"person,omitempty"`    // a person typed into the pane since the last turn
	Source    string    `json:"source"`              // screen, transcript, hook
	All       string    `json:"all,omitempty"`       // Words and what it said before its last call of a tool, where there is more than Words
	Acted     bool      `json:"acted,omitempty"`     // it called a tool, as far as its source tells
	Prompt    string    `json:"prompt,omitempty"`    // what a person typed by hand to begin it, as far as its source tells
	Cut       Reason    `json:"cut,omitempty"`       // Interrupted, ServiceFailed or EndUnknown: what it said is not whole, and nobody's words
	Skipped   bool      `json:"skipped,omitempty"`   // lines are missing, and the words say where
	Truncated bool      `json:"truncated,omitempty"` // words beyond MaxBody were cut
	Late      bool      `json:"late,omitempty"`      // it ended while no sidecar ran: it counts as an answer only
	Tokens    *Tokens   `json:"tokens,omitempty"`    // that it used; nil: its agent does not write that down
	Ended     time.Time `json:"ended"`
}
