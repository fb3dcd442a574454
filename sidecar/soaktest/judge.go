package soaktest

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Invariants, in the order of the report.
const (
	NothingLost    = "nothing that was accepted is lost"
	NothingTwice   = "nothing is taken twice, or typed twice"
	InOrder        = "each sender's words are taken in their order"
	ReceiptsTrue   = "receipts are true"
	RefusedStays   = "what was refused never comes"
	RefusedInFault = "what is refused, or never answered, was asked in a fault"
	KnownSource    = "nothing is taken that nobody sent"
	DoubtInFault   = "what fails or is uncertain has a fault that excuses it"
	AnswersKnown   = "what was answered is known to be"
	ToldInTheEnd   = "who asks again is told in the end"
	EndsAtRest     = "in the end nothing is on its way"
	RateHeld       = "each way sends half of its share at least, and most of that arrives"
	FaultsMade     = "the faults were made, and felt"
	MemoryFlat     = "memory is flat"
	FilesFlat      = "descriptors are flat"
	RoutinesFlat   = "goroutines are flat"
	ClientsFlat    = "clients of tmux are flat"
	ChildrenFlat   = "child processes are flat"
)

// Invariants lists all invariants.
var Invariants = []string{
	NothingLost, NothingTwice, InOrder, ReceiptsTrue, RefusedStays, RefusedInFault, KnownSource, DoubtInFault, AnswersKnown, ToldInTheEnd, EndsAtRest, RateHeld,
	FaultsMade, MemoryFlat, FilesFlat, RoutinesFlat, ClientsFlat, ChildrenFlat,
}

// Finding is one breach of an invariant.
type Finding struct{ Invariant, Text string }

// Judge finds what is wrong in a history.
func Judge(h History) (found []Finding) {
	j := &judging{h: h, words: map[Mark]Word{}, taken: map[Mark]int{}, by: map[Mark]map[string]int{}}
	for _, w := range h.Words {
		j.words[w.Mark] = w
	}
	j.takers()
	for _, w := range h.Words {
		j.word(w)
	}
	j.rate()
	j.answers()
	j.clocks()
	return append(j.found, flat(h)...)
}

type judging struct {
	h     History
	words map[Mark]Word
	taken map[Mark]int            // by the taker that it was meant for
	by    map[Mark]map[string]int // by any taker
	found []Finding
}

func (j *judging) breach(invariant, format string, args ...any) {
	j.found = append(j.found, Finding{invariant, fmt.Sprintf(format, args...)})
}

// takers judges the records of the takers alone.
func (j *judging) takers() {
	for _, name := range slices.Sorted(maps.Keys(j.h.Taken)) {
		t := j.h.Taken[name]
		last := map[string]int{}
		seen := map[Mark]bool{}
		for _, m := range t.Marks {
			w, known := j.words[m]
			switch {
			case !known:
				j.breach(KnownSource, "%s has %v", name, m)
			case w.To != name:
				j.breach(KnownSource, "%s has %v, which was for %s", name, m, w.To)
			default:
				j.taken[m]++
			}
			if at, ok := last[m.Stream]; ok && m.Seq < at && !seen[m] && !j.anew(w) {
				j.breach(InOrder, "%s has %v after %v", name, m, Mark{m.Stream, at})
			}
			seen[m] = true
			last[m.Stream] = max(last[m.Stream], m.Seq)
		}
		for m, n := range t.Bytes {
			if n > 1 {
				j.breach(NothingTwice, "%v was typed %d times into %s", m, n, name)
			}
		}
	}
}

// anew reports whether a word was tried again after its first taker had gone: then it may come
// after later ones.
func (j *judging) anew(w Word) bool { return len(j.h.Journals[w.From][w.Mark]) > 1 }

// word judges one word by its result.
func (j *judging) word(w Word) {
	n := j.taken[w.Mark]
	if n > 1 {
		j.breach(NothingTwice, "%v was taken %d times by %s", w.Mark, n, w.To)
	}
	if (w.Answer == Refused || w.Answer == Unknown) && !j.unanswered(w) {
		j.breach(RefusedInFault, "%v by %s at %s is %s (%s), and nothing was wrong then", w.Mark, w.Way, clock(w.Begun), w.Answer, w.Why)
	}
	if proof, ok := j.h.Proofs[w.Way]; ok {
		switch {
		case w.Answer == Accepted && n == 0:
			j.breach(NothingLost, "%v by %s was acknowledged (%s), and %s has it not", w.Mark, w.Way, proof, w.To)
		case w.Answer == Said && n == 0 && !j.disturbed(w):
			j.breach(NothingLost, "%v by %s was sent at %s (%s), nothing was wrong then, and %s has it not", w.Mark, w.Way, clock(w.Begun), proof, w.To)
		case w.Answer == Refused && n > 0:
			j.breach(RefusedStays, "%v by %s was refused (%s), and %s has it", w.Mark, w.Way, w.Why, w.To)
		}
		return
	}
	in, known := j.h.Journals[w.From][w.Mark]
	if w.Answer == Unknown && w.Tries > 1 {
		j.breach(ToldInTheEnd, "%v by %s at %s was asked about %d times in %v: %s; the journal says %v", w.Mark, w.Way, clock(w.Begun), w.Tries, w.Told.Sub(w.Begun).Round(time.Second), w.Why, in.whys())
	}
	switch {
	case w.Answer == Accepted && !known:
		j.breach(NothingLost, "%v by %s was accepted, and the journal does not know it", w.Mark, w.Way)
	case w.Answer == Said && !known && !j.unheard(w.Begun):
		j.breach(NothingLost, "%v was said by a program at %s, and nobody heard it", w.Mark, clock(w.Begun))
	case w.Answer == Refused && (n > 0 || known && !in.only(Failed)): // an error may also say that its delivery failed
		j.breach(RefusedStays, "%v by %s was refused (%s), taken %d times, and is %v", w.Mark, w.Way, w.Why, n, in.whys())
	}
	if !known && n > 0 {
		j.breach(KnownSource, "%s has %v, of which the journal does not know", w.To, w.Mark)
	}
	for _, computer := range slices.Sorted(maps.Keys(j.h.Journals)) {
		if in, ok := j.h.Journals[computer][w.Mark]; ok {
			j.receipts(computer, w, in, n)
		}
	}
}

// receipts judges a journal's record of a word that was taken n times.
func (j *judging) receipts(computer string, w Word, in Journal, n int) {
	if in.only(Replaced) {
		j.breach(NothingLost, "%v stands in the journal of %s, and goes to nobody", w.Mark, computer)
	}
	stands := map[State]int{}
	for _, d := range in {
		stands[d.State]++
		switch d.State {
		case Open:
			j.breach(EndsAtRest, "%v by %s to %s is %s", w.Mark, w.Way, w.To, d.Why)
		case Failed, Uncertain, Kept:
			if !j.excused(d) {
				j.breach(DoubtInFault, "%v by %s at %s is %s since %s, and no fault excuses it", w.Mark, w.Way, clock(w.Begun), d.Why, clock(d.Ended))
			}
		}
	}
	if stands[Repeated] > 0 {
		j.breach(NothingTwice, "%v by %s, asked about again, was taken for another message: %v", w.Mark, w.Way, in.whys())
	}
	// A failed delivery may be tried again, and a word is for one taker alone.
	if live := len(in) - stands[Failed] - stands[Repeated] - stands[Replaced]; live > 1 {
		j.breach(NothingTwice, "%v by %s has %d deliveries that have not failed: %v", w.Mark, w.Way, live, in.whys())
	}
	switch {
	case n < stands[Taking]:
		j.breach(ReceiptsTrue, "%v by %s is %v, and %s has not taken it", w.Mark, w.Way, in.whys(), w.To)
	case n > stands[Taking]+stands[Uncertain]+stands[Open]:
		j.breach(ReceiptsTrue, "%v by %s is %v, and %s has taken it %d times", w.Mark, w.Way, in.whys(), w.To, n)
	}
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }
