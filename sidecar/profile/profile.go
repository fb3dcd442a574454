// Package profile holds what is known of each kind of program that can be adopted: how
// it reads, how its composer may look, how long it may take. It is values and look-ups;
// it owns no state and starts no goroutine.
package profile

import (
	"maps"
	"time"
)

// Reads says how a program takes what is typed.
type Reads string

// The ways to read.
const (
	Joined    Reads = "joined"    // one line at a time: line breaks are shown by a mark
	Bracketed Reads = "bracketed" // a bracketed paste, byte for byte, line breaks and all
	Pasted    Reads = "pasted"    // a bracketed paste of one line: line breaks are shown by a mark
)

// Profile is what is known of one kind of program.
type Profile struct {
	Name          string
	Reads         Reads
	LineBreak     string        // stands for a line break where Reads is not Bracketed
	Quiet         time.Duration // silence, after the prompt came back, that ends a turn
	Settle        time.Duration // from our text being seen in the composer until Enter is safe
	SeenWithin    time.Duration // from the paste until our text must stand in the composer
	TakenWithin   time.Duration // from Enter until our text must have left the composer
	InlineMax     int           // the longest text, in bytes, that is typed at all
	Continuations []string      // what a composer of several lines may show before each line but the first
	Chrome        []string      // what lines begin with that it draws around its words
	End           string        // stands behind each text, so that its last word opens no list of completions

	Start    []string            // the program and its arguments that start it; nil: nothing does but a person's own words
	Thinking map[string][]string // further arguments, by how hard it is to think: fast, med, slow; what is missing needs none
	Quit     string              // what ends it when it is submitted in its empty composer; "": only signals do
}

// Thinkings are the ways to think that may be asked for.
var Thinkings = []string{"fast", "med", "slow"}

// ByName finds the profile that a person names at adoption. Names are exact.
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

// clone keeps the table from being changed through a caller's copy.
func (p Profile) clone() Profile {
	p.Continuations = append([]string(nil), p.Continuations...)
	p.Chrome = append([]string(nil), p.Chrome...)
	p.Start = append([]string(nil), p.Start...)
	p.Thinking = maps.Clone(p.Thinking)
	return p
}
