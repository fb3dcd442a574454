// Package profile describes each kind of program that can be adopted: how it reads, how its composer may look, how
// long it may take. It consists of values and look-ups. It keeps no state and starts no goroutine.
package profile

import (
	"maps"
	"time"
)

// Reads says how a program reads typed text.
type Reads string

// The ways to read.
const (
	Joined    Reads = "joined"    // one line at a time: line breaks are shown by a mark
	Bracketed Reads = "bracketed" // a bracketed paste, byte for byte, including line breaks
	Pasted    Reads = "pasted"    // a bracketed paste of one line: line breaks are shown by a mark
)

// Profile describes one kind of program.
type Profile struct {
	Name          string
	Reads         Reads
	LineBreak     string        // stands for a line break if Reads is not Bracketed
	Quiet         time.Duration // how long it must be silent after the prompt came back for a turn to end
	Settle        time.Duration // from our text appearing in the composer until Enter is safe
	SeenWithin    time.Duration // from the paste until our text must stand in the composer
	TakenWithin   time.Duration // from Enter until our text must have left the composer
	InlineMax     int           // the longest text, in bytes, that is typed at all
	Continuations []string      // what may stand before each line but the first of a composer
	Chrome        []string      // beginnings of the lines that it draws around its words
	End           string        // is appended to each text, so that its last word opens no list of completions

	Start    []string            // the command that starts it; nil: only a person's own command does
	Thinking map[string][]string // further arguments by degree of thinking: fast, med, slow; a missing one needs none
	Quit     string              // ends it when submitted in its empty composer; "": only signals do
}

// Thinkings lists the degrees of thinking that may be asked for.
var Thinkings = []string{"fast", "med", "slow"}

// ByName finds the profile that a person names when they adopt a pane. Names are exact.
func ByName(name string) (Profile, bool) {
	for _, p := range all {
		if p.Name == name {
			return p.clone(), true
		}
	}
	return Profile{}, false
}

// Names lists the profiles that ByName knows, in the order in which help shows them.
func Names() []string {
	names := make([]string, 0, len(all))
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

var all = []Profile{Line(), LinePaste(), Aider(), TUI()}

// clone returns a copy that shares nothing with the table, so that a caller cannot change it.
func (p Profile) clone() Profile {
	p.Continuations = append([]string(nil), p.Continuations...)
	p.Chrome = append([]string(nil), p.Chrome...)
	p.Start = append([]string(nil), p.Start...)
	p.Thinking = maps.Clone(p.Thinking)
	return p
}
