package policy

import (
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Status is how the policies are that are in use.
type Status struct {
	Generation  string    `json:"generation"` // "" while none can be asked
	Since       time.Time `json:"since,omitzero"`
	Files       []string  `json:"files"`           // in the order in which they are asked
	Error       string    `json:"error,omitempty"` // why the files as they are are not in use: file:line and more
	Warnings    []Problem `json:"warnings,omitempty"`
	Loosened    []Change  `json:"loosened,omitempty"` // by this set, among the last messages
	Quarantined []string  `json:"quarantined,omitempty"`
	Safe        time.Time `json:"safe,omitzero"`         // no script is asked until then
	RolledBack  string    `json:"rolled_back,omitempty"` // the generation that was left for this one
	Kept        []Kept    `json:"kept"`                  // sets that were in use, newest first
	Earlier     *Earlier  `json:"earlier,omitempty"`     // only where going back to it is asked about
}

// Earlier is the set to which one may go back, and how its files differ from those in use.
type Earlier struct {
	Kept
	Changes []string `json:"changes"` // "init.lua: changed", "policies/50-x.lua: gone", "policies/50-y.lua: back"
}

// Kept is a set that was in use.
type Kept struct {
	Generation string    `json:"generation"`     // of the person's own files, without what is shipped
	Set        string    `json:"set,omitempty"`  // what it was called with what is shipped, as the log names it
	At         time.Time `json:"at"`             // when it last came into use
	Until      time.Time `json:"until,omitzero"` // when it was last left for another; zero: it is in use, or nobody knows
	Good       bool      `json:"good"`           // it has decided about a number of messages without a failure
}

// Change is a message about which two sets decide otherwise.
type Change struct {
	Message message.ID   `json:"message"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	Type    string       `json:"type"`
	Was     message.Verb `json:"was"` // drop for whom it did not go to
	Is      message.Verb `json:"is"`
	// Why is what has changed where the verb has not.
	Why string `json:"why,omitempty"`
	By  string `json:"by"` // file:line of the new decision
}

// Verbs are the verb of before and that of now, with what else has changed.
func (c Change) Verbs() string {
	if c.Why != "" {
		return fmt.Sprintf("%s, %s", c.Is, c.Why)
	}
	return fmt.Sprintf("%s, now %s", c.Was, c.Is)
}

// Trial is what came of asking a set about messages that were decided before.
type Trial struct {
	Generation string    `json:"generation"`   // of the set that was tried
	Tried      int       `json:"tried"`        // messages, the newest
	Of         int       `json:"of,omitempty"` // how many were to be, where there was no time for all; else 0
	Problems   []Problem `json:"problems,omitempty"`
	Failures   []string  `json:"failures,omitempty"` // each keeps the set out of use
	Changed    []Change  `json:"changed,omitempty"`
	Loosened   []Change  `json:"loosened,omitempty"` // of those: more goes than before
	Settings   []string  `json:"settings,omitempty"` // of a set that is compared, and not put into use: the settings that differ, by their fields
}

// Short says with how many of how many messages a set was tried, where there was no time for all of them; else "".
func (t Trial) Short() string {
	if t.Of == 0 {
		return ""
	}
	return fmt.Sprintf("there was time to try it with the last %d of %d messages only", t.Tried, t.Of)
}

// Explained is what policies decided about a message, and what they would decide now.
type Explained struct {
	Message message.Envelope  `json:"message"`
	Then    []message.Verdict `json:"then"` // in their order, a person's among them
	Now     Verdict           `json:"now"`
}
