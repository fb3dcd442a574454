package api

import (
	"strings"
	"time"
)

// Computers lists this computer and the others that are known, each asked how long it takes to answer.
var Computers = Op[None, []Computer]{Name: "computers", Door: everybody("list the computers", ""), Reads: true, Whole: list[Computer]}

// ForgetComputer forgets another computer, with the key that it signs with: the next one of that name is taken
// for it. What waits for its sessions waits no more. CodeNotFound says that none was known.
var ForgetComputer = Op[ForgetComputerRequest, ForgottenComputer]{Name: "computers/forget", Door: persons("forget a computer's key", ""), Check: func(req ForgetComputerRequest) error {
	if strings.TrimSpace(req.Name) == "" {
		return Errorf(CodeUsage, "name a computer").WithHint("intercom computers")
	}
	return nil
}}

// Computer is one computer.
type Computer struct {
	Name    string `json:"name"`
	Local   bool   `json:"local"`
	Present bool   `json:"present"` // its sidecar can be reached now
	// RoundTrip is how long it took to answer, in milliseconds; 0: it did not.
	RoundTrip float64    `json:"round_trip_ms"`
	Since     *time.Time `json:"since"`             // that it is present, or away; null: not known
	Sessions  int        `json:"sessions"`          // that can be addressed, as it told last
	Waiting   int        `json:"waiting,omitempty"` // messages for it that it has not confirmed yet
	Why       string     `json:"why,omitempty"`     // of the local one: why it reaches no others, though it is to
	Server    string     `json:"server,omitempty"`  // of the local one: through what it reaches others
	Key       string     `json:"key,omitempty"`     // by which it is known
	May       []string   `json:"may,omitempty"`     // of another one: what it may do here
}

// ForgetComputerRequest names a computer.
type ForgetComputerRequest struct {
	Name string `json:"name"`
}

// ForgottenComputer is what became of the messages for a computer that was forgotten.
type ForgottenComputer struct {
	Failed    int `json:"failed"`    // they were not sent
	Uncertain int `json:"uncertain"` // the server was given them, and keeps them for whoever comes under that name
}
