package soaktest

import (
	"maps"
	"slices"
	"time"
)

// What a run has to be for its verdict to mean something: most of what it set out to send was sent and
// arrived, agents answered, clocks were wrong. Who refuses every word breaks nothing else.
const (
	leastSent     = 0.5
	leastTaken    = 0.8
	leastAnswered = 0.9
)

// enough is how many words of a way say what share arrives. In a run of two minutes every other word meets a fault.
const enough = 50

// rate wants each way to have sent its share, and most of that to have arrived.
func (j *judging) rate() {
	sent, taken := map[string]int{}, map[string]int{}
	for _, w := range j.h.Words {
		sent[w.Way]++
		taken[w.Way] += min(j.taken[w.Mark], 1)
	}
	for _, way := range slices.Sorted(maps.Keys(j.h.Plan.Shares)) {
		planned := j.h.Plan.Rate * j.h.Plan.Shares[way] * j.h.Plan.Length.Seconds()
		if got := float64(sent[way]); got < leastSent*planned {
			j.breach(RateHeld, "%s has sent %.0f of %.0f words", way, got, planned)
		}
		if sent[way] >= enough && float64(taken[way]) < leastTaken*float64(sent[way]) {
			j.breach(RateHeld, "of %d words by %s, %d arrived", sent[way], way, taken[way])
		}
	}
}

// answers wants those who answer each word to have done so, by their receipts.
func (j *judging) answers() {
	for _, who := range j.h.Answer {
		asked, answered := 0, 0
		for _, w := range j.h.Words {
			if w.To != who || j.taken[w.Mark] == 0 || j.disturbed(w) {
				continue
			}
			asked++
			if slices.ContainsFunc(j.h.Journals[w.From][w.Mark], func(d Delivery) bool { return d.Answered }) {
				answered++
			}
		}
		if float64(answered) < leastAnswered*float64(asked) {
			j.breach(AnswersKnown, "%s took %d words while nothing was wrong, and by the journal answered %d", who, asked, answered)
		}
	}
}

// shortest is how long a clock has to be wrong for the journal to have to show it.
const shortest = 5 * time.Second

// clocks wants each journal to bear the time to which the clock was set.
func (j *judging) clocks() {
	for _, c := range j.h.Clocks {
		if c.To.Sub(c.From) < shortest {
			continue
		}
		for _, computer := range slices.Sorted(maps.Keys(j.h.Journals)) {
			if c.Seen[computer] == 0 {
				j.breach(FaultsMade, "the clocks were to be ahead by %v from %s to %s, and no receipt of %s says so", c.Ahead, clock(c.From), clock(c.To), computer)
			}
		}
	}
}
