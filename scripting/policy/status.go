package policy

import (
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Status describes the policies in use.
type Status struct {
	Generation  string    `json:"generation"` // "" while no policy can be asked
	Since       time.Time `json:"since,omitzero"`
	Files       []string  `json:"files"`           // in the order they are asked
	Error       string    `json:"error,omitempty"` // why the current files are not in use: file:line and more
	Warnings    []Problem `json:"warnings,omitempty"`
	Loosened    []Change  `json:"loosened,omitempty"` // changes by which this set lets through more of the last messages
	Quarantined []string  `json:"quarantined,omitempty"`
	Safe        time.Time `json:"safe,omitzero"`         // no script is asked until then
	RolledBack  string    `json:"rolled_back,omitempty"` // the generation that this one replaced in a rollback
	Kept        []Kept    `json:"kept"`                  // sets that were in use before, newest first
	Earlier     *Earlier  `json:"earlier,omitempty"`     // only if going back to it is under consideration
}

// Earlier is the set that a rollback would return to. Changes says how its files differ from those in use.
type Earlier struct {
	Kept
	Changes []string `json:"changes"` // "init.lua: changed", "policies/50-x.lua: gone", "policies/50-y.lua: back"
}

// Kept is a set that is or was in use.
type Kept struct {
	Generation string    `json:"generation"`     // of the person's own files, without the shipped ones
	Set        string    `json:"set,omitempty"`  // the generation with the shipped files, as the log names it
	At         time.Time `json:"at"`             // when it last came into use
	Until      time.Time `json:"until,omitzero"` // when another set last replaced it; zero if it is in use, or if that is not known
	Good       bool      `json:"good"`           // it has decided a number of messages without a failure
}

// Change is a message that two sets decide differently.
type Change struct {
	Message message.ID   `json:"message"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	Type    string       `json:"type"`
	Was     message.Verb `json:"was"` // drop for a recipient that the message did not go to
	Is      message.Verb `json:"is"`
	// Why says what has changed although the verb has not.
	Why string `json:"why,omitempty"`
	By  string `json:"by"` // file:line of the new decision
}

// Verbs describes the change: the verb before and now, or the same verb and what else has changed.
func (c Change) Verbs() string {
	if c.Why != "" {
		return fmt.Sprintf("%s, %s", c.Is, c.Why)
	}
	return fmt.Sprintf("%s, now %s", c.Was, c.Is)
}

// Trial is the result of asking a set about messages that were decided before.
type Trial struct {
	Generation string    `json:"generation"`   // of the tried set
	Tried      int       `json:"tried"`        // number of messages tried, the newest ones
	Of         int       `json:"of,omitempty"` // how many were to be tried, if there was no time for all; else 0
	Problems   []Problem `json:"problems,omitempty"`
	Failures   []string  `json:"failures,omitempty"` // each one keeps the set out of use
	Changed    []Change  `json:"changed,omitempty"`
	Loosened   []Change  `json:"loosened,omitempty"` // those of Changed in which more goes than before
	Settings   []string  `json:"settings,omitempty"` // of a set that is only compared, not put into use: names of the settings that differ
}

// Short says how many of how many messages a set was tried with, if there was no time for all of them; else "".
func (t Trial) Short() string {
	if t.Of == 0 {
		return ""
	}
	return fmt.Sprintf("there was time to try it with the last %d of %d messages only", t.Tried, t.Of)
}

// Explained is what the policies decided about a message, and what they would decide now.
type Explained struct {
	Message message.Envelope  `json:"message"`
	Then    []message.Verdict `json:"then"` // in order, including a person's
	Now     Verdict           `json:"now"`
}
