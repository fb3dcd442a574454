package profile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Inbox is how an agent takes messages of other programs of its user beside its terminal: a socket
// that it listens on, found by what its process writes down about itself. The zero value is none.
// Package door speaks to it.
type Inbox struct {
	Name     string // for people and receipts
	Record   string // the JSON file in which a process tells of itself: "@" is the agent's own directory, {pid} its process
	Key      string // the file with the token that the socket expects; {socket} is the hex SHA-256 of the socket's path
	Protocol int    // the one that is spoken
	Since    string // the first version that speaks it
	Tag      string // of the wrapper by which it tells a message from its sender

	// Before it takes a message, an agent that acts without asking may ask its person, in a dialog
	// in front of whatever they do. So nothing is handed to one that does, or may.
	Settings []string // where settings stand, as VimKeys.Files
	Default  string   // the setting of the mode in which it starts, with dots between keys
	Accepts  string   // the setting that says what becomes of messages
	Accept   string   // its value that has them taken in every mode; any other one keeps them out
	Careful  []string // the modes in which it asks before it acts, as its transcript names them
	Warns    []string // what its screen shows below the composer in those in which it does not
	Options  []string // options that bring settings along, which are not looked for
}

// Offered reports whether there is an inbox at all.
func (i Inbox) Offered() bool { return i.Record != "" }

// Brought reports whether a prompt, as an agent's hook tells it, is one that came to the inbox: it stands in
// its wrapper there.
func (i Inbox) Brought(prompt string) bool {
	return i.Tag != "" && strings.HasPrefix(strings.TrimSpace(prompt), "<"+i.Tag+" ")
}

// Asks reports whether the agent is known to ask before it acts, in the mode that its transcript
// named last. "" is not known.
func (i Inbox) Asks(mode string) bool { return slices.Contains(i.Careful, mode) }

// Policy is what an agent's settings say of messages, as far as one file does.
type Policy struct {
	Accepts string // the setting's value; "" where it is not set
	Start   string // the mode in which the agent starts; likewise
}

// Policy reads one file of settings. It is an error where that cannot be understood: what it says
// is then not known.
func (i Inbox) Policy(file []byte) (Policy, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(file, &all); err != nil {
		return Policy{}, fmt.Errorf("settings: %w", err)
	}
	accepts, err := setting(all, i.Accepts)
	if err != nil {
		return Policy{}, err
	}
	start, err := setting(all, i.Default)
	return Policy{accepts, start}, err
}

// setting is the text at a place in settings, "" where there is none.
func setting(all map[string]json.RawMessage, place string) (value string, err error) {
	key, rest, deeper := strings.Cut(place, ".")
	raw, set := all[key]
	if !set {
		return "", nil
	}
	if !deeper {
		err = json.Unmarshal(raw, &value)
	} else {
		var inner map[string]json.RawMessage
		if err = json.Unmarshal(raw, &inner); err == nil {
			return setting(inner, rest)
		}
	}
	if err != nil {
		return "", fmt.Errorf("setting %q: %w", place, err)
	}
	return value, nil
}

// Carries reports whether a program that was started with those arguments has settings from a place
// that is not looked at.
func (i Inbox) Carries(arguments []string) bool {
	return slices.ContainsFunc(arguments, func(argument string) bool {
		name, _, _ := strings.Cut(argument, "=")
		return slices.Contains(i.Options, name)
	})
}

// Speaks reports whether a version of the agent speaks the inbox's protocol. Versions are numbers
// with dots between; one that is not is too old.
func (i Inbox) Speaks(version string) bool {
	have, want := strings.Split(version, "."), strings.Split(i.Since, ".")
	for n := range want {
		if n >= len(have) {
			return false
		}
		h, ok := number(have[n])
		w, _ := number(want[n])
		switch {
		case !ok || h < w:
			return false
		case h > w:
			return true
		}
	}
	return true
}

func number(digits string) (n int, ok bool) {
	if digits == "" || len(digits) > 9 {
		return 0, false
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return 0, false
		}
		n = n*10 + int(r-'0')
	}
	return n, true
}
