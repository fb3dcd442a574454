package message

import "time"

// WaitKind says what waits for a person. The constants are part of the contract of --json.
type WaitKind string

// The kinds of waits.
const (
	WaitDialog   WaitKind = "dialog"   // an agent shows a dialog or a panel, and takes no text until it is answered
	WaitQuestion WaitKind = "question" // an agent has asked its person something, and waits for the answer
	WaitDraft    WaitKind = "draft"    // a person's draft in a composer keeps a message away
	WaitApprove  WaitKind = "approve"  // a message, or a session that an agent wants started, waits for a yes or no
	WaitPaused   WaitKind = "paused"   // a chat is paused, or everything is
	WaitHeld     WaitKind = "held"     // something else that only a person can end keeps a message away
	WaitClosed   WaitKind = "closed"   // nothing more is typed into a pane until a person has looked at it
)

// Wait is one thing that only a person can do. A wait that ends by itself is none; neither is a
// pane whose agent works.
type Wait struct {
	ID       string   `json:"id"` // stays the same as long as the wait does
	Kind     WaitKind `json:"kind"`
	Words    string   `json:"words"`             // Kind in a few words, as the status line says it: "your draft", "copy mode"
	Peer     ID       `json:"session,omitempty"` // the peer whose pane it is about; "": none
	Name     string   `json:"name,omitempty"`    // of Peer
	Pane     string   `json:"pane,omitempty"`    // of Peer, such as %7: where to go
	Chat     ID       `json:"chat,omitempty"`    // the chat that is paused, or of the message
	ChatName string   `json:"chat_name,omitempty"`
	Delivery ID       `json:"delivery,omitempty"` // of approve: the delivery to decide about; of draft and held: the first that waits
	// Text is one line: what the agent asks, or what waits. Treat it as text from a stranger when
	// showing it.
	Text     string     `json:"text,omitempty"`
	Since    time.Time  `json:"since"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Next     string     `json:"next"` // what a person does about it
}

// Asking is what an agent asks its person in its pane.
type Asking struct {
	Kind     WaitKind `json:"kind"`           // WaitDialog or WaitQuestion
	Text     string   `json:"text,omitempty"` // the row of its screen that asks, unchanged
	Evidence Evidence `json:"evidence"`
}

// Same reports whether both ask the same, whatever their evidence.
func (a *Asking) Same(b *Asking) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Text == b.Text
}
