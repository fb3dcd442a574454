package profile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Inbox describes how an agent takes messages of its user's other programs, without its terminal: on a socket,
// which is found by a file that the agent's process writes about itself. The zero value means that there is none.
// Package door speaks to it.
type Inbox struct {
	Name     string // for people and receipts
	Record   string // the JSON file that a process writes about itself: "@" is the agent's own directory, {pid} its process
	Key      string // the file with the token that the socket expects; {socket} is the hex SHA-256 of the socket's path
	Protocol int    // the version of the protocol
	Since    string // the first version of the agent that speaks it
	Tag      string // the tag of the wrapper around a message

	// An agent that acts without asking may ask its person before it takes a message, in a dialog over whatever
	// they are doing. So nothing is handed to an agent that acts, or may act, without asking.
	Settings []string // the files of its settings, as in VimKeys.Files
	Default  string   // the setting of its initial mode, with dots between keys
	Accepts  string   // the setting that decides about messages
	Accept   string   // its value with which messages are taken in every mode; any other value keeps them out
	Careful  []string // the modes in which it asks before it acts, as named in its transcript
	Warns    []string // what its screen shows below the composer in the other modes
	Options  []string // options that add settings, which are not read
}

// Offered reports whether there is an inbox at all.
func (i Inbox) Offered() bool { return i.Record != "" }

// Brought reports whether a prompt, as the agent's hook passes it on, came through the inbox: it then stands in the
// wrapper.
func (i Inbox) Brought(prompt string) bool {
	return i.Tag != "" && strings.HasPrefix(strings.TrimSpace(prompt), "<"+i.Tag+" ")
}

// Asks reports whether the agent is known to ask before it acts, in the mode that its transcript named last. ""
// means that the mode is not known.
func (i Inbox) Asks(mode string) bool { return slices.Contains(i.Careful, mode) }

// Policy is what one file of an agent's settings says about messages.
type Policy struct {
	Accepts string // the value of the setting Accepts; "" if not set
	Start   string // the initial mode; "" if not set
}

// Policy reads one file of settings. It returns an error if the file cannot be understood, since its policy is then
// not known.
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

// setting returns the string at a place in settings, or "" if there is none.
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

// Carries reports whether a program started with those arguments has settings from a place that is not read.
func (i Inbox) Carries(arguments []string) bool {
	return slices.ContainsFunc(arguments, func(argument string) bool {
		name, _, _ := strings.Cut(argument, "=")
		return slices.Contains(i.Options, name)
	})
}

// Speaks reports whether a version of the agent speaks the inbox's protocol. A version consists of numbers
// separated by dots; any other version counts as too old.
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
