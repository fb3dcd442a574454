package api

import (
	"strings"
	"time"
)

// Computers lists this computer and the other known ones. It asks each of them, and measures how long it takes
// to answer.
var Computers = Op[None, []Computer]{Name: "computers", Door: everybody("list the computers", ""), Reads: true, Whole: list[Computer]}

// ForgetComputer forgets another computer and the key that it signs with: the next computer that uses the name
// is taken for it. Messages for its sessions stop waiting. CodeNotFound says that no such computer was known.
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
	// RoundTrip is how long it took to answer, in milliseconds; 0 if it did not.
	RoundTrip float64    `json:"round_trip_ms"`
	Since     *time.Time `json:"since"`             // when it became present or away; null if not known
	Sessions  int        `json:"sessions"`          // how many can be addressed, as it last reported
	Waiting   int        `json:"waiting,omitempty"` // messages for it that it has not confirmed yet
	Why       string     `json:"why,omitempty"`     // of the local one: why it reaches no others, though it should
	Server    string     `json:"server,omitempty"`  // of the local one: the server through which it reaches others
	Key       string     `json:"key,omitempty"`     // the key by which it is known
	May       []string   `json:"may,omitempty"`     // of another one: what it may do here
}

// ForgetComputerRequest names a computer.
type ForgetComputerRequest struct {
	Name string `json:"name"`
}

// ForgottenComputer counts what became of the messages for a forgotten computer.
type ForgottenComputer struct {
	Failed    int `json:"failed"`    // not sent
	Uncertain int `json:"uncertain"` // handed to the server, which keeps them for any computer that takes that name
}
