// Package brakes judges whether a dialogue has become empty: whether those who speak only
// thank, praise, agree, take leave, stand by or repeat each other, and nobody says anything
// about a matter any more.
//
// What counts as saying something is the same in every language: code, paths, identifiers,
// quotations and numbers that were not there yet, and words beyond those by which people are
// polite to each other. A message is empty if courtesy outweighs all that, or if it says
// what was said before. One that says something clears what was counted; it takes several
// empty ones in a row to stop.
//
// A Judge hears one message after the other, and what it remembers is bounded. It has no
// goroutine and no clock, and whoever uses one calls it from one goroutine.
package brakes

import (
	"fmt"
	"slices"
)

const (
	window = 16  // messages that are remembered
	near   = 8   // the latest of them, which a message may repeat
	enough = 4.5 // emptiness at which a dialogue stops: five messages that are plainly empty
	fewest = 4   // empty messages before it may stop
)

// What weighs as something said.
const (
	newWord     = 1.0
	newArtefact = 2.0
	newNumber   = 1.0
	asideNumber = 0.4 // a new number among words of courtesy
	newPair     = 0.2 // two words that never stood side by side
	oldThing    = 0.3 // what was there before
	vagueAlone  = 0.4 // a vague word where nobody is courteous
	plenty      = 6.0 // all of it, of a message that is certainly about something
)

// What weighs as courtesy, besides the words of courtesy themselves.
const (
	vagueBeside  = 0.4
	speakers     = 0.35 // "I" and "you"
	mostPictures = 3
)

// The share of what is said in a message, beside courtesy, up to which it is empty: plainly,
// rather, and perhaps; and up to which it says little.
const (
	plainly = 0.25
	rather  = 0.4
	perhaps = 0.52
	little  = 0.65
)

// step is the most words of a message that only says how far its author is.
const step = 8

// alike is how much of two texts must be the same for one to repeat the other.
const alike = 0.55

// Verdict is what a Judge says of a dialogue after a message.
type Verdict struct {
	Empty bool   // it should stop
	Why   string // where it is Empty: a sentence for a person, without a full stop
}

// Judge follows one dialogue. Its zero value has heard nothing.
type Judge struct {
	past    []*reading // the latest messages, oldest first
	score   float64
	run     int // empty messages since something was said
	grounds [grounds]int
}

// ground is why a message is empty.
type ground int

const (
	substance ground = iota // it is not
	polite
	repeated
	bare
	drawn
	grounds
)

// sayings are the grounds in words.
var sayings = [grounds]string{
	polite: "thanks, praise, agreement or waiting", repeated: "repetitions of what was said", bare: "bare acknowledgements", drawn: "pictures",
}

// Hear takes in the next message, whoever says it. A dialogue that was found empty stays so
// until somebody says something, or Reset.
func (j *Judge) Hear(body string) Verdict {
	r := read(body)
	weight, why := j.weigh(r)
	j.remember(r)
	if why == substance {
		if j.score *= weight; weight == 0 {
			j.Reset()
		}
		return Verdict{}
	}
	j.run++
	j.grounds[why]++
	if j.score += weight; j.score < enough || j.run < fewest {
		return Verdict{}
	}
	most := polite
	for g := polite; g < grounds; g++ {
		if j.grounds[g] > j.grounds[most] {
			most = g
		}
	}
	return Verdict{Empty: true, Why: fmt.Sprintf("%d messages said nothing new: %s", j.run, sayings[most])}
}

// Reset begins the judgement anew. What was said stays known.
func (j *Judge) Reset() { j.score, j.run, j.grounds = 0, 0, [grounds]int{} }

func (j *Judge) remember(r *reading) {
	if len(j.past) == window {
		j.past = slices.Delete(j.past, 0, 1)
	}
	j.past = append(j.past, r)
}

// weigh says how empty a message is, from 0 to 1, or, of one with substance, how much of
// what was counted before it stays.
func (j *Judge) weigh(r *reading) (float64, ground) {
	if r.tokens == 0 {
		return 1, drawn
	}
	n := j.newIn(r)
	said, courteous := n.weight(r)
	likest, same := j.likeness(r)
	fresh := n.words + n.artefacts + n.numbers
	share := said / (said + courteous)
	switch {
	case said == 0 && courteous == 0:
		return 0.5, bare
	case same:
		return 1, repeated
	case r.roles[progress] > 0 && n.old+fresh > 0 && r.tokens <= step && share >= 0.15 && share < perhaps:
		return 0.1, polite // "thanks, fixed the header": a step of work, said politely
	case n.artefacts+n.numbers == 0 && n.words <= len(r.words)/16 && likest >= alike:
		return 0.8, repeated
	case share < plainly:
		return 1, polite
	case share < rather:
		return 0.7, polite
	case fresh == 0 && courteous > 0:
		return 0.7, repeated
	case fresh == 0:
		return 0.1, repeated
	case share < perhaps:
		return 0.2, polite
	case share < little:
		return 0.85, substance
	case n.artefacts+n.numbers > 0 || said >= plenty:
		return 0, substance
	}
	return 0.6, substance
}

// news counts what a message says: what is new in it, and what is not.
type news struct{ words, artefacts, numbers, pairs, old int }

func (j *Judge) newIn(r *reading) news {
	had := make(map[key]bool)
	for _, p := range j.past {
		for _, list := range [][]key{p.words, p.artefacts, p.numbers} {
			for _, k := range list {
				had[k] = true
			}
		}
		for i := 1; i < len(p.words); i++ {
			had[pair(p.words[i-1], p.words[i])] = true
		}
	}
	var n news
	for i := 1; i < len(r.words); i++ {
		if a, b := r.words[i-1], r.words[i]; had[a] && had[b] && !had[pair(a, b)] {
			n.pairs++
		}
	}
	count := func(list []key, fresh *int) {
		for _, k := range list {
			if had[k] {
				n.old++
			} else {
				*fresh++
			}
			had[k] = true
		}
	}
	count(r.words, &n.words)
	count(r.artefacts, &n.artefacts)
	count(r.numbers, &n.numbers)
	return n
}

// weight is how much a message says, and how much of it is courtesy.
func (n news) weight(r *reading) (said, courteous float64) {
	courteous = float64(r.roles[courtesy])
	number := newNumber
	if courteous > 0 && 3*len(r.numbers) < r.tokens {
		number = asideNumber
	}
	said = newWord*float64(n.words) + newArtefact*float64(n.artefacts) + number*float64(n.numbers) + newPair*float64(n.pairs) + oldThing*float64(n.old)
	if courteous > 0 || r.roles[personal] > 0 {
		courteous += vagueBeside * float64(r.roles[vague])
	} else {
		said += vagueAlone * float64(r.roles[vague])
	}
	courteous += speakers*float64(r.roles[personal]) + float64(min(r.pictures, mostPictures))
	return said, courteous
}

// pair stands for two keys side by side, whichever comes first.
func pair(a, b key) key { return (a ^ b) * 0x9e3779b97f4a7c15 }

// likeness is how much a message and the likest of the latest ones have in common, from 0
// to 1, and whether it is one of them.
func (j *Judge) likeness(r *reading) (most float64, same bool) {
	for _, p := range j.past[max(0, len(j.past)-near):] {
		same = same || p.whole == r.whole
		if all := len(r.pieces) + len(p.pieces); all > 0 {
			both := common(r.pieces, p.pieces)
			most = max(most, float64(both)/float64(all-both))
		}
	}
	return most, same
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
