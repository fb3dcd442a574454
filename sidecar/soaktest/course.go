package soaktest

import (
	"maps"
	"slices"
	"time"
)

// The conditions under which the verdict on a run means something: most of what it planned to send
// was sent and arrived, agents answered, and clocks were wrong. A sidecar that refused every word
// would break no other invariant.
const (
	leastSent     = 0.5
	leastTaken    = 0.8
	leastAnswered = 0.9
)

// enough is the number of words of a way from which the share that arrives means something. In a
// run of two minutes every other word meets a fault.
const enough = 50

// rate checks that each way has sent its share, and that most of that arrived.
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

// answers checks by the receipts that those who answer each word have done so.
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

// shortest is how long a clock must be wrong before the journal has to show it.
const shortest = 5 * time.Second

// clocks checks that each journal contains times of the wrong clocks.
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
