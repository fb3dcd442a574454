// Package brakes judges whether a dialogue has become empty: whether those who speak only
// thank, praise, acknowledge or repeat each other, and nobody does or says anything any more.
//
// A message is substance if its author called a tool in that turn, or if it brings a piece of
// code, a path, an identifier, a quotation or a number that was not there yet, or asks or
// reports something new. Anything else is a candidate. Five candidates in a row are judged
// together: they are empty if they repeat what was said, or if words of courtesy outweigh new
// words in them. One message proves little; five in a row with nothing done prove enough.
//
// The judge errs on the side of letting a dialogue go on. A wrong pause costs trust, and what
// the judge misses meets the depth limit. It knows the courtesies of English only; in any
// other language it recognises repetition, pictures, and turns in which something was done.
//
// A Judge hears one message after the other, and what it remembers is bounded. It has no
// goroutine and no clock, and whoever uses one calls it from one goroutine.
package brakes

import (
	"fmt"
	"slices"
)

const (
	window = 16 // messages that are remembered
	near   = 8  // the latest of them, which a message may repeat
	fewest = 5  // candidates in a row before a dialogue may stop
)

// The thresholds. They were chosen on the dialogues of testdata with a margin to the nearest
// one that does work, and tried on dialogues written by others.
const (
	alike     = 0.5  // how much of two texts is the same where the second has no new word
	verbatim  = 0.75 // how much where it has some
	pronoun   = 0.5  // what "I" and "you" weigh beside a word of courtesy
	novelty   = 0.5  // what a new word weighs against one
	courteous = 0.14 // the balance from which five messages are empty
	report    = 8    // words up to which a courteous message may be a report of work
)

// Said is one message of a dialogue.
type Said struct {
	Body  string
	Acted bool // its author called a tool in the turn that ended with it
}

// Verdict is what a Judge says of a dialogue after a message.
type Verdict struct {
	Empty bool   // it should stop
	Why   string // where it is Empty: a sentence for a person, without a full stop
}

// Judge follows one dialogue. Its zero value has heard nothing.
type Judge struct {
	past  []*reading  // the latest messages, oldest first
	run   []candidate // the latest candidates in a row, at most fewest
	count int         // of all candidates in the row
}

// candidate is a message without substance.
type candidate struct {
	repeats bool
	words   int
	weight  float64 // of its words of courtesy
	fresh   int     // new words
}

// Hear takes in the next message, whoever says it. A dialogue that was found empty stays so
// until somebody does or says something, or Reset.
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

// Reset begins the judgement again. What was said stays known.
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
		// The more of them only repeat, the less the others need to show.
		if balance := (weight - novelty*float64(fresh)) / float64(words); balance < courteous*float64(others)/fewest {
			return Verdict{}
		}
		if others > repeats {
			why = "thanks, praise or acknowledgements"
		}
	}
	return Verdict{Empty: true, Why: fmt.Sprintf("%d messages said nothing new, and nobody did anything: %s", j.count, why)}
}

// weigh says what a message is if it is a candidate, and whether it is one.
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

// fresh counts the words of a message that the remembered ones do not have, each as often as it
// stands there, and the artefacts.
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

// likeness is how much a message and the likest of the latest ones have in common, from 0
// to 1.
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

// common counts what two sorted lists have in common.
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
