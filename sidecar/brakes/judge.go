// Package brakes judges whether a dialogue has become empty: its participants only thank, praise,
// acknowledge or repeat each other, and nobody does or says anything any more.
//
// A message has substance if its author called a tool in that turn, or if it contains a piece of
// code, a path, an identifier, a quotation or a number that is new to the dialogue, or asks or
// reports something new. Any other message is a candidate. Five candidates in a row are judged
// together: they are empty if they repeat what was said, or if their words of courtesy outweigh
// their new words. One message proves little; five in a row with nothing done prove enough.
//
// The judge errs on the side of letting a dialogue go on: a wrong pause costs trust, while an empty
// dialogue that the judge misses ends at the depth limit. It knows only English courtesies; in
// other languages it recognises repetition, emoji, and turns in which something was done.
//
// A Judge hears one message after the other, and remembers a limited number of them. It has no
// goroutine and no clock; use it from one goroutine at a time.
package brakes

import (
	"fmt"
	"slices"
)

const (
	window = 16 // how many messages are remembered
	near   = 8  // a message may repeat one of this many latest ones
	fewest = 5  // how many candidates in a row may stop a dialogue
)

// The thresholds. They were chosen for the dialogues of testdata, with a margin to the nearest
// dialogue that does work, and tried on dialogues by other authors.
const (
	alike     = 0.5  // shared part of two texts that makes a repetition if the second has no new word
	verbatim  = 0.75 // the same if it has new words
	pronoun   = 0.5  // weight of "I" and "you" relative to a word of courtesy
	novelty   = 0.5  // weight of a new word against a word of courtesy
	courteous = 0.14 // the balance at which five messages are empty
	report    = 8    // up to this many words, a courteous message may be a report of work
)

// Said is one message of a dialogue.
type Said struct {
	Body  string
	Acted bool // its author called a tool in the turn that ended with it
}

// Verdict is the judgement of a dialogue after a message.
type Verdict struct {
	Empty bool   // the dialogue should stop
	Why   string // if Empty: a sentence for a person, without a full stop
}

// Judge follows one dialogue. Its zero value has heard nothing.
type Judge struct {
	past  []*reading  // the latest messages, oldest first
	run   []candidate // the latest candidates in a row, at most fewest
	count int         // number of all candidates in a row
}

// candidate is a message without substance.
type candidate struct {
	repeats bool
	words   int
	weight  float64 // weight of its words of courtesy
	fresh   int     // number of new words
}

// Hear takes in the next message, from any participant. A dialogue that was found empty stays empty
// until somebody does or says something, or until Reset.
func (j *Judge) Hear(said Said) Verdict {
	r := read(said.Body)
	c, empty := j.weigh(r)
	if len(j.past) == window {
		j.past = slices.Delete(j.past, 0, 1)
	}
	j.past = append(j.past, r)
	if said.Acted || !empty {
		j.Reset()
		return Verdict{}
	}
	if len(j.run) == fewest {
		j.run = slices.Delete(j.run, 0, 1)
	}
	j.run = append(j.run, c)
	j.count++
	return j.verdict()
}

// Reset restarts the judgement. The messages heard so far stay known.
func (j *Judge) Reset() { j.run, j.count = nil, 0 }

// verdict judges the latest candidates together.
func (j *Judge) verdict() Verdict {
	if len(j.run) < fewest {
		return Verdict{}
	}
	var repeats, words, fresh int
	var weight float64
	for _, c := range j.run {
		if c.repeats {
			repeats++
			continue
		}
		if c.weight == 0 {
			return Verdict{}
		}
		words, fresh, weight = words+c.words, fresh+c.fresh, weight+c.weight
	}
	why := "repetitions of what was said"
	if others := fewest - repeats; others > 0 {
		// The more of them only repeat, the less courtesy the others need to show.
		if balance := (weight - novelty*float64(fresh)) / float64(words); balance < courteous*float64(others)/fewest {
			return Verdict{}
		}
		if others > repeats {
			why = "thanks, praise or acknowledgements"
		}
	}
	return Verdict{Empty: true, Why: fmt.Sprintf("%d messages said nothing new, and nobody did anything: %s", j.count, why)}
}

// weigh returns a message as a candidate, and reports whether it is one.
func (j *Judge) weigh(r *reading) (candidate, bool) {
	fresh, artefacts := j.fresh(r)
	c := candidate{words: r.words, weight: float64(r.courtesy) + pronoun*float64(r.personal), fresh: fresh}
	if artefacts > 0 {
		return c, false
	}
	likest := j.likeness(r)
	c.repeats = r.words == 0 && len(r.artefacts) == 0 || likest >= verbatim || likest >= alike && fresh == 0
	switch {
	case c.repeats:
		return c, true
	case r.question && fresh >= 2:
		return c, false
	case r.work && fresh > 0 && (r.courtesy == 0 || r.words <= report):
		return c, false
	}
	return c, true
}

// fresh counts the words and the artefacts of a message that no remembered message has. A word that
// occurs twice counts twice.
func (j *Judge) fresh(r *reading) (words, artefacts int) {
	had := func(k key, of func(*reading) []key) bool {
		return slices.ContainsFunc(j.past, func(p *reading) bool {
			_, found := slices.BinarySearch(of(p), k)
			return found
		})
	}
	for _, k := range r.content {
		if !had(k, func(p *reading) []key { return p.content }) {
			words++
		}
	}
	for _, k := range r.artefacts {
		if !had(k, func(p *reading) []key { return p.artefacts }) {
			artefacts++
		}
	}
	return words, artefacts
}

// likeness returns how much a message has in common with the most similar of the latest ones, from
// 0 to 1.
func (j *Judge) likeness(r *reading) (most float64) {
	for _, p := range j.past[max(0, len(j.past)-near):] {
		if p.whole == r.whole {
			return 1
		}
		if all := len(r.pieces) + len(p.pieces); all > 0 {
			both := common(r.pieces, p.pieces)
			most = max(most, float64(both)/float64(all-both))
		}
	}
	return most
}

// common counts the elements that two sorted lists share.
func common(a, b []key) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}
